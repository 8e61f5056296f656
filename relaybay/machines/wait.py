"""One wake-up wait of one session (page 20, table WAIT): a long poll that hands text to an idle session, once.

The wake-up hook makes the wait's id; `none` is an id that nobody opened yet. A `look` is asked whenever something
changed that may fire the wait, and only a look fires it. Nothing is marked before that: every other way out leaves
the items as they are, and `undo_marks` takes them back when the text could not be written (WAIT-8).

Effect words: `hold_poll` (this connection is the open poll now), `look` (ask a look at once), `hand_over` (pack and
mark, in the transaction of the step), `answer_200`, `answer_204`, `answer_409_ended` and `answer_409_superseded`
(the open poll, or the one that asked, is answered so), `start_regrace` (a poll has to follow), `undo_marks`.
"""

from __future__ import annotations

from typing import ClassVar

from statemachine import State

from relaybay.machines.base import Machine, Row

_FIRES = "item_there and poll_open and idle and connection_lives"
_BREAKS = "item_there and poll_open and idle and not connection_lives"
_OVER = ("fired", "superseded", "ended", "timed_out")
_ENDED = ("answer_409_ended",)
_SUPERSEDED = ("answer_409_superseded",)

_Rows = dict[tuple[str, str, str], Row]


def _unchanged(event: str, *states: str) -> _Rows:
    """WAIT-13: a wait that is over, or was never opened, is not changed by anything else."""
    return {(state, event, ""): Row("WAIT-13", "repeat") for state in states}


class Wait(Machine):
    """none → waiting → fired, superseded, ended or timed out."""

    FACTS = ("link_exact_live", "poll_open", "item_there", "idle", "connection_lives", "current_poll")

    none = State(initial=True)
    waiting = State()
    fired = State()
    superseded = State(final=True)
    ended = State(final=True)
    timed_out = State(final=True)

    open = none.to(waiting, cond="link_exact_live")
    look = waiting.to(fired, cond=_FIRES) | waiting.to(ended, cond=_BREAKS)
    regrace_over = waiting.to(ended, cond="not poll_open")
    newer_wait = waiting.to(superseded)
    own_event = waiting.to(ended)
    time_over = waiting.to(timed_out)
    connection_lost = waiting.to(ended, cond="current_poll")
    client_gone = waiting.to(ended)
    server_stop = waiting.to(ended)
    not_written = fired.to(ended)

    ROWS: ClassVar[_Rows] = {
        ("none", "open", "link_exact_live"): Row("WAIT-1", "move", effects=("hold_poll", "look")),
        ("none", "open", "not link_exact_live"): Row("WAIT-9", "refuse", "wait.ended", _ENDED),
        **_unchanged("open", "waiting", *_OVER),
        ("waiting", "poll", "poll_open"): Row("WAIT-11", "repeat", effects=("answer_204", "hold_poll", "look")),
        ("waiting", "poll", "not poll_open"): Row("WAIT-11", "repeat", effects=("hold_poll", "look")),
        ("superseded", "poll", ""): Row("WAIT-13", "refuse", "wait.superseded", _SUPERSEDED),
        ("fired", "poll", ""): Row("WAIT-13", "refuse", "wait.ended", _ENDED),
        ("ended", "poll", ""): Row("WAIT-13", "refuse", "wait.ended", _ENDED),
        ("timed_out", "poll", ""): Row("WAIT-13", "refuse", "wait.ended", _ENDED),
        **_unchanged("poll", "none"),
        ("waiting", "look", _FIRES): Row("WAIT-2", "move", effects=("hand_over", "answer_200")),
        ("waiting", "look", _BREAKS): Row("WAIT-6", "move"),
        ("waiting", "look", ""): Row("WAIT-10", "repeat"),
        **_unchanged("look", "none", *_OVER),
        ("waiting", "poll_time_over", ""): Row("WAIT-11", "repeat", effects=("answer_204", "start_regrace")),
        **_unchanged("poll_time_over", "none", *_OVER),
        ("waiting", "regrace_over", "not poll_open"): Row("WAIT-11", "move"),
        ("waiting", "regrace_over", "poll_open"): Row("WAIT-11", "repeat"),
        **_unchanged("regrace_over", "none", *_OVER),
        ("waiting", "newer_wait", ""): Row("WAIT-3", "move", "wait.superseded", _SUPERSEDED),
        **_unchanged("newer_wait", "none", *_OVER),
        ("waiting", "own_event", ""): Row("WAIT-4", "move", "wait.ended", _ENDED),
        **_unchanged("own_event", "none", *_OVER),
        ("waiting", "other_event", ""): Row("WAIT-12", "repeat"),
        **_unchanged("other_event", "none", *_OVER),
        ("waiting", "time_over", ""): Row("WAIT-5", "move", "wait.ended", _ENDED),
        **_unchanged("time_over", "none", *_OVER),
        ("waiting", "connection_lost", "current_poll"): Row("WAIT-6", "move"),
        ("waiting", "connection_lost", "not current_poll"): Row("WAIT-11", "repeat"),
        **_unchanged("connection_lost", "none", *_OVER),
        ("waiting", "client_gone", ""): Row("WAIT-6", "move", "wait.ended", _ENDED),
        **_unchanged("client_gone", "none", *_OVER),
        ("waiting", "server_stop", ""): Row("WAIT-7", "move", "wait.ended", _ENDED),
        **_unchanged("server_stop", "none", *_OVER),
        ("fired", "not_written", ""): Row("WAIT-8", "move", effects=("undo_marks",)),
        **_unchanged("not_written", "none", "waiting", "superseded", "ended", "timed_out"),
    }
