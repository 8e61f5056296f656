"""What gets into an inbox, and what sets and clears a row's suppression (page 50, tables ADM and SUP)."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaybay.rules import suppression
from relaybay.rules.admission import AdmissionFacts, judge
from relaybay.specs import answers, decisions

FREE = AdmissionFacts(False, False, False, False, False, False, False, False)
FULL = AdmissionFacts(True, False, True, True, True, True, True, True)
ORDER = [
    ("repeat", "repeat"),
    ("refused_by_policy", "refused_policy"),
    ("duplicate", "refused_duplicate"),
    ("recipient_full", "limited_recipient"),
    ("sender_full", "limited_sender"),
    ("inbox_full", "limited_inbox_full"),
    ("bytes_full", "limited_inbox_full"),
]


@pytest.mark.spec("ADM-1", "ADM-2", "ADM-3", "ADM-4", "ADM-5", "ADM-6", "ADM-7", "ADM-8")
def test_the_first_thing_that_is_wrong_answers() -> None:
    facts = FULL
    for fact, outcome in ORDER:
        assert judge(facts).outcome == outcome
        assert judge(replace(FREE, **{fact: True})).outcome == outcome
        facts = replace(facts, **{fact: False})
    assert facts == FREE and judge(facts).spec_id == "ADM-8"


@pytest.mark.spec("ADM-1")
def test_a_repeat_meets_no_limit_and_no_policy() -> None:
    """Its answer is the first one, however full it has become since."""
    assert judge(FULL).outcome == "repeat"


@pytest.mark.spec("ADM-2", "ADM-6", "ADM-7")
@given(st.builds(AdmissionFacts, *[st.booleans() for _ in fields(AdmissionFacts)]))
def test_a_caught_up_message_meets_policy_and_room_only(facts: AdmissionFacts) -> None:
    caught_up = replace(facts, catch_up=True)
    bare = replace(caught_up, repeat=False, duplicate=False, recipient_full=False, sender_full=False)
    assert judge(caught_up) == judge(bare)
    stopped = facts.refused_by_policy or facts.inbox_full or facts.bytes_full
    assert (judge(caught_up).outcome == "admitted") == (not stopped)


@pytest.mark.spec("ADM-8")
@given(st.builds(AdmissionFacts, *[st.booleans() for _ in fields(AdmissionFacts)]))
def test_a_sent_message_is_admitted_only_when_nothing_speaks_against_it(facts: AdmissionFacts) -> None:
    sent = replace(facts, catch_up=False)
    assert (judge(sent).outcome == "admitted") == (sent == FREE)


def test_each_reason_of_a_message_that_was_not_admitted_is_worded() -> None:
    outcomes = {row.outcome for row in decisions()["admission"].rows} - {"repeat", "admitted"}
    reasons = {outcome.split("_", 1)[1] for outcome in outcomes}
    assert reasons == {"policy", "duplicate", "recipient", "sender", "inbox_full"}
    assert not any(answers()[f"closed.{reason}"].error for reason in reasons)


# --- suppression ---


def life(*events: suppression.SuppressionEvent) -> tuple[list[bool], int]:
    """The flag after each event, from a fresh row, and how often it changed: each change grows the epoch by one."""
    flag, said, grown = False, [], 0
    for event in events:
        outcome = suppression.judge(suppression.SuppressionFacts(flag, event)).outcome
        assert outcome == "keep" or (outcome == "set") != flag
        grown += outcome != "keep"
        flag = outcome == "set" or (flag and outcome == "keep")
        said.append(flag)
    return said, grown


@pytest.mark.spec("SUP-1", "SUP-2")
@pytest.mark.parametrize("event", ["stop_failure", "broken_off", "lease_lost"])
def test_a_turn_that_went_wrong_suppresses_until_a_person_types(event) -> None:
    assert life(event, "machine_input", "policy_changed", "other", "local_input") == ([True] * 4 + [False], 2)


@pytest.mark.spec("SUP-4")
def test_a_row_that_was_suppressed_comes_back_suppressed() -> None:
    said, grown = life("broken_off", "end", "restart", "resume", "restart", "machine_input")
    assert all(said) and grown == 1


@pytest.mark.spec("SUP-1", "SUP-2")
def test_there_and_back_is_two_changes_and_the_same_again_is_none() -> None:
    assert life("local_input", "stop_failure", "lease_lost", "local_input", "local_input")[1] == 2


@pytest.mark.spec("SUP-4")
def test_a_row_that_is_not_suppressed_is_not_by_what_does_not_set_it() -> None:
    assert life("machine_input", "end", "resume", "restart", "policy_changed", "other") == ([False] * 6, 0)
