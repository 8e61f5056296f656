"""The event feed, the Inbox's own entries, and the spool events that were seen."""

from __future__ import annotations

import json
from typing import Any

from relaybay.store.transaction import Tx


def since(tx: Tx, cursor: int, types: tuple[str, ...], most: int) -> list[tuple[int, str, int, dict[str, Any]]]:
    """Events after `cursor`, oldest first: (key, type, at_us, data). `types` may end in `.*`; empty means all."""
    where, values = "", []
    if types:
        parts = []
        for kind in types:
            if kind.endswith(".*"):
                parts.append("substr(type, 1, ?) = ?")
                values += [len(kind) - 1, kind[:-1]]
            else:
                parts.append("type = ?")
                values.append(kind)
        where = f" AND ({' OR '.join(parts)})"
    rows = tx.rows(
        f"SELECT id, type, at_us, data FROM event WHERE id > ?{where} ORDER BY id LIMIT ?",  # noqa: S608 - own words.
        cursor,
        *values,
        most,
    )
    return [(int(i), str(t), int(a), json.loads(d)) for i, t, a, d in rows]


def last(tx: Tx) -> int:
    """The newest event's key, 0 when there is none."""
    return int(tx.value("SELECT coalesce(max(id), 0) FROM event"))


def about(tx: Tx, member: str, value: str, most: int) -> list[tuple[int, str, int, dict[str, Any]]]:
    """The newest events whose data names `value` under `member` (a task's or a session's timeline)."""
    needle = f"{json.dumps(member)}: {json.dumps(value, ensure_ascii=False)}"
    rows = tx.rows(
        "SELECT id, type, at_us, data FROM event WHERE instr(data, ?) > 0 ORDER BY id DESC LIMIT ?", needle, most
    )
    return [(int(i), str(t), int(a), json.loads(d)) for i, t, a, d in rows]


def put_inbox(tx: Tx, kind: str, ref: str, session_id: int | None) -> None:
    """An entry for the owner, once for each (kind, ref); one that was seen stands again."""
    tx.run(
        "INSERT INTO inbox (kind, ref, session_id, created_us, seen_us) VALUES (?, ?, ?, ?, 0)"
        " ON CONFLICT (kind, ref) DO UPDATE SET seen_us = 0",
        kind,
        ref,
        session_id,
        tx.now,
    )
    # A count on every page has changed, and no event says so: a refused call emits none.
    tx.touch(session_id)


def inbox(tx: Tx) -> list[tuple[str, str, int | None, int]]:
    """What stands in the Inbox of its own: (kind, ref, session_id, created_us), oldest first."""
    return [
        (str(k), str(r), s, int(c))
        for k, r, s, c in tx.rows("SELECT kind, ref, session_id, created_us FROM inbox WHERE seen_us = 0 ORDER BY id")
    ]


def see_inbox(tx: Tx, kind: str, ref: str) -> bool:
    """The owner has seen it; whether it stood there."""
    return tx.run("UPDATE inbox SET seen_us = ? WHERE kind = ? AND ref = ? AND seen_us = 0", tx.now, kind, ref) > 0


def spool_event_is_new(tx: Tx, event_id: str) -> bool:
    """Remembers a spooled event's id; False when it was seen before (SPOOL-1)."""
    return (
        tx.run(
            "INSERT INTO spool_seen (event_id, at_us) VALUES (?, ?) ON CONFLICT (event_id) DO NOTHING",
            event_id,
            tx.now,
        )
        > 0
    )
