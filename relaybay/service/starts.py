"""What a session brings along at its start: the ticket of `relaybay run`, and `RELAYBAY_NAME` (page 50, OWN-14, NAME).

The server is asked before the client starts (`reserve`), since nothing can stop a client afterwards. A ticket is used
once: a client that inherits the variable from another gets nothing by it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from typing import Any, Literal, cast

from relaybay.domain import HookEvent, Outcome, Refusal
from relaybay.rules import names, policy, topics
from relaybay.rules.claim import valid_name
from relaybay.rules.policy import Policy
from relaybay.rules.text import name_line, name_literal
from relaybay.service import controls, naming, processes, sweep
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import channels, sessions
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

_MINUTE = 60 * 1_000_000
_LIVE = ("exact", "guessed")


def reserve(
    tx: Tx,
    relay: Relay,
    *,
    name: str = "",
    patterns: Sequence[str] = (),
    broadcasts: bool = False,
    groups: Sequence[str] = (),
) -> Outcome:
    """Gives a ticket for one start, or refuses the start: the name is held by another live session, or there would be
    too many patterns. Nothing is kept of a refused one.
    """
    if not relay.messaging.channels:
        return Outcome(refusal=Refusal("channels.off", "CH-2"))
    if name and not valid_name(name):
        return Outcome(refusal=Refusal("chosen_name.invalid", "NAME-1", {"name": name_literal(name)}))
    if name:
        held = naming.held_by_other(tx, name, None)
        if held is not None:
            return Outcome(refusal=held)
    for group in groups:
        # There are none yet (page 60), so none that is named exists.
        return Outcome(refusal=Refusal("group.unknown", "OWN-14", {"group": name_literal(group)}))
    added = topics.add_patterns((), tuple(patterns), limit("patterns_per_session_max"))
    if isinstance(added, Refusal):
        return Outcome(refusal=added)
    ticket = secrets.token_urlsafe(24)
    options = json.dumps({"name": name, "patterns": list(added), "broadcasts": broadcasts})
    tx.run("INSERT INTO start_ticket (ticket, options, created_us) VALUES (?, ?, ?)", ticket, options, tx.now)
    tx.run("DELETE FROM start_ticket WHERE created_us < ?", tx.now - 24 * 60 * _MINUTE)
    return Outcome({"ticket": ticket, "name": name, "patterns": list(added), "broadcasts": broadcasts})


def begin(tx: Tx, relay: Relay, row: SessionRow, event: HookEvent) -> SessionRow:
    """A live SessionStart: what the session's start asked for is added to what the row has. Nothing is refused here:
    what can't be had is told by an event and by the start line.
    """
    if row.link_state not in _LIVE:
        return row
    row = _clamp(tx, relay, row)
    options = _redeem(tx, event.start_ticket)
    wanted = str(options.get("name", "")) or (event.wanted_name if valid_name(event.wanted_name) else "")
    if options.get("patterns"):
        own = channels.patterns(tx, row.id)
        both = tuple(dict.fromkeys((*own, *options["patterns"])))
        most = limit("patterns_per_session_max")
        channels.set_patterns(tx, row.id, both[:most])
        if both[most:]:
            left = {"patterns": list(both[most:])}
            tx.emit("session.patterns_left_out", session=row.ref, title=name_line(row.title), **left)
    if options.get("broadcasts") and not row.broadcasts:
        row = sessions.change(tx, row.id, broadcasts=1)
    if wanted and wanted != row.name_chosen:
        row = sessions.change(tx, row.id, name_chosen=wanted)
    untitled = bool(wanted and options) and not row.title_given and row.kind == "hook"
    if untitled and all(other.id == row.id for other in naming.resolve(tx, wanted)):
        # A new row without a title of its own takes the name as its title.
        row = naming.rename(tx, row, names.one_line(wanted))
    if not row.name_chosen:
        return row
    holder = naming.by_handle(tx, row.name_chosen)
    if holder is not None and holder.id != row.id and processes.gone(holder.process):
        # HL-9, looked at before a name is taken: whoever had it was killed.
        sweep.end_gone(tx, relay, [holder.id])
    return naming.claim_name(tx, row, channels=True)


def _clamp(tx: Tx, relay: Relay, row: SessionRow) -> SessionRow:
    """FLOOR-12: an override below the floor that its project has got since becomes that floor. A file that can't be
    used holds everything, and costs no session its own choice.
    """
    floor = controls.of(relay, row).floor
    own = cast("Policy | Literal['']", row.inbound)
    if not own or not floor.inbound or floor.problem or not policy.laxer(own, floor.inbound):
        return row
    return controls.grow(tx, relay, row, inbound=floor.inbound)


def _redeem(tx: Tx, ticket: str) -> dict[str, Any]:
    """The options of a ticket that nobody brought before, and that is not old; nothing for any other."""
    if not ticket:
        return {}
    oldest = tx.now - limit("start_ticket_minutes") * _MINUTE
    found = tx.value(
        "SELECT options FROM start_ticket WHERE ticket = ? AND used_us = 0 AND created_us > ?", ticket, oldest
    )
    if found is None:
        return {}
    tx.run("UPDATE start_ticket SET used_us = ? WHERE ticket = ?", tx.now, ticket)
    options: dict[str, Any] = json.loads(found)
    return options
