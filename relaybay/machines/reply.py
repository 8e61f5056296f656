"""An agent's comment until the owner has seen to it (page 40, CMT-10, CMT-11): unanswered → answered.

An unanswered one stands in the Inbox whatever else happens to its task. Effects: `mark:read_at` sets the time to
now, `event:comment.read` puts that event into the feed.
"""

from __future__ import annotations

from typing import ClassVar

from statemachine import State

from relaybay.machines.base import Machine, Row

_SEEN = ("mark:read_at", "event:comment.read")


class Reply(Machine):
    """unanswered, answered."""

    FACTS = ()

    unanswered = State(initial=True)
    answered = State(final=True)

    mark_replies_read = unanswered.to(answered)
    owner_comments = unanswered.to(answered)

    ROWS: ClassVar[dict[tuple[str, str, str], Row]] = {
        ("unanswered", "mark_replies_read", ""): Row("CMT-10", "move", effects=_SEEN),
        ("unanswered", "owner_comments", ""): Row("CMT-10", "move", effects=_SEEN),
        ("unanswered", "task_changed", ""): Row("CMT-11", "repeat"),
        ("answered", "mark_replies_read", ""): Row("CMT-10", "repeat"),
        ("answered", "owner_comments", ""): Row("CMT-10", "repeat"),
        ("answered", "task_changed", ""): Row("CMT-11", "repeat"),
    }
