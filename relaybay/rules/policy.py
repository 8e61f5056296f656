"""Which policy a session has, and what it makes of a message (page 50, tables POLICY, COHORT, FLOOR, RELAX).

Everything here is asked with the values of now; only the sender's own mode and folder are those of its sending, which
the caller has kept with the message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict

Policy = Literal["accept", "auto", "hold", "refuse"]
Mode = Literal["default", "plan", "other"]
SenderKind = Literal["session", "unverified", "script"]

STRICTNESS: tuple[Policy, ...] = ("accept", "auto", "hold", "refuse")
"""The four policies, the laxest first."""


def stricter(a: Policy, b: Policy) -> Policy:
    """The stricter of two policies."""
    return max(a, b, key=STRICTNESS.index)


def laxer(a: Policy, b: Policy) -> bool:
    """Whether `a` is laxer than `b`; of two equal ones neither is."""
    return STRICTNESS.index(a) < STRICTNESS.index(b)


def effective(override: Policy | Literal[""], default: Policy, floor: Policy | Literal[""]) -> Policy:
    """What counts for a session: its own choice, else the default, and never less than its project's floor.

    The empty string stands for no choice of its own and for a project without a floor (FLOOR-1 to 12).
    """
    chosen = override if override != "" else default
    return stricter(chosen, floor) if floor != "" else chosen


def mode_of(permission_mode: str) -> Mode:
    """The permission mode as cohorts compare it.

    Only `default` and `plan` ask before they act. Every other mode, one that nobody knows and none at all count alike:
    as one that does not ask (COHORT-4).
    """
    if permission_mode == "default":
        return "default"
    return "plan" if permission_mode == "plan" else "other"


@dataclass(frozen=True, slots=True)
class CohortFacts:
    """Two ends of a message: the sender's kind and mode at sending, the receiver's mode now, and their folders.

    `folder` compares canonical paths; it is `unknown` as soon as one of the two is not known.
    """

    sender: SenderKind
    sender_mode: Mode
    receiver_mode: Mode
    folder: Literal["equal", "different", "unknown"]


def judge_cohort(facts: CohortFacts) -> Verdict:
    """`same` or `other`, with the first comparison that tells them apart."""
    if facts.sender != "session":
        return Verdict("COHORT-1", "other")
    if (facts.sender_mode == "plan") != (facts.receiver_mode == "plan"):
        return Verdict("COHORT-2", "other")
    if facts.folder != "equal":
        return Verdict("COHORT-3", "other")
    if "other" in (facts.sender_mode, facts.receiver_mode):
        return Verdict("COHORT-4", "other")
    return Verdict("COHORT-4", "same")


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """One message at one recipient.

    `arrival`: `new` until it is admitted, `inside` from then on. `policy` is the effective one, `approved` an approval
    of the recipient's present control epoch, `cohort` the outcome of `judge_cohort`. `project_file`: the project's
    configuration can't be used, which is why the policy is at least `hold` (SET-6).
    """

    arrival: Literal["new", "inside"]
    policy: Policy
    suppressed: bool
    approved: bool
    sender: SenderKind
    cohort: bool
    project_file: bool


def judge(facts: PolicyFacts) -> Verdict:
    """`deliver`, `refuse`, or the reason code of a hold: `waits_for_resume`, `project_file`, `policy`, `script`,
    `cohort`.
    """
    if facts.policy == "refuse" and facts.arrival == "new":
        return Verdict("POLICY-2", "refuse")
    if facts.suppressed:
        return Verdict("POLICY-3", "waits_for_resume")
    if facts.approved:
        return Verdict("POLICY-4", "deliver")
    if facts.policy == "accept":
        return Verdict("POLICY-5", "deliver")
    if facts.policy != "auto":
        # Under `refuse` it is the owner's own choice that holds it, whatever the file looks like.
        from_file = facts.policy == "hold" and facts.project_file
        return Verdict("POLICY-6", "project_file" if from_file else "policy")
    if facts.sender != "session":
        return Verdict("POLICY-7", "script")
    return Verdict("POLICY-8", "deliver") if facts.cohort else Verdict("POLICY-9", "cohort")


@dataclass(frozen=True, slots=True)
class OverrideFacts:
    """What the owner wants of one session, its project's floor, and the global default.

    The default is here to be seen not to matter: a global value is where sessions begin and no floor (FLOOR-2).
    """

    wanted: Literal["accept", "auto", "hold", "refuse", "default"]
    floor: Literal["accept", "auto", "hold", "refuse", "none"]
    default: Policy


_BELOW = {"auto": "FLOOR-4", "hold": "FLOOR-8", "refuse": "FLOOR-11"}


def judge_override(facts: OverrideFacts) -> Verdict:
    """`allowed`, or a refusal of a value below the project's floor. To take an override back is always allowed."""
    if facts.wanted == "default":
        return Verdict("FLOOR-5" if facts.floor == "none" else "FLOOR-7", "allowed")
    if facts.floor == "none":
        return Verdict("FLOOR-6", "allowed")
    if laxer(facts.wanted, facts.floor):
        return Verdict(_BELOW[facts.floor], "refuse", "policy.below_floor")
    return Verdict("FLOOR-10", "allowed")


@dataclass(frozen=True, slots=True)
class RelaxFacts:
    """A change of policy that the owner asks for: the effective one now, and the effective one afterwards.

    `confirmed`: the owner was told what may follow and said yes. `changed`: policy or floor are not what they were
    when the owner was told.
    """

    old: Policy
    new: Policy
    confirmed: bool
    changed: bool


def judge_relax(facts: RelaxFacts) -> Verdict:
    """`apply`, or a refusal until the owner has confirmed what is true now."""
    if not laxer(facts.new, facts.old):
        return Verdict("RELAX-1", "apply")
    if not facts.confirmed:
        return Verdict("RELAX-2", "refuse", "policy.confirm")
    if facts.changed:
        return Verdict("RELAX-3", "refuse", "policy.confirm_void")
    return Verdict("RELAX-2", "apply")
