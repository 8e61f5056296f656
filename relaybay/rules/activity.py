"""A row's activity after one event (page 10, table ACT)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict

ActivityEvent = Literal[
    "start", "start_compact", "prompt", "tool", "stop_allowed", "stop_blocked", "stop_not_written",
    "stop_failure", "end", "broken_off", "other",
]  # fmt: skip
Activity = Literal["working", "idle", "ended", "unknown"]

_EVENTS: dict[str, ActivityEvent] = {
    "UserPromptSubmit": "prompt",
    "PreToolUse": "tool",
    "PostToolUse": "tool",
    "PostToolUseFailure": "tool",
    "PostToolBatch": "tool",
    "StopFailure": "stop_failure",
    "SessionEnd": "end",
}


@dataclass(frozen=True, slots=True)
class ActivityFacts:
    """One event and the row as it stood before it.

    `older`: older than the last event of the row that was seen. `unseen`: the row's id had no live event yet, this
    one apart. `folder_guess`: the row's link is a guess and the row is not of kind `hook`.
    """

    event: ActivityEvent
    subagent: bool
    older: bool
    replayed: bool
    unseen: bool
    folder_guess: bool
    before: Activity


def event_of(name: str, source: str, *, blocked: bool) -> ActivityEvent:
    """The table's word for a hook event: its name, SessionStart's `source`, and whether a Stop was blocked."""
    if name == "SessionStart":
        return "start_compact" if source == "compact" else "start"
    if name == "Stop":
        return "stop_blocked" if blocked else "stop_allowed"
    return _EVENTS.get(name, "other")


def judge(facts: ActivityFacts) -> Verdict:
    """`unchanged`, `idle`, `working`, `ended`, or `unknown` for a folder guess that is dropped (HL-11)."""
    if facts.subagent or facts.older:
        return Verdict("ACT-6", "unchanged")
    # A replay may end a session; it never shows one as alive that ended or was never seen alive.
    if facts.replayed and facts.event != "end" and (facts.unseen or facts.before == "ended"):
        return Verdict("ACT-6", "unchanged")
    if facts.event == "end":
        return Verdict("HL-11", "unknown") if facts.folder_guess else Verdict("ACT-5", "ended")
    if facts.event in _FIXED:
        return _FIXED[facts.event]
    return Verdict("ACT-8", "idle" if facts.before in ("ended", "unknown") else "unchanged")


_FIXED: dict[str, Verdict] = {
    "start": Verdict("ACT-1", "idle"),
    "prompt": Verdict("ACT-2", "working"),
    "tool": Verdict("ACT-2", "working"),
    "stop_allowed": Verdict("ACT-3", "idle"),
    "stop_not_written": Verdict("ACT-3", "idle"),
    "stop_failure": Verdict("ACT-3", "idle"),
    "stop_blocked": Verdict("ACT-4", "working"),
    "broken_off": Verdict("ACT-7", "idle"),
}
