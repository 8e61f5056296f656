"""One request of the board from the event loop: read a view or carry out a use case, then answer as page, fragments or
JSON. No decisions: which they are stands in `pages.py` and `actions.py`.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from sanic import HTTPResponse, Request

from relaybay.answers import Answer, word_refusal
from relaybay.domain import Outcome, Refusal
from relaybay.errors import StoreError, StoreFull, StoreReadOnly
from relaybay.service import views
from relaybay.service.relay import Relay
from relaybay.service.views_owner import for_owner
from relaybay.ui.assets import Assets
from relaybay.ui.look import look_of
from relaybay.ui.paths import url
from relaybay.ui.ports import Gatekeeper
from relaybay.ui.render import Renderer
from relaybay.ui.shared import Shared

HTML: Final = "text/html; charset=utf-8"
PROBLEM: Final = "application/problem+json"
_PLAIN: Final = "text/plain; charset=utf-8"
_NOT_HERE: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
_MARKUP: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&"}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its template, its place in the navigation, and its live fragments (`templates/parts/NAME.html`)."""

    template: str
    place: str
    fragments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """A refusal, shown at the form `at` that was refused, with what was typed into it."""

    answer: Answer
    at: str
    kept: Mapping[str, str]


class Desk:
    """What every handler of the board works with."""

    def __init__(self, relay: Relay, gate: Gatekeeper, assets: Assets) -> None:
        self.relay = relay
        self.gate = gate
        self._renderer = Renderer(assets)
        self._shared = Shared()
        relay.listeners.append(self._shared.changed)

    async def read(self, view: Callable[..., Outcome], **named: Any) -> tuple[Outcome, dict[str, Any]]:
        """Runs a view in one snapshot, with what stands around every page."""

        def work(tx: Any) -> tuple[Outcome, dict[str, Any]]:
            return view(tx, self.relay, **named), views.around(tx, channels=self.relay.messaging.channels)

        return await asyncio.wrap_future(self.relay.store.submit_read(work))

    async def act(self, use_case: Callable[[Any], Outcome]) -> Outcome:
        """Carries out a use case. A browser that goes away leaves it alone: it was queued, and is carried out whole.

        A store that takes nothing is a refusal here, so that what the owner typed is shown to them again.
        """
        future: Future[Outcome] = self.relay.store.submit(use_case)
        try:
            return await asyncio.shield(asyncio.wrap_future(future))
        except (StoreFull, StoreReadOnly):
            return Outcome(refusal=Refusal("http.store_full", "FLT-4"))
        except StoreError as error:
            _log.error("the board could not write: %s", error)
            return Outcome(refusal=Refusal("http.store_unavailable", "FLT-4"))

    async def show(
        self,
        request: Request,
        page: Page,
        view: Callable[..., Outcome],
        address: str | Callable[[dict[str, Any]], str],
        title: str,
        *,
        notice: Notice | None = None,
        more: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> HTTPResponse:
        """A page, or of it the fragments that `?fragment=` names, or its JSON twin. `address` is the page's own; a
        function makes it from what the view found. `more` is for the template alone.
        """
        wanted = request.args.get("fragment", "") if request.method in ("GET", "HEAD") else ""

        async def make() -> HTTPResponse:
            outcome, around = await self.read(view, **named)
            if outcome.refusal is not None:
                return self.refuse(request, word_refusal(for_owner(outcome.refusal)), around)
            if wants_json(request):
                return _json({**outcome.data, **around})
            own = address(outcome.data) if callable(address) else address
            values = {**outcome.data, **around, **self._frame(request, page.place, own, title, notice), **(more or {})}
            return self._filled(page, values, wanted, notice)

        return await (self._shared.answer(request, make) if wanted else make())

    def _filled(self, page: Page, values: Mapping[str, Any], wanted: str, notice: Notice | None) -> HTTPResponse:
        """The whole page, or of it the fragments that are wanted."""
        if wanted:
            known = [name for name in ("nav", "standing", *page.fragments) if name in wanted.split(",")]
            return _html("".join(self._renderer.render(f"parts/{name}.html", values) for name in known))
        status = notice.answer.status if notice is not None else int(HTTPStatus.OK)
        return _html(self._renderer.render(page.template, values), status)

    async def refused(self, request: Request, answer: Answer) -> HTTPResponse:
        """`refuse` with what stands around every page."""
        _, around = await self.read(lambda _tx, _relay: Outcome())
        return self.refuse(request, answer, around)

    def refuse(self, request: Request, answer: Answer, around: Mapping[str, Any] | None = None) -> HTTPResponse:
        """A refusal that has no page to stand on: a page of its own, or a problem. Without `around` for strangers."""
        if wants_json(request):
            return problem(answer)
        if around is None:
            return _html(self._renderer.render("stranger.html", {"answer": answer}), answer.status)
        values = {**around, **self._frame(request, "", url("board"), heading(answer), None), "answer": answer}
        values["heading"] = heading(answer)
        return _html(self._renderer.render("refused.html", values), answer.status)

    def _frame(self, request: Request, place: str, address: str, title: str, notice: Notice | None) -> dict[str, Any]:
        path, _, query = address.partition("?")
        return {
            "place": place,
            "address": address,
            "json_address": (url("board_json") if path == "/" else f"{path}.json") + (f"?{query}" if query else ""),
            "title": title,
            "look": look_of(request),
            "csrf": self.gate.csrf_token(request),
            "notice": notice,
            "kept": notice.kept if notice is not None else {},
        }


def wants_json(request: Request) -> bool:
    """Whether the JSON twin of a page is asked for."""
    return request.path.endswith(".json")


def heading(answer: Answer) -> str:
    """What stands over a refusal that has a page of its own."""
    return "That is not here" if answer.status in _NOT_HERE else "Not done"


def go(address: str) -> HTTPResponse:
    """To another page, after something was done: a reload must not do it again."""
    return typed(HTTPResponse(b"", status=HTTPStatus.SEE_OTHER, headers={"Location": address}))


def typed(response: HTTPResponse) -> HTTPResponse:
    """An answer without a body gets a type all the same: Sanic writes "None" into the header of one that has none."""
    response.content_type = response.content_type or _PLAIN
    return response


def problem(answer: Answer) -> HTTPResponse:
    """A refusal as JSON (page 70, HTTP)."""
    members = {
        "type": "about:blank",
        "title": HTTPStatus(answer.status).phrase,
        "status": answer.status,
        "detail": answer.text,
        "code": answer.code,
        "spec_id": answer.spec_id,
    }
    return HTTPResponse(json.dumps(members), status=answer.status, content_type=PROBLEM)


def _json(value: Mapping[str, Any]) -> HTTPResponse:
    # ASCII only, and no markup: whatever shows this file shows what is in it.
    text = json.dumps(value, indent=2).translate(_MARKUP)
    return HTTPResponse(text, content_type="application/json")


def _html(text: str, status: int = 200) -> HTTPResponse:
    return HTTPResponse(text, status=status, content_type=HTML)
