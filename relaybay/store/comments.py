"""Comments of the owner and of agents on tasks, in the order of a comment's life."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from relaybay.store import seals, search
from relaybay.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class CommentRow:
    """One comment with its task's key and bound session. Times in µs, 0 where nothing happened."""

    id: int
    cid: str
    task_id: int
    author_kind: str
    author_id: int | None
    author_title: str
    author_verified: int
    body_md: str
    parent_id: int | None
    parent_cid: str
    step_n: int
    state: str
    created_us: int
    grace_until_us: int
    delivered_us: int
    delivered_to: int | None
    delivered_title: str
    delivered_by: str
    delivered_hook_id: str
    handover_id: str
    reason_code: str
    in_context_us: int
    read_us: int
    read_how: str
    stop_blocks: int
    reoffers: int
    attachment_id: int | None
    attachment_name: str
    task_key: str
    bound_id: int | None

    def held_back(self, now: int) -> bool:
        """Whether the owner may still take it back and nobody else sees it (CMT-3). A clock that was set back to before
        it was written does not hold it until that time has come again.
        """
        return self.created_us <= now < self.grace_until_us


_OWN = [f.name for f in fields(CommentRow)][:-2]
_SELECT = (
    f"SELECT {', '.join('c.' + n for n in _OWN)}, t.task_key, t.session_id, c.seal"  # noqa: S608 - own names.
    " FROM comment c JOIN task t ON t.id = c.task_id"
)


def _comments(tx: Tx, where: str, *values: Any) -> list[CommentRow]:
    return [_read(CommentRow(*r), seal) for *r, seal in tx.rows(f"{_SELECT} {where}", *values)]


def _read(comment: CommentRow, seal: str) -> CommentRow:
    """A comment as it was stored, or with words in the place of a text that the disk has changed (FLT-8)."""
    if seals.whole(comment, seals.COMMENT, seal):
        return comment
    return replace(comment, body_md=seals.instead(comment.cid))


def add(tx: Tx, bound_id: int | None, **columns: Any) -> CommentRow:
    """Stores one comment. `bound_id` is the session bound to its task, whose mail it may be."""
    key = tx.insert("comment", created_us=tx.now, **columns)
    seals.put(tx, seals.COMMENT, "id = ?", key)
    search.put_comment(tx, key)
    tx.touch(bound_id)
    return _comments(tx, "WHERE c.id = ?", key)[0]


def get(tx: Tx, cid: str) -> CommentRow | None:
    """A comment by its public id."""
    found = _comments(tx, "WHERE c.cid = ?", cid)
    return found[0] if found else None


def by_key(tx: Tx, key: int) -> CommentRow | None:
    """A comment by its numeric key."""
    found = _comments(tx, "WHERE c.id = ?", key)
    return found[0] if found else None


def of_session(tx: Tx, session_id: int, states: Sequence[str]) -> list[CommentRow]:
    """The owner's comments of every task bound to a session, in these states, oldest first."""
    marks = ", ".join("?" * len(states))
    return _comments(
        tx,
        f"WHERE t.session_id = ? AND c.author_kind = 'owner' AND c.state IN ({marks}) ORDER BY c.id",
        session_id,
        *states,
    )


def of_task(tx: Tx, task_id: int) -> list[CommentRow]:
    """All comments of a task, oldest first."""
    return _comments(tx, "WHERE c.task_id = ? ORDER BY c.id", task_id)


def listed(tx: Tx, task_id: int, *, unread_only: bool, before: int, most: int) -> list[CommentRow]:
    """A page of a task's comments, newest first, before the comment with key `before`."""
    unread = " AND c.author_kind = 'owner' AND c.state IN ('sent','delivered')" if unread_only else ""
    return _comments(tx, f"WHERE c.task_id = ? AND c.id < ?{unread} ORDER BY c.id DESC LIMIT ?", task_id, before, most)


def unproven(tx: Tx) -> list[tuple[str, Literal["comment", "message"], int, str]]:
    """As `messages.unproven`, for the owner's comments (CTX-4)."""
    rows = tx.rows(
        "SELECT c.delivered_hook_id, c.id, c.cid FROM comment c JOIN session s ON s.hook_id = c.delivered_hook_id"
        " WHERE c.state = 'delivered' AND c.in_context_us = 0 AND c.reason_code = '' ORDER BY c.id"
    )
    return [(str(hook), "comment", int(key), str(cid)) for hook, key, cid in rows]


def unanswered(tx: Tx) -> list[CommentRow]:
    """Agents' replies that stand in the Inbox (CMT-11), oldest first."""
    return _comments(tx, "WHERE c.state = 'unanswered' ORDER BY c.id")


def unanswered_count(tx: Tx) -> int:
    """How many replies `unanswered` would give."""
    return int(tx.value("SELECT count(*) FROM comment WHERE state = 'unanswered'"))


def change(tx: Tx, comment: CommentRow, **columns: Any) -> CommentRow:
    """Sets columns of one comment and gives it as it now is."""
    tx.update("comment", comment.id, **columns)
    tx.touch(comment.bound_id)
    return _comments(tx, "WHERE c.id = ?", comment.id)[0]


def remove(tx: Tx, comment: CommentRow) -> None:
    """Deletes a comment that the owner took back in time (CMT-12)."""
    search.drop_comment(tx, comment.id)
    tx.run("DELETE FROM comment WHERE id = ?", comment.id)
    tx.touch(comment.bound_id)


def give(tx: Tx, session_id: int, comment_ids: Sequence[int]) -> None:
    """Remembers that a list gave these comments to this session, now (CMT-8)."""
    for key in comment_ids:
        tx.run(
            "INSERT INTO comment_given (comment_id, session_id, at_us) VALUES (?, ?, ?)"
            " ON CONFLICT (comment_id, session_id) DO UPDATE SET at_us = excluded.at_us",
            key,
            session_id,
            tx.now,
        )


def given_since(tx: Tx, comment_id: int, session_id: int, since_us: int) -> bool:
    """Whether a list gave this comment to this session at or after `since_us`."""
    return bool(
        tx.value(
            "SELECT 1 FROM comment_given WHERE comment_id = ? AND session_id = ? AND at_us >= ?",
            comment_id,
            session_id,
            since_us,
        )
    )
