"""Files of a task: the form that puts one there, the one that takes it off, and the way to get it back.

A file is only ever handed out as a download of unknown type: whatever it holds, no browser shows it as a page of ours.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol
from urllib.parse import quote

from sanic import HTTPResponse, Request

from relaybay.answers import word_refusal
from relaybay.domain import Outcome
from relaybay.service import attachments
from relaybay.service.views_owner import for_owner
from relaybay.ui.desk import Desk, Notice
from relaybay.ui.forms import Form
from relaybay.ui.paths import url
from relaybay.ui.ports import RouteTable
from relaybay.ui.text import decoded_line

_NOT_ASCII: Final = re.compile(r"[^A-Za-z0-9 ._-]")
_HIDDEN: Final = ("Cc", "Cf", "Zl", "Zp")
_Done = Callable[..., Awaitable[HTTPResponse]]


class _Pages(Protocol):
    """The page that a refused form is shown on again."""

    desk: Desk

    async def task(self, request: Request, key: str, *, notice: Notice | None = None) -> HTTPResponse: ...


def register_files(routes: RouteTable, pages: _Pages, done: _Done) -> None:
    """Adds the routes. `done` carries a form's use case out (`actions.py`)."""
    files = Files(pages, done)
    routes.op("POST", "/tasks/<key:str>/files", "form_task_attach", files.attach, door="board", upload=True)
    routes.op("POST", "/tasks/<key:str>/files/<number:str>/remove", "form_task_detach", files.detach, door="board")
    routes.op("GET", "/tasks/<key:str>/files/<number:str>", "task_file", files.fetch, door="board")


class Files:
    """One method a route."""

    def __init__(self, pages: _Pages, done: _Done) -> None:
        self._pages = pages
        self._done = done

    async def attach(self, request: Request, key: str) -> HTTPResponse:
        """Puts the file to the task."""
        form = Form(request, "attach")
        part = form.file("file")

        def use_case(tx: Any) -> Outcome:
            assert part is not None, "a form at fault gets to no use case"
            name = part.filename or ""
            return attachments.attach(tx, task=key, name=name, media_type=part.media_type, content=part.content)

        return await self._change(request, form, key, use_case)

    async def detach(self, request: Request, key: str, number: str) -> HTTPResponse:
        """Takes it off."""
        form = Form(request, "detach")
        return await self._change(request, form, key, lambda tx: attachments.detach(tx, task=key, number=number))

    async def _change(self, request: Request, form: Form, key: str, use_case: Callable[[Any], Outcome]) -> HTTPResponse:
        return await self._done(
            form,
            "files",
            use_case,
            lambda _: url("task", "task_files", key=key),
            lambda notice: self._pages.task(request, key, notice=notice),
        )

    async def fetch(self, request: Request, key: str, number: str) -> HTTPResponse:
        """The file as a download."""
        outcome, around = await self._pages.desk.read(attachments.fetch, task=key, number=number)
        if outcome.refusal is not None:
            return self._pages.desk.refuse(request, word_refusal(for_owner(outcome.refusal)), around)
        response = HTTPResponse(outcome.data["content"], content_type=attachments.UNKNOWN_TYPE)
        response.headers["content-disposition"] = disposition(decoded_line(outcome.data["name"]))
        return response


def disposition(name: str) -> str:
    """`Content-Disposition` of a download (RFC 6266): a plain name for old readers, the whole one for others. What
    nobody would see is left out: it could make one ending look like another.
    """
    shown = "".join(char for char in name if unicodedata.category(char) not in _HIDDEN)
    plain = _NOT_ASCII.sub("_", shown).strip() or "file"
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(shown or 'file', safe='')}"
