"""Carries out what the machine of a row's link says when a hook event, the sweep or the owner speaks.

What calls do to links is `linking.py`. The effect words, and their order, are listed in `machines/link.py`; those of
channels and groups (`drop_published`, `close_work`) have nothing to do yet.
"""

from __future__ import annotations

from typing import Any

from relaybay.domain import Step
from relaybay.machines.base import step
from relaybay.machines.link import Link
from relaybay.service import moves, naming
from relaybay.service.relay import Relay
from relaybay.store import sessions
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

_NO_PROCESS: dict[str, Any] = {
    "process_pid": 0,
    "process_started": "",
    "process_ns": "",
    "process_host": "",
    "process_entry": "",
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
    if result.state in ("none", "moved"):
        columns["hook_id"] = None
    elif hook_id and hook_id != row.hook_id:
        columns |= {"hook_id": hook_id, "hook_since_us": tx.now, "turn_state": "none", "turn_prompt_id": ""}
    claims = False
    for effect in result.effects:
        word, _, rest = effect.partition(":")
        match word:
            case "take_off_id" | "drop_id":
                moves.take_off(tx, row)
            case "replace_id" if row.hook_id:
                sessions.set_fate(tx, row.hook_id, "replaced")
            case "end_waits":
                tx.after(lambda: relay.waits.end(row.id))
            case "other_session":
                moves.other_session(tx, row.id, hook_id)
            case "free_name":
                columns["name"] = None
            case "activity_unknown":
                columns |= {"activity": "unknown", **_NO_PROCESS}
            case "activity_ended":
                columns |= {"activity": "ended", "ended_us": at_us or tx.now, "ended_reason": reason}
            case "claim_name":
                claims = True
            case "event":
                tx.emit(rest, session=row.ref, title=row.title, **({"reason": reason} if reason else {}))
    changed = sessions.change(tx, row.id, **columns) if columns != {"link_state": row.link_state} else row
    return result, naming.claim_name(tx, changed) if claims else changed
