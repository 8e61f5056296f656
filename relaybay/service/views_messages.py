"""Read model of `/messages` (page 70): each message with its marks, their proofs and, while it is not delivered, the
reason and what will change it.
"""

from __future__ import annotations

from typing import Any

from relaybay.answers import word
from relaybay.domain import Outcome, Refusal
from relaybay.rules.text import literal, name_literal
from relaybay.service import message_lists, naming, receipts
from relaybay.service.card import session_view
from relaybay.service.relay import Relay
from relaybay.store import board as counted
from relaybay.store import messages, sessions
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

PAGE_MESSAGES = 50
#: Filter → the states it lets through.
STATES = {"undelivered": ("sent",), "unread": ("delivered",), "read": ("read",), "lost": ("orphaned",)}
#: Filter → the condition on a session.
BOXES = {
    "all": "(d.recipient_id = ? OR m.sender_id = ?)",
    "in": "d.recipient_id = ?",
    "out": "m.sender_id = ?",
}


def message(tx: Tx, relay: Relay, mail: Mail, row: SessionRow | None = None) -> dict[str, Any]:
    """One message as pages show it: the item of a list, with the sentence of its state and what a mark was made by.

    `row` is the session whose page it stands on; without one every message counts as incoming.
    """
    outgoing = row is not None and mail.recipient_id != row.id
    shown = receipts.item(tx, relay, mail, "out" if outgoing else "in")
    if mail.sender_id is not None:
        shown["from"]["ref"] = f"S-{mail.sender_id}"
    if mail.delivered_us and mail.delivered_by:
        shown["delivered_by"] = mail.delivered_by
    shown["reason"] = receipts.standing(tx, relay, mail)[1]
    return shown


def message_list(
    tx: Tx,
    relay: Relay,
    *,
    session: str = "",
    box: str = "all",
    state: str = "",
    task: str = "",
    message_id: str = "",
    before: str = "",
) -> Outcome:
    """A page of messages, newest first; it marks nothing. `session` is a name or ref; any filter may be left out."""
    row: SessionRow | None = None
    where: list[str] = ["1 = 1"]
    values: list[Any] = []
    for name, given, known in (("box", box, BOXES), ("state", state or "read", STATES)):
        if given not in known:
            why = word("argument.enum", allowed=", ".join(known)).text
            return Outcome(refusal=Refusal("http.argument_invalid", "75", {"name": name, "why": why}))
    if session:
        found = naming.resolve(tx, session)
        if len(found) != 1:
            return Outcome(refusal=_not_one(tx, session, found))
        row = found[0]
        where.append(BOXES[box])
        values += [row.id] * BOXES[box].count("?")
    if state:
        where.append(f"d.state IN ({', '.join('?' * len(STATES[state]))})")
        values += STATES[state]
    refusal = message_lists.narrow(tx, where, values, task, message_id, before, _unknown)
    if refusal is not None:
        return Outcome(refusal=refusal)
    mails = messages.listed(tx, " AND ".join(where), values, PAGE_MESSAGES + 1)
    shown = [message(tx, relay, mail, row) for mail in mails[:PAGE_MESSAGES]]
    waiting = counted.mail_by_session(tx)
    return Outcome(
        data={
            "messages": shown,
            "before": shown[-1]["message_id"] if len(mails) > PAGE_MESSAGES else None,
            "undelivered": sum(states.get("sent", 0) for states in waiting.values()),
            "unread": sum(states.get("delivered", 0) for states in waiting.values()),
            "session": session_view(row) if row is not None else None,
            "sessions": [session_view(one) for one in sessions.every(tx)],
            "filter": {
                "session": row.ref if row is not None else "",
                "box": box,
                "state": state,
                "task": task,
                "message": message_id,
            },
        }
    )


def _not_one(tx: Tx, session: str, found: list[SessionRow]) -> Refusal:
    values = {"session": name_literal(session), "near": naming.near(tx, session)}
    if not found:
        return Refusal("session.unknown", "RECV-1", values)
    return Refusal("session.ambiguous", "RECV-2", {**values, "candidates": naming.candidates(found)})


def _unknown(message_id: str) -> Refusal:
    return Refusal("board.message_unknown", "75", {"message_id": literal(message_id)})
