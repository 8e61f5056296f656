"""What `topic_read` shows of one stored message (page 50, CH-3 and CH-9, table READ)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict
from relaybay.rules.policy import Policy, SenderKind


@dataclass(frozen=True, slots=True)
class WithholdFacts:
    """One reader and one message of a page.

    `policy` is the effective one of the row that the call speaks for. `own`: that row sent the message. `cohort`:
    `auto` would deliver it on the values of now. `not_through`: the message's delivery to that row is held, taken,
    refused, rate_limited or rejected.
    """

    identity: Literal["proven", "unverified", "none"]
    policy: Policy
    sender: SenderKind
    own: bool
    cohort: bool
    not_through: bool


def judge(facts: WithholdFacts) -> Verdict:
    """`show`, `withhold` (counted, and it uses up its place on the page), or the whole call is refused.

    An unverified name may be anybody's, so it is told only how many there are; nor does it learn the row's policy.
    """
    if facts.identity == "none":
        return Verdict("CH-3", "refuse", "read.session_required")
    if facts.identity == "unverified":
        return Verdict("CH-3", "withhold")
    if facts.policy in ("hold", "refuse"):
        return Verdict("CH-3", "refuse", "topic_read.policy_withholds")
    if facts.own:
        return Verdict("CH-9", "show")
    if facts.not_through:
        return Verdict("CH-9", "withhold")
    if facts.policy == "accept":
        return Verdict("CH-3", "show")
    if facts.sender == "session" and facts.cohort:
        return Verdict("READ-8", "show")
    return Verdict("READ-8", "withhold")
