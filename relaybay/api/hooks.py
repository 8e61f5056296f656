"""`POST /hooks/claude-code`: one event in, one hook answer out. Fails open: a well-formed event is always 200.

A hot event with nothing waiting is answered here on the event loop, from memory. Anything else is one use case on the
writer thread; the answer is given after its commit, and taken back when it could not be written (PACK-7).
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from sanic import HTTPResponse, Request

from relaybay.answers import Answer
from relaybay.api.bodies import JSON, read_object
from relaybay.api.claude_code import answer_of, event_of, live_event
from relaybay.api.headers import machine_answer
from relaybay.api.problems import problem
from relaybay.api.routes import Routes
from relaybay.api.strict_json import NotJson, dumps, loads
from relaybay.domain import HookEvent
from relaybay.errors import StoreError
from relaybay.service import handover, hooks
from relaybay.service.handover import HandOver
from relaybay.service.relay import Relay

_log = logging.getLogger(__name__)
_EMPTY = b"{}"
_EMPTY_AT_ONCE = machine_answer(_EMPTY, JSON)
_NAMES_MAX = 64
_NAME_CHARS_MAX = 64


@dataclass(slots=True)
class HooksSeen:
    """When each client's hooks were last heard, for `doctor`. µs since the epoch by client and event name."""

    last: dict[str, dict[str, int]] = field(default_factory=dict)

    def note(self, event: HookEvent) -> None:
        """Remembers an event. What is no client's name for one takes no place for ever."""
        last = self.last.setdefault(event.client, {})
        if event.name in last or (len(last) < _NAMES_MAX and len(event.name) <= _NAME_CHARS_MAX):
            last[event.name] = event.at_us


def register_hooks(routes: Routes, relay: Relay) -> HooksSeen:
    """Adds the endpoint; gives what it has seen."""
    seen = HooksSeen()

    async def claude_code(request: Request) -> HTTPResponse | None:
        body = read_object(request, unique_keys=False)
        if isinstance(body, Answer):
            return problem(body)
        event = live_event(request, body, relay.clock())
        if isinstance(event, Answer):
            return problem(event)
        if event.event_id:
            relay.presence.hear(event.event_id)
        if from_memory(event):
            return HTTPResponse(_EMPTY, content_type=JSON)
        return await _in_transaction(request, relay, event)

    def at_once(body: bytes) -> bytes | None:
        # Only heads without the command client's headers get here: the body is all that there is to the event.
        try:
            members = loads(body, unique_keys=False)
        except NotJson:
            return None
        event = event_of(members, at_us=relay.clock()) if isinstance(members, dict) else None
        return _EMPTY_AT_ONCE if isinstance(event, HookEvent) and from_memory(event) else None

    def from_memory(event: HookEvent) -> bool:
        seen.note(event)
        hooks.witness(relay, event)
        return hooks.from_memory(relay, event) is not None

    routes.op("POST", "/hooks/claude-code", "hook_claude_code", claude_code, door="hooks", short=at_once)
    return seen


async def _in_transaction(request: Request, relay: Relay, event: HookEvent) -> HTTPResponse | None:
    # Until this one is carried out, later events of the session may not be answered from memory before it.
    relay.presence.take_in_hand(event.hook_id)
    future: Future[hooks.HookAnswer] = relay.store.submit(lambda tx: hooks.handle(tx, relay, event))
    future.add_done_callback(lambda _: relay.presence.let_go(event.hook_id))
    try:
        said = await asyncio.shield(asyncio.wrap_future(future))
    except asyncio.CancelledError:
        future.add_done_callback(lambda done: _undo_when_done(relay, done))
        raise
    except StoreError as error:
        # Fail open: the agent goes on, nothing was marked, and `doctor` shows the store's trouble.
        _log.error("a hook event was not carried out: %s", error)
        return HTTPResponse(_EMPTY, content_type=JSON)
    except Exception:  # noqa: BLE001 - a bug of ours must not stop an agent; it is logged with its trace.
        _log.exception("a hook event failed")
        return HTTPResponse(_EMPTY, content_type=JSON)
    if said.done is None:
        return HTTPResponse(dumps(answer_of(event, said)), content_type=JSON)
    if not await write(request, dumps(answer_of(event, said)), JSON):
        take_back(relay, said.done)
    return None


async def write(request: Request, body: bytes, content_type: str) -> bool:
    """Writes a whole answer; False when the connection was gone before or while it was written."""
    transport: Any = request.transport
    if transport is None or transport.is_closing():
        return False
    try:
        response = await request.respond(
            status=200, content_type=content_type, headers={"content-length": str(len(body))}
        )
        assert response is not None
        await response.send(body, end_stream=True)
    except asyncio.CancelledError:
        return False
    except Exception as error:  # noqa: BLE001 - however the write failed, it was not written.
        _log.info("an answer was not written: %s", type(error).__name__)
        return False
    return not transport.is_closing()


def take_back(relay: Relay, done: HandOver) -> None:
    """Queues what undoes a hand-over that never left (PACK-7, WAIT-8)."""
    future = relay.store.submit(lambda tx: handover.answer_not_written(tx, relay, done))
    future.add_done_callback(_log_failure)


def _log_failure(future: Future[None]) -> None:
    error = future.exception()
    if error is not None:
        _log.error("the marks of an answer that was not written still stand: %s", error)


def _undo_when_done(relay: Relay, future: Future[hooks.HookAnswer]) -> None:
    if future.exception() is None and future.result().done is not None:
        take_back(relay, future.result().done)  # type: ignore[arg-type]
