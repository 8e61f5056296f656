"""The event feed, the Inbox's own entries, and the spool events that were seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from relaybay.store.conditions import Condition, all_of, either, event_type
from relaybay.store.subjects import CLIENT_EDGE, EDGE, subject, subjects_of
from relaybay.store.transaction import Tx

Event = tuple[int, str, int, dict[str, Any]]
"""An event: key, type, at_us, data."""
_NO_TWIN: Final = f"NOT (e.type = '{EDGE}' AND instr(e.data, '\"by\": \"message_send\"') > 0)"


def _read(rows: Sequence[Sequence[Any]]) -> list[Event]:
    return [(int(key), str(type_), int(at_us), json.loads(data)) for key, type_, at_us, data in rows]


def since(tx: Tx, cursor: int, types: tuple[str, ...], most: int, conditions: Sequence[Condition] = ()) -> list[Event]:
    """Events after `cursor`, oldest first: (key, type, at_us, data). `types` may end in `.*`; empty means all.
    `conditions` are over `e`.
    """
    of_types = [either(event_type(kind) for kind in types)] if types else []
    where, values = all_of([*of_types, *conditions])
    rows = tx.rows(
        f"SELECT e.id, e.type, e.at_us, e.data FROM event e WHERE e.id > ? AND {where} ORDER BY e.id LIMIT ?",  # noqa: S608
        cursor,
        *values,
        most,
    )
    return _read(rows)


def fill(tx: Tx) -> None:
    """Notes what each event is about, in a database that had no place for that so far."""
    for key, type_, data in tx.rows("SELECT id, type, data FROM event"):
        for about_ in subjects_of(type_, json.loads(data)):
            tx.run("INSERT INTO event_subject (subject, event_id) VALUES (?, ?)", about_, key)


def last(tx: Tx) -> int:
    """The newest event's key, 0 when there is none."""
    return int(tx.value("SELECT coalesce(max(id), 0) FROM event"))


def about(tx: Tx, kind: str, name: str, most: int) -> list[tuple[int, str, int, dict[str, Any]]]:
    """The newest events about one thing (`task`, `session`, `project`, `message`, `comment`), newest first."""
    return newest(tx, most, subjects=(subject(kind, name),))


def types(tx: Tx) -> list[str]:
    """Every type that the feed has, by name. Steps from one to the next in the index, whatever their number."""
    found: list[str] = []
    while True:
        after = tx.value("SELECT min(type) FROM event WHERE type > ?", found[-1] if found else "")
        if after is None:
            return found
        found.append(str(after))


def page(
    tx: Tx, where: str, values: Sequence[Any], most: int, *, past: int = 0, oldest_first: bool = False
) -> list[Event]:
    """Events that meet a condition over `e`, newest or oldest first, of those that come after the key `past` (0: from
    the first one on). The Map's edge of a message of ours is left out, as in `newest`.
    """
    return _selected(tx, "event e", "e.id", [f"({where})"], values, past, most, oldest_first=oldest_first)


def newest(
    tx: Tx, most: int, *, subjects: Sequence[str] = (), types: Sequence[str] | None = None, before: int = 0
) -> list[Event]:
    """The newest events before the key `before` (0: from the newest on), newest first.

    `subjects`: only what is about each of them. `types`: only these; None for all. The Map's edge of a message of ours
    is left out: its `message.sent` stands beside it.
    """
    if types is not None and not types:
        return []
    if types and not subjects:
        found = [event for type_ in types for event in _of_type(tx, type_, before, most)]
        return sorted(found, reverse=True)[:most]
    where, values = ["1 = 1"], list[Any]()
    if types:
        where.append(f"e.type IN ({', '.join('?' * len(types))})")
        values += types
    for other in subjects[1:]:
        where.append("EXISTS (SELECT 1 FROM event_subject o WHERE o.subject = ? AND o.event_id = e.id)")
        values.append(other)
    if subjects:
        table, key = "event_subject s JOIN event e ON e.id = s.event_id", "s.event_id"
        where.append("s.subject = ?")
        values.append(subjects[0])
    else:
        table, key = "event e", "e.id"
    return _selected(tx, table, key, where, values, before, most)


def _of_type(tx: Tx, type_: str, before: int, most: int) -> list[Event]:
    return _selected(tx, "event e", "e.id", ["e.type = ?"], [type_], before, most)


def _selected(
    tx: Tx,
    table: str,
    key: str,
    where: Sequence[str],
    values: Sequence[Any],
    past: int,
    most: int,
    *,
    oldest_first: bool = False,
) -> list[Event]:
    conditions = [*where, _NO_TWIN]
    if past:
        conditions.append(f"{key} {'>' if oldest_first else '<'} ?")
        values = [*values, past]
    rows = tx.rows(
        f"SELECT e.id, e.type, e.at_us, e.data FROM {table} WHERE {' AND '.join(conditions)}"  # noqa: S608 - own words.
        f" ORDER BY {key} {'' if oldest_first else 'DESC'} LIMIT ?",
        *values,
        most,
    )
    return _read(rows)


def client_edges(tx: Tx, since_us: int) -> list[dict[str, Any]]:
    """Messages that clients wrote with tools of their own, from `since_us` on, oldest first."""
    rows = tx.rows(
        "SELECT e.data FROM event_subject s JOIN event e ON e.id = s.event_id WHERE s.subject = ?"
        " AND e.at_us >= ? ORDER BY s.event_id",
        CLIENT_EDGE,
        since_us,
    )
    return [json.loads(data) for (data,) in rows]


def put_inbox(tx: Tx, kind: str, ref: str, session_id: int | None) -> None:
    """An entry for the owner, once for each (kind, ref); one that was seen stands again, and waits from now on."""
    tx.run(
        "INSERT INTO inbox (kind, ref, session_id, created_us, seen_us) VALUES (?, ?, ?, ?, 0)"
        " ON CONFLICT (kind, ref) DO UPDATE SET seen_us = 0,"
        " created_us = CASE WHEN inbox.seen_us = 0 THEN inbox.created_us ELSE excluded.created_us END",
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
