"""Counts of what belongs to a project, for the page that lists all of them."""

from __future__ import annotations

from relaybay.store.transaction import Tx


def tasks_by_status(tx: Tx) -> dict[str, dict[str, int]]:
    """Slug → status → how many tasks."""
    found: dict[str, dict[str, int]] = {}
    rows = tx.rows(
        "SELECT p.slug, t.status, count(*) FROM task t JOIN project p ON p.id = t.project_id GROUP BY p.slug, t.status"
    )
    for slug, status, count in rows:
        found.setdefault(str(slug), {})[str(status)] = int(count)
    return found


def unanswered(tx: Tx) -> dict[str, int]:
    """Slug → agents' replies on its tasks that wait for the owner."""
    rows = tx.rows(
        "SELECT p.slug, count(*) FROM comment c JOIN task t ON t.id = c.task_id JOIN project p ON p.id = t.project_id"
        " WHERE c.state = 'unanswered' GROUP BY p.slug"
    )
    return {str(slug): int(count) for slug, count in rows}


def sessions(tx: Tx) -> dict[str, int]:
    """Slug → sessions in its folder that are not over."""
    rows = tx.rows(
        "SELECT p.slug, count(*) FROM session s JOIN project p ON p.id = s.project_id"
        " WHERE s.activity <> 'ended' GROUP BY p.slug"
    )
    return {str(slug): int(count) for slug, count in rows}
