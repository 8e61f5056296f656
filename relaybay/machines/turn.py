"""The Stop budget of one turn (page 20, table STOP): at most two blocks, whatever happens.

The state is the number of Stop blocks that relaybay caused in this turn. A Stop that is allowed ends the turn, so
the count starts again; the budget goes with the hook id (MOVE-9).
"""

from __future__ import annotations

from typing import ClassVar

from statemachine import State

from relaybay.machines.base import Machine, Row

_ALLOW = ("allow",)
_IGNORED = "ignored"
_OPENS = "not ignored and opens_turn"
_INSIDE = "not ignored and not opens_turn"
_UNLINKED = "not ignored and not link_exact_live"
_CONTINUED = "not ignored and link_exact_live and continuation"
_FIRST_EMPTY = "not ignored and link_exact_live and not continuation and not eligible"
_FIRST_FULL = "not ignored and link_exact_live and not continuation and eligible"
_EMPTY = "not ignored and link_exact_live and not eligible"
_FULL = "not ignored and link_exact_live and eligible"


class Turn(Machine):
    """none → one → two Stop blocks, and back to none when the turn ends or another begins."""

    FACTS = ("ignored", "opens_turn", "link_exact_live", "continuation", "eligible", "this_turn")

    none = State(initial=True)
    one = State()
    two = State()

    prompt = one.to(none, cond=_OPENS) | two.to(none, cond=_OPENS)
    stop = (
        none.to(one, cond=_FIRST_FULL)
        | one.to(none, cond=_UNLINKED)
        | one.to(none, cond=_EMPTY)
        | one.to(two, cond=_FULL)
        | two.to(none, cond=_UNLINKED)
        | two.to(none, cond=_EMPTY)
        | two.to(none, cond=_FULL)
    )
    answer_not_written = one.to(none, cond="this_turn") | two.to(one, cond="this_turn")

    ROWS: ClassVar[dict[tuple[str, str, str], Row]] = {
        ("none", "prompt", _IGNORED): Row("STOP-2", "repeat"),
        ("none", "prompt", _OPENS): Row("STOP-1", "repeat"),
        ("none", "prompt", _INSIDE): Row("STOP-8", "repeat"),
        ("one", "prompt", _IGNORED): Row("STOP-2", "repeat"),
        ("one", "prompt", _OPENS): Row("STOP-1", "move"),
        ("one", "prompt", _INSIDE): Row("STOP-8", "repeat"),
        ("two", "prompt", _IGNORED): Row("STOP-2", "repeat"),
        ("two", "prompt", _OPENS): Row("STOP-1", "move"),
        ("two", "prompt", _INSIDE): Row("STOP-8", "repeat"),
        ("none", "stop", _IGNORED): Row("STOP-2", "repeat", effects=_ALLOW),
        ("none", "stop", _UNLINKED): Row("STOP-7", "repeat", effects=_ALLOW),
        ("none", "stop", _CONTINUED): Row("STOP-3", "repeat", effects=_ALLOW),
        ("none", "stop", _FIRST_EMPTY): Row("STOP-4", "repeat", effects=_ALLOW),
        ("none", "stop", _FIRST_FULL): Row("STOP-5", "move", effects=("block",)),
        ("one", "stop", _IGNORED): Row("STOP-2", "repeat", effects=_ALLOW),
        ("one", "stop", _UNLINKED): Row("STOP-7", "move", effects=_ALLOW),
        ("one", "stop", _EMPTY): Row("STOP-4", "move", effects=_ALLOW),
        ("one", "stop", _FULL): Row("STOP-5", "move", effects=("block",)),
        ("two", "stop", _IGNORED): Row("STOP-2", "repeat", effects=_ALLOW),
        ("two", "stop", _UNLINKED): Row("STOP-7", "move", effects=_ALLOW),
        ("two", "stop", _EMPTY): Row("STOP-4", "move", effects=_ALLOW),
        ("two", "stop", _FULL): Row("STOP-6", "move", effects=_ALLOW),
        ("none", "answer_not_written", ""): Row("STOP-9", "repeat"),
        ("one", "answer_not_written", "this_turn"): Row("STOP-9", "move"),
        ("one", "answer_not_written", "not this_turn"): Row("STOP-9", "repeat"),
        ("two", "answer_not_written", "this_turn"): Row("STOP-9", "move"),
        ("two", "answer_not_written", "not this_turn"): Row("STOP-9", "repeat"),
    }
