"""Counts for pages: what waits and what is open, grouped once for all rows that a page shows. Reads only."""

from __future__ import annotations

from collections.abc import Iterable

from relaybay.store.transaction import Row, Tx

_OPEN_MAIL = "d.state IN ('sent','delivered')"
_OPEN_COMMENTS = "c.author_kind = 'owner' AND c.state IN ('sent','delivered')"

#: key → state → how many.
Counts = dict[int, dict[str, int]]


def _grouped(rows: Iterable[Row]) -> Counts:
    found: Counts = {}
    for key, state, count in rows:
        found.setdefault(int(key), {})[str(state)] = int(count)
    return found


def mail_by_session(tx: Tx) -> Counts:
    """Open deliveries of every row that has some: recipient → state → count."""
    return _grouped(
        tx.rows(
            f"SELECT d.recipient_id, d.state, count(*) FROM delivery d WHERE {_OPEN_MAIL}"  # noqa: S608 - own words.
            " AND d.recipient_id IS NOT NULL GROUP BY d.recipient_id, d.state"
        )
    )


def mail_by_task(tx: Tx) -> Counts:
    """Open deliveries of messages that say which task they are about: task → state → count."""
    return _grouped(
        tx.rows(
            "SELECT m.task_id, d.state, count(*) FROM delivery d JOIN message m ON m.id = d.message_id"  # noqa: S608
            f" WHERE {_OPEN_MAIL} AND m.task_id IS NOT NULL GROUP BY m.task_id, d.state"
        )
    )


def comments_by_session(tx: Tx) -> Counts:
    """The owner's open comments by the session bound to their task: session → state → count."""
    return _grouped(
        tx.rows(
            "SELECT t.session_id, c.state, count(*) FROM comment c JOIN task t ON t.id = c.task_id"  # noqa: S608
            f" WHERE {_OPEN_COMMENTS} AND t.session_id IS NOT NULL GROUP BY t.session_id, c.state"
        )
    )


def comments_by_task(tx: Tx) -> Counts:
    """The owner's open comments, and the agents' replies that nobody answered: task → state → count."""
    return _grouped(
        tx.rows(
            "SELECT c.task_id, c.state, count(*) FROM comment c"  # noqa: S608 - own words.
            f" WHERE ({_OPEN_COMMENTS}) OR c.state = 'unanswered' GROUP BY c.task_id, c.state"
        )
    )


def replies_by_session(tx: Tx) -> dict[int, int]:
    """Replies that wait for the owner, by their author's row."""
    return {
        int(key): int(count)
        for key, count in tx.rows(
            "SELECT author_id, count(*) FROM comment WHERE state = 'unanswered' AND author_id IS NOT NULL"
            " GROUP BY author_id"
        )
    }


def steps_by_task(tx: Tx) -> dict[int, tuple[int, int]]:
    """Task → (steps done, steps)."""
    return {
        int(key): (int(done), int(count))
        for key, done, count in tx.rows("SELECT task_id, sum(done), count(*) FROM step GROUP BY task_id")
    }


def tasks_by_status(tx: Tx, project: str) -> dict[str, int]:
    """How many tasks there are in each status; of one project, or with an empty slug of all."""
    return {
        str(status): int(count)
        for status, count in tx.rows(
            "SELECT t.status, count(*) FROM task t JOIN project p ON p.id = t.project_id"
            " WHERE ? = '' OR p.slug = ? GROUP BY t.status",
            project,
            project,
        )
    }
