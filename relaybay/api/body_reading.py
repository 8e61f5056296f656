"""A request's body, read by the gate: how much of it, for how long, and the words for one that is too large."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final, cast

from sanic import Request
from sanic.exceptions import PayloadTooLarge
from sanic.http import Http

from relaybay.answers import Answer, word
from relaybay.api.bodies import has_body
from relaybay.api.routes import Door
from relaybay.specs import limit


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """What the gate reads at most, in bytes, and for how long, in seconds."""

    body_bytes_max: int = 1 << 20
    hook_body_bytes_max: int = 8 << 20
    body_seconds_max: float = 30.0

    def bytes_max(self, door: Door) -> int:
        """How large a body may be behind a door."""
        return self.hook_body_bytes_max if door == "hooks" else self.body_bytes_max


LIMITS: Final = BodyLimits()


def too_large(request: Request, door: Door, limits: BodyLimits) -> Answer:
    """The refusal of a body that is larger. A form with a file is refused before the file is read: then the words are
    those of the file.
    """
    if request.route is not None and request.route.ctx.upload:
        return word("http.upload_too_large", most=limit("attachment_bytes_max"))
    return word("http.body_too_large", bytes_max=limits.bytes_max(door))


async def read_body(request: Request, door: Door, limits: BodyLimits) -> Answer | None:
    """Reads the body into the request; the refusal when it is larger than declared, or does not come."""
    if request.stream is None or not has_body(request):
        return None
    stream = cast("Http", request.stream)  # The only kind this server makes.
    stream.request_max_size = limits.bytes_max(door)
    try:
        if stream.request_bytes_left and stream.request_bytes_left <= len(stream.recv_buffer):
            # All there already, as with nearly every hook: no timer for that.
            await request.receive_body()  # type: ignore[no-untyped-call]
            return None
        async with asyncio.timeout(limits.body_seconds_max):
            await request.receive_body()  # type: ignore[no-untyped-call]
    except PayloadTooLarge:
        return too_large(request, door, limits)
    except TimeoutError:
        return word("http.body_too_slow")
    return None
