"""What an event does to a row's `suppressed` (page 50, table SUP). What it means while it is set: `rules/policy.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict

SuppressionEvent = Literal[
    "stop_failure",
    "broken_off",
    "lease_lost",
    "local_input",
    "machine_input",
    "end",
    "resume",
    "restart",
    "policy_changed",
    "other",
]


@dataclass(frozen=True, slots=True)
class SuppressionFacts:
    """A row's flag and what happened to the row.

    `broken_off`: the transcript shows that the user stopped the turn (CTX-5). `lease_lost`: its work went elsewhere
    while its turn went on (WRK-9). `local_input`: a person's prompt (PROMPT-1); every other prompt is `machine_input`.
    `restart` is the server's.
    """

    suppressed: bool
    event: SuppressionEvent


def judge(facts: SuppressionFacts) -> Verdict:
    """`set`, `clear` or `keep`. The first two are changes, each of which grows the row's control epoch; what sets a
    flag that is set already, or clears one that is not set, keeps it.
    """
    if facts.event in ("stop_failure", "broken_off", "lease_lost"):
        return Verdict("SUP-1", "keep" if facts.suppressed else "set")
    if facts.event == "local_input":
        return Verdict("SUP-2", "clear" if facts.suppressed else "keep")
    return Verdict("SUP-4", "keep")
