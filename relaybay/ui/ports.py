"""What the board needs of the HTTP layer, which it may not import: a place for routes, and the gate's two services."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Literal, Protocol

from sanic import HTTPResponse, Request

Handler = Callable[..., Coroutine[Any, Any, HTTPResponse | None]]


class RouteTable(Protocol):
    """Where operations are added (`api/routes.py`)."""

    @property
    def app(self) -> Any:
        """The Sanic app that they are added to."""

    def op(
        self,
        method: str,
        path: str,
        operation_id: str,
        handler: Handler,
        *,
        door: Literal["open", "board"],
        summary: str = "",
        head: bool = True,
        cache: str | None = None,
        upload: bool = False,
    ) -> Any:
        """Adds one operation."""


class Part(Protocol):
    """One part of a form with files, as the gate leaves them in `request.ctx.parts`."""

    @property
    def name(self) -> str:
        """The field's name."""

    @property
    def filename(self) -> str | None:
        """The file's name; None for a field that is no file."""

    @property
    def media_type(self) -> str:
        """What the browser says that it is."""

    @property
    def content(self) -> bytes:
        """The bytes."""

    @property
    def text(self) -> str:
        """The content as UTF-8."""


class Gatekeeper(Protocol):
    """Logins and form tokens (`api/gate.py`)."""

    def log_in(self, code: str) -> HTTPResponse:
        """The answer to a one-time code."""

    def log_out(self, request: Request) -> HTTPResponse:
        """Ends the caller's login."""

    def csrf_token(self, request: Request) -> str:
        """The token of this caller's forms."""
