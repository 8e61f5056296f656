"""Tasks: listed, shown, made, changed (page 40). Binding is `binding.py`, projects are `projects.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from relaybay.answers import word
from relaybay.domain import Caller, Outcome, Refusal
from relaybay.rules import names
from relaybay.rules.text import check_text, name_literal, normalise
from relaybay.service import comment_lists, filters, listing, projects, writes
from relaybay.service.arguments import LIST_DEFAULT, check_limit, check_line, check_status, invalid, one_session
from relaybay.service.card import task_view
from relaybay.service.identity import Identity
from relaybay.service.relay import Relay
from relaybay.service.writes import Author
from relaybay.store import tasks
from relaybay.store.conditions import Condition, all_of
from relaybay.store.tasks import TaskRow
from relaybay.store.transaction import Tx


def unknown(key: str, *, owner: bool = False) -> Outcome:
    """`task_unknown`, to the owner in the owner's words."""
    answer = "task.unknown.owner" if owner else "task.unknown"
    return Outcome(refusal=Refusal(answer, "75", {"task": name_literal(key)}))


def tasks_list(
    tx: Tx,
    *,
    project: str = "",
    status: str = "",
    session: str = "",
    query: str = "",
    q: str = "",
    limit: int = LIST_DEFAULT,
    before: str = "",
) -> Outcome:
    """Tasks, newest first: of a project, with a status, bound to a session, with a text in key, title or body; and
    those that a filter `q` lets through (`rules/query.py`), which may order them in another way.

    A read. `session` is found as RECV finds; `before` is the last page's last key.
    """
    conditions: list[Condition] = []
    wrong = check_limit(limit) or (check_status(status) if status else None)
    if wrong is not None:
        return Outcome(refusal=wrong)
    if project:
        if tasks.project(tx, project) is None:
            return Outcome(refusal=Refusal("project.unknown", "75", {"project": name_literal(project)}))
        conditions.append(("p.slug = ?", [project]))
    if status:
        conditions.append(("t.status = ?", [status]))
    if session:
        bound = one_session(tx, session)
        if isinstance(bound, Refusal):
            return Outcome(refusal=bound)
        conditions.append(("t.session_id = ?", [bound.id]))
    asked = filters.narrowed(tx, q, "tasks")
    if isinstance(asked, Refusal):
        return Outcome(refusal=asked)
    last = tasks.get(tx, before) if before else None
    if before and last is None:
        return unknown(before)
    where, order = all_of([*conditions, *asked[1]]), asked[0].once("sort", "new")
    found = list(_having(tx, where, query, order, last, limit + 1))
    views, cut = listing.cut([task_view(tx, task, body=False) for task in found[:limit]], listing.room())
    data: dict[str, Any] = {"tasks": views, "text": word("task.listed", count=len(views)).text}
    if cut or len(found) > limit:
        data["before"] = views[-1]["key"]
    return Outcome(data=data)


def _having(tx: Tx, where: Condition, query: str, order: str, past: TaskRow | None, most: int) -> Iterator[TaskRow]:
    """Up to `most` tasks that have `query` in them, whatever its case. The database folds only ASCII, so this does."""
    wanted, given = query.casefold(), 0
    while page := tasks.page(tx, *where, order, past, most):
        for task in page:
            if wanted in f"{task.task_key}\n{task.title}\n{task.body_md}".casefold():
                yield task
                given += 1
                if given == most:
                    return
        past = page[-1]


def task_get(tx: Tx, relay: Relay, caller: Caller, *, task: str) -> Outcome:
    """One task with its body and its newest comments.

    To be run as a write where the caller is an agent: what it was given is remembered (CMT-8). It is never refused
    for who it says it is, and links nothing.
    """
    found = tasks.get(tx, task)
    if found is None:
        return unknown(task, owner=caller.owner)
    view = task_view(tx, found, body=True)
    shown = comment_lists.page(tx, relay, caller, found, "task_get", units_max=listing.room(view))
    text = word("task.shown", task=found.task_key, status=found.status).text
    return Outcome(data={**view, **shown, "text": text})


def _too_large(tx: Tx, name: str, task: TaskRow) -> Refusal | None:
    """A task always fits one answer, with one comment beside it."""
    units = listing.size(task_view(tx, task, body=True))
    units_max = listing.room() - listing.COMMENT_UNITS_MAX
    return invalid(name, "why.too_large", units=units, units_max=units_max) if units > units_max else None


def _body(value: str) -> str | Refusal:
    text = normalise(value)
    return text if check_text(text) is None else Refusal("body.not_text", "SEND-15")


def task_create(
    tx: Tx, relay: Relay, caller: Caller, *, project: str, title: str, body: str = "", status: str = "inbox"
) -> Outcome:
    """A new task. An unknown valid slug makes its project too, and the answer says so."""
    arguments = {"project": project, "title": title, "body": body, "status": status}

    def work(who: Identity | None) -> Outcome:
        return _create(tx, relay, who, project, title, body, status)

    return writes.call(tx, relay, caller, "other", "task_create", arguments, work)


def _create(tx: Tx, relay: Relay, who: Identity | None, project: str, title: str, body: str, status: str) -> Outcome:
    wrong = check_line("title", title) or check_status(status)
    text = _body(body)
    owner = tasks.project(tx, project)
    if owner is None and wrong is None:
        wrong = projects.check_new(project)
    if wrong is not None or isinstance(text, Refusal):
        return Outcome(refusal=wrong or text)  # type: ignore[arg-type]
    author = writes.settle(tx, relay, who)
    made = owner is None
    owner = owner or projects.make(tx, project, "", "", author)
    task = tasks.add(tx, owner, title=names.one_line(title), body_md=text, status=status, author=author.label)
    large = _too_large(tx, "body", task)
    if large is not None:
        return Outcome(refusal=large)
    tx.emit("task.created", task=task.task_key, project=owner.slug, status=status, by=author.label)
    answer = "task.created_with_project" if made else "task.created"
    said = word(answer, task=task.task_key, status=status, project=owner.slug).text
    return writes.done(who, {**task_view(tx, task, body=True), "text": said})


@dataclass(frozen=True, slots=True)
class Change:
    """What `task_update` is to change; None where nothing was said. Steps count from 1."""

    title: str | None = None
    body: str | None = None
    status: str | None = None
    step_add: str | None = None
    step_done: int | None = None
    step_undone: int | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The arguments that were given."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}


@dataclass(slots=True)
class _Done:
    """What an update came to: columns to set, the words for what changed, and the number of a step that it added."""

    columns: dict[str, Any] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    step: int = 0

    @property
    def wrote(self) -> bool:
        """Whether title or body is another now."""
        return not self.columns.keys().isdisjoint(("title", "body_md"))


def task_update(tx: Tx, relay: Relay, caller: Caller, *, task: str, change: Change) -> Outcome:
    """Changes what was given. A status change is an event with the old and the new value."""
    arguments = {"task": task, **change.given}

    def work(who: Identity | None) -> Outcome:
        return _update(tx, relay, who, task, change)

    return writes.call(tx, relay, caller, "other", "task_update", arguments, work)


def task_edit(tx: Tx, relay: Relay, caller: Caller, *, task: str, title: str, body: str) -> Outcome:
    """Title and text as a form brings them, always both. Only what is another now counts as given: whose text it is
    must not change with a title.
    """
    found = tasks.get(tx, task)
    if found is None:
        return unknown(task, owner=caller.owner)
    change = Change(
        title=title if names.one_line(title) != found.title else None,
        body=body if normalise(body) != found.body_md else None,
    )
    return task_update(tx, relay, caller, task=task, change=change)


def _update(tx: Tx, relay: Relay, who: Identity | None, task: str, change: Change) -> Outcome:
    found = tasks.get(tx, task)
    if found is None:
        return unknown(task, owner=who is None)
    wrong = _check(tx, found, change)
    if wrong is not None:
        return Outcome(refusal=wrong)
    author = writes.settle(tx, relay, who)
    before = tasks.by_id(tx, found.id)
    done = _carry_out(tx, before, change)
    if not done.changed:
        said = word("task.as_before", task=before.task_key).text
        return writes.done(who, {**task_view(tx, before, body=True), "text": said})
    if done.wrote:
        done.columns["author"] = _author_now(before, change, author)
    after = tasks.change(tx, before, **done.columns)
    grown = done.wrote or done.step
    large = _too_large(tx, "step_add" if done.step else "body", after) if grown else None
    if large is not None:
        return Outcome(refusal=large)
    moved = {"old_status": before.status, "status": after.status} if before.status != after.status else {}
    # Steps keep no author of their own: the event is where one can be read off.
    added = {"step": done.step} if done.step else {}
    what = {"changed": done.changed, "by": author.label, **moved, **added}
    tx.emit("task.updated", task=after.task_key, project=after.project, **what)
    answer = "task.status_changed" if moved else "task.updated"
    said = word(answer, task=after.task_key, what=", ".join(done.changed), **moved).text
    return writes.done(who, {**task_view(tx, after, body=True), "text": said})


def _check(tx: Tx, task: TaskRow, change: Change) -> Refusal | None:
    for name in ("title", "step_add"):
        value = getattr(change, name)
        wrong = check_line(name, value) if value is not None else None
        if wrong is not None:
            return wrong
    if change.status is not None and (wrong := check_status(change.status)) is not None:
        return wrong
    if change.body is not None and isinstance(text := _body(change.body), Refusal):
        return text
    # A step that this very call adds can be marked by it as well.
    count = len(tasks.steps(tx, task.id)) + (change.step_add is not None)
    for number in (change.step_done, change.step_undone):
        if number is not None and not 1 <= number <= count:
            return Refusal("step.unknown", "75", {"task": task.task_key, "step": number, "count": count})
    return None


def _carry_out(tx: Tx, task: TaskRow, change: Change) -> _Done:
    done = _Done()
    title = names.one_line(change.title) if change.title is not None else task.title
    body = normalise(change.body) if change.body is not None else task.body_md
    wanted = {"title": title, "body_md": body, "status": change.status or task.status}
    done.columns = {name: value for name, value in wanted.items() if value != getattr(task, name)}
    done.changed = [name.removesuffix("_md") for name in done.columns]
    if change.step_add is not None:
        done.step = tasks.add_step(tx, task.id, names.one_line(change.step_add))
    states = {n: was for n, _, was in tasks.steps(tx, task.id)}
    for number, is_done in ((change.step_done, True), (change.step_undone, False)):
        if number is not None and states[number] is not is_done:
            tasks.set_step(tx, task.id, number, done=is_done)
            done.changed.append(f"step {number}")
    if done.step:
        done.changed.append("steps")
    return done


def _author_now(task: TaskRow, change: Change, author: Author) -> str:
    """Whose title and body a task holds; its status and its steps say nothing of that. They count as the owner's only
    when both are: an agent's words must not stand under the owner's name.
    """
    if author.kind != "owner":
        return author.label
    both = change.title is not None and (change.body is not None or not task.body_md)
    return "owner" if both else task.author
