"""Counts for pages: what waits and what is open, grouped once for all rows that a page shows.

Reads only, off the hot paths: they are Pony's queries over the model (`Tx.model`), and run in a reader's snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable
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
