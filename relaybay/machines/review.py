"""The owner's review of one held message (page 50, table REV): none → open → stale or closed, and open again.

A review is open for one delivery in one control epoch of its recipient, and its token proves that the owner has seen
the message under the controls of now. It is open or stale only while the message is held; whoever moves the delivery
out of `held` raises `left_held` in the same transaction.

Effect words: `token:new` (make the token of this delivery and this epoch; one given before fits no more),
`delivery:approve` and `delivery:reject` (put that event to the delivery, DLV-26 and 27).
"""

# The page calls a state `open`; nothing here opens a file.
# ruff: noqa: A003

from __future__ import annotations

from typing import ClassVar

from statemachine import State

from relaybay.machines.base import Machine, Row

_MAY = "token_fits and not blocked"
_BLOCKED = "token_fits and blocked"
_TOKEN = ("token:new",)

_Rows = dict[tuple[str, str, str], Row]


def _no_review(state: str) -> _Rows:
    """REV-6 and 7: without an open review nothing is approved or rejected; what is said goes by the message."""
    rows: _Rows = {}
    for event in ("approve", "reject"):
        rows[state, event, "held"] = Row("REV-6", "refuse", "review.stale")
        rows[state, event, "not held"] = Row("REV-7", "refuse", "review.not_held")
    return rows


class Review(Machine):
    """none, open, stale, closed. None of them is the last: a message that is held again is reviewed again."""

    FACTS = ("held", "token_fits", "blocked")

    none = State(initial=True)
    open = State()
    stale = State()
    closed = State()

    open_review = none.to(open, cond="held") | open.to(open) | stale.to(open) | closed.to(open, cond="held")
    approve = open.to(closed, cond=_MAY)
    reject = open.to(closed, cond="token_fits")
    controls_grew = open.to(stale)
    left_held = open.to(closed) | stale.to(closed)

    ROWS: ClassVar[_Rows] = {
        ("none", "open_review", "held"): Row("REV-1", "move", effects=_TOKEN),
        ("closed", "open_review", "held"): Row("REV-1", "move", effects=_TOKEN),
        ("open", "open_review", ""): Row("REV-1", "move", effects=_TOKEN),
        ("stale", "open_review", ""): Row("REV-1", "move", effects=_TOKEN),
        ("none", "open_review", "not held"): Row("REV-8", "refuse", "review.not_held"),
        ("closed", "open_review", "not held"): Row("REV-8", "refuse", "review.not_held"),
        ("open", "controls_grew", ""): Row("REV-2", "move"),
        ("open", "left_held", ""): Row("REV-3", "move"),
        ("stale", "left_held", ""): Row("REV-3", "move"),
        ("open", "approve", _MAY): Row("REV-4", "move", effects=("delivery:approve",)),
        ("open", "approve", _BLOCKED): Row("REV-4", "refuse", "review.blocked"),
        ("open", "approve", "not token_fits"): Row("REV-4", "refuse", "review.stale"),
        ("open", "reject", "token_fits"): Row("REV-5", "move", effects=("delivery:reject",)),
        ("open", "reject", "not token_fits"): Row("REV-5", "refuse", "review.stale"),
        **_no_review("none"),
        **_no_review("closed"),
        ("stale", "approve", ""): Row("REV-6", "refuse", "review.stale"),
        ("stale", "reject", ""): Row("REV-6", "refuse", "review.stale"),
        ("none", "controls_grew", ""): Row("REV-9", "repeat"),
        ("stale", "controls_grew", ""): Row("REV-9", "repeat"),
        ("closed", "controls_grew", ""): Row("REV-9", "repeat"),
        ("none", "left_held", ""): Row("REV-9", "repeat"),
        ("closed", "left_held", ""): Row("REV-9", "repeat"),
    }
