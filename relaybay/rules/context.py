"""What a session's own transcript says of a hand-over, and of its turn (page 20, table CTX).

A client can take a hook's answer and never show its text to the model; only its transcript tells. What cannot be read,
or says something nobody has measured, proves nothing either way: then no claim is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict

#: Two model steps that could have used a text and show none of it: it is not there (CTX-2).
STEPS_ENOUGH = 2


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The file that an event named. `named`: it named one. `below_folder`: it lies below the client's own folder;
    `own`: this user owns it; `other_id`: an entry in it speaks of another session.
    """

    named: bool
    below_folder: bool
    symlink: bool
    regular: bool
    own: bool
    readable: bool
    other_id: bool


@dataclass(frozen=True, slots=True)
class ContextFacts:
    """One hand-over and what its transcript has gained since: how its frame's id stands there, how many model steps
    came after it (2 stands for more), and whether a Stop event did.
    """

    file: Literal["read", "none", "foreign"]
    found: Literal["proof", "unclear", "absent"]
    steps: Literal[0, 1, 2]
    stop: bool


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """The newest entry that tells of an interruption, against the prompt of the open turn; and the session."""

    entry: Literal["none", "before_the_prompt", "after_the_prompt"]
    link_exact_live: bool
    working: bool


def judge_file(facts: FileFacts) -> Verdict:
    """`read`, `none` (there is nothing to read) or `foreign` (it is not to be read)."""
    if not facts.named:
        return Verdict("CTX-3", "none")
    if not facts.below_folder or facts.symlink:
        return Verdict("CTX-4", "foreign")
    if not facts.readable:
        return Verdict("CTX-3", "none")
    if not facts.regular or not facts.own or facts.other_id:
        return Verdict("CTX-4", "foreign")
    return Verdict("CTX-1", "read")


def judge(facts: ContextFacts) -> Verdict:
    """`seen`, `missing`, `look_again` or `no_claim`."""
    if facts.file == "foreign":
        return Verdict("CTX-4", "no_claim")
    if facts.file == "none":
        return Verdict("CTX-3", "no_claim")
    if facts.found == "proof":
        return Verdict("CTX-1", "seen")
    if facts.found == "unclear":
        return Verdict("CTX-3", "no_claim")
    # A Stop alone is no model step: before the turn's last one stands in the file, its text cannot be missed there.
    if facts.steps >= STEPS_ENOUGH or (facts.steps and facts.stop):
        return Verdict("CTX-2", "missing")
    return Verdict("CTX-2", "look_again")


def judge_turn(facts: TurnFacts) -> Verdict:
    """`broken_off` or `goes_on`."""
    if facts.entry == "after_the_prompt" and facts.link_exact_live and facts.working:
        return Verdict("CTX-5", "broken_off")
    return Verdict("CTX-5", "goes_on")
