"""Which calls make a row, and what a client's own session name does to one (page 10: ROW-3 to 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict


@dataclass(frozen=True, slots=True)
class RowFacts:
    """What names the session that no row has: a write tool, the owner's desktop session, or anything else."""

    call: Literal["write", "desktop_add", "read", "recipient", "bound_session", "mark", "refused"]


def judge(facts: RowFacts) -> Verdict:
    """Whether a row of kind `agent` or `desktop` comes to be (ROW-3, 4, 6). Links are table LINK's."""
    if facts.call == "write":
        return Verdict("ROW-3", "new_agent_row")
    if facts.call == "desktop_add":
        return Verdict("ROW-6", "new_desktop_row")
    # A looked-up name is often a mistyped one, and a typo must not make a session.
    return Verdict("ROW-4", "no_row")


@dataclass(frozen=True, slots=True)
class TitleFacts:
    """The `session_title` of a hook event against the row that holds the id.

    `titled`: somebody gave the row its title (a call, the owner, or an earlier event), so it is not the folder's
    name. `held_by`: which row has that name already, as any of its names.
    """

    given: Literal["none", "invalid", "valid"]
    subagent: bool
    folder_guess: bool
    titled: bool
    held_by: Literal["nobody", "this_row", "other_row"]


def judge_title(facts: TitleFacts) -> Verdict:
    """`title`, `title_numbered` (with ` 2`, ` 3` …), `alias` or `nothing` (ROW-5)."""
    if facts.subagent:
        return Verdict("HL-6", "nothing")
    if facts.given != "valid" or facts.folder_guess or facts.held_by == "this_row":
        return Verdict("ROW-5", "nothing")
    if not facts.titled:
        return Verdict("ROW-5", "title" if facts.held_by == "nobody" else "title_numbered")
    return Verdict("ROW-5", "alias" if facts.held_by == "nobody" else "nothing")
