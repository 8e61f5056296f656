"""Replay of spooled events: `POST /hooks/spool`, and the server's own import of its home's spool folder.

A replayed event does ROW, HL and ACT: it proves nothing, delivers nothing and is answered nothing (SPOOL-2); its id
makes it count once (SPOOL-1).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sanic import HTTPResponse, Request, Sanic

from relaybay import spool
from relaybay.answers import Answer, word
from relaybay.api.bodies import read_object
from relaybay.api.claude_code import CLIENT, event_of, process_of
from relaybay.api.problems import problem
from relaybay.api.routes import Routes, reply
from relaybay.domain import HookEvent
from relaybay.errors import StoreError
from relaybay.service import inbox, replay
from relaybay.service.relay import Relay

_log = logging.getLogger(__name__)
_ID_CHARS_MAX = 64
_AT_US_MAX = 2**62
_EVENTS_AT_ONCE = 50


def register_spool(routes: Routes, relay: Relay, folder: Path) -> None:
    """Adds the endpoint; imports `folder` every second for as long as the server runs."""

    async def post(request: Request) -> HTTPResponse:
        body = read_object(request, unique_keys=False)
        if isinstance(body, Answer):
            return problem(body)
        given = body.get("events")
        if not isinstance(given, list):
            return problem(word("http.argument_invalid", name="events", why="it is no list"))
        events = [_event(one) for one in given]
        good = [one for one in events if one is not None]
        applied = repeated = 0
        for part in _parts(good):
            future = relay.store.submit(lambda tx, part=part: replay.apply(tx, relay, part))  # type: ignore[misc]
            done, seen = await asyncio.shield(asyncio.wrap_future(future))
            applied, repeated = applied + done, repeated + seen
        return reply({"applied": applied, "repeated": repeated, "bad": len(events) - len(good)})

    routes.op("POST", "/hooks/spool", "hook_spool", post, door="hooks")
    running: list[asyncio.Task[None]] = []

    @routes.app.after_server_start
    async def _begin(_: Sanic) -> None:  # type: ignore[type-arg]
        running.append(asyncio.create_task(_every_second(relay, folder), name="spool"))

    @routes.app.before_server_stop
    async def _end(_: Sanic) -> None:  # type: ignore[type-arg]
        while running:
            running.pop().cancel()


async def _every_second(relay: Relay, folder: Path) -> None:
    said = ""
    while True:
        await asyncio.sleep(1)
        try:
            await asyncio.to_thread(take_all, relay, folder)
        except Exception as error:  # noqa: BLE001 - the next second tries again; nothing was unlinked.
            # A fault that stays is told once; `doctor` shows it for as long as it lasts.
            if str(error) != said:
                _log.error("the spool was not imported: %s", error, exc_info=not isinstance(error, spool.SpoolRefused))
                if isinstance(error, spool.SpoolRefused):
                    with contextlib.suppress(StoreError):
                        relay.store.submit(lambda tx, what=str(error): inbox.spool_fault(tx, what))  # type: ignore[misc]
            said = str(error)
        else:
            said = ""


def _parts(events: Iterable[HookEvent]) -> Iterator[list[HookEvent]]:
    """In their order, a few at a time: a long spool must not keep the writer from the hooks of running sessions."""
    waiting = replay.in_order(events)
    for start in range(0, len(waiting), _EVENTS_AT_ONCE):
        yield waiting[start : start + _EVENTS_AT_ONCE]


def _event(one: Any) -> HookEvent | None:
    """An event of the request's list, or None when it is not one."""
    if not isinstance(one, dict):
        return None
    event_id, at_us, body = one.get("id"), one.get("at_us"), one.get("body")
    if not isinstance(event_id, str) or not 0 < len(event_id) <= _ID_CHARS_MAX or not event_id.isascii():
        return None
    if type(at_us) is not int or not 0 <= at_us <= _AT_US_MAX or not isinstance(body, dict):
        return None
    if one.get("client", CLIENT) != CLIENT:
        return None
    event = event_of(body, at_us=at_us, event_id=event_id, replayed=True)
    return None if isinstance(event, Answer) else event


def _spooled(events: Iterable[spool.SpooledEvent]) -> list[HookEvent]:
    found = []
    for one in events:
        event = event_of(
            dict(one.body),
            at_us=one.at_us,
            process=process_of(one.headers),
            event_id=one.id,
            replayed=True,
        )
        if not isinstance(event, Answer):
            found.append(event)
    return found


def take_all(relay: Relay, folder: Path) -> int:
    """Imports what the spool folder holds; how many events were applied. Nothing is unlinked before its commit."""
    if not folder.is_dir():
        return 0
    total = 0
    for batch in spool.take(folder):
        events = _spooled(batch.events)
        applied = repeated = 0
        for part in _parts(events):
            done, seen = relay.store.write(lambda tx, part=part: replay.apply(tx, relay, part))  # type: ignore[misc]
            applied, repeated = applied + done, repeated + seen
        if batch.bad:
            relay.store.write(lambda tx: inbox.spool_fault(tx, "spool.bad"))
        batch.done()
        total += applied
        if events or batch.bad:
            _log.info("spool: %d applied, %d seen before, %d bad", applied, repeated, batch.bad)
    return total
