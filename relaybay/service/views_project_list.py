"""Read model of `/projects` (page 70): all projects, with their tasks by status and what waits in each."""

from __future__ import annotations

from typing import Any

from relaybay.domain import Outcome
from relaybay.service.arguments import STATUSES
from relaybay.service.projects import projects_list
from relaybay.service.relay import Relay
from relaybay.store import project_counts
from relaybay.store.transaction import Tx

#: Projects that the page lists until all are asked for.
LISTED_MAX = 60


def project_list(tx: Tx, _relay: Relay, *, all_of: str = "") -> Outcome:
    """Projects by slug; the first ones, or all where `all_of` says `projects`."""
    found = projects_list(tx).data["projects"]
    shown = found if all_of == "projects" else found[:LISTED_MAX]
    by_status = project_counts.tasks_by_status(tx)
    waiting, sessions = project_counts.unanswered(tx), project_counts.sessions(tx)

    def line(project: dict[str, Any]) -> dict[str, Any]:
        counts = by_status.get(project["slug"], {})
        return project | {
            "tasks": {status: counts[status] for status in STATUSES if status in counts},
            "unanswered": waiting.get(project["slug"], 0),
            "sessions": sessions.get(project["slug"], 0),
        }

    return Outcome(
        data={"projects": [line(one) for one in shown], "count": len(found), "left_out": len(found) - len(shown)}
    )
