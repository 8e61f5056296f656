"""Carries out what the machine of a row's link says when a hook event, the sweep or the owner speaks.

What calls do to links is `linking.py`. The effect words, and their order, are listed in `machines/link.py`; that of
groups (`close_work`) has nothing to do yet.
"""

from __future__ import annotations

from typing import Any, Final

from relaybay.domain import Step
from relaybay.machines.base import step
from relaybay.machines.link import Link
from relaybay.rules.text import name_line
from relaybay.service import controls, moves, naming
from relaybay.service.relay import Relay
from relaybay.store import moves as stored
from relaybay.store import sessions
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

NO_PROCESS: Final[dict[str, Any]] = {
    "process_pid": 0,
    "process_started": "",
    "process_ns": "",
    "process_host": "",
    "process_entry": "",
}
#: What hangs on the hook id and starts afresh with another (MOVE-9 among it).
_NO_TURN: Final[dict[str, Any]] = {
    "turn_state": "none",
    "turn_prompt_id": "",
    "transcript_path": "",
    "last_event_us": 0,
}


def take(
    tx: Tx,
    relay: Relay,
    row: SessionRow,
    event: str,
    facts: dict[str, bool] | None = None,
    *,
    hook_id: str = "",
    reason: str = "",
    at_us: int = 0,
) -> tuple[Step, SessionRow]:
    """Puts one event to a row's link and writes what follows. `hook_id` is the id the row gets by it, `reason` and
    `at_us` say why and when a link ended. Gives the Step and the row as it now is.
    """
    result = step(Link, row.link_state, event, facts)
    columns: dict[str, Any] = {"link_state": result.state}
    if result.state == "none":
        columns |= {"hook_id": None, **(_NO_TURN if row.hook_id else {})}
    elif hook_id and hook_id != row.hook_id:
        columns |= {"hook_id": hook_id, "hook_since_us": tx.now, "turn_serial": row.turn_serial + 1, **_NO_TURN}
        columns |= sessions.turn_of(tx, hook_id)
    if result.state in ("guessed", "exact"):
        columns |= {"ended_us": 0, "ended_reason": ""}
    for effect in result.effects:
        columns |= _before(tx, relay, row, effect, hook_id)
        if effect == "activity_ended":
            columns |= {"activity": "ended", "ended_us": at_us or tx.now, "ended_reason": reason}
    changed = any(getattr(row, name) != value for name, value in columns.items())
    after = sessions.change(tx, row.id, **columns) if changed else row
    if "drop_published" in result.effects:
        controls.session_ended(tx, relay, after)
    return result, _after(tx, relay, after, result, reason)


def _before(tx: Tx, relay: Relay, row: SessionRow, effect: str, hook_id: str) -> dict[str, Any]:
    """What is done while the row still holds its old id, and the columns that an effect sets."""
    match effect:
        case "take_off_id" | "drop_id":
            moves.take_off(tx, row)
        case "replace_id" if row.hook_id:
            turn = {"turn_state": row.turn_state, "turn_prompt_id": row.turn_prompt_id}
            sessions.set_fate(tx, row.hook_id, "replaced", **turn)
        case "end_waits":
            tx.after(relay.waits.ending(row.id))
        case "other_session":
            moves.other_session(tx, relay, row.id, hook_id)
            stored.forget_given(tx, row.id)
        case "free_name":
            return {"name": None}
        case "activity_unknown":
            return {"activity": "unknown", **NO_PROCESS}
    return {}


def _after(tx: Tx, relay: Relay, row: SessionRow, result: Step, reason: str) -> SessionRow:
    """The machine's last effects: the name, and the events, which tell of the row as it now is."""
    for effect in result.effects:
        if effect == "claim_name":
            row = naming.claim_name(tx, row, channels=relay.messaging.channels)
        elif effect.startswith("event:"):
            said = {"session": row.ref, "title": name_line(row.title), "name": row.name}
            tx.emit(effect.removeprefix("event:"), **said, **({"reason": reason} if reason else {}))
    return row
