"""Read model of `/projects/SLUG` (page 70): its tasks by status, the sessions in its folder, and what happened."""

from __future__ import annotations

from typing import Any

from relaybay.domain import Outcome, Refusal
from relaybay.rules.text import literal, name_literal
from relaybay.service import projects
from relaybay.service.arguments import STATUSES
from relaybay.service.clock import rfc3339
from relaybay.service.relay import Relay
from relaybay.service.views import ALL_MAX, asked_whole, happened, open_mail, session_short, titles_of
from relaybay.store import board as counted
from relaybay.store import events, sessions, tasks
from relaybay.store.tasks import TaskRow
from relaybay.store.transaction import Tx

#: Tasks of each status that the page shows until all of it are asked for; the head of each counts all.
STATUS_TASKS = 10
#: Sessions that stand at the page's head, the live ones first.
SESSIONS_MAX = 20
TIMELINE_MAX = 30


def project_page(tx: Tx, relay: Relay, *, project: str, all_of: str = "") -> Outcome:
    """One project with everything its page shows. Of each status those tasks that were changed last, newest first;
    those statuses that `all_of` names, parted by commas, list all they have.
    """
    found = tasks.project(tx, project)
    if found is None:
        return Outcome(refusal=Refusal("project.unknown", "75", {"project": name_literal(project)}))
    totals = counted.tasks_by_status(tx, found.slug)
    lines = _Lines(tx, relay)
    everybody = sessions.every(tx)
    rows = [row for row in everybody if row.project_id == found.id]
    people = [session_short(relay, row) for row in rows]
    people.sort(key=lambda one: one["activity"] == "ended")
    whole = asked_whole(all_of, STATUSES)
    return Outcome(
        data={
            "project": projects.view(found, tasks.open_tasks(tx, found.id)),
            "statuses": [
                _status(tx, lines, found.slug, status, totals[status], whole=status in whole)
                for status in STATUSES
                if totals.get(status)
            ],
            "count": sum(totals.values()),
            "all_of": ",".join(whole),
            "sessions": people[:SESSIONS_MAX],
            "sessions_left_out": max(len(people) - SESSIONS_MAX, 0),
            "live": sum(one["link"] in ("exact", "guessed") and one["activity"] != "ended" for one in people),
            "timeline": happened(events.about(tx, "project", found.slug, TIMELINE_MAX), titles_of(everybody)),
        }
    )


def _status(tx: Tx, lines: _Lines, slug: str, status: str, count: int, *, whole: bool) -> dict[str, Any]:
    most = ALL_MAX if whole else STATUS_TASKS
    found = tasks.page(tx, "p.slug = ? AND t.status = ?", [slug, status], "updated", None, most)
    return {
        "status": status,
        "count": count,
        "tasks": [lines.line(task) for task in sorted(found, key=lambda task: -task.id)],
        "left_out": count - len(found),
        "expanded": whole and count > STATUS_TASKS,
    }


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
