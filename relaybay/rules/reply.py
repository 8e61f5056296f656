"""The checks of a send beside sender, recipient and body (page 30): repeat (SEND-16), parent (14), self (8), depth (13)
and rate (12).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict


@dataclass(frozen=True, slots=True)
class ParentFacts:
    """The inputs of SEND-14."""

    parent: Literal["absent", "unknown", "known"]
    mine: bool
    state: Literal["open", "held", "taken", "closed", "orphaned"]


@dataclass(frozen=True, slots=True)
class RepeatFacts:
    """The input of SEND-16."""

    request: Literal["absent", "fresh", "same", "other"]


@dataclass(frozen=True, slots=True)
class SelfFacts:
    """The input of SEND-8."""

    same_row: bool


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """The inputs of SEND-13 and SEND-12: the reply's depth is over its bound; the window is full."""

    too_deep: bool
    too_many: bool


def parent_facts(given: bool, states: dict[int, str] | None, mine: frozenset[int]) -> ParentFacts:
    """The inputs of SEND-14. `states` are the parent's delivery states by recipient row (0: a row that is gone), None
    when no message has the id; `mine` are the rows whose mail is the sender's after LINK.
    """
    if not given:
        return ParentFacts("absent", mine=False, state="open")
    if states is None:
        return ParentFacts("unknown", mine=False, state="open")
    own = [state for row, state in states.items() if row in mine]
    if not own:
        lost = "orphaned" in states.values()
        return ParentFacts("known", mine=False, state="orphaned" if lost else "open")
    # Two rows about to become one may each have a delivery of one publication; the one further on stays (DLV-55).
    classes = {_state_class(state) for state in own}
    ranked: tuple[Literal["open", "taken", "held", "closed"], ...] = ("open", "taken", "held", "closed")
    return ParentFacts("known", mine=True, state=next(c for c in ranked if c in classes))


def _state_class(state: str) -> Literal["open", "held", "taken", "closed"]:
    if state in ("sent", "delivered", "read"):
        return "open"
    if state == "held":
        return "held"
    return "taken" if state == "taken" else "closed"


def judge_parent(facts: ParentFacts) -> Verdict:
    """SEND-14: `no_reply`, `reply`, or a refusal that says why the parent can't be answered."""
    if facts.parent == "absent":
        return Verdict("SEND-14", "no_reply")
    if facts.state == "orphaned":
        return Verdict("SEND-14", "refuse", "message.orphaned")
    if not facts.mine:
        return Verdict("SEND-14", "refuse", "send.message_unknown")
    if facts.state == "held":
        return Verdict("SEND-14", "refuse", "send.parent_held")
    if facts.state == "taken":
        return Verdict("SEND-14", "refuse", "send.parent_taken")
    if facts.state == "closed":
        return Verdict("SEND-14", "refuse", "send.parent_closed")
    return Verdict("SEND-14", "reply")


def judge_repeat(facts: RepeatFacts) -> Verdict:
    """SEND-16: `go_on`, `repeat` (give the first receipt, change nothing), or a refusal."""
    if facts.request == "same":
        return Verdict("SEND-16", "repeat")
    if facts.request == "other":
        return Verdict("SEND-16", "refuse", "send.request_id_reused")
    return Verdict("SEND-16", "go_on")


def judge_self(facts: SelfFacts) -> Verdict:
    """SEND-8: `go_on`, or a refusal."""
    if facts.same_row:
        return Verdict("SEND-8", "refuse", "send.to_self")
    return Verdict("SEND-8", "go_on")


def judge_loop(facts: LoopFacts) -> Verdict:
    """SEND-13, then SEND-12: `accept`, or the first refusal."""
    if facts.too_deep:
        return Verdict("SEND-13", "refuse", "send.reply_too_deep")
    if facts.too_many:
        return Verdict("SEND-12", "refuse", "send.rate_limited")
    return Verdict("SEND-12", "accept")
