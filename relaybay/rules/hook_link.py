"""What one hook event does to links and rows (page 10: tables ROW and HL, the first row that applies).

For an id that a row holds the outcome is the event to put to that row's machine `link`: `subagent_event`,
`replayed_event`, `session_end`, `replayed_session_end`, `live_start` or `live_event`. For an id that no row holds it
is what becomes of it: `same_row_new_id` (the row of the same client process gets it), `new_row`, `new_row_unseen`,
`guess_folder_row`, `no_row` or `ignore`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict

Holder = Literal["no_row", "unseen", "folder_guess", "live", "ended"]
Fate = Literal["never", "dropped", "taken_off", "replaced"]
Event = Literal["start", "start_clear", "start_fork", "end", "other"]


_SECOND_US = 1_000_000


def event_of(name: str, source: str) -> Event:
    """The table's word for a hook event: its name and SessionStart's `source`."""
    if name == "SessionEnd":
        return "end"
    if name != "SessionStart":
        return "other"
    return "start_clear" if source == "clear" else "start_fork" if source == "fork" else "start"


def holder_of(link_state: str, row_kind: str) -> Holder:
    """The table's word for the link of the row that holds the id. A row in `none` or `moved` holds no id."""
    if link_state in ("none", "moved"):
        return "no_row"
    if link_state.endswith("_unseen"):
        return "unseen"
    if link_state.startswith("ended_"):
        return "ended"
    return "folder_guess" if link_state == "guessed" and row_kind != "hook" else "live"


def may_be_guessed(link_state: str, row_kind: str, *, ended: bool, unlinked: bool) -> bool:
    """Whether ROW-1 may tie a new id to a row of the event's folder. `unlinked`: the owner did so (LINK-20)."""
    return link_state == "none" and row_kind != "hook" and not ended and not unlinked


def pairs_after_clear(link_state: str, end_reason: str, ended_us: int, at_us: int, pair_seconds: int) -> bool:
    """Whether the row of the event's client process, as it stands, gets the new id (HL-3).

    `end_reason` and `ended_us` tell of a link that SessionEnd ended. A clock that went back counts as no time passed.
    """
    if link_state in ("guessed", "exact"):
        return True
    ended = link_state in ("ended_guessed", "ended_exact")
    return ended and end_reason == "clear" and at_us - ended_us < pair_seconds * _SECOND_US


@dataclass(frozen=True, slots=True)
class HookLinkFacts:
    """One event and the id it speaks of.

    `holder` is the link of the row that holds the id. `fate` tells of an id that no row holds: `never` held by any,
    `dropped` (its folder guess ended, HL-11), `taken_off` by a call or the owner (LINK-1, 6 to 10, 20), `replaced`
    (HL-3). `older`: the event is older than the row's last one. `clear_pair`: a row whose link is live, or was ended
    by SessionEnd(reason=clear) less than `clear_pair_seconds` ago, has the event's client process. `one_folder_row`:
    exactly one row that ROW-1 may guess has the event's canonical folder.
    """

    holder: Holder
    fate: Fate
    event: Event
    replayed: bool
    subagent: bool
    older: bool
    clear_pair: bool
    one_folder_row: bool


def judge(facts: HookLinkFacts) -> Verdict:
    """The row of ROW or HL that the event meets."""
    return _unheld(facts) if facts.holder == "no_row" else _held(facts)


def _unheld(facts: HookLinkFacts) -> Verdict:
    """An id that no row holds: whether it gets a row, and which."""
    born = "new_row_unseen" if facts.replayed else "new_row"
    if facts.event == "start_clear" and facts.clear_pair and not facts.replayed and not facts.subagent:
        return Verdict("HL-3", "same_row_new_id")
    if facts.event == "start_fork" and not facts.subagent:
        return Verdict("HL-4", born)
    if facts.fate == "replaced" and facts.event in ("end", "other"):
        return Verdict("HL-7", "ignore")
    if facts.subagent or facts.event == "end":
        return Verdict("ROW-7", "no_row")
    if facts.fate in ("taken_off", "replaced"):
        return Verdict("HL-7", born)
    # A guess is for an id that no row ever held: one that was here before is known not to be the folder's agent.
    if facts.fate == "never" and facts.one_folder_row and not facts.replayed:
        return Verdict("ROW-1", "guess_folder_row")
    return Verdict("ROW-2", born)


def _held(facts: HookLinkFacts) -> Verdict:
    """An id that a row holds: the event to put to that row's link."""
    if facts.subagent:
        return Verdict("HL-6", "subagent_event")
    if facts.event == "end":
        end = "replayed_session_end" if facts.replayed else "session_end"
        if facts.older:
            return Verdict("HL-12", end)
        return Verdict("HL-11" if facts.holder == "folder_guess" else "HL-2", end)
    if facts.replayed:
        return Verdict("HL-12", "replayed_event")
    event = "live_event" if facts.event == "other" else "live_start"
    if facts.holder == "unseen":
        return Verdict("HL-8", event)
    if event == "live_start":
        return Verdict("HL-1", event)
    return Verdict("HL-5" if facts.holder == "ended" else "HL-0", event)
