"""How tasks and comments are shown (page 75): JSON-ready values, every text one literal with its author's kind.

`json.loads` of a shown text gives the stored one (TEXT-4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from relaybay.answers import word
from relaybay.rules.text import literal, name_line
from relaybay.service.clock import rfc3339
from relaybay.service.reach import reach, said
from relaybay.service.receipts import not_read
from relaybay.service.relay import Relay
from relaybay.store import sessions, tasks
from relaybay.store.comments import CommentRow
from relaybay.store.sessions import SessionRow
from relaybay.store.tasks import TaskRow
from relaybay.store.transaction import Tx

_OPENING_CHARS = 140


@dataclass(frozen=True, slots=True)
class Pending:
    """Why a `sent` comment of a task is not delivered: page 75's reason code, if it has one, and the sentence."""

    reason_code: str
    reason: str


def pending(tx: Tx, relay: Relay, session_id: int | None) -> Pending:
    """RECV's word about the session bound to a task, or that none is (CMT-2)."""
    row = sessions.get(tx, session_id)
    if row is None:
        return Pending("", word("mark.unbound").text)
    found = reach(tx, relay, row)
    return Pending(found.reason_code, said(found, "comment"))


def session_view(row: SessionRow) -> dict[str, Any]:
    """A session in somebody else's answer: ref, title, and its `@name` without the `@`."""
    return {"ref": row.ref, "title": name_line(row.title), **({"name": row.name} if row.name else {})}


def author_view(label: str) -> dict[str, Any]:
    """Who wrote a task's title and body, as the task keeps it: `owner`, a session's ref, or `unnamed`."""
    return {"kind": label} if label in ("owner", "unnamed") else {"kind": "session", "ref": label}


def task_view(tx: Tx, task: TaskRow, *, body: bool) -> dict[str, Any]:
    """A task. With `body` in answers about one task; lists leave it out."""
    bound = sessions.get(tx, task.session_id)
    view: dict[str, Any] = {
        "key": task.task_key,
        "project": task.project,
        "title": literal(task.title),
        "status": task.status,
        "author": author_view(task.author),
        "steps": [{"n": n, "text": literal(text), "done": done} for n, text, done in tasks.steps(tx, task.id)],
        "unread_comments": tasks.unread_comments(tx, task.id),
        "created_at": rfc3339(task.created_us),
        "updated_at": rfc3339(task.updated_us),
    }
    if bound is not None:
        view["session"] = session_view(bound)
    if body:
        view["body"] = literal(task.body_md)
    return view


def opening(text: str) -> str:
    """How a text begins, as one literal on one line: where a list or a form names it."""
    return literal(" ".join(text[:_OPENING_CHARS].split()))


def author(row: CommentRow) -> dict[str, Any]:
    """Who wrote a comment."""
    if row.author_kind == "owner":
        return {"kind": "owner"}
    who: dict[str, Any] = {"kind": "session", "title": name_line(row.author_title)}
    if row.author_id is not None:
        who["ref"] = f"S-{row.author_id}"
    return who | {"verified": bool(row.author_verified)}


def comment_view(relay: Relay, row: CommentRow, why: Pending) -> dict[str, Any]:
    """A comment; `why` speaks for its task and stands with it while it is `sent`."""
    view: dict[str, Any] = {"id": row.cid, "task": row.task_key, "author": author(row), "state": row.state}
    if row.parent_cid:
        view["in_reply_to"] = row.parent_cid
    if row.step_n:
        view["step"] = row.step_n
    if row.attachment_name:
        there = {"id": row.attachment_id} if row.attachment_id is not None else {}
        view["attachment"] = {**there, "name": name_line(row.attachment_name)}
    if row.state == "sent":
        view |= {"reason_code": why.reason_code} if why.reason_code else {}
        view["reason"] = why.reason
        if row.reoffers:
            view["reason"] = word("receipt.offered_again", count=row.reoffers, reach=why.reason).text
    elif row.state == "delivered" and not row.reason_code:
        view["reason"] = not_read(relay, "comment", row)
    elif row.reason_code:
        view |= {"reason_code": row.reason_code, "reason": word(f"mark.{row.reason_code}").text}
    view["created_at"] = rfc3339(row.created_us)
    for name, at_us in (("delivered_at", row.delivered_us), ("in_context_at", row.in_context_us)):
        if at_us:
            view[name] = rfc3339(at_us)
    if row.delivered_us:
        ref = {"ref": f"S-{row.delivered_to}"} if row.delivered_to is not None else {}
        view["delivered_to"] = {**ref, "title": name_line(row.delivered_title)}
    if row.read_us:
        view["read_at"] = rfc3339(row.read_us)
    if row.read_how:
        view["read_how"] = row.read_how
    view["body"] = literal(row.body_md)
    return view
