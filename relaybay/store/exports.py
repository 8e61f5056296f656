"""What exports and the page of a project read beyond the rows themselves."""

from __future__ import annotations

from relaybay.store import tasks
from relaybay.store.tasks import TaskRow
from relaybay.store.transaction import Tx


def files(tx: Tx, task_id: int) -> list[tuple[str, str, int, str]]:
    """A task's attachments in the order they came: (name, media type, size in bytes, SHA-256)."""
    rows = tx.rows("SELECT name, media_type, size_bytes, sha256 FROM attachment WHERE task_id = ? ORDER BY id", task_id)
    return [(str(name), str(media_type), int(size), str(sha256)) for name, media_type, size, sha256 in rows]


def tasks_of(tx: Tx, project_id: int, most: int) -> list[TaskRow]:
    """A project's tasks by their numbers, the first ones."""
    rows = tx.rows("SELECT id FROM task WHERE project_id = ? ORDER BY number LIMIT ?", project_id, most)
    return [tasks.by_id(tx, int(key)) for (key,) in rows]


def tasks_count(tx: Tx, project_id: int) -> int:
    """How many tasks a project has, whatever their status."""
    return int(tx.value("SELECT count(*) FROM task WHERE project_id = ?", project_id))
