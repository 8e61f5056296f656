"""Exports of a task and of a project (page 40): gathers what `rules/export.py` writes down. Reads; no message's text.

Neither the time of the export nor anything that changes by itself is in one, so two of the same rows are equal.
"""

from __future__ import annotations

from relaybay.domain import Outcome, Refusal
from relaybay.rules.export import (
    CommentPart,
    FilePart,
    Mark,
    ProjectPart,
    TaskPart,
    Who,
    project_document,
    task_document,
)
from relaybay.rules.text import name_literal
from relaybay.service.clock import rfc3339
from relaybay.service.relay import Relay
from relaybay.service.tasks import unknown
from relaybay.store import comments, exports, sessions, tasks
from relaybay.store.comments import CommentRow
from relaybay.store.tasks import TaskRow
from relaybay.store.transaction import Tx

#: Tasks of a project that one export holds, from the first on.
TASKS_MAX = 1_000


def task_export(tx: Tx, _relay: Relay, *, task: str) -> Outcome:
    """`{name, markdown}` of one task; the name is what a file of it may be called."""
    found = tasks.get(tx, task)
    if found is None:
        return unknown(task, owner=True)
    return Outcome(data={"name": f"{found.task_key}.md", "markdown": task_document(_task(tx, found))})


def project_export(tx: Tx, _relay: Relay, *, project: str) -> Outcome:
    """`{name, markdown}` of a project with all its tasks."""
    found = tasks.project(tx, project)
    if found is None:
        return Outcome(refusal=Refusal("project.unknown", "75", {"project": name_literal(project)}))
    rows = exports.tasks_of(tx, found.id, TASKS_MAX)
    part = ProjectPart(
        slug=found.slug,
        title=found.title,
        root=found.root,
        created=rfc3339(found.created_us),
        tasks=[_task(tx, row) for row in rows],
        left_out=exports.tasks_count(tx, found.id) - len(rows),
    )
    return Outcome(data={"name": f"{found.slug}.md", "markdown": project_document(part)})


def _task(tx: Tx, task: TaskRow) -> TaskPart:
    bound = sessions.get(tx, task.session_id)
    return TaskPart(
        key=task.task_key,
        project=task.project,
        title=task.title,
        status=task.status,
        author=task.author or "unnamed",
        session=Who(bound.title, bound.ref) if bound is not None else None,
        created=rfc3339(task.created_us),
        updated=rfc3339(task.updated_us),
        body=task.body_md,
        steps=tasks.steps(tx, task.id),
        files=[FilePart(*one) for one in exports.files(tx, task.id)],
        comments=[_comment(row) for row in comments.of_task(tx, task.id)],
    )


def _comment(row: CommentRow) -> CommentPart:
    author = None
    if row.author_kind == "session":
        ref = f"S-{row.author_id}" if row.author_id is not None else ""
        author = Who(row.author_title, ref, bool(row.author_verified))
    return CommentPart(
        id=row.cid,
        author=author,
        state=row.state,
        marks=_marks(row),
        body=row.body_md,
        in_reply_to=row.parent_cid,
        step=row.step_n,
        attachment=row.attachment_name,
    )


def _marks(row: CommentRow) -> list[Mark]:
    marks = [Mark("sent", rfc3339(row.created_us))]
    if row.delivered_us:
        ref = f"S-{row.delivered_to}" if row.delivered_to is not None else ""
        note = f"by {row.delivered_by}" if row.delivered_by else ""
        marks.append(Mark("delivered", rfc3339(row.delivered_us), note, Who(row.delivered_title, ref)))
    if row.in_context_us:
        marks.append(Mark("in context", rfc3339(row.in_context_us)))
    if row.read_us:
        marks.append(Mark("read", rfc3339(row.read_us), row.read_how.replace("_", " ")))
    return marks
