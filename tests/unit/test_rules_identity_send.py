"""Values behind the send's tables: windows, parents, near names; and that every refusal is worded."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaybay import specs
from relaybay.rules.rates import seconds_until_allowed
from relaybay.rules.recipient import near_names, reach_of
from relaybay.rules.reply import ParentFacts, judge_parent, parent_facts

S = 1_000_000
TABLES = ("proof", "linking", "sender", "ack", "ack_item", "write", "reader", "name", "recipient", "recipient_reach")
TABLES += ("reply", "repeat", "to_self", "send_loop")


@pytest.mark.spec("SEND-12")
def test_the_eleventh_within_the_window_waits_for_the_first_to_leave_it() -> None:
    times = [n * S for n in range(10)]
    assert seconds_until_allowed(times[:9], 20 * S, 10, 60) == 0
    assert seconds_until_allowed(times, 20 * S, 10, 60) == 40
    assert seconds_until_allowed(times, 60 * S - 1, 10, 60) == 1
    assert seconds_until_allowed(times, 60 * S, 10, 60) == 0


@given(st.lists(st.integers(0, 200 * S), max_size=30), st.integers(0, 200 * S))
def test_after_the_wait_it_fits_and_a_second_earlier_it_does_not(times: list[int], now: int) -> None:
    times = [t for t in times if t <= now]
    wait = seconds_until_allowed(times, now, 10, 60)
    assert 0 <= wait <= 60
    assert seconds_until_allowed(times, now + wait * S, 10, 60) == 0
    if wait:
        assert seconds_until_allowed(times, now + (wait - 1) * S, 10, 60) > 0


def test_times_ahead_of_a_clock_that_was_set_back_lock_nobody_out_for_longer_than_a_window() -> None:
    assert seconds_until_allowed([6 * S] * 10, 5 * S, 10, 60) == 60
    assert seconds_until_allowed([65 * S - 1] * 10, 5 * S, 10, 60) == 60
    assert seconds_until_allowed([65 * S] * 10, 5 * S, 10, 60) == 0
    assert seconds_until_allowed([10**15] * 10, 5 * S, 10, 60) == 0


@pytest.mark.spec("SEND-14")
@pytest.mark.parametrize(
    ("states", "mine", "wanted"),
    [
        (None, {1}, ParentFacts("unknown", False, "open")),
        ({2: "delivered"}, {1}, ParentFacts("known", False, "open")),
        ({0: "orphaned"}, {1}, ParentFacts("known", False, "orphaned")),
        ({1: "read"}, {1}, ParentFacts("known", True, "open")),
        ({1: "held"}, {1}, ParentFacts("known", True, "held")),
        ({1: "taken"}, {1}, ParentFacts("known", True, "taken")),
        ({1: "dropped"}, {1}, ParentFacts("known", True, "closed")),
        ({1: "held", 2: "delivered"}, {1, 2}, ParentFacts("known", True, "open")),
    ],
)
def test_a_parent_is_judged_on_the_deliveries_that_are_the_senders(states, mine, wanted) -> None:
    facts = parent_facts(True, states, frozenset(mine))
    assert facts == wanted
    assert judge_parent(facts).refused == (not (wanted.mine and wanted.state == "open"))


def test_without_in_reply_to_nothing_is_asked_of_a_parent() -> None:
    assert judge_parent(parent_facts(False, None, frozenset())).outcome == "no_reply"


@pytest.mark.spec("RECV-1")
def test_near_names_come_first_and_live_ones_even_when_none_is_near() -> None:
    names = [("docs", True), ("builder", False), ("build", True), ("web", True), ("old", False)]
    assert near_names("buidl", names, 5) == ("build", "builder", "docs", "web")
    assert near_names("zzzzzz", names, 2) == ("docs", "build")
    assert near_names("Buil", names, 1) == ("build",)


@given(
    st.text(string.ascii_lowercase, max_size=8), st.lists(st.tuples(st.text(max_size=8), st.booleans()), max_size=20)
)
def test_near_names_are_bounded_known_and_without_repeats(wanted: str, names: list[tuple[str, bool]]) -> None:
    offered = near_names(wanted, names, 5)
    assert len(offered) <= 5
    assert len(set(offered)) == len(offered)
    assert set(offered) <= {name for name, _ in names}


@pytest.mark.spec("RECV-6", "RECV-7", "RECV-8")
def test_a_guess_and_an_unseen_id_never_linked_themselves() -> None:
    reached = {state: reach_of(state) for state in ("exact", "ended_exact", "moved")}
    assert reached == {"exact": "live", "ended_exact": "ended", "moved": "moved"}
    for state in ("none", "guessed_unseen", "exact_unseen", "guessed", "ended_guessed"):
        assert reach_of(state) == "never_linked"


@pytest.mark.parametrize("name", TABLES)
def test_every_answer_of_the_tables_is_worded_and_every_refusal_has_code_and_status(name: str) -> None:
    for row in specs.decisions()[name].rows:
        if row.outcome == "refuse":
            answer = specs.answers()[row.answer]
            assert answer.code and 400 <= answer.status < 500, row.answer
        elif row.answer:
            assert not specs.answers()[row.answer].error, row.answer


def test_no_sentence_of_identity_has_room_for_a_hook_id() -> None:
    fields = {
        field
        for answer in specs.answers().values()
        for _, field, _, _ in string.Formatter().parse(answer.text)
        if field and answer.id.split(".")[0] in ("proof", "name", "send", "link", "ack", "read", "recv")
    }
    assert not {f for f in fields if "hook" in f}
