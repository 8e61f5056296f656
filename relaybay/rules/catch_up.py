"""What a session that was away is offered of its topics (page 50, table CATCHUP; DLV-41 to 43)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict

TOPICS_MAX = 16

RowState = Literal[
    "none", "sent", "held", "delivered", "read", "orphaned", "taken",
    "refused", "rate_limited", "rejected", "dropped", "consumed",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Candidate:
    """One message of a topic that the session is subscribed to.

    `number` grows with every message. `sender` is the row that sent it, None for a script. `cursor` is the newest
    number of the topic that counts as seen by the session, 0 when none does. `already_there`: a delivery of it to this
    session exists and is not one that catch-up takes up again.
    """

    topic: str
    number: int
    sender: int | None
    cursor: int
    already_there: bool


def choose(candidates: Iterable[Candidate], own: int, most: int = TOPICS_MAX) -> list[Candidate]:
    """The messages to be offered to row `own`, oldest first: at most one of a topic, and at most `most`.

    Of each topic the newest that the row did not send itself, if it has not seen that one; an older one never comes
    in its place (CATCHUP-2, 4). Then the `most` topics with the newest messages (CATCHUP-3). What is there already is
    left out only then (CATCHUP-5): a session that stays away is not given another sixteen at every look.
    """
    newest: dict[str, Candidate] = {}
    for candidate in candidates:
        if candidate.sender is not None and candidate.sender == own:
            continue
        known = newest.get(candidate.topic)
        if known is None or candidate.number > known.number:
            newest[candidate.topic] = candidate
    unseen = sorted((c for c in newest.values() if c.number > c.cursor), key=lambda c: c.number)
    recent = unseen[max(0, len(unseen) - most) :]
    return [candidate for candidate in recent if not candidate.already_there]


@dataclass(frozen=True, slots=True)
class CatchUpFacts:
    """One message and one session at a catch-up.

    `state` is that of the delivery, `none` when there was never one. `duplicate`: it was refused as the same text
    again. `newest_unseen`: `choose` has it. `fits`: admission passes it (ADM-2, 6 and 7).
    """

    state: RowState
    duplicate: bool
    newest_unseen: bool
    fits: bool


def judge(facts: CatchUpFacts) -> Verdict:
    """`admit`: the same delivery again, or its first, passive; POLICY then says sent or held. Else `unchanged`."""
    if facts.state == "none":
        if not facts.newest_unseen:
            return Verdict("CATCHUP-4", "unchanged")
        return Verdict("CATCHUP-2", "admit") if facts.fits else Verdict("CATCHUP-5", "unchanged")
    again = facts.state in ("dropped", "rate_limited", "refused") and not facts.duplicate
    if again and facts.newest_unseen and facts.fits:
        return Verdict("DLV-41", "admit")
    return Verdict("DLV-43", "unchanged")
