"""Forms in which the owner's own words are not lost: a task's title and text are edited, and a comment that is taken
back stands in its form again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from sanic import HTTPResponse, Request

from relaybay.answers import word
from relaybay.domain import Caller, Outcome
from relaybay.service import comments, tasks, views_tasks
from relaybay.ui.desk import Desk, Notice
from relaybay.ui.forms import Form
from relaybay.ui.paths import url
from relaybay.ui.ports import RouteTable

_OWNER: Final = Caller(owner=True)
#: Where a task's page says that a comment was taken back.
TAKEN_BACK: Final = "taken_back"


class _Pages(Protocol):
    """The page that these forms stand on."""

    desk: Desk

    async def task(self, request: Request, key: str, *, notice: Notice | None = None) -> HTTPResponse: ...


def register_writing(routes: RouteTable, pages: _Pages, done: Callable[..., Awaitable[HTTPResponse]]) -> None:
    """Adds the routes; `done` carries a form out."""
    forms = _Forms(pages, done)
    routes.op("POST", "/tasks/<key:str>/edit", "form_task_edit", forms.edit, door="board")
    routes.op("POST", "/comments/<comment_id:str>/withdraw", "form_comment_withdraw", forms.withdraw, door="board")


class _Forms:
    def __init__(self, pages: _Pages, done: Callable[..., Awaitable[HTTPResponse]]) -> None:
        self._pages = pages
        self._desk = pages.desk
        self._done = done

    async def edit(self, request: Request, key: str) -> HTTPResponse:
        """Another title or text. Of two windows the last one wins; the timeline has both."""
        form = Form(request, "edit")
        given = {"title": form.get("title"), "body": form.get("body")}
        return await self._done(
            form,
            "edit",
            lambda tx: tasks.task_edit(tx, self._desk.relay, _OWNER, task=key, **given),
            lambda _: url("task", key=key),
            lambda notice: self._pages.task(request, key, notice=notice),
        )

    async def withdraw(self, request: Request, comment_id: str) -> HTTPResponse:
        """Takes a comment back in its first 5 s (CMT-12); refused, the page of its task says so. With `again` its text
        stands in the form of that page: it is stored nowhere any more, so the page comes with this very answer.
        """
        form = Form(request, "withdraw")
        written: dict[str, str] = {}

        def use_case(tx: Any) -> Outcome:
            before = views_tasks.written_in_comment(tx, self._desk.relay, comment_id=comment_id).data
            outcome = comments.withdraw(tx, comment_id=comment_id)
            return outcome if outcome.refusal else Outcome(data={**before, "task": outcome.data["task"]})

        async def again(notice: Notice) -> HTTPResponse:
            # One that is gone has no task any more: then the form says where it stood.
            found, _ = await self._desk.read(views_tasks.task_of_comment, comment_id=comment_id)
            key = found.data.get("task") or form.get("task")
            if not key:
                return await self._desk.refused(request, notice.answer)
            return await self._pages.task(request, key, notice=notice)

        def then(data: dict[str, Any]) -> str:
            # Asked for only when it is on the disk: a store that failed has taken nothing back.
            written.update(data)
            return url("task", "comments", key=data["task"])

        answer: HTTPResponse = await self._done(form, "withdraw", use_case, then, again)
        if not written or not form.get("again"):
            return answer
        notice = Notice(word("comment.withdrawn", comment_id=comment_id), TAKEN_BACK, written)
        return await self._pages.task(request, written["task"], notice=notice)
