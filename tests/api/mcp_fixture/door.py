"""A door in front of a server that wants a token, for a client that has none to send.

The suite knows no credentials. This adds the token to each request, and translates the door's own authority into the
server's in Host and Origin: to the server a caller of the door looks like a caller of its own. Everything else,
foreign hosts and origins above all, goes through byte for byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_PIECE = 1 << 16
_HEAD_END = b"\r\n\r\n"


class Door:
    """`with Door(url, token) as door: … door.url …`. One request per connection; both ends say so."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        assert parts.port is not None
        self._path, self._port, self._token = parts.path, parts.port, token
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="door", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self._path}"

    def __enter__(self) -> Self:
        self._thread.start()
        starting = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop)
        self._server = starting.result(5)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = await reader.readuntil(_HEAD_END)
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._port)
            server_writer.write(self._translated(head))
            both = [
                asyncio.ensure_future(_pour(reader, server_writer)),
                asyncio.ensure_future(_pour(server_reader, writer)),
            ]
            # Whichever end goes first, the other one hears of it.
            try:
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in both:
                    one.cancel()
                server_writer.close()
        writer.close()

    def _translated(self, head: bytes) -> bytes:
        first, *lines = head.removesuffix(_HEAD_END).split(b"\r\n")
        kept = [self._line(line) for line in lines if not line.lower().startswith((b"connection:", b"authorization:"))]
        added = [b"Authorization: Bearer " + self._token.encode(), b"Connection: close"]
        return b"\r\n".join([first, *kept, *added]) + _HEAD_END

    def _line(self, line: bytes) -> bytes:
        name, _, value = line.partition(b":")
        if name.lower() not in (b"host", b"origin"):
            return line
        before, between, port = value.rpartition(b":")
        return name + b":" + before + between + (b"%d" % self._port if port.strip() == b"%d" % self.port else port)


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(_PIECE):
        writer.write(piece)
        await writer.drain()
