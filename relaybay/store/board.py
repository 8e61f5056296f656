"""Counts for pages: what waits and what is open, grouped once for all rows that a page shows.

Reads only, off the hot paths: most are Pony's queries over the model (`Tx.model`), and run in a reader's snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pony import orm

from relaybay.store.transaction import Tx

#: key → state → how many.
Counts = dict[int, dict[str, int]]


def _grouped(rows: Iterable[tuple[Any, Any, Any]]) -> Counts:
    found: Counts = {}
    for key, state, number in rows:
        found.setdefault(int(key), {})[str(state)] = int(number)
    return found


def mail_open(tx: Tx) -> dict[str, int]:
    """Open deliveries of all rows: state → count."""
    found = orm.select(
        (d.state, orm.count())
        for d in tx.model.Delivery
        if d.state in ("sent", "delivered") and d.recipient_id is not None
    )
    return {str(state): int(number) for state, number in found}


def mail_by_session(tx: Tx) -> Counts:
    """Open deliveries of every row that has some: recipient → state → count."""
    return _grouped(
        orm.select(
            (d.recipient_id, d.state, orm.count())
            for d in tx.model.Delivery
            if d.state in ("sent", "delivered") and d.recipient_id is not None
        )
    )


def mail_by_task(tx: Tx) -> Counts:
    """Open deliveries of messages that say which task they are about: task → state → count."""
    return _grouped(
        orm.select(
            (m.task_id, d.state, orm.count())
            for d in tx.model.Delivery
            for m in tx.model.Message
            if m.id == d.message_id and d.state in ("sent", "delivered") and m.task_id is not None
        )
    )


def comments_by_session(tx: Tx) -> Counts:
    """The owner's open comments by the session bound to their task: session → state → count."""
    return _grouped(
        orm.select(
            (t.session.id, c.state, orm.count())
            for c in tx.model.Comment
            for t in tx.model.Task
            if t.id == c.task_id
            and c.author_kind == "owner"
            and c.state in ("sent", "delivered")
            and t.session is not None
        )
    )


def comments_by_task(tx: Tx) -> Counts:
    """The owner's open comments, and the agents' replies that nobody answered: task → state → count."""
    return _grouped(
        orm.select(
            (c.task_id, c.state, orm.count())
            for c in tx.model.Comment
            if (c.author_kind == "owner" and c.state in ("sent", "delivered")) or c.state == "unanswered"
        )
    )


def replies_by_session(tx: Tx) -> dict[int, int]:
    """Replies that wait for the owner, by their author's row."""
    found = orm.select(
        (c.author_id, orm.count()) for c in tx.model.Comment if c.state == "unanswered" and c.author_id is not None
    )
    return dict(found)


def steps_by_task(tx: Tx) -> dict[int, tuple[int, int]]:
    """Task → (steps done, steps)."""
    found = orm.select((s.task.id, orm.sum(s.done), orm.count()) for s in tx.model.Step)
    return {task: (done, steps) for task, done, steps in found}


def tasks_by_status(tx: Tx, project: str) -> dict[str, int]:
    """How many tasks there are in each status; of one project, or with an empty slug of all."""
    found = orm.select((t.status, orm.count()) for t in tx.model.Task if project in ("", t.project.slug))
    return dict(found)


# The order of the two is SQLite's to choose, except in a CROSS JOIN: messages first, by their time.
# What a recipient did not let in makes no edge (DLV-22).
_SENT_SINCE = (
    "message m CROSS JOIN delivery d WHERE d.message_id = m.id AND d.state NOT IN ('refused','rate_limited')"
    " AND m.sent_us >= ?"
)
# Both conditions on the state: the first is the index's own words, or SQLite would not take it.
_WAITING_FROM_BEFORE = (
    "delivery d JOIN message m ON m.id = d.message_id"
    " WHERE d.state IN ('sent','delivered') AND d.state = 'sent' AND m.sent_us < ?"
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """Deliveries from one session to another, in one state. A title stands where the row is gone, and the key is None.

    `inside`: sent since the time that was asked for; the others are those that still wait. `oldest_us`: the first one.
    `script`: the sender is one. `published`: to a topic or a broadcast.
    """

    sender_id: int | None
    sender_title: str
    recipient_id: int | None
    recipient_title: str
    state: str
    inside: bool
    count: int
    oldest_us: int
    script: bool
    published: bool


def exchanges(tx: Tx, since_us: int, task_id: int | None = None) -> list[Exchange]:
    """Who wrote to whom since a time, and what waits however old it is; about one task, or about anything."""
    about = "" if task_id is None else " AND m.task_id = ?"
    values = [since_us] if task_id is None else [since_us, task_id]
    parties = (
        # Grouped by a plain column, SQLite would walk all messages in that column's order.
        "coalesce(m.sender_id, 0), CASE WHEN m.sender_id IS NULL THEN m.sender_title ELSE '' END,"
        " d.recipient_id, CASE WHEN d.recipient_id IS NULL THEN d.recipient_title ELSE '' END, d.state,"
        " m.sender_kind = 'script', m.audience <> 'direct'"
    )
    found = []
    for inside, joined in ((True, _SENT_SINCE), (False, _WAITING_FROM_BEFORE)):
        rows = tx.rows(
            f"SELECT {parties}, count(*), min(d.sent_us) FROM {joined}{about} GROUP BY 1, 2, 3, 4, 5, 6, 7",  # noqa: S608
            *values,
        )
        found += [
            Exchange(s or None, st, r, rt, state, inside, count, oldest, bool(script), bool(published))
            for s, st, r, rt, state, script, published, count, oldest in rows
        ]
    return found


def tasks_written_about(tx: Tx, most: int) -> list[str]:
    """Keys of tasks that messages are about, the newest tasks first."""
    rows = tx.rows(
        "SELECT task_key FROM task WHERE id IN (SELECT task_id FROM message WHERE task_id IS NOT NULL)"
        " ORDER BY id DESC LIMIT ?",
        most,
    )
    return [str(key) for (key,) in rows]


def projects_of_bound(tx: Tx) -> dict[int, int]:
    """Session → the project of the first task that is bound to it."""
    return dict(tx.rows("SELECT session_id, project_id FROM task WHERE session_id IS NOT NULL ORDER BY id DESC"))


def proofs(tx: Tx) -> dict[str, int]:
    """Of what was handed over: how many texts were seen in a session's context, and for how many that was given up."""
    found = {"seen": 0, "given_up": 0}
    for table in ("delivery", "comment"):
        sums = "coalesce(sum(in_context_us > 0), 0), coalesce(sum(reason_code = 'not_in_context'), 0)"
        seen, given_up = tx.rows(f"SELECT {sums} FROM {table} WHERE delivered_us > 0")[0]  # noqa: S608 - own names.
        found["seen"] += int(seen)
        found["given_up"] += int(given_up)
    return found
