"""An ASGI application behind a Sanic route: how the MCP SDK's session manager answers on our own port.

Two servers' habits meet here. Sanic cancels a handler whose peer went away; an ASGI application expects to read
`http.disconnect` instead and to clean up by itself. So the application runs in a task of its own, and only hears
of the loss. The manager's `run()` must be entered and left by one task and works once per instance: it gets a task
of its own too, and a new instance per server start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol
from urllib.parse import unquote_to_bytes

from sanic import HTTPResponse, Request, Sanic
from sanic.compat import Header
from sanic.exceptions import RequestCancelled

from relaybay.answers import word
from relaybay.api.peer import over_unix
from relaybay.api.problems import problem
from relaybay.api.routes import Routes

Message = MutableMapping[str, Any]
AsgiApp = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]

LINGER_SECONDS: Final = 5.0
STOP_SECONDS: Final = 1.0
_EVENT_STREAM: Final = b"text/event-stream"
# Sanic frames the response itself and dates nothing; a second copy of these would contradict it.
_FRAMING: Final = frozenset({b"transfer-encoding", b"connection", b"date", b"keep-alive"})
_log = logging.getLogger(__name__)


class Manager(Protocol):
    """What the bridge needs of the SDK's `StreamableHTTPSessionManager`."""

    def run(self) -> AbstractAsyncContextManager[None]:
        """Entered and left once, by one task."""

    @property
    def asgi_app(self) -> AsgiApp:
        """The application to call while `run` is entered."""


class _Exchange:
    """One request and its response, seen from the ASGI side."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.gone = asyncio.Event()
        self.whole: HTTPResponse | None = None
        self.streaming = False
        self.complete: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._fed = False
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._stream: HTTPResponse | None = None

    async def receive(self) -> Message:
        """The body once, in one piece (the gate has read it); after that only the loss of the peer."""
        if not self._fed:
            self._fed = True
            return {"type": "http.request", "body": self.request.body or b"", "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Takes the application's answer. After the peer's loss, or the end, it is quietly dropped (ASGI 2.3)."""
        if self.gone.is_set() or self.complete.done():
            return
        if self._lost():
            self.gone.set()
            return
        try:
            if message["type"] == "http.response.start":
                await self._start(message)
            elif message["type"] == "http.response.body":
                await self._body(message.get("body", b""), more=message.get("more_body", False))
        except RequestCancelled:
            # Sanic's word for a closed transport is a CancelledError; let through, it would look to the
            # application's cancel scopes as if they had been cancelled themselves.
            self.gone.set()

    async def _start(self, message: Message) -> None:
        self._status = message["status"]
        self._headers = [(bytes(name).lower(), bytes(value)) for name, value in message.get("headers", [])]
        media = next((value for name, value in self._headers if name == b"content-type"), b"")
        if media.startswith(_EVENT_STREAM):
            # Headers of an event stream go out at once, not with the first event: a silent one may be long in coming.
            await (await self._open()).send(b"", end_stream=False)

    async def _body(self, body: bytes, *, more: bool) -> None:
        assert self._status, "a body before its start"
        if not more and not self.streaming:
            content_type, headers = self._split(keep_length=True)
            self.whole = HTTPResponse(body, status=self._status, headers=headers, content_type=content_type)
            self.complete.set_result(None)
            return
        stream = await self._open()
        if body or not more:
            await stream.send(body, end_stream=not more)
        if not more:
            self.complete.set_result(None)

    async def _open(self) -> HTTPResponse:
        if self._stream is None:
            content_type, headers = self._split(keep_length=False)
            self.streaming = True
            self._stream = await self.request.respond(status=self._status, headers=headers, content_type=content_type)
        return self._stream

    def _split(self, *, keep_length: bool) -> tuple[str, Header]:
        # Sanic writes a missing content type as the word "None": there is always one.
        content_type, headers = "application/octet-stream", Header()
        for name, value in self._headers:
            if name == b"content-type":
                content_type = _text(value)
            elif name not in _FRAMING and (keep_length or name != b"content-length"):
                headers.add(_text(name), _text(value))
        return content_type, headers

    def _lost(self) -> bool:
        facts, transport = self.request.conn_info, self.request.transport
        return facts is None or facts.lost or transport is None or transport.is_closing()


class AsgiBridge:
    """A Sanic handler that calls `app`. Without one it answers 503: the server is starting or stopping."""

    def __init__(self, app: AsgiApp | None = None) -> None:
        self.app = app
        self._open: dict[asyncio.Future[None], _Exchange] = {}

    @property
    def open_exchanges(self) -> int:
        """How many calls of the application have not returned yet."""
        return len(self._open)

    async def __call__(self, request: Request) -> HTTPResponse | None:
        """Answers one request with the application's answer."""
        if self.app is None:
            return problem(word("http.unavailable"))
        exchange = _Exchange(request)
        task = asyncio.ensure_future(self.app(_scope(request), exchange.receive, exchange.send))
        self._open[task] = exchange
        task.add_done_callback(self._forget)
        try:
            await asyncio.wait({task, exchange.complete}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # The answer is complete, or the peer left (Sanic then cancels us), or took too long. Whichever it is,
            # the application hears that nobody listens any more, and has a moment to wind up.
            exchange.gone.set()
            if not task.done():
                timer = asyncio.get_running_loop().call_later(LINGER_SECONDS, task.cancel)
                task.add_done_callback(lambda _: timer.cancel())
        return _outcome(exchange, task)

    async def close(self) -> None:
        """Ends all open exchanges: first by telling them that the peer is gone, then by cancelling them."""
        self.app = None
        for exchange in self._open.values():
            exchange.gone.set()
        for _ in range(2):
            if not self._open:
                return
            await asyncio.wait(set(self._open), timeout=STOP_SECONDS / 2)
            for task in self._open:
                task.cancel()

    def _forget(self, task: asyncio.Future[None]) -> None:
        exchange = self._open.pop(task, None)
        if exchange is not None and exchange.gone.is_set() and not task.cancelled() and task.exception():
            _log.warning("the application failed after its peer had left", exc_info=task.exception())


def _outcome(exchange: _Exchange, task: asyncio.Future[None]) -> HTTPResponse | None:
    failure = task.exception() if task.done() and not task.cancelled() else None
    if exchange.complete.done() and failure is not None:
        _log.warning("the application failed after its answer", exc_info=failure)
    if exchange.whole is not None:
        return exchange.whole
    if exchange.streaming:
        if not exchange.complete.done() and not task.cancelled():
            # A stream that broke off must not look complete: no last chunk, the connection just ends.
            _log.error("the application broke off a stream", exc_info=failure)
            exchange.request.transport.abort()  # type: ignore[attr-defined]
        return None
    if task.cancelled():
        return problem(word("http.unavailable"))
    if failure is not None:
        raise failure
    raise RuntimeError("the application returned without an answer")


def _scope(request: Request) -> dict[str, Any]:
    facts = request.conn_info
    assert facts is not None
    raw_path, _, query = request.raw_url.partition(b"?")
    local = over_unix(request)
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": request.version,
        "method": request.method,
        "scheme": "http",
        "path": unquote_to_bytes(raw_path).decode("utf-8", "replace"),
        "raw_path": raw_path,
        "query_string": query,
        "root_path": "",
        "client": None if local else (facts.client_ip, facts.client_port),
        "server": (facts.server, None) if local else facts.sockname[:2],
        "state": {},
        "extensions": {},
        # The wire's own bytes again, with the blanks around a value taken off on both sides (RFC 9110, 5.5);
        # Sanic takes them off on the left only.
        "headers": [(_bytes(name.lower()), _bytes(value.strip(" \t"))) for name, value in request.headers.items()],
    }


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


class _ManagerTask:
    """The one task in which a manager runs."""

    def __init__(self, manager: Manager, ended: Callable[[], None]) -> None:
        self._manager = manager
        self._ready = asyncio.Event()
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name="mcp-manager")
        self._task.add_done_callback(lambda _: ended())

    async def _run(self) -> None:
        async with self._manager.run():
            self._ready.set()
            await self._stop.wait()

    async def started(self) -> None:
        """Returns when the manager can be called; raises what kept it from starting."""
        ready = asyncio.create_task(self._ready.wait())
        try:
            await asyncio.wait({ready, self._task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        if self._task.done():
            self._task.result()

    async def stop(self) -> None:
        """Lets the manager leave its `run`, within a second."""
        self._stop.set()
        done, _ = await asyncio.wait({self._task}, timeout=STOP_SECONDS)
        if not done:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=STOP_SECONDS)
        elif not self._task.cancelled() and (failure := self._task.exception()):
            _log.error("the MCP manager failed", exc_info=failure)


def mount(routes: Routes, make_manager: Callable[[], Manager], *, path: str = "/mcp") -> AsgiBridge:
    """Serves a manager at `path` behind the door `mcp`, for as long as the server runs.

    Args:
        routes: the app's registry.
        make_manager: called at each server start, when `app.ctx.listening.port` is known already.
        path: where clients find it.
    """
    bridge = AsgiBridge()
    for method in ("GET", "POST", "DELETE"):
        routes.op(method, path, f"mcp_{method.lower()}", bridge, door="mcp", head=False)
    running: list[_ManagerTask] = []

    def ended() -> None:
        bridge.app = None

    @routes.app.before_server_start
    async def _start(_: Sanic) -> None:  # type: ignore[type-arg]
        manager = make_manager()
        task = _ManagerTask(manager, ended)
        running.append(task)
        await task.started()
        bridge.app = manager.asgi_app

    @routes.app.before_server_stop
    async def _stop(_: Sanic) -> None:  # type: ignore[type-arg]
        await bridge.close()
        while running:
            await running.pop().stop()

    return bridge
