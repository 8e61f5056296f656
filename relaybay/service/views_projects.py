"""Read model of `/projects/SLUG` (page 70): its tasks by status, the sessions in its folder, and what happened."""

from __future__ import annotations

from typing import Any

from relaybay.domain import Outcome, Refusal
from relaybay.rules.text import literal, name_literal
from relaybay.service import projects
from relaybay.service.arguments import NEWEST, STATUSES
from relaybay.service.clock import rfc3339
from relaybay.service.relay import Relay
from relaybay.service.views import happened, open_mail, session_short
from relaybay.store import board as counted
from relaybay.store import events, sessions, tasks
from relaybay.store.tasks import TaskRow
from relaybay.store.transaction import Tx

#: Tasks of each status that the page shows, the newest; the head of each counts all.
STATUS_TASKS_MAX = 100
TIMELINE_MAX = 60


def project_page(tx: Tx, relay: Relay, *, project: str) -> Outcome:
    """One project with everything its page shows."""
    found = tasks.project(tx, project)
    if found is None:
        return Outcome(refusal=Refusal("project.unknown", "75", {"project": name_literal(project)}))
    totals = counted.tasks_by_status(tx, found.slug)
    lines = _Lines(tx, relay)
    rows = [relay.presence.current(row) for row in sessions.every(tx) if row.project_id == found.id]
    return Outcome(
        data={
            "project": projects.view(found, tasks.open_tasks(tx, found.id)),
            "statuses": [
                {
                    "status": status,
                    "count": totals[status],
                    "tasks": [lines.line(task) for task in _of_status(tx, found.slug, status)],
                }
                for status in STATUSES
                if totals.get(status)
            ],
            "count": sum(totals.values()),
            "sessions": [session_short(relay, row) for row in sessions.every(tx) if row.project_id == found.id],
            "live": sum(row.link_state in ("exact", "guessed") and row.activity != "ended" for row in rows),
            "timeline": happened(events.about(tx, "project", found.slug, TIMELINE_MAX)),
        }
    )


def _of_status(tx: Tx, slug: str, status: str) -> list[TaskRow]:
    return tasks.listed(tx, [("p.slug = ?", slug), ("t.status = ?", status)], NEWEST, STATUS_TASKS_MAX)


class _Lines:
    """Counts for all tasks, read once."""

    def __init__(self, tx: Tx, relay: Relay) -> None:
        self._relay = relay
        self._rows = {row.id: row for row in sessions.every(tx)}
        self._steps = counted.steps_by_task(tx)
        self._comments = counted.comments_by_task(tx)

    def line(self, task: TaskRow) -> dict[str, Any]:
        done, count = self._steps.get(task.id, (0, 0))
        comments = self._comments.get(task.id, {})
        bound = self._rows.get(task.session_id or 0)
        return {
            "key": task.task_key,
            "title": literal(task.title),
            "steps": {"done": done, "count": count},
            "comments": {**open_mail(comments), "unanswered": comments.get("unanswered", 0)},
            "updated_at": rfc3339(task.updated_us),
            **({"session": session_short(self._relay, bound)} if bound is not None else {}),
        }
