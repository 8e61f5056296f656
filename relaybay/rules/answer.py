"""What one hook event's answer may carry, and whether one item goes out with it (page 20, table ANSWER).

Stops have a rule of their own for items: `rules/stop.py`. How much fits is `rules/packing.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict

AnswerEvent = Literal["start", "prompt", "tool", "stop", "other"]
ItemKind = Literal["comment", "message"]
ItemState = Literal["sent", "delivered", "held", "taken", "read", "closed"]

_EVENTS: dict[str, AnswerEvent] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "tool",
    "PostToolUse": "tool",
    "PostToolUseFailure": "tool",
    "PostToolBatch": "tool",
    "Stop": "stop",
}


def event_of(name: str) -> AnswerEvent:
    """The table's word for a hook event's name; what it does not name is `other` (ANS-5)."""
    return _EVENTS.get(name, "other")


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """One event and the row's link after it: `exact` and live, `guessed` on a hook row, `folder_guess`, or no row."""

    event: AnswerEvent
    replayed: bool
    subagent: bool
    link: Literal["exact", "guessed", "folder_guess", "no_row"]


def judge(facts: AnswerFacts) -> Verdict:
    """`nothing`, `start_line`, `start_line_guessed`, `start_line_folder_guess`, `pack_at_prompt`, `pack_at_tool`
    or `stop` (ask table STOP).
    """
    if facts.replayed:
        return Verdict("ANS-7", "nothing")
    if facts.subagent:
        return Verdict("ANS-8", "nothing")
    if facts.event == "other":
        return Verdict("ANS-5", "nothing")
    if facts.event == "start" and facts.link in _START:
        return _START[facts.link]
    if facts.link != "exact":
        return Verdict("ANS-6", "nothing")
    return _EXACT[facts.event]


_START: dict[str, Verdict] = {
    "exact": Verdict("ANS-1", "start_line"),
    "guessed": Verdict("ANS-6", "start_line_guessed"),
    "folder_guess": Verdict("ANS-1", "start_line_folder_guess"),
}
_EXACT: dict[str, Verdict] = {
    "prompt": Verdict("ANS-2", "pack_at_prompt"),
    "tool": Verdict("ANS-3", "pack_at_tool"),
    "stop": Verdict("ANS-4", "stop"),
}


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """One item of the row at one kind of event.

    `fresh`: a comment still in the seconds in which the owner may take it back. `passive`: a caught-up message that
    nobody approved. `prompt_turn`: the open turn began with a prompt, whose answer had no room for this item.
    """

    at: Literal["start", "prompt", "tool", "wake"]
    kind: ItemKind
    state: ItemState
    fresh: bool
    passive: bool
    prompt_turn: bool


def judge_item(facts: ItemFacts) -> Verdict:
    """`text`, `count_unread`, `count_held` or `nothing`."""
    if facts.state in ("held", "taken", "closed"):
        counted = facts.at == "start" and facts.state == "held"
        return Verdict("ANS-9", "count_held" if counted else "nothing")
    if facts.fresh:
        return Verdict("CMT-17", "nothing")
    if facts.at == "start":
        return Verdict("ANS-1", "nothing" if facts.state == "read" else "count_unread")
    waits = facts.state == "sent"
    if facts.at == "prompt":
        return Verdict("ANS-2", "text" if waits else "nothing")
    if facts.at == "tool":
        return Verdict("ANS-3", "text" if waits and (not facts.passive or facts.prompt_turn) else "nothing")
    return Verdict("WAIT-2", "text" if waits and not facts.passive else "nothing")
