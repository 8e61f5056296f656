"""The floors: servers that do the least, each a process of its own. `python -m bench.floor_server KIND [DATABASE]`.

`echo` writes fixed bytes back and shows what the load generator can do; `sanic` is a bare Sanic app on the loop that
relaybay serves with: `POST /json` reads a JSON object and answers one, `POST /durable` also puts it on the disk, by one
writer thread that commits whatever is waiting at once (SQLite, WAL, synchronous FULL). Prints one line with its port.
"""

from __future__ import annotations

import asyncio
import json
import queue
import sqlite3
import sys
import threading
from pathlib import Path

from sanic import HTTPResponse, Request, Sanic

from bench.wire import is_whole
from relaybay.api.listeners import bind_tcp
from relaybay.api.serving import _make_loop, serve

_JSON = "application/json"
_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
_GROUP_MAX = 128


class _Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.part = transport, b""

    def data_received(self, data: bytes) -> None:
        self.part += data
        if is_whole(self.part):
            self.part = b""
            self.transport.write(_ANSWER)  # type: ignore[attr-defined]


def echo() -> None:
    """Serves until it is ended."""
    listener = bind_tcp("127.0.0.1", 0)
    loop = _make_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(loop.create_server(_Echo, sock=listener, backlog=128))
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    loop.run_forever()


class Writer:
    """One thread, one connection: takes what is waiting, inserts it, commits once, tells all of them."""

    def __init__(self, path: Path) -> None:
        self._waiting: queue.SimpleQueue[tuple[str, asyncio.Future[None]]] = queue.SimpleQueue()
        self._path = path
        threading.Thread(target=self._main, daemon=True).start()

    async def write(self, text: str) -> None:
        """Returns when the text is on the disk."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.put((text, done))
        await done

    def _main(self) -> None:
        store = sqlite3.connect(self._path, isolation_level=None)
        for line in (
            "PRAGMA journal_mode=WAL",
            "PRAGMA synchronous=FULL",
            "CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, body TEXT)",
        ):
            store.execute(line)
        while True:
            group = [self._waiting.get()]
            while len(group) < _GROUP_MAX and not self._waiting.empty():
                group.append(self._waiting.get())
            store.execute("BEGIN IMMEDIATE")
            for text, _ in group:
                store.execute("INSERT INTO t (body) VALUES (?)", (text,))
            store.execute("COMMIT")
            for _, done in group:
                done.get_loop().call_soon_threadsafe(done.set_result, None)


def sanic(database: Path | None) -> None:
    """Serves until SIGTERM."""
    app: Sanic = Sanic(  # type: ignore[type-arg]
        "floor", configure_logging=False, loads=json.loads, dumps=json.dumps
    )
    app.config.update(AUTO_EXTEND=False, ACCESS_LOG=False, MOTD=False, KEEP_ALIVE_TIMEOUT=120)
    writer = Writer(database) if database is not None else None

    @app.post("/json")
    async def answer(request: Request) -> HTTPResponse:
        assert isinstance(request.json, dict)
        return HTTPResponse(b"{}", content_type=_JSON)

    @app.post("/durable")
    async def durable(request: Request) -> HTTPResponse:
        assert writer is not None
        await writer.write(json.dumps(request.json))
        return HTTPResponse(b"{}", content_type=_JSON)

    def ready(listening: object) -> None:
        print(json.dumps({"port": listening.port}), flush=True)  # type: ignore[attr-defined]

    serve(app, port=0, socket_path=None, ready=ready)


if __name__ == "__main__":
    if sys.argv[1] == "echo":
        echo()
    else:
        sanic(Path(sys.argv[2]) if len(sys.argv) > 2 else None)
