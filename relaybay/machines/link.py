"""The tie between one row and one hook id (page 10: Link machine, tables ROW, LINK, HL).

*Unseen* states hold an id whose first live event is still to come: it proves nothing and reaches nobody. *Live* are
`guessed` and `exact`. A folder guess is `guessed` on a row that is not of kind `hook`; it can be neither unseen nor
ended, since HL-11 drops it. Text goes out in the state `exact` and in no other.

Effect words, in the order in which they are to be carried out: `take_off_id` (the id the row had is held by nobody;
HL-7), `drop_id` (the same for a dropped guess), `replace_id` (the same for the id before /clear), `end_waits`
(WAIT-4), `close_work` (WRK-8), `own_message` (MOVE-12), `other_session` (MOVE-5: what the row was given under the
old id waits again; never what a merge brought along, MOVE-1), `drop_published` (CH-5; `_later`: after the 60 s in
which HL-3 may bring the row back), `free_name`, `activity_unknown`, `activity_ended`, `activity_of_b` (B's activity
and client process), `claim_name`, `event:TYPE`.
"""

from __future__ import annotations

from typing import ClassVar

from statemachine import State

from relaybay.machines.base import Machine, Row

_UNSEEN = ("guessed_unseen", "exact_unseen")
_ENDED = ("ended_guessed", "ended_exact")
_HOLDING = (*_UNSEEN, "guessed", "exact", *_ENDED)
_NO_ID = ("none", "moved")
_LINKED_OR_MOVED = (*_HOLDING, "moved")
_EVERY = ("none", *_LINKED_OR_MOVED)

_LATE = "older_than_last"
_END_OF_GUESS = "not older_than_last and folder_guess"
_CLEAR_OF_HOOK = "not older_than_last and not folder_guess and reason_clear"
_END_OF_HOOK = "not older_than_last and not folder_guess and not reason_clear"
_CLEAR = "not older_than_last and reason_clear"
_END = "not older_than_last and not reason_clear"
_B_GUESS = "b_is_hook and b_was_guess"
_B_EXACT = "b_is_hook and not b_was_guess"
_B_OTHER = "not b_is_hook"

_LINKED = ("claim_name", "event:session.linked")
_RETURNED = ("claim_name", "event:session.returned")
_AGAIN = ("own_message", "other_session")
_NEW_ID = ("take_off_id", *_AGAIN)
_DROPPED = ("drop_id", "activity_unknown")
_OVER = ("free_name", "activity_ended", "event:session.ended")
_CLOSED = ("end_waits", "close_work", "drop_published", *_OVER)
_CLEARED = ("end_waits", "close_work", "drop_published_later", *_OVER)
_GONE = ("end_waits", "drop_published", *_OVER)
_GONE_CLEAR = ("end_waits", "drop_published_later", *_OVER)
_TAKEN = ("activity_of_b", *_LINKED)
_SWAPPED = (
    "take_off_id", "end_waits", *_AGAIN, "activity_of_b", "claim_name", "event:session.link_moved",
)  # fmt: skip
_CLEAR_NEW_ID = ("replace_id", "end_waits", "close_work", "other_session")

_Rows = dict[tuple[str, str, str], Row]


def _over(states: tuple[str, ...] | str, event: str, guard: str, row: Row) -> _Rows:
    """One row of the table for each of its states."""
    listed = (states,) if isinstance(states, str) else states
    return {(state, event, guard): row for state in listed}


def _rest(spec_id: str, event: str, *but: str) -> _Rows:
    """The states in which nobody asks this event: it changes nothing there."""
    return _over(tuple(s for s in _EVERY if s not in but), event, "", Row(spec_id, "repeat"))


def _taken_by(state: tuple[str, ...] | str, guard: str, had: tuple[str, ...]) -> _Rows:
    """LINK-6 and 7 (`take_live`), LINK-6, 8 and 9 (`take_ended`) for a row A that is not occupied."""
    and_ = f"{guard} and " if guard else ""
    ended = (*had, "activity_ended")
    return {
        **_over(state, "take_live", and_ + "b_is_hook", Row("LINK-6", "move", effects=(*had, *_TAKEN))),
        **_over(state, "take_live", and_ + "not b_is_hook", Row("LINK-7", "move", effects=(*had, *_TAKEN))),
        **_over(state, "take_ended", and_ + _B_GUESS, Row("LINK-6", "move", effects=ended)),
        **_over(state, "take_ended", and_ + _B_EXACT, Row("LINK-8", "move", effects=ended)),
        **_over(state, "take_ended", and_ + _B_OTHER, Row("LINK-9", "move", effects=ended)),
    }


class Link(Machine):
    """none → guessed → exact → ended, with an unseen form of either strength, and moved."""

    FACTS = (
        "folder_guess", "fork", "older_than_last", "reason_clear", "b_is_hook", "b_was_guess", "named",
    )  # fmt: skip

    none = State(initial=True)
    guessed_unseen = State()
    exact_unseen = State()
    guessed = State()
    exact = State()
    ended_guessed = State()
    ended_exact = State()
    moved = State()

    guess = none.to(guessed)
    born = none.to(guessed, cond="fork") | none.to(guessed, cond="not fork")
    born_by_replay = none.to(guessed_unseen, cond="fork") | none.to(guessed_unseen, cond="not fork")
    born_exact = none.to(exact)
    link = guessed.to(exact)
    take_unseen = (
        none.to(exact_unseen)
        | guessed_unseen.to(exact_unseen)
        | exact_unseen.to(exact_unseen)
        | guessed.to(exact_unseen, cond="folder_guess")
    )
    take_live = (
        exact.from_(none, moved, guessed_unseen, exact_unseen, ended_guessed, ended_exact, cond="b_is_hook")
        | exact.from_(none, moved, guessed_unseen, exact_unseen, ended_guessed, ended_exact, cond=_B_OTHER)
        | guessed.to(exact, cond="folder_guess and b_is_hook")
        | guessed.to(exact, cond="folder_guess and not b_is_hook")
        | guessed.to(exact, cond="not folder_guess")
        | exact.to(exact)
    )
    take_ended = (
        ended_exact.from_(none, moved, guessed_unseen, exact_unseen, ended_guessed, cond=_B_GUESS)
        | ended_exact.from_(none, moved, guessed_unseen, exact_unseen, ended_guessed, cond=_B_EXACT)
        | ended_exact.from_(none, moved, guessed_unseen, exact_unseen, ended_guessed, cond=_B_OTHER)
        | ended_exact.to(ended_exact, cond=_B_GUESS)
        | ended_exact.to(ended_exact, cond=_B_EXACT)
        | ended_exact.to(ended_exact, cond=_B_OTHER)
        | guessed.to(ended_exact, cond=f"folder_guess and {_B_GUESS}")
        | guessed.to(ended_exact, cond=f"folder_guess and {_B_EXACT}")
        | guessed.to(ended_exact, cond=f"folder_guess and {_B_OTHER}")
    )
    lose = (
        guessed.to(none, cond="folder_guess and named")
        | guessed.to(none, cond="folder_guess and not named")
        | none.from_(guessed_unseen, exact_unseen)
    )
    move_away = ended_exact.to(moved)
    live_event = guessed.from_(guessed_unseen, ended_guessed) | exact.from_(exact_unseen, ended_exact)
    live_start = guessed.from_(guessed_unseen, ended_guessed) | exact.from_(exact_unseen, ended_exact)
    session_end = (
        guessed.to(none, cond=_END_OF_GUESS)
        | guessed.to(ended_guessed, cond=_CLEAR_OF_HOOK)
        | guessed.to(ended_guessed, cond=_END_OF_HOOK)
        | guessed_unseen.to(ended_guessed, cond=_CLEAR)
        | guessed_unseen.to(ended_guessed, cond=_END)
        | ended_exact.from_(exact_unseen, exact, cond=_CLEAR)
        | ended_exact.from_(exact_unseen, exact, cond=_END)
    )
    replayed_session_end = (
        guessed.to(none, cond=_END_OF_GUESS)
        | guessed.to(ended_guessed, cond=_CLEAR_OF_HOOK)
        | guessed.to(ended_guessed, cond=_END_OF_HOOK)
        | exact.to(ended_exact, cond=_CLEAR)
        | exact.to(ended_exact, cond=_END)
    )
    process_gone = (
        guessed.to(none, cond="folder_guess")
        | guessed.to(ended_guessed, cond="not folder_guess")
        | exact.to(ended_exact)
    )
    silent = (
        guessed.to(none, cond="folder_guess")
        | guessed.to(ended_guessed, cond="not folder_guess")
        | exact.to(ended_exact)
    )
    owner_end = (
        guessed.to(none, cond="folder_guess")
        | guessed.to(ended_guessed, cond="not folder_guess")
        | exact.to(ended_exact)
    )
    unlink = none.from_(guessed_unseen, exact_unseen, guessed, exact, ended_guessed, ended_exact, moved)
    replaced_by_clear = guessed.to(guessed) | exact.to(exact) | ended_guessed.to(guessed) | ended_exact.to(exact)

    ROWS: ClassVar[_Rows] = {
        ("none", "guess", ""): Row("ROW-1", "move"),
        **_rest("ROW-1", "guess", "none"),
        ("none", "born", "fork"): Row("HL-4", "move"),
        ("none", "born", "not fork"): Row("ROW-2", "move"),
        **_rest("ROW-2", "born", "none"),
        ("none", "born_by_replay", "fork"): Row("HL-4", "move"),
        ("none", "born_by_replay", "not fork"): Row("ROW-2", "move"),
        **_rest("ROW-2", "born_by_replay", "none"),
        ("none", "born_exact", ""): Row("LINK-15", "move", effects=_TAKEN),
        **_rest("LINK-15", "born_exact", "none"),
        ("guessed", "link", ""): Row("LINK-2", "move", effects=_LINKED),
        **_over(("exact", *_UNSEEN), "link", "", Row("LINK-3", "repeat")),
        **_over(_ENDED, "link", "", Row("LINK-4", "repeat")),
        **_over(_NO_ID, "link", "", Row("LINK-3", "repeat")),
        ("none", "take_unseen", ""): Row("LINK-1", "move", effects=("own_message", "activity_unknown")),
        **_over(_UNSEEN, "take_unseen", "", Row("LINK-1", "move", effects=(*_NEW_ID, "activity_unknown"))),
        ("guessed", "take_unseen", "folder_guess"): Row(
            "LINK-1", "move", effects=(*_NEW_ID, "activity_unknown")
        ),
        ("guessed", "take_unseen", "not folder_guess"): Row("LINK-21", "repeat"),
        ("exact", "take_unseen", ""): Row("LINK-21", "repeat"),
        **_over((*_ENDED, "moved"), "take_unseen", "", Row("LINK-18", "repeat")),
        **_taken_by("none", "", ("own_message",)),
        **_taken_by("moved", "", _AGAIN),
        **_taken_by((*_UNSEEN, *_ENDED), "", _NEW_ID),
        **_taken_by("guessed", "folder_guess", _NEW_ID),
        ("guessed", "take_live", "not folder_guess"): Row("LINK-10", "move", effects=_SWAPPED),
        ("exact", "take_live", ""): Row("LINK-10", "move", effects=_SWAPPED),
        ("guessed", "take_ended", "not folder_guess"): Row("LINK-21", "repeat"),
        ("exact", "take_ended", ""): Row("LINK-21", "repeat"),
        ("guessed", "lose", "folder_guess and named"): Row("LINK-7", "move", effects=("activity_unknown",)),
        ("guessed", "lose", "folder_guess and not named"): Row(
            "LINK-15", "move", effects=("activity_unknown",)
        ),
        ("guessed", "lose", "not folder_guess"): Row("LINK-6", "repeat"),
        **_over(_UNSEEN, "lose", "", Row("LINK-1", "move", effects=("activity_unknown",))),
        **_rest("LINK-7", "lose", "guessed", *_UNSEEN),
        ("ended_exact", "move_away", ""): Row("LINK-9", "move"),
        **_rest("LINK-9", "move_away", "ended_exact"),
        ("guessed_unseen", "live_event", ""): Row("HL-8", "move"),
        ("exact_unseen", "live_event", ""): Row("HL-8", "move", effects=_LINKED),
        ("ended_guessed", "live_event", ""): Row("HL-5", "move", effects=("event:session.returned",)),
        ("ended_exact", "live_event", ""): Row("HL-5", "move", effects=_RETURNED),
        **_over(("guessed", "exact", *_NO_ID), "live_event", "", Row("HL-0", "repeat")),
        ("guessed_unseen", "live_start", ""): Row("HL-8", "move"),
        ("exact_unseen", "live_start", ""): Row("HL-8", "move", effects=_LINKED),
        ("ended_guessed", "live_start", ""): Row("HL-1", "move", effects=("event:session.returned",)),
        ("ended_exact", "live_start", ""): Row("HL-1", "move", effects=_RETURNED),
        **_over(("guessed", "exact"), "live_start", "", Row("HL-1", "repeat")),
        **_over(_NO_ID, "live_start", "", Row("HL-0", "repeat")),
        **_over(_HOLDING, "subagent_event", "", Row("HL-6", "repeat")),
        **_over(_NO_ID, "subagent_event", "", Row("HL-0", "repeat")),
        **_over(_HOLDING, "replayed_event", "", Row("HL-12", "repeat")),
        **_over(_NO_ID, "replayed_event", "", Row("HL-0", "repeat")),
        **_over(_HOLDING, "session_end", _LATE, Row("HL-12", "repeat")),
        ("guessed", "session_end", _END_OF_GUESS): Row("HL-11", "move", effects=_DROPPED),
        ("guessed", "session_end", _CLEAR_OF_HOOK): Row("HL-2", "move", effects=_CLEARED),
        ("guessed", "session_end", _END_OF_HOOK): Row("HL-2", "move", effects=_CLOSED),
        **_over((*_UNSEEN, "exact"), "session_end", _CLEAR, Row("HL-2", "move", effects=_CLEARED)),
        **_over((*_UNSEEN, "exact"), "session_end", _END, Row("HL-2", "move", effects=_CLOSED)),
        **_over(_ENDED, "session_end", "not older_than_last", Row("HL-2", "repeat", effects=("close_work",))),
        **_over(_NO_ID, "session_end", "", Row("HL-0", "repeat")),
        **_over(_HOLDING, "replayed_session_end", _LATE, Row("HL-12", "repeat")),
        ("guessed", "replayed_session_end", _END_OF_GUESS): Row("HL-11", "move", effects=_DROPPED),
        ("guessed", "replayed_session_end", _CLEAR_OF_HOOK): Row("HL-2", "move", effects=_GONE_CLEAR),
        ("guessed", "replayed_session_end", _END_OF_HOOK): Row("HL-2", "move", effects=_GONE),
        ("exact", "replayed_session_end", _CLEAR): Row("HL-2", "move", effects=_GONE_CLEAR),
        ("exact", "replayed_session_end", _END): Row("HL-2", "move", effects=_GONE),
        **_over(
            _UNSEEN, "replayed_session_end", "not older_than_last",
            Row("HL-2", "repeat", effects=("activity_ended",)),
        ),
        **_over(_ENDED, "replayed_session_end", "not older_than_last", Row("HL-2", "repeat")),
        **_over(_NO_ID, "replayed_session_end", "", Row("HL-0", "repeat")),
        ("guessed", "process_gone", "folder_guess"): Row("HL-11", "move", effects=_DROPPED),
        ("guessed", "process_gone", "not folder_guess"): Row("HL-9", "move", effects=_GONE),
        ("exact", "process_gone", ""): Row("HL-9", "move", effects=_GONE),
        **_over(_UNSEEN, "process_gone", "", Row("HL-9", "repeat", effects=("activity_ended",))),
        **_rest("HL-9", "process_gone", "guessed", "exact", *_UNSEEN),
        ("guessed", "silent", "folder_guess"): Row("HL-11", "move", effects=_DROPPED),
        ("guessed", "silent", "not folder_guess"): Row("HL-10", "move", effects=_GONE),
        ("exact", "silent", ""): Row("HL-10", "move", effects=_GONE),
        **_over(_UNSEEN, "silent", "", Row("HL-10", "repeat", effects=("activity_ended",))),
        **_rest("HL-10", "silent", "guessed", "exact", *_UNSEEN),
        ("guessed", "owner_end", "folder_guess"): Row(
            "75", "move", effects=("drop_id", "drop_published", *_OVER)
        ),
        ("guessed", "owner_end", "not folder_guess"): Row("75", "move", effects=_GONE),
        ("exact", "owner_end", ""): Row("75", "move", effects=_GONE),
        **_over((*_NO_ID, *_UNSEEN), "owner_end", "", Row("75", "repeat", effects=("drop_published", *_OVER))),
        **_over(_ENDED, "owner_end", "", Row("75", "repeat")),
        **_over(
            _HOLDING, "unlink", "",
            Row(
                "LINK-20", "move",
                effects=(
                    "take_off_id", "end_waits", "other_session", "drop_published", "free_name",
                    "activity_unknown", "event:session.unlinked",
                ),
            ),
        ),
        ("moved", "unlink", ""): Row(
            "LINK-20", "move",
            effects=("other_session", "drop_published", "activity_unknown", "event:session.unlinked"),
        ),
        ("none", "unlink", ""): Row("LINK-20", "repeat"),
        **_over(("guessed", "exact"), "replaced_by_clear", "", Row("HL-3", "move", effects=_CLEAR_NEW_ID)),
        ("ended_guessed", "replaced_by_clear", ""): Row(
            "HL-3", "move", effects=("replace_id", "other_session", "event:session.returned")
        ),
        ("ended_exact", "replaced_by_clear", ""): Row(
            "HL-3", "move", effects=("replace_id", "other_session", *_RETURNED)
        ),
        **_over((*_NO_ID, *_UNSEEN), "replaced_by_clear", "", Row("HL-3", "repeat")),
    }  # fmt: skip
