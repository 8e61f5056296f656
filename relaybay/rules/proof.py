"""What a call proves about who makes it (page 10, table PROOF)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict

ToolUse = Literal["absent", "good", "used", "useless"]
Claim = Literal["absent", "same", "other"]

_US_PER_MINUTE = 60_000_000


@dataclass(frozen=True, slots=True)
class ProofFacts:
    """What the call carries: its tool-use id as `classify_tool_use` finds it, and its `hook_session` beside that."""

    tool_use: ToolUse
    hook_session: Claim


@dataclass(frozen=True, slots=True)
class Report:
    """A tool-use id as a live `PreToolUse` of a relaybay tool reported it; times in microseconds since the epoch.

    `used_at` is 0 while no call used it; `used_tool` and `used_digest` tell the first call that did.
    """

    hook_id: str
    reported_at: int
    used_at: int = 0
    used_tool: str = ""
    used_digest: str = ""


def classify_tool_use(given: bool, report: Report | None, call: tuple[str, str], now: int, minutes_max: int) -> ToolUse:
    """Whether a tool-use id is good, used or useless for this call (page 10, Proof).

    `call` is (tool, digest of the arguments): two calls are equal when both are. A repeat may come later
    than `minutes_max` after the report; only the first use has to come in time, since the repeat gets that answer.
    """
    if not given:
        return "absent"
    if report is None:
        return "useless"
    age_max = minutes_max * _US_PER_MINUTE
    if not report.used_at:
        return "good" if now - report.reported_at <= age_max else "useless"
    in_time = report.used_at - report.reported_at <= age_max
    return "used" if in_time and (report.used_tool, report.used_digest) == call else "useless"


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
