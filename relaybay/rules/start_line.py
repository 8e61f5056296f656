"""Which sentences the SessionStart line has, in their order (page 20, ANS-1, ANS-6).

The sentences stand in `specs/answers/hooks.toml`; the service puts values into them and joins them with a blank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PEERS_SHOWN_MAX = 5


@dataclass(frozen=True, slots=True)
class StartFacts:
    """The row at a SessionStart. `outcome` is that of table `answer`.

    `name_taken`: the name somebody chose for it is in use elsewhere; `nameless`: so is every one that could be made for
    it (NAME-11). `peers`: live sessions it can write to.
    `tells_tool_use_id`: the client sends tool-use ids with its calls, so it needs no hook id. `work`: the item it
    has, if any.
    """

    outcome: Literal["start_line", "start_line_guessed", "start_line_folder_guess"]
    name_taken: bool
    nameless: bool
    peers: int
    unread_comments: int
    unread_messages: int
    held_messages: int
    work: Literal["", "leased", "paused"]
    tells_tool_use_id: bool


def sentences(facts: StartFacts) -> tuple[str, ...]:
    """Answer ids, in order. Counts and work are said of a session's own row only: a folder guess may be another's."""
    lines = [f"start.{_ROW[facts.outcome]}"]
    own = facts.outcome == "start_line"
    if own and facts.name_taken:
        lines.append("start.name_taken")
    if own and facts.nameless:
        lines.append("start.nameless")
    lines.append("start.peers" if facts.peers else "start.no_peers")
    if facts.outcome != "start_line_folder_guess":
        if facts.unread_comments or facts.unread_messages:
            lines.append("start.unread" if own else "start.unread_unlinked")
        if facts.held_messages:
            lines.append("start.held")
    if own and facts.work:
        lines.append(f"start.work_{facts.work}")
    if not facts.tells_tool_use_id:
        lines.append("start.hook_session")
    return tuple(lines)


_ROW = {"start_line": "own", "start_line_guessed": "guessed", "start_line_folder_guess": "folder_guess"}
