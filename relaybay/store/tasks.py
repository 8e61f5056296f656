"""Projects, tasks and their steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from relaybay.store import seals, search
from relaybay.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task with its project's slug. Times in µs."""

    id: int
    project_id: int
    number: int
    task_key: str
    title: str
    body_md: str
    status: str
    session_id: int | None
    ever_bound: int
    author: str
    created_us: int
    updated_us: int
    project: str


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """One project."""

    id: int
    slug: str
    title: str
    root: str
    last_number: int
    created_us: int


_OWN = [f.name for f in fields(TaskRow)][:-1]
_SELECT = (
    f"SELECT {', '.join('t.' + n for n in _OWN)}, p.slug, t.seal"  # noqa: S608 - own names.
    " FROM task t JOIN project p ON p.id = t.project_id"
)
_PROJECT = "SELECT id, slug, title, root, last_number, created_us FROM project"


def _tasks(tx: Tx, where: str, *values: Any) -> list[TaskRow]:
    return [_read(TaskRow(*r), seal) for *r, seal in tx.rows(f"{_SELECT} {where}", *values)]


def _read(task: TaskRow, seal: str) -> TaskRow:
    """A task as it was stored, or with words in the place of a text that the disk has changed (FLT-8)."""
    return task if seals.whole(task, seals.TASK, seal) else replace(task, body_md=seals.instead(task.task_key))


def project(tx: Tx, slug: str) -> ProjectRow | None:
    """A project by slug."""
    found = tx.row(f"{_PROJECT} WHERE slug = ?", slug)
    return None if found is None else ProjectRow(*found)


def projects(tx: Tx) -> list[ProjectRow]:
    """All projects, by slug."""
    return [ProjectRow(*r) for r in tx.rows(f"{_PROJECT} ORDER BY slug")]


def project_of(tx: Tx, cwd: str) -> ProjectRow | None:
    """The project whose root folder holds this folder; the deepest root wins."""
    for found in sorted(projects(tx), key=lambda p: len(p.root), reverse=True):
        if found.root and (cwd == found.root or cwd.startswith(found.root.rstrip("/") + "/")):
            return found
    return None


def add_project(tx: Tx, slug: str, title: str, root: str) -> ProjectRow:
    """A new project."""
    tx.insert("project", slug=slug, title=title, root=root, created_us=tx.now)
    found = project(tx, slug)
    assert found is not None
    return found


def set_project(tx: Tx, before: ProjectRow, title: str, root: str) -> ProjectRow:
    """Gives a project another title and root folder."""
    if (title, root) != (before.title, before.root):
        tx.update("project", before.id, title=title, root=root)
    return replace(before, title=title, root=root)


def open_tasks(tx: Tx, project_id: int) -> int:
    """How many tasks of a project are neither done nor dropped."""
    return int(
        tx.value("SELECT count(*) FROM task WHERE project_id = ? AND status NOT IN ('done','dropped')", project_id)
    )


def get(tx: Tx, task_key: str) -> TaskRow | None:
    """A task by key (`acme-shop-12`, any case)."""
    found = _tasks(tx, "WHERE t.task_key = ?", task_key.lower())
    return found[0] if found else None


def by_id(tx: Tx, task_id: int) -> TaskRow:
    """A task by its numeric key, which must exist."""
    return _tasks(tx, "WHERE t.id = ?", task_id)[0]


def add(tx: Tx, owner: ProjectRow, **columns: Any) -> TaskRow:
    """A new task with the project's next number, which is never used again."""
    tx.run("UPDATE project SET last_number = last_number + 1 WHERE id = ?", owner.id)
    number = int(tx.value("SELECT last_number FROM project WHERE id = ?", owner.id))
    key = tx.insert(
        "task",
        project_id=owner.id,
        number=number,
        task_key=f"{owner.slug}-{number}",
        created_us=tx.now,
        updated_us=tx.now,
        **columns,
    )
    seals.put(tx, seals.TASK, "id = ?", key)
    search.put_task(tx, key)
    return by_id(tx, key)


def change(tx: Tx, task: TaskRow, **columns: Any) -> TaskRow:
    """Sets columns of a task and gives it as it now is."""
    # A new title does not make a damaged text whole again; a new text does.
    sound = "body_md" in columns or seals.sound(tx, seals.TASK, task.id)
    tx.update("task", task.id, updated_us=tx.now, **columns)
    if sound and not columns.keys().isdisjoint(seals.TASK.columns):
        seals.put(tx, seals.TASK, "id = ?", task.id)
    if not columns.keys().isdisjoint(("title", "body_md")):
        search.put_task(tx, task.id)
    for bound in {task.session_id, columns.get("session_id")}:
        tx.touch(bound)
    return by_id(tx, task.id)


def bound_to(tx: Tx, session_id: int) -> list[TaskRow]:
    """The tasks bound to a session."""
    return _tasks(tx, "WHERE t.session_id = ? ORDER BY t.id", session_id)


def listed(tx: Tx, conditions: list[tuple[str, Any]], before: int, most: int) -> list[TaskRow]:
    """A page of tasks, newest first. `conditions` are (SQL with one `?`, value) pairs of the caller's own making."""
    where = " AND ".join(["t.id < ?", *(sql for sql, _ in conditions)])
    return _tasks(tx, f"WHERE {where} ORDER BY t.id DESC LIMIT ?", before, *(v for _, v in conditions), most)


#: Order → how it is asked for, the condition on what comes after a task, and that task's values.
_ORDERS: dict[str, tuple[str, str, Callable[[TaskRow], list[Any]]]] = {
    "new": ("t.id DESC", "t.id < ?", lambda task: [task.id]),
    "old": ("t.id", "t.id > ?", lambda task: [task.id]),
    "updated": (
        "t.updated_us DESC, t.id DESC",
        "(t.updated_us, t.id) < (?, ?)",
        lambda task: [task.updated_us, task.id],
    ),
}


def page(tx: Tx, where: str, values: Sequence[Any], order: str, past: TaskRow | None, most: int) -> list[TaskRow]:
    """A page of tasks that meet a condition over `t` and `p`: the `new` ones first, the `old` ones or those `updated`
    last; with `past`, what comes after that task.
    """
    by, after, of = _ORDERS[order]
    if past is not None:
        where, values = f"({where}) AND {after}", [*values, *of(past)]
    return _tasks(tx, f"WHERE {where} ORDER BY {by} LIMIT ?", *values, most)


def counted(tx: Tx, where: str, values: Sequence[Any]) -> dict[str, int]:
    """How many tasks meet a condition, by their status."""
    joined = "task t JOIN project p ON p.id = t.project_id"
    return dict(tx.rows(f"SELECT t.status, count(*) FROM {joined} WHERE {where} GROUP BY t.status", *values))  # noqa: S608


def steps(tx: Tx, task_id: int) -> list[tuple[int, str, bool]]:
    """A task's steps in order: (n, text, done)."""
    return [
        (int(n), str(t), bool(d))
        for n, t, d in tx.rows("SELECT n, text, done FROM step WHERE task_id = ? ORDER BY n", task_id)
    ]


def add_step(tx: Tx, task_id: int, text: str) -> int:
    """Adds a step at the end; its number."""
    number = int(tx.value("SELECT coalesce(max(n), 0) + 1 FROM step WHERE task_id = ?", task_id))
    tx.insert("step", task_id=task_id, n=number, text=text, done=0)
    search.put_task(tx, task_id)
    return number


def set_step(tx: Tx, task_id: int, number: int, *, done: bool) -> bool:
    """Marks a step done or not; whether there is such a step."""
    return tx.run("UPDATE step SET done = ? WHERE task_id = ? AND n = ?", int(done), task_id, number) > 0


def unread_comments(tx: Tx, task_id: int) -> int:
    """How many of the owner's comments on a task are not read."""
    return int(
        tx.value(
            "SELECT count(*) FROM comment WHERE task_id = ? AND author_kind = 'owner'"
            " AND state IN ('sent','delivered')",
            task_id,
        )
    )
