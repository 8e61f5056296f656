"""The wake-up's long poll, one look at a time (page 20, table WAIT). The surface holds the connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relaybay.domain import ClientProcess
from relaybay.service import context_proof, controls, handover
from relaybay.service.handover import HandOver
from relaybay.service.relay import Relay
from relaybay.service.waits import WaitEntry
from relaybay.specs import limit
from relaybay.store import comments, sessions
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Look:
    """What one look came to. `again_us` is when to look again of itself, 0 when only a kick is worth it."""

    outcome: Literal["fired", "waiting", "superseded", "ended"]
    done: HandOver | None = None
    again_us: int = 0


def open_wait(tx: Tx, relay: Relay, hook_id: str, wait_id: str, process: ClientProcess) -> WaitEntry:
    """Opens a wait for the row that holds the id (WAIT-1), or one that is over at once (WAIT-9). An id that is open
    already, by a poll sent twice, stays the one wait that it is.
    """
    known = relay.waits.get(wait_id)
    if known is not None:
        return known
    row = sessions.by_hook(tx, hook_id)
    entry = WaitEntry(wait_id, row.id if row else 0, hook_id, tx.now, process)
    live = row is not None and row.link_state == "exact"
    result = relay.waits.open(entry, link_exact_live=live)
    if result.kind == "refuse":
        entry.state = "ended"
    return entry


def look(tx: Tx, relay: Relay, entry: WaitEntry, *, connection_lives: bool) -> Look:
    """WAIT-2, 10: hands over what waits if the session is idle, in this transaction; else says when to look again."""
    if entry.state != "waiting":
        return Look("superseded" if entry.state == "superseded" else "ended")
    row = sessions.get(tx, entry.session_id)
    if row is None or row.hook_id != entry.hook_id or row.link_state != "exact":
        relay.waits.take(entry, "own_event")
        return Look("ended")
    # A project's file may have changed without any event of the session's: what waits is judged by it first (SET-2).
    row = controls.look(tx, relay, relay.presence.write_back(tx, row))
    found = handover.offers(tx, relay, row, "wake")
    idle, idle_at = _idle(relay, row, entry, tx.now)
    facts = {
        "item_there": bool(found),
        "poll_open": entry.poll_open,
        "idle": idle,
        "connection_lives": connection_lives,
    }
    result = relay.waits.take(entry, "look", facts)
    if result.state == "fired":
        done = handover.hand_over(tx, row, "wake", found)
        assert done is not None, "an item that may go out alone fits an empty answer (SEND-11)"
        entry.handover_id = done.id
        context_proof.note(tx, relay, row, done)
        return Look("fired", done)
    if result.state == "ended":
        return Look("ended")
    due = [c.grace_until_us for c in comments.of_session(tx, row.id, ("sent",)) if c.held_back(tx.now)]
    if idle_at > tx.now:
        due.append(idle_at)
    return Look("waiting", again_us=min(due, default=0))


def _idle(relay: Relay, row: SessionRow, entry: WaitEntry, now: int) -> tuple[bool, int]:
    """Whether the session is idle, and when it will count as idle without a Stop event (WAIT-2: 2 s after the wait).

    The Stop event and the wait are sent by two hooks at once, so that Stop may come a little before the wait as well.
    """
    if row.activity == "idle":
        return True, 0
    grace = limit("stop_event_grace_seconds") * _SECOND
    live = relay.presence.by_row(row.id)
    stopped = live.stopped_us if live else 0
    if stopped >= entry.opened_us - grace:
        # A Stop came with this wait and was blocked: the turn goes on.
        return False, 0
    return now >= entry.opened_us + grace, entry.opened_us + grace
