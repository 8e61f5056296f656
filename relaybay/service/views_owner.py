"""The owner's words: what a use case says to an agent that called it, put for the owner (board, command line).

An agent reads tool names and whom it can write to; the owner has commands and pages. Where the two differ, the table
has a second row, with the first one's id and `.owner` after it, with the same code and status.
"""

from __future__ import annotations

from dataclasses import replace

from relaybay.domain import Refusal
from relaybay.specs import answers

OWNER = ".owner"


def for_owner(refusal: Refusal) -> Refusal:
    """The refusal as the owner is told it; as it is where nothing in it is meant for agents alone."""
    own = refusal.answer + OWNER
    return replace(refusal, answer=own) if own in answers() else refusal
