"""What is held for the owner: the tab of `/messages`, one message's review page, and its three forms (page 50, REV).

A page gives no token: opening a review is a form. There is none for several messages at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from sanic import HTTPResponse, Request

from relaybay.domain import Outcome
from relaybay.service import reviews, views_reviews
from relaybay.ui.desk import Desk, Notice, Page, wants_json
from relaybay.ui.forms import Form
from relaybay.ui.paths import url
from relaybay.ui.ports import RouteTable

_LIST: Final = Page("reviews.html", "messages", ("review_list",))
_REVIEW: Final = Page("review.html", "messages", ("review",))
_AT: Final = "review"
_Done = Callable[..., Awaitable[HTTPResponse]]


async def for_review(desk: Desk, request: Request) -> HTTPResponse:
    """`/messages?tab=review`."""
    return await desk.show(request, _LIST, views_reviews.review_list, url("messages", tab="review"), "For review")


def register_reviews(routes: RouteTable, desk: Desk, done: _Done) -> None:
    """Adds the routes; `done` carries a form out."""
    pages = _Reviews(desk, done)
    path, message = "/messages/<message_id:str>/review", "/messages/<message_id:str>"
    routes.op("GET", path, "page_review", pages.page, door="board")
    routes.op("GET", f"{path}.json", "page_review_json", pages.page, door="board")
    routes.op("POST", path, "form_review_open", pages.open, door="board")
    routes.op("POST", f"{message}/approve", "form_review_approve", pages.approve, door="board")
    routes.op("POST", f"{message}/reject", "form_review_reject", pages.reject, door="board")


class _Reviews:
    def __init__(self, desk: Desk, done: _Done) -> None:
        self._desk = desk
        self._done = done

    async def page(self, request: Request, message_id: str) -> HTTPResponse:
        """The review as it is: this opens none."""
        return await self._show(request, message_id, request.args.get("session", ""))

    async def open(self, request: Request, message_id: str) -> HTTPResponse:
        """REV-1: from now on its text stands on its page, with the token that a decision takes."""
        form = Form(request, "review_open")
        session = form.get("session")
        return await self._decided(
            request,
            form,
            message_id,
            lambda tx: reviews.open_review(tx, self._desk.relay, message_id=message_id, session=session),
        )

    async def approve(self, request: Request, message_id: str) -> HTTPResponse:
        """REV-4: this one message, once. Its page says what becomes of it."""
        form = Form(request, "review_approve")
        given = {"message_id": message_id, "token": form.get("review"), "session": form.get("session")}
        return await self._decided(request, form, message_id, lambda tx: reviews.approve(tx, self._desk.relay, **given))

    async def reject(self, request: Request, message_id: str) -> HTTPResponse:
        """REV-5: final."""
        form = Form(request, "review_reject")
        given = {"message_id": message_id, "token": form.get("review"), "session": form.get("session")}
        return await self._decided(request, form, message_id, lambda tx: reviews.reject(tx, self._desk.relay, **given))

    async def _decided(
        self, request: Request, form: Form, message_id: str, use_case: Callable[[Any], Outcome]
    ) -> HTTPResponse:
        session = form.get("session")
        return await self._done(
            form,
            _AT,
            use_case,
            lambda _: url("review", id=message_id, session=session),
            lambda notice: self._show(request, message_id, session, notice),
        )

    async def _show(
        self, request: Request, message_id: str, session: str, notice: Notice | None = None
    ) -> HTTPResponse:
        address = url("review", id=message_id, session=session)
        view: Callable[..., Outcome] = views_reviews.review_page
        given: dict[str, Any] = {"message_id": message_id, "session": session}
        if notice is not None and not wants_json(request):
            # Whatever was wrong with the form, and the message may be at fault itself: then nothing else can be shown.
            found, _ = await self._desk.read(view, **given)
            if found.refusal is not None:
                return await self._desk.refused(request, notice.answer)
        return await self._desk.show(request, _REVIEW, view, address, "Review", notice=notice, **given)
