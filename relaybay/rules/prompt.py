"""Whose prompt a UserPromptSubmit is: the user's own, or one that the client made (page 20, table PROMPT).

Measured on 2.1.332 and 2.1.197: a wake-up raises the event too, and only the text's beginning tells it apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict

MACHINE_PREFIXES = ("<task-notification", "<cross-session-message")
LOCAL_SOURCES = ("user", "sdk")


def kind_of(prompt: str, source: str | None = None) -> Literal["local", "machine"]:
    """Local input or not, from the prompt's beginning and the event's `source` (empty counts as absent)."""
    if prompt.startswith(MACHINE_PREFIXES) or (source and source not in LOCAL_SOURCES):
        return "machine"
    return "local"


def prompt_id_of(given: str, open_turn: str) -> Literal["none", "open_turn", "another"]:
    """The table's word for a prompt id against the open turn's. `open_turn` is empty when none is open."""
    if not given:
        return "none"
    return "open_turn" if given == open_turn else "another"


@dataclass(frozen=True, slots=True)
class PromptFacts:
    """The prompt's kind, and its id against that of the turn that is open."""

    kind: Literal["local", "machine"]
    prompt_id: Literal["none", "open_turn", "another"]


def judge(facts: PromptFacts) -> Verdict:
    """`local_turn` (opens a turn, lifts suppression), `machine_turn` (opens one, lifts nothing; after a fired wait
    that hand-over's first event), or `inside_turn` (one more event of the open turn).
    """
    if facts.kind == "local":
        return Verdict("PROMPT-1", "local_turn")
    if facts.prompt_id == "open_turn":
        return Verdict("PROMPT-3", "inside_turn")
    return Verdict("PROMPT-2", "machine_turn")
