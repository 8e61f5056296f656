"""What a comment starts as, who speaks in a call about one, and its first seconds (page 40)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict

_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class AddFacts:
    """Who writes, and whether a session is bound to the task."""

    author: Literal["owner", "session"]
    bound: bool


def added(facts: AddFacts) -> Verdict:
    """Table `comment_add`: the state a new comment starts in (CMT-1, 2, 11).

    `sent` and `sent_unbound` are both the machine's `sent`; the second says that no session is bound. A session's
    comment starts as `unanswered` in the machine of replies.
    """
    if facts.author == "session":
        return Verdict("CMT-11", "unanswered")
    if facts.bound:
        return Verdict("CMT-1", "sent")
    return Verdict("CMT-2", "sent_unbound", "mark.unbound")


@dataclass(frozen=True, slots=True)
class SpeakerFacts:
    """Whether a `comment_ack` or `comment_add` has neither a name nor a hook id, and whether a session is bound."""

    nameless: bool
    bound: bool


def speaker(facts: SpeakerFacts) -> Verdict:
    """Table `comment_speaker` (CMT-14): for whom such a call speaks.

    `bound_unproven`: for the bound session, with a link that is not proven and shown as "name not verified".
    `as_said`: the tables ACK and WRITE decide, since the call says who speaks.
    """
    if not facts.nameless:
        return Verdict("CMT-14", "as_said")
    if facts.bound:
        return Verdict("CMT-14", "bound_unproven")
    return Verdict("CMT-14", "refuse", "comment.sender_required")


def in_grace(*, on_board: bool, created_us: int, now_us: int, grace_seconds: int) -> bool:
    """Whether the owner may still take the comment back and nobody is handed it (CMT-3, CMT-12).

    Only what was written on the board has such seconds; times are microseconds since the epoch. A clock that went
    back does not lengthen them beyond their own length.
    """
    return on_board and 0 <= now_us - created_us < grace_seconds * _SECOND_US


def grace_ends_us(created_us: int, grace_seconds: int) -> int:
    """When a comment that was written on the board may first be handed over; a waiting wake-up looks again then
    (WAIT-10).
    """
    return created_us + grace_seconds * _SECOND_US
