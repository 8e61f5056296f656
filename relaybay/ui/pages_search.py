"""`/search` with its `.json` twin, and the forms of saved filters (page 70)."""

from __future__ import annotations

from typing import Any, Final

from sanic import HTTPResponse, Request

from relaybay.answers import word_refusal
from relaybay.domain import Outcome
from relaybay.service import saved_views, views_search
from relaybay.ui import filtered
from relaybay.ui.desk import Desk, Page, go
from relaybay.ui.forms import Form
from relaybay.ui.paths import url
from relaybay.ui.ports import RouteTable

_SEARCH: Final = Page("search.html", "search", ("search_results",))
_SKIP_DIGITS_MAX: Final = 6


def register(routes: RouteTable, desk: Desk) -> None:
    """Adds the routes."""
    pages = _Pages(desk)
    routes.op("GET", "/search", "page_search", pages.search, door="board")
    routes.op("GET", "/search.json", "page_search_json", pages.search, door="board")
    routes.op("POST", "/views", "form_view_save", pages.save, door="board")
    routes.op("POST", "/views/<view_id:str>/delete", "form_view_forget", pages.forget, door="board")


class _Pages:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def search(self, request: Request) -> HTTPResponse:
        """`/search?q=`."""
        given = request.args.get("skip", "")
        skip = int(given) if given.isascii() and given.isdigit() and len(given) <= _SKIP_DIGITS_MAX else 0
        return await filtered.show(self._desk, request, _SEARCH, _found, "search", "Search", "search", skip=skip)

    async def save(self, request: Request) -> HTTPResponse:
        """Keeps a filter under a name; goes on to its page, filtered so."""
        form = Form(request, "view_save")
        given = {name: form.get(name) for name in ("page", "name", "q")}
        return await self._done(request, form, lambda tx: saved_views.save(tx, self._desk.relay, **given))

    async def forget(self, request: Request, view_id: str) -> HTTPResponse:
        """Forgets a saved filter; goes on to its page, which stays filtered."""
        form = Form(request, "view_forget")
        return await self._done(request, form, lambda tx: saved_views.forget(tx, self._desk.relay, view_id=view_id))

    async def _done(self, request: Request, form: Form, use_case: Any) -> HTTPResponse:
        if form.fault is not None:
            return await self._desk.refused(request, form.fault)
        outcome: Outcome = await self._desk.act(use_case)
        if outcome.refusal is not None:
            return await self._desk.refused(request, word_refusal(outcome.refusal))
        return go(url(outcome.data["page"], q=outcome.data["query"]))


def _found(tx: Any, relay: Any, *, q: str, skip: int) -> Outcome:
    """What was found, as the other filtered pages have it: the filter as `q`, and the page's saved ones."""
    outcome = views_search.search_texts(tx, relay, q=q, skip=skip)
    if outcome.refusal is not None:
        return outcome
    return Outcome({**outcome.data, "q": outcome.data["query"], "views": saved_views.listed(tx, relay, "search")})
