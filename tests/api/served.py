"""A server of its own process for test_serving.py: prints one line when ready, and what it lived through on stderr.

Routes: an endless wait, an endless stream, one whose handler ignores its cancellation for a while.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import sys
import time
from pathlib import Path

from sanic import HTTPResponse, Request

from relaybay.api.gate import Gate
from relaybay.api.keys import Keys
from relaybay.api.listeners import BindRefused
from relaybay.api.routes import Routes
from relaybay.api.serving import make_app, serve


def main(port: int, socket_path: str) -> int:
    logging.basicConfig(stream=sys.stderr)
    app = make_app()
    routes = Routes(app)
    gate = Gate(
        Keys(*(secrets.token_urlsafe(32) for _ in range(3))),
        now_us=lambda: time.time_ns() // 1000,
    )

    def say(what: str) -> None:
        print(what, file=sys.stderr, flush=True)

    async def healthz(request: Request) -> HTTPResponse:
        return HTTPResponse(b"{}", content_type="application/json")

    async def wait(request: Request) -> HTTPResponse:
        say("waiting")
        try:
            await asyncio.sleep(60)
        finally:
            say("wait ended")
        return HTTPResponse(b"")

    async def stream(request: Request) -> None:
        response = await request.respond(content_type="text/event-stream")
        await response.send(b": hello\n\n")
        await asyncio.sleep(60)

    async def stubborn(request: Request) -> HTTPResponse:
        say("stubborn")
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                say("not yet")
        return HTTPResponse(b"")

    for path, handler in (("/healthz", healthz), ("/wait", wait), ("/stream", stream), ("/stubborn", stubborn)):
        routes.op("GET", path, handler.__name__, handler, door="open", head=False)
    gate.install(app)

    @app.before_server_stop
    async def slow_stop(_: object) -> None:
        say("stopping")
        if "slow" in sys.argv:
            await asyncio.sleep(60)

    @app.after_server_stop
    async def stopped(_: object) -> None:
        say("stopped")

    try:
        serve(
            app,
            port=port,
            socket_path=Path(socket_path) if socket_path else None,
            ready=lambda at: print(json.dumps({"url": at.url, "socket": str(at.socket_path)}), flush=True),
        )
    except BindRefused as refused:
        print(json.dumps({"code": refused.answer.code, "text": refused.answer.text}), flush=True)
        return 1
    say("left")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2]))
