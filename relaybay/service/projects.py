"""Projects: what tasks belong to, and the folder by which sessions are told to be in one (page 40)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from relaybay.answers import word
from relaybay.domain import Caller, Outcome, Refusal
from relaybay.rules import names
from relaybay.rules.text import blank, check_text, literal, name_literal
from relaybay.service import writes
from relaybay.service.arguments import check_line, invalid
from relaybay.service.clock import rfc3339
from relaybay.service.identity import Identity
from relaybay.service.relay import Relay
from relaybay.service.writes import Author
from relaybay.settings.keys import SLUG
from relaybay.store import sessions, tasks
from relaybay.store.tasks import ProjectRow
from relaybay.store.transaction import Tx


def view(project: ProjectRow, open_tasks: int) -> dict[str, Any]:
    """A project as answers show it."""
    return {
        "slug": project.slug,
        "title": literal(project.title),
        "root": literal(project.root) if project.root else None,
        "open_tasks": open_tasks,
        "created_at": rfc3339(project.created_us),
    }


def projects_list(tx: Tx) -> Outcome:
    """All projects, by slug, each with how many of its tasks are neither done nor dropped. A read."""
    views = [view(project, tasks.open_tasks(tx, project.id)) for project in tasks.projects(tx)]
    return Outcome(data={"projects": views, "text": word("project.listed", count=len(views)).text})


def check_new(slug: str) -> Refusal | None:
    """`project_unknown` for what is no slug that a new project could have."""
    if SLUG.fullmatch(slug):
        return None
    values = {"project": name_literal(slug), "why": word("why.slug").text}
    return Refusal("project.unknown_no_slug", "75", values)


def make(tx: Tx, slug: str, title: str, root: str, author: Author) -> ProjectRow:
    """Stores a new project; its title is its slug where nobody gave one."""
    project = tasks.add_project(tx, slug, title or slug, root)
    tx.emit("project.added", project=slug, by=author.label)
    return project


def _root(given: str) -> str | Refusal:
    """The canonical folder: sessions' folders are canonical too, or none would be found in it."""
    if not given:
        return ""
    if check_text(given) is not None or not Path(given).is_absolute():
        return invalid("root", "why.root")
    return str(Path(given).resolve())


def project_add(tx: Tx, relay: Relay, caller: Caller, *, slug: str, title: str = "", root: str = "") -> Outcome:
    """A new project, or a new title or folder for one that stands (`relaybay project add`).

    Sessions whose folder lies in it belong to it from then on.
    """
    arguments = {"slug": slug, "title": title, "root": root}

    def work(who: Identity | None) -> Outcome:
        return _add(tx, relay, who, slug, title, root)

    return writes.call(tx, relay, caller, "other", "project_add", arguments, work)


def _add(tx: Tx, relay: Relay, who: Identity | None, slug: str, title: str, root: str) -> Outcome:
    wrong = None if SLUG.fullmatch(slug) else invalid("slug", "why.slug")
    wrong = wrong or (check_line("title", title) if title and not blank(title) else None)
    folder = _root(root)
    if wrong is not None or isinstance(folder, Refusal):
        return Outcome(refusal=wrong or folder)  # type: ignore[arg-type]
    author = writes.settle(tx, relay, who)
    before, shown = tasks.project(tx, slug), "" if blank(title) else names.one_line(title)
    if before is None:
        project, answer = make(tx, slug, shown, folder, author), "project.added"
    else:
        project = tasks.set_project(tx, before, shown or before.title, folder or before.root)
        answer = "project.as_before" if project == before else "project.changed"
        if project != before:
            tx.emit("project.changed", project=slug, by=author.label)
    if before is None or project.root != before.root:
        _place_sessions(tx)
    said = word(answer, project=slug).text
    return writes.done(who, {**view(project, tasks.open_tasks(tx, project.id)), "text": said})


def _place_sessions(tx: Tx) -> None:
    """A session's project is found from its folder; a new root may change whose it is."""
    for row in sessions.every(tx):
        found = tasks.project_of(tx, row.cwd) if row.cwd else None
        if found is not None and found.id != row.project_id:
            sessions.change(tx, row.id, project_id=found.id)
