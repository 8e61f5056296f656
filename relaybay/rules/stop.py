"""What may block a Stop (page 20, the list before table STOP). The budget of the turn is machine `turn`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict
from relaybay.rules.answer import ItemKind, ItemState


@dataclass(frozen=True, slots=True)
class StopItemFacts:
    """One comment or message: its state, the Stop blocks it had in its life, and what keeps it back.

    `fresh`: a comment still in the seconds in which the owner may take it back. `passive`: a caught-up message that
    nobody approved.
    """

    kind: ItemKind
    state: ItemState
    blocks: Literal[0, 1, 2]
    fresh: bool
    passive: bool


def judge(facts: StopItemFacts) -> Verdict:
    """`eligible` or `not_eligible`: a comment blocks two Stops in its life at most, a message one."""
    if facts.state in ("held", "taken", "closed"):
        return Verdict("ANS-9", "not_eligible")
    if facts.kind == "comment":
        return _comment(facts)
    if facts.state == "read":
        return Verdict("DLV-15", "not_eligible")
    free = not facts.passive and facts.blocks == 0
    if facts.state == "sent":
        return Verdict("DLV-1", "eligible") if free else Verdict("DLV-18", "not_eligible")
    return Verdict("DLV-3", "eligible" if free else "not_eligible")


def _comment(facts: StopItemFacts) -> Verdict:
    if facts.state == "read" or facts.fresh or facts.blocks == 2:  # noqa: PLR2004 - the table's own domain.
        return Verdict("CMT-17", "not_eligible")
    return Verdict("CMT-3" if facts.state == "sent" else "CMT-4", "eligible")


@dataclass(frozen=True, slots=True)
class StopWorkFacts:
    """The work item that the session holds, if it was reminded of it, whether any comment or message is eligible, and
    whether an item waits that it may take (WRK-1).
    """

    holds: Literal["nothing", "not_reminded", "reminded"]
    others: bool
    offer: bool


def judge_work(facts: StopWorkFacts) -> Verdict:
    """`ask_for_outcome`, `hand_over` or `nothing`. New work is handed over only when nothing else blocks."""
    if facts.holds != "nothing":
        return Verdict("WRK-7", "ask_for_outcome" if facts.holds == "not_reminded" else "nothing")
    return Verdict("WRK-2", "hand_over" if facts.offer and not facts.others else "nothing")
