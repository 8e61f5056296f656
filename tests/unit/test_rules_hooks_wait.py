"""Lives of a wake-up wait (page 20, table WAIT)."""

from __future__ import annotations

import pytest

from relaybay import specs
from relaybay.machines.base import step
from relaybay.machines.wait import Wait

READY = {
    "link_exact_live": True, "poll_open": True, "item_there": True, "idle": True, "connection_lives": True,
    "current_poll": True,
}  # fmt: skip


def run(state: str, *events: str, **facts: bool):
    result = None
    for event in events:
        result = step(Wait, state, event, {**READY, **facts})
        state = result.state
    return result


@pytest.mark.spec("WAIT-1", "WAIT-2", "WAIT-8")
def test_a_wait_fires_once_and_takes_its_marks_back_when_the_text_was_not_written() -> None:
    fired = run("none", "open", "look")
    assert fired.state == "fired" and fired.effects == ("hand_over", "answer_200")
    assert run("fired", "look").effects == ()
    undone = run("fired", "not_written")
    assert undone.state == "ended" and undone.effects == ("undo_marks",)


@pytest.mark.spec("WAIT-10")
@pytest.mark.parametrize("missing", ["item_there", "poll_open", "idle"])
def test_it_goes_on_waiting_while_something_is_missing(missing: str) -> None:
    assert run("waiting", "look", **{missing: False}).state == "waiting"


@pytest.mark.spec("WAIT-11")
def test_a_poll_whose_time_is_over_is_answered_204_and_may_be_followed() -> None:
    over = run("waiting", "poll_time_over")
    assert over.state == "waiting" and "answer_204" in over.effects
    assert run("waiting", "poll", "regrace_over").state == "waiting"
    assert run("waiting", "regrace_over", poll_open=False).state == "ended"


@pytest.mark.spec("WAIT-6", "WAIT-11")
def test_a_dropped_connection_ends_it_unless_the_client_polls_already_over_another() -> None:
    assert run("waiting", "connection_lost").state == "ended"
    assert run("waiting", "connection_lost", current_poll=False).state == "waiting"
    assert run("waiting", "poll").effects[0] == "answer_204"


@pytest.mark.spec("WAIT-9", "WAIT-13", "WAIT-3")
def test_a_poll_of_a_wait_that_is_over_is_refused_with_its_code() -> None:
    for state in ("fired", "ended", "timed_out"):
        assert specs.answers()[run(state, "poll").answer].code == "wait_ended"
    assert specs.answers()[run("superseded", "poll").answer].code == "wait_superseded"
    assert specs.answers()[run("none", "open", link_exact_live=False).answer].status == 409


def test_marks_are_set_by_one_event_and_undone_by_one() -> None:
    """INV: no way out of a wait but the hand-over touches an item."""
    for row in specs.machines()["wait"].rows:
        assert ("hand_over" in row.effects) == (row.event == "look" and row.next == "fired")
        assert ("undo_marks" in row.effects) == (row.states == ("fired",) and row.event == "not_written")


@pytest.mark.spec("WAIT-5", "WAIT-11")
def test_the_bounds_of_a_wait() -> None:
    assert specs.limit("wait_minutes") == 25 and specs.limit("poll_seconds_max") == 50
    assert specs.limit("wait_regrace_seconds") == 5 and specs.limit("stop_event_grace_seconds") == 2
