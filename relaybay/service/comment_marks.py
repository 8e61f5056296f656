"""What a call of an agent marks as read among the owner's comments of a task (page 40: CMT-6 to 9, 13, 15, 23, 24)."""

from __future__ import annotations

from dataclasses import dataclass

from relaybay.answers import word
from relaybay.domain import Step
from relaybay.service import steps
from relaybay.service.identity import Identity
from relaybay.service.writes import Author
from relaybay.store import comments
from relaybay.store.comments import CommentRow
from relaybay.store.sessions import SessionRow
from relaybay.store.tasks import TaskRow
from relaybay.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Standing:
    """How a call stands to a task's bound session: whether it speaks for it, proves its link, and whether that row has
    linked itself (DLV-6's question).
    """

    speaker: SessionRow
    by_bound: bool
    link_proven: bool
    linked_itself: bool

    @property
    def facts(self) -> dict[str, bool]:
        """The machine's facts."""
        return {
            "by_bound": self.by_bound,
            "link_proven": self.link_proven,
            "linked_itself": self.linked_itself,
        }


@dataclass(frozen=True, slots=True)
class Marks:
    """What a reply came to: how many comments it marked, and what is to be said of the others."""

    read: int
    said: tuple[str, ...] = ()


def standing(who: Identity, author: Author, task: TaskRow, speaker: SessionRow) -> Standing:
    """Judged after LINK for an acknowledgement (ACK-6); for a reply on the link as it stood before the call, LINK-2 to
    4 counted, so that a call that takes a row over proves nothing about what it took (page 30, Delivery machine).

    With nobody named the call speaks for the bound session and proves nothing (CMT-14).
    """
    if author.row is None:
        return Standing(speaker, by_bound=True, link_proven=False, linked_itself=speaker.linked_itself)
    proven = who.proven if who.call == "mark" else who.proven_before
    return Standing(
        speaker,
        by_bound=task.session_id == speaker.id,
        link_proven=proven,
        linked_itself=who.linked_itself,
    )


def acknowledge(tx: Tx, row: CommentRow, how: Standing) -> tuple[Step, CommentRow]:
    """`comment_ack` of one comment."""
    return steps.comment(tx, row, "ack", how.facts)


def by_reply(tx: Tx, task: TaskRow, parent: CommentRow | None, how: Standing) -> Marks:
    """A reply marks the comment it answers (CMT-7), or, where it names none, what its session was given (CMT-8)."""
    if parent is not None:
        return _parent(tx, parent, how) if parent.author_kind == "owner" else Marks(0)
    read = not_given = 0
    for row in comments.of_task(tx, task.id):
        if row.author_kind != "owner":
            continue
        given = comments.given_since(tx, row.id, how.speaker.id, how.speaker.hook_since_us)
        result, _ = steps.comment(tx, row, "reply_on_task", {**how.facts, "given": given})
        read += result.kind == "move"
        not_given += result.spec_id == "CMT-23" and not row.held_back(tx.now)
    return Marks(read, (word("comment.not_given", count=not_given).text,) if not_given else ())


def _parent(tx: Tx, parent: CommentRow, how: Standing) -> Marks:
    current = comments.get(tx, parent.cid)
    assert current is not None
    result, _ = steps.comment(tx, current, "reply_to_it", how.facts)
    if result.spec_id != "CMT-13":
        return Marks(int(result.kind == "move"))
    answer = "comment.parent_not_proven" if how.by_bound else "comment.parent_not_bound"
    return Marks(0, (word(answer).text,))
