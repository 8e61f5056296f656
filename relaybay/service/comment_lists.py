"""A task's comments as lists, and what a list gave to whom (CMT-8). Lists mark nothing as read."""

from __future__ import annotations

from typing import Any

from relaybay.answers import word
from relaybay.domain import Caller, Outcome, Refusal
from relaybay.rules.text import name_literal
from relaybay.service import listing, writes
from relaybay.service.arguments import LIST_DEFAULT, NEWEST, check_limit
from relaybay.service.card import comment_view, pending
from relaybay.service.clock import rfc3339
from relaybay.service.relay import Relay
from relaybay.store import comments, events, tasks
from relaybay.store.comments import CommentRow
from relaybay.store.tasks import TaskRow
from relaybay.store.transaction import Tx

#: How many of a task's events its history looks through.
_HISTORY_EVENTS_MAX = 1_000
_HISTORY_TYPES = ("comment.delivered", "comment.offered_again", "comment.read")


def page(
    tx: Tx,
    relay: Relay,
    caller: Caller,
    task: TaskRow,
    tool: str,
    *,
    unread_only: bool = False,
    limit: int = LIST_DEFAULT,
    before: int = NEWEST,
    units_max: int,
) -> dict[str, Any]:
    """`comments`, newest first, and `before` when there are more. Remembers which of the owner's comments the calling
    session was given.

    What the owner may still take back is shown to the owner alone (CMT-12).
    """
    found = comments.listed(tx, task.id, unread_only=unread_only, before=before, most=limit + 1)
    rows = [row for row in found[:limit] if caller.owner or not row.held_back(tx.now)]
    why = pending(tx, relay, task.session_id)
    views, more = listing.cut([comment_view(relay, row, why) for row in rows], units_max)
    _remember(tx, relay, caller, tool, rows[: len(views)])
    shown: dict[str, Any] = {"comments": views}
    if more or len(found) > limit:
        shown["before"] = views[-1]["id"] if views else found[limit - 1].cid
    return shown


def _remember(tx: Tx, relay: Relay, caller: Caller, tool: str, rows: list[CommentRow]) -> None:
    reader = writes.reader(tx, relay, caller, tool)
    if reader is not None:
        comments.give(tx, reader.id, [row.id for row in rows if row.author_kind == "owner"])


def comments_list(
    tx: Tx,
    relay: Relay,
    caller: Caller,
    *,
    task: str,
    unread_only: bool = False,
    limit: int = LIST_DEFAULT,
    before: str = "",
) -> Outcome:
    """A task's comments, newest first; `unread_only`: the owner's that are not read.

    To be run as a write where the caller is an agent, as `task_get`. Never refused for who it says it is.
    """
    wrong = check_limit(limit)
    if wrong is not None:
        return Outcome(refusal=wrong)
    found = tasks.get(tx, task)
    if found is None:
        return Outcome(refusal=Refusal("task.unknown", "75", {"task": name_literal(task)}))
    last = comments.get(tx, before) if before else None
    if before and (last is None or last.task_id != found.id):
        return Outcome(refusal=Refusal("comment.unknown", "75"))
    shown = page(
        tx, relay, caller, found, "comments_list",
        unread_only=unread_only, limit=limit, before=last.id if last else NEWEST, units_max=listing.room(),
    )  # fmt: skip
    text = word("comment.listed", task=found.task_key, count=len(shown["comments"])).text
    return Outcome(data={**shown, "text": text})


def history(tx: Tx, *, task: str) -> Outcome:
    """What happened to each comment of a task, oldest first: hand-overs that were taken back stay in it (CMT-5)."""
    found = tasks.get(tx, task)
    if found is None:
        return Outcome(refusal=Refusal("task.unknown", "75", {"task": name_literal(task)}))
    happened: dict[str, list[dict[str, Any]]] = {}
    for _, type_, at_us, data in reversed(events.about(tx, "task", found.task_key, _HISTORY_EVENTS_MAX)):
        if type_ in _HISTORY_TYPES:
            entry = {"type": type_, "at": rfc3339(at_us), **{k: data[k] for k in ("session", "title") if k in data}}
            happened.setdefault(data["comment_id"], []).append(entry)
    return Outcome(data={"history": happened})
