"""The fast path: a hook event over a connection that has brought one before, answered as its bytes arrive (PERF-1).

What the gate decides by is the request's head, the connection and the keys. When a request has passed the gate and its
head comes again over the same connection, under the same keys and byte for byte but for the digits of its length, the
verdict is the same, so it isn't asked for again. The body goes to the route's own `short` function at once, without a
task, a request object or middleware. Whatever that function, or anything here, does not want goes the usual way
through Sanic, whole, as if there were no fast path; so nothing is answered here that is not the plain case.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

from sanic import Request
from sanic.http import Stage
from sanic.server.protocols.http_protocol import HttpProtocol

Short = Callable[[bytes], bytes | None]
"""Takes a body, gives the whole response as it goes on the wire; None sends the request the usual way. Never waits."""

_VERSION: Final = b" HTTP/1.1\r\n"
_HEAD_END: Final = b"\r\n\r\n"
_LENGTH: Final = b"\r\ncontent-length:"
_DIGITS_MAX: Final = 8
# Heads that mean more than that a body follows: how it is framed, what becomes of the connection, and what a handler
# reads besides the body (an event's own id and time, its client's process).
_TOO_MUCH: Final = (
    b"\r\ntransfer-encoding:",
    b"\r\nexpect:",
    b"\r\nconnection: close",
    b"\r\nupgrade:",
    b"\r\nx-relaybay-",
)
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Generation:
    """One set of keys; `ended` once they open nothing any more."""

    ended: bool = False


@dataclass(frozen=True, slots=True)
class KnownHead:
    """A head that the gate let in: the bytes before and behind its length's digits, and for whom and how long."""

    before: bytes
    behind: bytes
    bytes_max: int
    generation: Generation
    short: Short

    def body(self, data: bytes) -> bytes | None:
        """The body, if `data` is this head again with exactly its body behind it."""
        start = len(self.before)
        end = data.find(b"\r\n", start, start + _DIGITS_MAX + 2)
        if end < 0 or not data.startswith(self.before) or not data.startswith(self.behind, end):
            return None
        digits, at = data[start:end], end + len(self.behind)
        if not digits.isdigit() or int(digits) != len(data) - at or int(digits) > self.bytes_max:
            return None
        return data[at:]


class FastPathProtocol(HttpProtocol):
    """Sanic's protocol with the fast path in front. `known` is the head that this connection may repeat."""

    __slots__ = ("known",)

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self.known: KnownHead | None = None

    def data_received(self, data: bytes) -> None:
        """Bytes from the wire: answered at once, or handed on."""
        known = self.known
        # With bytes in the buffer or a request in hand this would overtake something.
        if known is not None and not self.recv_buffer and self._http is not None and self._http.stage is Stage.IDLE:
            answer = self._answer(known, data)
            if answer is not None:
                self._time = monotonic()
                assert self.transport is not None
                self.transport.write(answer)
                return
        super().data_received(data)

    def _answer(self, known: KnownHead, data: bytes) -> bytes | None:
        body = known.body(data)
        if body is None or known.generation.ended or not self._can_write.is_set():
            return None
        if self.transport is None or self.transport.is_closing():
            return None
        try:
            return known.short(body)
        except Exception:  # noqa: BLE001 - logged; the usual way has the answers for whatever is wrong.
            _log.exception("the fast path failed")
            return None


def remember(request: Request, short: Short, generation: Generation, bytes_max: int) -> None:
    """Lets the request's connection repeat its head. To be called once the gate has let the request in."""
    stream = request.stream
    protocol = getattr(stream, "protocol", None)
    if isinstance(protocol, FastPathProtocol):
        stays = getattr(stream, "keep_alive", False)
        protocol.known = _known_head(request.head, short, generation, bytes_max) if stays else None


def _known_head(head: bytes, short: Short, generation: Generation, bytes_max: int) -> KnownHead | None:
    names = head.lower()
    line_end = head.find(b"\r\n")
    if line_end < 0 or head[: line_end + 2][-len(_VERSION) :] != _VERSION or any(part in names for part in _TOO_MUCH):
        return None
    start = names.find(_LENGTH) + len(_LENGTH)
    if start < len(_LENGTH):
        return None
    while head[start : start + 1] == b" ":
        start += 1
    end = head.find(b"\r\n", start)
    end = len(head) if end < 0 else end
    if not head[start:end].isdigit():
        return None
    return KnownHead(head[:start], head[end:] + _HEAD_END, bytes_max, generation, short)
