"""The board's forms: each unpacks its fields, calls one use case as the owner, and goes on to a page (303).

A refusal changes nothing: the form's page is shown again with the refusal at the form and what was typed still in it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final, Protocol

from sanic import HTTPResponse, Request

from relaybay.answers import Answer, word_refusal
from relaybay.domain import Caller, Outcome
from relaybay.service import binding, comments, inbox, projects, sessions, tasks
from relaybay.service.views_owner import for_owner
from relaybay.ui.desk import Desk, Notice, go, typed
from relaybay.ui.files import register_files
from relaybay.ui.forms import Form
from relaybay.ui.messaging import register_messaging
from relaybay.ui.pages_reviews import register_reviews
from relaybay.ui.paths import url
from relaybay.ui.ports import RouteTable
from relaybay.ui.writing import register_writing

_OWNER: Final = Caller(owner=True)
_Again = Callable[[Notice], Awaitable[HTTPResponse]]


class _Pages(Protocol):
    """The pages that a refused form is shown on again."""

    desk: Desk

    async def board(self, request: Request, *, notice: Notice | None = None) -> HTTPResponse: ...
    async def inbox(self, request: Request, *, notice: Notice | None = None, at: str = "") -> HTTPResponse: ...
    async def projects(self, request: Request, *, notice: Notice | None = None) -> HTTPResponse: ...
    async def session(self, request: Request, ref: str, *, notice: Notice | None = None) -> HTTPResponse: ...
    async def task(self, request: Request, key: str, *, notice: Notice | None = None) -> HTTPResponse: ...


def register_actions(routes: RouteTable, pages: _Pages) -> None:
    """Adds every POST of the board."""
    actions = Actions(pages)
    for path, name, handler in (
        ("/tasks", "task_create", actions.task_create),
        ("/tasks/<key:str>/comments", "task_comment", actions.comment),
        ("/tasks/<key:str>/replies/read", "task_replies_read", actions.replies_read),
        ("/tasks/<key:str>/bind", "task_bind", actions.bind),
        ("/tasks/<key:str>/status", "task_status", actions.status),
        ("/tasks/<key:str>/steps", "task_steps", actions.steps),
        ("/messages/<message_id:str>/seen", "message_seen", actions.message_seen),
        ("/inbox/seen", "inbox_seen", actions.entry_seen),
        ("/projects", "project_add", actions.project_add),
        ("/sessions/<ref:str>/rename", "session_rename", actions.rename),
        ("/sessions/<ref:str>/end", "session_end", actions.end),
        ("/sessions/<ref:str>/unlink", "session_unlink", actions.unlink),
        ("/logout", "log_out", actions.log_out),
    ):
        routes.op("POST", path, f"form_{name}", handler, door="board")
    register_files(routes, pages, actions.done)
    register_messaging(routes, pages, actions.done)
    register_reviews(routes, pages.desk, actions.done)
    register_writing(routes, pages, actions.done)


class Actions:
    """One method a form."""

    def __init__(self, pages: _Pages) -> None:
        self._pages = pages
        self._desk = pages.desk

    async def done(
        self,
        form: Form,
        at: str,
        use_case: Callable[[Any], Outcome],
        then: Callable[[dict[str, Any]], str],
        again: _Again,
    ) -> HTTPResponse:
        """Carries out `use_case`; goes on to `then`, or shows the form's page `again` with a notice at the form.

        A form that is at fault itself gets to no use case.
        """
        answer = form.fault
        if answer is None:
            outcome = await self._desk.act(use_case)
            if outcome.refusal is None:
                return go(then(outcome.data))
            answer = _as_refusal(word_refusal(for_owner(outcome.refusal)))
        return await again(Notice(answer, at, form.kept))

    # --- tasks ---

    async def task_create(self, request: Request) -> HTTPResponse:
        """A new task."""
        form = Form(request, "task_create")
        given = {name: form.get(name).strip() for name in ("project", "title")}
        given |= {"body": form.get("body"), "status": form.get("status") or "inbox"}
        return await self.done(
            form,
            "task_create",
            lambda tx: tasks.task_create(tx, self._desk.relay, _OWNER, **given),
            lambda data: url("task", key=data["key"]),
            lambda notice: self._pages.board(request, notice=notice),
        )

    async def comment(self, request: Request, key: str) -> HTTPResponse:
        """The owner comments (CMT-1, CMT-2); nobody is handed it for 5 s. `at` says that it was written in the Inbox:
        then the entry `then` is in focus next.
        """
        form = Form(request, "comment")
        body, parent, step = form.get("body"), form.get("in_reply_to"), form.number_maybe("step")
        file, at, then = form.get("attachment"), form.get("at"), form.get("then")

        def use_case(tx: Any) -> Outcome:
            about: dict[str, Any] = {"in_reply_to": parent, "step": step, "attachment": file}
            return comments.owner_comment(tx, self._desk.relay, task=key, body=body, from_board=True, **about)

        if at:
            return await self.done(
                form,
                "answer",
                use_case,
                lambda data: url("inbox", at=then, undo=data["id"]),
                lambda notice: self._pages.inbox(request, notice=notice, at=at),
            )
        return await self.done(
            form,
            "comment",
            use_case,
            lambda data: url("task", data["id"], key=key),
            lambda notice: self._pages.task(request, key, notice=notice),
        )

    async def replies_read(self, request: Request, key: str) -> HTTPResponse:
        """Marks the agents' replies on a task as read (CMT-10)."""
        form = Form(request, "replies_read")
        return await self.done(
            form,
            "replies_read",
            lambda tx: comments.replies_read(tx, task=key),
            lambda _: form.back(url("task", "comments", key=key)),
            lambda notice: self._pages.task(request, key, notice=notice),
        )

    async def bind(self, request: Request, key: str) -> HTTPResponse:
        """Binds the task to a session, or to none."""
        form = Form(request, "bind")
        session = form.get("session").strip()

        def use_case(tx: Any) -> Outcome:
            if not session:
                return binding.task_unbind(tx, self._desk.relay, _OWNER, task=key)
            return binding.task_bind_session(tx, self._desk.relay, _OWNER, task=key, session=session)

        return await self._change(request, form, key, "bind", use_case)

    async def status(self, request: Request, key: str) -> HTTPResponse:
        """Moves the task to another column."""
        form = Form(request, "status")
        change = tasks.Change(status=form.get("status"))
        return await self._change(
            request,
            form,
            key,
            "status",
            lambda tx: tasks.task_update(tx, self._desk.relay, _OWNER, task=key, change=change),
        )

    async def steps(self, request: Request, key: str) -> HTTPResponse:
        """Adds a step, or marks one done or not done. Who added one finds the field ready for the next."""
        form = Form(request, "steps")
        then = url("task", key=key)
        match form.one_of("text", "done", "undone"):
            case "done":
                change = tasks.Change(step_done=form.number("done"))
            case "undone":
                change = tasks.Change(step_undone=form.number("undone"))
            case _:
                change = tasks.Change(step_add=form.get("text"))
                then = url("task", "add-step", key=key, add="step")
        return await self._change(
            request,
            form,
            key,
            "steps",
            lambda tx: tasks.task_update(tx, self._desk.relay, _OWNER, task=key, change=change),
            then,
        )

    async def _change(
        self, request: Request, form: Form, key: str, at: str, use_case: Callable[[Any], Outcome], then: str = ""
    ) -> HTTPResponse:
        return await self.done(
            form,
            at,
            use_case,
            lambda _: form.back(then or url("task", key=key)),
            lambda notice: self._pages.task(request, key, notice=notice),
        )

    async def project_add(self, request: Request) -> HTTPResponse:
        """A new project, or a new title or folder for one."""
        form = Form(request, "project_add")
        given = {name: form.get(name).strip() for name in ("slug", "title", "root")}
        return await self.done(
            form,
            "project_add",
            lambda tx: projects.project_add(tx, self._desk.relay, _OWNER, **given),
            lambda _: url("projects"),
            lambda notice: self._pages.projects(request, notice=notice),
        )

    # --- the Inbox ---

    async def message_seen(self, request: Request, message_id: str) -> HTTPResponse:
        """The owner has seen a message whose answer was refused as too deep (SEND-13)."""
        return await self._seen(request, Form(request, "message_seen"), "reply_too_deep", message_id)

    async def entry_seen(self, request: Request) -> HTTPResponse:
        """The owner has seen any other entry of the Inbox's own."""
        form = Form(request, "entry_seen")
        return await self._seen(request, form, form.get("kind"), form.get("ref"))

    async def _seen(self, request: Request, form: Form, kind: str, ref: str) -> HTTPResponse:
        return await self.done(
            form,
            "inbox",
            lambda tx: inbox.seen(tx, kind=kind, ref=ref),
            lambda _: form.back(url("inbox")),
            lambda notice: self._pages.inbox(request, notice=notice),
        )

    # --- sessions ---

    async def rename(self, request: Request, ref: str) -> HTTPResponse:
        """A new title; the old one stays as an alias."""
        form = Form(request, "rename")
        title = form.get("title")
        return await self._session(
            request, form, ref, "rename", lambda tx: sessions.rename(tx, self._desk.relay, ref, title)
        )

    async def end(self, request: Request, ref: str) -> HTTPResponse:
        """The owner says that a session is over."""
        return await self._session(
            request, Form(request, "end"), ref, "end", lambda tx: sessions.end(tx, self._desk.relay, ref)
        )

    async def unlink(self, request: Request, ref: str) -> HTTPResponse:
        """The way out of a wrong link (LINK-20)."""
        return await self._session(
            request, Form(request, "unlink"), ref, "unlink", lambda tx: sessions.unlink(tx, self._desk.relay, ref)
        )

    async def _session(
        self, request: Request, form: Form, ref: str, at: str, use_case: Callable[[Any], Outcome]
    ) -> HTTPResponse:
        return await self.done(
            form,
            at,
            use_case,
            lambda _: url("session", ref=ref),
            lambda notice: self._pages.session(request, ref, notice=notice),
        )

    async def log_out(self, request: Request) -> HTTPResponse:
        """Ends this browser's login."""
        fault = Form(request, "log_out").fault
        if fault is not None:
            return await self._desk.refused(request, fault)
        return typed(self._desk.gate.log_out(request))


def _as_refusal(answer: Answer) -> Answer:
    # A sentence that elsewhere goes along with an answer has no status of its own.
    if answer.status >= HTTPStatus.BAD_REQUEST:
        return answer
    return replace(answer, status=int(HTTPStatus.UNPROCESSABLE_ENTITY), error=True)
