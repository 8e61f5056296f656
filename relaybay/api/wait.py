"""`POST /hooks/claude-code/wait`: the wake-up hook's long poll (page 20, WAIT; page 75, Hooks on the wire).

The connection is held here; what a look finds and marks is `service/wake.py`. A look follows every kick, the end of a
comment's 5 s, and the 2 s after which a session without a Stop event counts as idle.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field
from sanic import HTTPResponse, Request, Sanic

from relaybay.answers import Answer, word
from relaybay.api.bodies import read_object
from relaybay.api.claude_code import live_event
from relaybay.api.hooks import take_back, write
from relaybay.api.problems import problem
from relaybay.api.routes import Routes
from relaybay.domain import HookEvent
from relaybay.service import wake
from relaybay.service.relay import Relay
from relaybay.service.waits import WaitEntry
from relaybay.service.wake import Look
from relaybay.specs import limit

_SECOND: Final = 1_000_000
_TEXT: Final = "text/plain; charset=utf-8"


class WaitQuery(BaseModel):
    """The long poll's query: the wait's id, made by the client, and how long to hold this poll."""

    model_config = ConfigDict(extra="forbid")

    wait_id: str = Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")
    timeout_s: float = Field(default=50, gt=0, le=50)


def register_wait(routes: Routes, relay: Relay, *, minutes: int = 0) -> None:
    """Adds the endpoint, and ends all waits when the server stops (WAIT-7). A wait lasts `minutes`, by default the
    limit's 25 (WAIT-5).
    """
    lasts_us = (minutes or limit("wait_minutes")) * 60 * _SECOND

    async def wait(request: Request, query: WaitQuery) -> HTTPResponse | None:
        body = read_object(request, unique_keys=False)
        if isinstance(body, Answer):
            return problem(body)
        event = live_event(request, body, relay.clock())
        if isinstance(event, Answer):
            return problem(event)
        entry = relay.waits.get(query.wait_id)
        if entry is not None and entry.hook_id != event.hook_id:
            return problem(word("wait.ended"))
        if entry is None:
            entry = await _open(relay, event, query.wait_id)
        else:
            relay.waits.poll(entry, relay.clock())
        return await _Poll(request, relay, entry, lasts_us).hold(query.timeout_s)

    routes.op("POST", "/hooks/claude-code/wait", "hook_claude_code_wait", wait, door="hooks", query=WaitQuery)

    @routes.app.before_server_stop
    async def _stop(_: Sanic) -> None:  # type: ignore[type-arg]
        relay.waits.end_all()


async def _open(relay: Relay, event: HookEvent, wait_id: str) -> WaitEntry:
    future = relay.store.submit(lambda tx: wake.open_wait(tx, relay, event.hook_id, wait_id, event.process))
    try:
        return await asyncio.shield(asyncio.wrap_future(future))
    except asyncio.CancelledError:
        # Its first poll went while it was opened: nobody waits (WAIT-6).
        future.add_done_callback(
            lambda done: _lost(relay, done.result()) if done.exception() is None else None,
        )
        raise


def _lost(relay: Relay, entry: WaitEntry) -> None:
    relay.waits.take(entry, "connection_lost", {"current_poll": not entry.poll_open})


class _Poll:
    """One connection of one wait."""

    def __init__(self, request: Request, relay: Relay, entry: WaitEntry, lasts_us: int) -> None:
        self.request, self.relay, self.entry = request, relay, entry
        self.ends_us = entry.opened_us + lasts_us
        self.kicked = asyncio.Event()
        loop = asyncio.get_running_loop()

        def kick() -> None:
            with contextlib.suppress(RuntimeError):  # The loop closed between the question and the call.
                loop.call_soon_threadsafe(self.kicked.set)

        self.number = relay.waits.begin_poll(entry, kick)

    async def hold(self, seconds: float) -> HTTPResponse | None:
        """Holds the poll until it fires, the wait is over, or its time is."""
        try:
            return await self._hold(seconds)
        except asyncio.CancelledError:
            current = self.entry.poll == self.number
            self.relay.waits.take(self.entry, "connection_lost", {"current_poll": current})
            raise
        finally:
            self.relay.waits.end_poll(self.entry, self.number, self.relay.clock())

    async def _hold(self, seconds: float) -> HTTPResponse | None:
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while True:
            self.kicked.clear()
            if self.entry.state == "waiting" and self.entry.poll != self.number:
                return HTTPResponse(status=204)
            if self.relay.clock() >= self.ends_us:
                self.relay.waits.take(self.entry, "time_over")
            found = await self._look()
            if found.outcome == "fired":
                await self._fire(found)
                return None
            if found.outcome != "waiting":
                over = "wait.superseded" if found.outcome == "superseded" else "wait.ended"
                return problem(word(over, spec_id=self.entry.ended_by))
            left = until - loop.time()
            if left <= 0:
                self.relay.waits.take(self.entry, "poll_time_over")
                return HTTPResponse(status=204)
            again = min(found.again_us or self.ends_us, self.ends_us)
            pause = min(left, max((again - self.relay.clock()) / _SECOND, 0.05))
            try:
                async with asyncio.timeout(pause):
                    await self.kicked.wait()
            except TimeoutError:
                continue

    async def _look(self) -> Look:
        future = self.relay.store.submit(
            lambda tx: wake.look(tx, self.relay, self.entry, connection_lives=self._connection_lives())
        )
        try:
            return await asyncio.shield(asyncio.wrap_future(future))
        except asyncio.CancelledError:
            # The look may have fired while the connection went: then its marks are undone (WAIT-8).
            future.add_done_callback(lambda done: self._undo(done.result()) if done.exception() is None else None)
            raise

    def _connection_lives(self) -> bool:
        transport: Any = self.request.transport
        return transport is not None and not transport.is_closing()

    async def _fire(self, found: Look) -> None:
        assert found.done is not None
        if not await write(self.request, found.done.text.encode("utf-8"), _TEXT):
            self._undo(found)

    def _undo(self, found: Look) -> None:
        if found.done is not None:
            self.relay.waits.take(self.entry, "not_written")
            take_back(self.relay, found.done)
