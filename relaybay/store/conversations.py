"""With whom a session writes: its messages counted by the other side, the direction and what became of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from relaybay.store.transaction import Tx


@dataclass(slots=True)
class Conversation:
    """One session's mail with another. `other` is None where that row is gone; states → how many, time in µs."""

    other: int | None
    sent: dict[str, int] = field(default_factory=dict)
    received: dict[str, int] = field(default_factory=dict)
    last_us: int = 0


def of_session(tx: Tx, session_id: int) -> list[Conversation]:
    """Everybody that a session wrote to or heard from, the latest first; rows that are gone count as one."""
    rows = tx.rows(
        "SELECT d.recipient_id AS other, 1 AS sent, d.state, count(*), max(m.sent_us)"
        " FROM message m JOIN delivery d ON d.message_id = m.id WHERE m.sender_id = ?"
        " GROUP BY d.recipient_id, d.state"
        " UNION ALL SELECT m.sender_id AS other, 0 AS sent, d.state, count(*), max(m.sent_us)"
        " FROM delivery d JOIN message m ON m.id = d.message_id WHERE d.recipient_id = ?"
        " GROUP BY m.sender_id, d.state",
        session_id,
        session_id,
    )
    found: dict[int | None, Conversation] = {}
    for other, sent, state, count, last_us in rows:
        one = found.setdefault(other, Conversation(other))
        (one.sent if sent else one.received)[str(state)] = int(count)
        one.last_us = max(one.last_us, int(last_us))
    return sorted(found.values(), key=lambda one: (-one.last_us, one.other or 0))
