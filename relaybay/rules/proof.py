"""What a call proves about who makes it (page 10, table PROOF)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict

ToolUse = Literal["absent", "good", "used", "useless"]
Claim = Literal["absent", "same", "other"]


@dataclass(frozen=True, slots=True)
class ProofFacts:
    """What the call carries: its tool-use id as `classify_tool_use` finds it, and its `hook_session` beside that."""

    tool_use: ToolUse
    hook_session: Claim


@dataclass(frozen=True, slots=True)
class Use:
    """The first call that used a tool-use id. `hook_id` is empty when no live report vouched for the id in time."""

    hook_id: str
    tool: str
    digest: str


def classify_tool_use(given: bool, reported: bool, use: Use | None, tool: str, digest: str) -> ToolUse:
    """Whether a tool-use id is good, used or useless for this call (page 10, Proof).

    `reported`: a live `PreToolUse` of a relaybay tool reported it within the time it is good for. `digest` stands for
    the call's arguments: two calls are equal when tool and digest are. A repeat may come later than that time; only
    the first use has to come in time, since the repeat gets that one's answer.
    """
    if not given:
        return "absent"
    if use is not None:
        same = bool(use.hook_id) and (use.tool, use.digest) == (tool, digest)
        return "used" if same else "useless"
    return "good" if reported else "useless"


def gather(tool_use: ToolUse, reported_for: str, hook_session: str) -> ProofFacts:
    """The facts of table PROOF. `reported_for` is the tool-use id's hook id; a blank `hook_session` is not given."""
    claimed = hook_session.strip()
    if not claimed:
        return ProofFacts(tool_use, "absent")
    proves = tool_use in ("good", "used")
    return ProofFacts(tool_use, "same" if proves and claimed == reported_for else "other")


def judge(facts: ProofFacts) -> Verdict:
    """Table PROOF: `witnessed`, `witnessed_again`, `claimed`, `nothing`, or a refusal."""
    if facts.tool_use in ("good", "used"):
        if facts.hook_session == "other":
            return Verdict("PROOF-3", "refuse", "proof.hook_session_mismatch")
        if facts.tool_use == "good":
            return Verdict("PROOF-2", "witnessed")
        return Verdict("PROOF-6", "witnessed_again")
    if facts.hook_session != "absent":
        return Verdict("PROOF-1", "claimed")
    if facts.tool_use == "useless":
        return Verdict("PROOF-4", "nothing")
    return Verdict("PROOF-5", "nothing")
