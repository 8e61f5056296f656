"""Runs one Sanic app in one process on TCP and on the Unix socket, from `ready` to a clean end.

Sanic's own `run` is not used: its manager mode can hang on an early SIGTERM, and no mode of it tells when the
server answers. The loop here is ours; the steps, and Sanic's listeners within them, keep Sanic's order.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import resource
import secrets
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from sanic import Sanic
from sanic.models.server_types import Signal
from sanic.server.async_server import AsyncioServer
from sanic.server.protocols.http_protocol import HttpProtocol

from relaybay.api.fast_path import FastPathProtocol
from relaybay.api.listeners import BACKLOG, Listening, UnixListener, bind_tcp
from relaybay.api.problems import ProblemHandler
from relaybay.api.requests import AnyTargetRequest
from relaybay.api.strict_json import dumps, loads

# Together under the 5 s that a SIGTERM may take (page 70, Interface).
STOP_SECONDS: Final = 1.8
DRAIN_SECONDS: Final = 1.2
CLOSE_SECONDS: Final = 1.0
_CANCEL_SECONDS: Final = 0.5
_STEP_SECONDS: Final = 0.02
_log = logging.getLogger(__name__)

try:
    import uvloop
except ImportError:  # Sanic brings it wherever it can be built; elsewhere the standard loop does, more slowly.
    _make_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
else:
    _make_loop = uvloop.new_event_loop

App = Sanic[Any, Any]


def make_app(name: str = "") -> App:
    """A Sanic app with this server's settings: strict JSON, our refusals, no extension, no banner.

    `request.json` and Sanic's `json()` are strict too. Names must differ within a process; by default they do.
    """
    app: App = Sanic(
        name or f"relaybay-{secrets.token_hex(4)}",
        configure_logging=False,
        request_class=AnyTargetRequest,
        error_handler=ProblemHandler(),
        loads=loads,
        dumps=lambda value, **_: dumps(value).decode("utf-8"),
    )
    app.config.update(
        AUTO_EXTEND=False,
        ACCESS_LOG=False,
        MOTD=False,
        FALLBACK_ERROR_FORMAT="json",
        # The gate sets each door's own limit; this is what Sanic reads at most to skip a refused body.
        REQUEST_MAX_SIZE=8 << 20,
        REQUEST_MAX_HEADER_SIZE=16_384,
        REQUEST_TIMEOUT=10,
        # A wait polls for 50 s and streams ping every 15 s; silence beyond this is a fault.
        RESPONSE_TIMEOUT=60,
        KEEP_ALIVE_TIMEOUT=120,
        GRACEFUL_TCP_CLOSE_TIMEOUT=1.0,
    )
    return app


def serve(
    app: App,
    *,
    host: str = "127.0.0.1",
    port: int,
    socket_path: Path | None,
    ready: Callable[[Listening], None],
) -> None:
    """Serves until SIGTERM or SIGINT, then ends within 5 s. A second signal skips what waiting is left.

    Args:
        app: from `make_app`, with its routes.
        host: a loopback address.
        port: 0 takes a free one.
        socket_path: where the Unix socket goes, in a folder of mode 0700; None for TCP alone.
        ready: called once, when both sockets are answered.

    Raises:
        BindRefused: `port_taken`, `bind_failed`, `host_not_loopback`.
    """
    listener = bind_tcp(host, port)
    _raise_open_files()
    run = _Run(app, listener, socket_path, ready)
    with _new_loop() as loop:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, run.stop)
        loop.run_until_complete(run.main())


class ServerThread:
    """A server in a thread, on a free port: `with ServerThread(app) as server: … server.url …`. For tests and demo.

    The same code as `serve`, without signals. Raises in `start` whatever kept the server from starting.
    """

    def __init__(self, app: App, *, host: str = "127.0.0.1", port: int = 0, socket_path: Path | None = None) -> None:
        self.app = app
        self._where = (host, port, socket_path)
        self._listening: Listening | None = None
        self._failure: BaseException | None = None
        self._started = threading.Event()
        self._run: _Run | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._main, name="relaybay-server", daemon=True)

    @property
    def listening(self) -> Listening:
        """Where it answers."""
        assert self._listening is not None, "not started"
        return self._listening

    @property
    def port(self) -> int:
        """The TCP port."""
        return self.listening.port

    @property
    def url(self) -> str:
        """The TCP address, without a slash at the end."""
        return self.listening.url

    def start(self) -> Self:
        """Returns when the server answers."""
        self._thread.start()
        self._started.wait()
        if self._failure is not None:
            self._thread.join()
            raise self._failure
        return self

    def stop(self) -> None:
        """Ends the server as a signal would, and waits for its end."""
        if self._loop is not None and self._run is not None and self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # The loop ended between the question and the call.
                self._loop.call_soon_threadsafe(self._run.stop)
        self._thread.join()

    def __enter__(self) -> Self:
        """Starts."""
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops."""
        self.stop()

    def _main(self) -> None:
        try:
            host, port, socket_path = self._where
            self._run = _Run(self.app, bind_tcp(host, port), socket_path, self._ready)
            with _new_loop() as self._loop:
                self._loop.run_until_complete(self._run.main())
        except BaseException as failure:  # noqa: BLE001 - handed to the thread that called start().
            self._failure = failure
        finally:
            self._started.set()

    def _ready(self, listening: Listening) -> None:
        self._listening = listening
        self._started.set()


class _Run:
    """One life of a server on a loop: start, wait for the end, stop."""

    def __init__(
        self, app: App, listener: socket.socket, socket_path: Path | None, ready: Callable[[Listening], None]
    ) -> None:
        self._app = app
        self._listener = listener
        self._socket_path = socket_path
        self._ready = ready
        self._end = asyncio.Event()
        self._hurry = False
        self._server: AsyncioServer | None = None
        self._unix: UnixListener | None = None
        self._unix_server: asyncio.Server | None = None

    def stop(self) -> None:
        """Asks for the end; asked again, it stops waiting for open requests."""
        self._hurry = self._end.is_set()
        self._end.set()

    async def main(self) -> None:
        """The whole life. Stop listeners also run when a start listener failed: they must bear half a start."""
        try:
            listening = await self._start()
            if not self._end.is_set():
                self._ready(listening)
            await self._end.wait()
        finally:
            await self._stop()
            self._listener.close()
            Sanic.unregister_app(self._app)

    async def _start(self) -> Listening:
        app = self._app
        # Sanic recompiles its own classes once, without the signals that no app uses; a second time it fails.
        # All our apps use none, so what the first start made serves the later ones.
        app.config.TOUCHUP = not getattr(HttpProtocol, "__touched__", False)
        if self._socket_path is not None:
            self._unix = UnixListener.bind(self._socket_path)
        host, port = self._listener.getsockname()[:2]
        listening = Listening(host, port, self._unix.path if self._unix else None)
        app.ctx.listening = listening
        server = await app.create_server(
            sock=self._listener,
            protocol=FastPathProtocol,
            backlog=BACKLOG,
            asyncio_server_kwargs={"start_serving": False},
        )
        assert server is not None
        self._server = server
        await server.startup()  # type: ignore[no-untyped-call]
        await server.before_start()  # type: ignore[no-untyped-call]
        await server.start_serving()  # type: ignore[no-untyped-call]
        if self._unix is not None:
            self._unix_server = await self._listen_unix(server, self._unix)
        await server.after_start()  # type: ignore[no-untyped-call]
        return listening

    async def _listen_unix(self, server: AsyncioServer, unix: UnixListener) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        protocol = functools.partial(
            FastPathProtocol,
            loop=loop,
            app=self._app,
            signal=Signal(),
            connections=server.connections,
            unix=str(unix.path),
        )
        return await loop.create_unix_server(protocol, sock=unix.socket, backlog=BACKLOG)

    async def _stop(self) -> None:
        server = self._server
        for listening in (self._unix_server, server.server if server else None):
            if listening is not None:
                listening.close()
        if self._unix is not None:
            self._unix.close()
        if server is None or not self._app.state.is_started:
            return
        await _within(STOP_SECONDS, server.before_stop(), "stop listeners")  # type: ignore[no-untyped-call]
        await self._drain(server)
        await _within(CLOSE_SECONDS, server.after_stop(), "last stop listeners")  # type: ignore[no-untyped-call]

    async def _drain(self, server: AsyncioServer) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + DRAIN_SECONDS
        while server.connections and loop.time() < until and not self._hurry:
            for connection in list(server.connections):
                connection.close_if_idle()
            await asyncio.sleep(_STEP_SECONDS)
        for connection in list(server.connections):
            # Not the protocol's own `abort`: it drops the transport, and a request read only in part then fails in
            # Sanic's clean-up.
            if connection.transport is not None:
                connection.transport.abort()
        self._app.shutdown_tasks(timeout=0)
        # One turn for aborted connections to cancel their handlers, one for the handlers' own clean-up.
        await asyncio.sleep(_STEP_SECONDS)


async def _within(seconds: float, work: Awaitable[None], what: str) -> None:
    try:
        async with asyncio.timeout(seconds):
            await work
    except Exception:  # noqa: BLE001 - logged, with its trace.
        # The end goes on: a listener that fails must not keep the process, or the data folder's lock.
        _log.exception("%s failed or took longer than %.1f s", what, seconds)


@contextlib.contextmanager
def _new_loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = _make_loop()
    asyncio.set_event_loop(loop)
    try:
        yield loop
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=_CANCEL_SECONDS))
        loop.run_until_complete(loop.shutdown_asyncgens())
        asyncio.set_event_loop(None)
        # The default executor is not waited for: a thread stuck in it must not hold the end up.
        loop.close()


def _raise_open_files() -> None:
    # A listener costs a descriptor, and the usual soft limit of 1,024 is far under what is asked for (PERF-9).
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
