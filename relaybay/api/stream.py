"""The board's event stream: names of what changed, never what it changed to. A page fetches the fragment again.

event: hello    once per connection: whatever was missed before, fetch all again
event: changed  data: {"names": ["message.sent", "session:S-3", "task:shop-1"]}, or ["*"]: too much to name
: ping          at least every 15 s
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from sanic import HTTPResponse, Request

from relaybay.answers import word
from relaybay.api.commits import Commits
from relaybay.api.problems import problem
from relaybay.api.routes import Routes
from relaybay.api.strict_json import dumps

PING_SECONDS: Final = 12.0
READERS_MAX: Final = 128
_GATHER_SECONDS: Final = 0.02
"""How long a burst of commits is collected into one piece."""


def register_stream(
    routes: Routes, commits: Commits, stands: Callable[[Request], bool], *, ping_seconds: float = PING_SECONDS
) -> None:
    """Adds `GET /api/v1/stream`. `stands`: whether the caller may still read; the stream of a login ends with it."""

    async def stream(request: Request) -> HTTPResponse | None:
        if commits.count >= READERS_MAX:
            return problem(word("stream.too_many"))
        with commits.listening() as listener:
            response = await request.respond(content_type="text/event-stream; charset=utf-8")
            await response.send(b"retry: 2000\nevent: hello\ndata: {}\n\n")
            while not commits.closing:
                heard = await commits.heard(listener, ping_seconds)
                if not stands(request):
                    break
                if heard:
                    await asyncio.sleep(_GATHER_SECONDS)
                    names = listener.take()
                    await response.send(b"event: changed\ndata: " + dumps({"names": names}) + b"\n\n")
                elif not commits.closing:
                    await response.send(b": ping\n\n")
            await response.eof()
        return None

    routes.op("GET", "/api/v1/stream", "stream", stream, door="api", head=False, documented=False)
