"""Which session a task is bound to, and what becomes of the owner's comments when that changes (page 40, page 10 MOVE).

Binding links no hook id and makes no row (LINK-12): it never draws a session's comments to whoever binds it.
"""

from __future__ import annotations

from typing import Any

from relaybay.answers import word
from relaybay.domain import Caller, Outcome, Refusal
from relaybay.rules.text import name_line, name_literal
from relaybay.service import steps, writes
from relaybay.service.arguments import one_session
from relaybay.service.card import pending, task_view
from relaybay.service.identity import Identity
from relaybay.service.relay import Relay
from relaybay.service.tasks import unknown
from relaybay.store import comments, sessions, tasks
from relaybay.store.sessions import SessionRow
from relaybay.store.tasks import TaskRow
from relaybay.store.transaction import Tx


def rebind(tx: Tx, task: TaskRow, new: SessionRow | None, by: str) -> TaskRow:
    """Binds a task to another session or to none: what was delivered and not read waits again, and keeps its Stop
    blocks (CMT-5, MOVE-4, MOVE-11); what is sent or read stays (CMT-18); messages stay. A first binding, or one to the
    same session, changes no comment (CMT-22).
    """
    old = sessions.get(tx, task.session_id)
    same = old is None or (new is not None and new.id == old.id)
    for row in comments.of_task(tx, task.id):
        if row.author_kind == "owner":
            steps.comment(tx, row, "bound_again" if same else "bound_elsewhere")
    if old is not None and new is not None and old.id == new.id:
        return task
    bound = {"ever_bound": 1} if new is not None else {}
    after = tasks.change(tx, task, session_id=new.id if new is not None else None, **bound)
    was: dict[str, Any] = {"old_session": old.ref, "old_title": name_line(old.title)} if old is not None else {}
    if new is not None:
        tx.emit("task.bound", task=task.task_key, session=new.ref, title=name_line(new.title), by=by, **was)
    elif old is not None:
        tx.emit("task.unbound", task=task.task_key, session=old.ref, title=name_line(old.title), by=by)
    return after


def task_bind_session(tx: Tx, relay: Relay, caller: Caller, *, task: str, session: str) -> Outcome:
    """Binds a task to the session that `session` means, found as a recipient is and never made (ROW-4, LINK-12).

    The caller's own session is known by its hook session only; it is not linked either.
    """
    arguments = {"task": task, "session": session}

    def work(who: Identity | None) -> Outcome:
        return _bind(tx, relay, who, task, session)

    return writes.call(tx, relay, caller, "bind", "task_bind_session", arguments, work)


def _bind(tx: Tx, relay: Relay, who: Identity | None, task: str, session: str) -> Outcome:
    found = tasks.get(tx, task)
    if found is None:
        return unknown(task)
    row = one_session(tx, session)
    if isinstance(row, Refusal):
        return Outcome(refusal=row)
    author = writes.settle(tx, relay, who)
    title = name_literal(row.title)
    if found.session_id == row.id:
        rebind(tx, found, row, author.label)
        said = word("task.bound_before", task=found.task_key, session=title).text
    else:
        found = rebind(tx, found, row, author.label)
        count = tasks.unread_comments(tx, found.id)
        said = word("task.bound", task=found.task_key, session=title, count=count).text
        said += f" {pending(tx, relay, row.id).reason}" if count else ""
    return writes.done(who, {**task_view(tx, found, body=True), "text": said})


def task_unbind(tx: Tx, relay: Relay, caller: Caller, *, task: str) -> Outcome:
    """Binds a task to nobody (MOVE-11): its comments say "no session is bound" and wait for a binding."""
    return writes.call(
        tx, relay, caller, "other", "task_unbind", {"task": task}, lambda who: _unbind(tx, relay, who, task)
    )


def _unbind(tx: Tx, relay: Relay, who: Identity | None, task: str) -> Outcome:
    if tasks.get(tx, task) is None:
        return unknown(task)
    author = writes.settle(tx, relay, who)
    found = tasks.get(tx, task)
    assert found is not None
    old = sessions.get(tx, found.session_id)
    if old is None:
        said = word("task.unbound_before", task=found.task_key).text
    else:
        found = rebind(tx, found, None, author.label)
        count = tasks.unread_comments(tx, found.id)
        said = word("task.unbound", task=found.task_key, session=name_literal(old.title), count=count).text
    return writes.done(who, {**task_view(tx, found, body=True), "text": said})
