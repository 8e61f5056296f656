"""What waits for the owner (page 40, Inbox): replies of agents, chains of replies that were stopped, sessions that ask
for something, faults; with channels on also what is held for review (page 50).
"""

from __future__ import annotations

from typing import Any

from relaybay.answers import word
from relaybay.domain import Outcome
from relaybay.rules.text import literal, name_line, name_literal
from relaybay.service import reasons
from relaybay.service.arguments import invalid
from relaybay.service.card import session_view
from relaybay.service.clock import rfc3339
from relaybay.specs import answers
from relaybay.store import comments, events, messages, sessions, tasks
from relaybay.store.comments import CommentRow
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

_ASKS = "asks_"


def inbox(tx: Tx, *, channels: bool = False) -> Outcome:
    """All that waits, the oldest first: `{kind, ref, since, title, task?, session?, body?, text, action}`. A read.

    Kinds: `reply`, `reply_too_deep`, `asks_permission` and `asks_input` (their ref is the session's), faults, and with
    `channels` on `held`: a message that waits for a decision, without its text.

    `action` is the entry's one primary action: `replies_read` on its task, `review` of its message at its session, or
    `seen` with its kind and ref.
    """
    entries = [(row.created_us, _reply(tx, row)) for row in comments.unanswered(tx)]
    entries += [(since, _own(tx, kind, ref, row, since)) for kind, ref, row, since in events.inbox(tx)]
    entries += [(row.asks_since_us, _asks(row)) for row in sessions.asking(tx)]
    if channels:
        entries += [(mail.state_us, _held(tx, mail)) for mail in messages.for_review(tx)]
    shown = [entry for _, entry in sorted(entries, key=lambda pair: pair[0])]
    return Outcome(data={"entries": shown, "count": len(shown), "text": word("inbox.listed", count=len(shown)).text})


def count(tx: Tx, *, channels: bool = False) -> int:
    """How much waits, for the sidebar and the page's title."""
    held = sum(messages.for_review_counts(tx).values()) if channels else 0
    return comments.unanswered_count(tx) + len(events.inbox(tx)) + sessions.asking_count(tx) + held


def spool_fault(tx: Tx, what: str) -> None:
    """Something of the spool could not be read: it stands in the Inbox, once, until the owner has seen it."""
    events.put_inbox(tx, "spool_fault", what, None)
    # No session is touched by it: the event is what pages hear.
    tx.emit("inbox.fault", kind="spool_fault")


def _reply(tx: Tx, row: CommentRow) -> dict[str, Any]:
    task = tasks.by_id(tx, row.task_id)
    author = sessions.get(tx, row.author_id)
    answer = "inbox.reply" if row.author_verified else "inbox.reply_not_verified"
    return {
        "kind": "reply",
        "ref": row.cid,
        "since": rfc3339(row.created_us),
        "title": literal(task.title),
        "task": row.task_key,
        "session": session_view(author) if author else {"title": name_line(row.author_title)},
        "body": literal(row.body_md),
        "text": word(answer, author=name_literal(row.author_title), task=row.task_key).text,
        "action": "replies_read",
    }


def _own(tx: Tx, kind: str, ref: str, session_id: int | None, since: int) -> dict[str, Any]:
    session = sessions.get(tx, session_id)
    mail = messages.get(tx, ref) if kind == "reply_too_deep" else None
    answer = f"inbox.{kind}"
    if kind == "reply_too_deep" and session is None:
        answer = "inbox.reply_too_deep_gone"
    elif answer not in answers() or (kind == "hook_fault" and session is None):
        answer = "inbox.fault"
    values = {"kind": kind, "ref": name_literal(ref)} | ({"session": name_literal(session.title)} if session else {})
    entry: dict[str, Any] = {"kind": kind, "ref": ref, "since": rfc3339(since), "title": kind}
    if mail is not None:
        entry["title"] = f"{name_literal(mail.sender_title)} → {name_literal(mail.recipient_title)}"
        entry |= {"task": mail.task_key} if mail.task_key else {}
    if session is not None:
        entry["session"] = session_view(session)
    return {**entry, "text": word(answer, **values).text, "action": "seen"}


def _asks(row: SessionRow) -> dict[str, Any]:
    kind = f"{_ASKS}{row.asks}"
    return {
        "kind": kind,
        "ref": row.ref,
        "since": rfc3339(row.asks_since_us),
        "title": name_literal(row.title),
        "session": session_view(row),
        "text": word(f"inbox.{kind}", session=name_literal(row.title)).text,
        "action": "seen",
    }


def _held(tx: Tx, mail: Mail) -> dict[str, Any]:
    """A message that is held for review. Its text stands on its review alone (REV-1)."""
    ends = {"sender": name_literal(mail.sender_title), "recipient": name_literal(mail.recipient_title)}
    recipient = sessions.get(tx, mail.recipient_id)
    entry: dict[str, Any] = {
        "kind": "held",
        "ref": mail.mid,
        "since": rfc3339(mail.state_us),
        "title": f"{ends['sender']} → {ends['recipient']}",
        "text": word("inbox.held", **ends, reason=reasons.why(tx, mail)).text,
        "action": "review",
    }
    entry |= {"session": session_view(recipient)} if recipient is not None else {}
    return entry | ({"task": mail.task_key} if mail.task_key else {})


def _stop_asking(tx: Tx, kind: str, ref: str) -> bool:
    row = sessions.by_ref(tx, ref)
    if row is None or not row.asks or kind != f"{_ASKS}{row.asks}":
        return False
    sessions.change(tx, row.id, asks="", asks_since_us=0)
    return True


def seen(tx: Tx, *, kind: str, ref: str) -> Outcome:
    """The owner has seen an entry of the Inbox's own; it stands there no more. A reply is seen by CMT-10 instead."""
    if not (_stop_asking(tx, kind, ref) or events.see_inbox(tx, kind, ref)):
        return Outcome(refusal=invalid("ref", "why.nothing_open"))
    tx.emit("inbox.seen", kind=kind, ref=ref)
    return Outcome(data={"kind": kind, "ref": ref, "text": word("inbox.seen").text})
