"""The forms of a session's messaging: its `@name`, policy, topics and broadcasts (page 50, OWN-5 and 8 to 10)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from sanic import HTTPResponse, Request

from relaybay.domain import Outcome
from relaybay.service import session_controls, views_sessions
from relaybay.ui.desk import Desk, Notice, Page
from relaybay.ui.forms import Form
from relaybay.ui.paths import url
from relaybay.ui.ports import RouteTable

_CONFIRM: Final = Page("policy.html", "sessions")
#: Refusals that want the owner's word once more, over what is true now.
_ASKED_AGAIN: Final = ("confirmation_required", "confirmation_void")
_PANEL: Final = "messaging"
_Done = Callable[..., Awaitable[HTTPResponse]]


class _Pages(Protocol):
    """The page that these forms stand on."""

    desk: Desk

    async def session(self, request: Request, ref: str, *, notice: Notice | None = None) -> HTTPResponse: ...


def register_messaging(routes: RouteTable, pages: _Pages, done: _Done) -> None:
    """Adds the routes; `done` carries a form out."""
    forms = _Forms(pages, done)
    for name, handler in (
        ("name", forms.name),
        ("policy", forms.policy),
        ("topics", forms.topics),
        ("broadcasts", forms.broadcasts),
    ):
        routes.op("POST", f"/sessions/<ref:str>/{name}", f"form_session_{name}", handler, door="board")


class _Forms:
    def __init__(self, pages: _Pages, done: _Done) -> None:
        self._pages = pages
        self._desk = pages.desk
        self._done = done

    async def name(self, request: Request, ref: str) -> HTTPResponse:
        """Another `@name`; an empty one gives the generated name back."""
        form = Form(request, "session_name")
        given = {"session": ref, "name": form.get("name")}
        return await self._change(
            request, form, ref, lambda tx: session_controls.choose_name(tx, self._desk.relay, **given)
        )

    async def policy(self, request: Request, ref: str) -> HTTPResponse:
        """Another policy. A laxer one comes back as a page that asks once more, with what it may let go."""
        form = Form(request, "session_policy")
        given: dict[str, Any] = {"session": ref, "wanted": form.get("policy"), "seen": form.get("seen")}
        given["confirmed"] = form.get("confirmed") == "yes"

        async def again(notice: Notice) -> HTTPResponse:
            if notice.answer.code not in _ASKED_AGAIN:
                return await self._pages.session(request, ref, notice=notice)
            view, title = views_sessions.policy_page, f"Policy of {ref}"
            about: dict[str, Any] = {"ref": ref, "wanted": form.get("policy")}
            return await self._desk.show(
                request, _CONFIRM, view, url("session", ref=ref), title, notice=notice, **about
            )

        return await self._done(
            form,
            "session_policy",
            lambda tx: session_controls.set_policy(tx, self._desk.relay, **given),
            lambda _: url("session", _PANEL, ref=ref),
            again,
        )

    async def topics(self, request: Request, ref: str) -> HTTPResponse:
        """Patterns to add, one or several parted by blanks or commas, or one to remove."""
        form = Form(request, "session_topics")
        which = form.one_of("add", "remove")
        given = {which: form.get(which).replace(",", " ").split()}
        return await self._change(
            request,
            form,
            ref,
            lambda tx: session_controls.subscribe(tx, self._desk.relay, session=ref, **given),
        )

    async def broadcasts(self, request: Request, ref: str) -> HTTPResponse:
        """Whether the session receives broadcasts."""
        form = Form(request, "session_broadcasts")
        on = form.get("on") == "yes"
        return await self._change(
            request, form, ref, lambda tx: session_controls.set_broadcasts(tx, self._desk.relay, session=ref, on=on)
        )

    async def _change(self, request: Request, form: Form, ref: str, use_case: Callable[[Any], Outcome]) -> HTTPResponse:
        back = url("session", _PANEL, ref=ref)
        return await self._done(
            form,
            form.name,
            use_case,
            lambda _: form.back(back) if "back" in form.kept else back,
            lambda notice: self._pages.session(request, ref, notice=notice),
        )
