"""Bugs that are planted in the memory of a child, to show that the campaigns notice them. The product has no switch for it.

Each function changes the product's modules as they are loaded. What must notice it stands in `test_plants.py`.
"""

# What a plant puts in the place of something is by its nature of another kind.
# mypy: disable-error-code="assignment,method-assign,arg-type,attr-defined"

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from filelock import FileLock

from relaybay.domain import Outcome
from relaybay.service import handover, ids, messages
from relaybay.store import events, sqlite, writer
from relaybay.store import messages as stored
from relaybay.store.database import Store
from relaybay.store.transaction import Tx

_stores: list[Store] = []


def _remember_stores() -> None:
    """Where a plant needs a transaction of its own, it takes the store that was opened last."""
    opened = Store.__init__

    def opening(self: Store, *args: Any, **named: Any) -> None:
        opened(self, *args, **named)
        _stores.append(self)

    Store.__init__ = opening


def _soon(work: Callable[[Tx], Any]) -> None:
    """Another transaction, a moment later, as a queue in the background would do it."""
    timer = threading.Timer(0.03, lambda: _stores[-1].submit(work))
    timer.daemon = True
    timer.start()


def acknowledged_before_the_commit() -> None:
    """A caller hears of its unit as soon as that was carried out; the commit comes a moment later."""
    carried_out = writer.Writer._one

    def one(self: writer.Writer, unit: Any, tx: Tx) -> Any:
        done = carried_out(self, unit, tx)
        if done.error is None:
            unit.future.set_result(done.result)
            time.sleep(0.02)
        return done

    def tell(self: writer.Writer, done: list[Any]) -> None:
        with contextlib.suppress(Exception):
            self._on_commit([each.tx for each in done])
        for each in done:
            for action in each.tx.followers():
                action()
            if each.error is not None:
                each.unit.future.set_exception(each.error)

    writer.Writer._one = one
    writer.Writer._tell = tell


def no_sync() -> None:
    """Nothing is put through to the disk: a kill loses nothing, a loss of power would."""
    sqlite.PRAGMAS = tuple(p.replace("synchronous=FULL", "synchronous=OFF") for p in sqlite.PRAGMAS)


def sync_only_at_checkpoints() -> None:
    """The setting that many use: fast, and a loss of power takes the last commits back."""
    sqlite.PRAGMAS = tuple(p.replace("synchronous=FULL", "synchronous=NORMAL") for p in sqlite.PRAGMAS)


def request_ids_in_memory() -> None:
    """Repeats are known as long as the process lives, and a new process has never heard of them."""
    seen: dict[tuple[int, str], str] = {}
    record = stored.record

    def recording(tx: Tx, **said: Any) -> int:
        key = said.pop("request_id")
        message_id = record(tx, **said, request_id=None)
        if key:
            tx.after(lambda: seen.setdefault((said["sender_id"], key), said["mid"]))
        return message_id

    def sent_as(tx: Tx, sender_id: int, request_id: str) -> Any:
        mid = seen.get((sender_id, request_id))
        return stored.by_mid(tx, mid) if mid else None

    stored.record, stored.sent_as = recording, sent_as


def request_ids_not_looked_at() -> None:
    """The column has lost its UNIQUE, and nobody looks before adding."""
    stored.sent_as = lambda _tx, _sender_id, _request_id: None
    record = stored.record
    stored.record = lambda tx, **said: record(
        tx, **{**said, "request_id": f"{said['request_id']}/{time.monotonic_ns()}"}
    )


def delivered_mark_later() -> None:
    """A hand-over is marked in a transaction of its own, after the answer's."""
    _remember_stores()
    mark = handover._mark

    def later(tx: Tx, *said: Any) -> None:
        tx.after(lambda: _soon(lambda other: mark(other, *said)))

    handover._mark = later


def event_after_the_commit() -> None:
    """The feed hears of a message in a transaction of its own, after the message's."""
    _remember_stores()
    emit = Tx.emit

    def emitting(tx: Tx, type_: str, **data: Any) -> None:
        if type_ == "message.sent":
            tx.after(lambda: _soon(lambda other: emit(other, type_, **data)))
        else:
            emit(tx, type_, **data)

    Tx.emit = emitting


def mark_taken_back_in_silence() -> None:
    """A hand-over that was not written loses its mark, and no event tells of it."""
    emit = Tx.emit
    Tx.emit = lambda tx, type_, **data: None if type_ == "message.offered_again" else emit(tx, type_, **data)


def refusal_not_undone() -> None:
    """A refusal comes after the row was written, and the savepoint is let go instead of rolled back. Either alone is
    harmless: the undoing is there for the day on which somebody writes first.
    """
    undone = Tx.finish
    Tx.finish = lambda tx, _undo, result: undone(tx, lambda: None, result)
    send = messages._send

    def sending(tx: Tx, relay: Any, who: Any, text: Any, said: Any) -> Outcome:
        outcome = send(tx, relay, who, text, said)
        if outcome.refusal is not None and who.speaker is not None:
            mail = ids.message_id(tx.now)
            stored.add(
                tx, recipient_id=who.speaker.id, recipient_title="", recipient_name="", mid=mail, sender_id=who.speaker.id,
                sender_title="", sender_verified=0, body=text.text, request_id=None, digest="",
            )  # fmt: skip
            tx.emit("message.sent", message_id=mail)
        return outcome

    messages._send = sending


def body_stripped() -> None:
    """What an ORM does to texts by itself, unless it is told not to."""
    record = stored.record
    stored.record = lambda tx, **said: record(tx, **{**said, "body": said["body"].strip()})


def spool_not_remembered() -> None:
    """Spooled events are applied as often as they are found."""
    events.spool_event_is_new = lambda _tx, _event_id: True


def newest_first() -> None:
    """Of what one answer carries the newest comes first."""
    pack = handover.pack

    def packed(*said: Any, **more: Any) -> Any:
        found = pack(*said, **more)
        return replace(found, chosen=found.chosen[::-1])

    handover.pack = packed


def lock_not_taken() -> None:
    """The folder's lock is asked for and its answer not looked at."""
    FileLock.acquire = lambda _self, *_args, **_more: None


PLANTS: dict[str, Callable[[], None]] = {
    plant.__name__: plant
    for plant in (
        acknowledged_before_the_commit, no_sync, sync_only_at_checkpoints, request_ids_in_memory,
        request_ids_not_looked_at, delivered_mark_later, event_after_the_commit, mark_taken_back_in_silence,
        refusal_not_undone, body_stripped, spool_not_remembered, newest_first, lock_not_taken,
    )
}  # fmt: skip
