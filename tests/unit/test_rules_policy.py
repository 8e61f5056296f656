"""What a policy makes of messages over a session's life, and how the owner changes it (page 50)."""

from __future__ import annotations

import itertools
import string
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaybay.answers import word
from relaybay.rules.policy import (
    STRICTNESS,
    CohortFacts,
    OverrideFacts,
    Policy,
    PolicyFacts,
    RelaxFacts,
    effective,
    judge,
    judge_cohort,
    judge_override,
    judge_relax,
    laxer,
    mode_of,
    stricter,
)
from relaybay.specs import answers, decisions

POLICIES = st.sampled_from(STRICTNESS)
MAYBE = st.sampled_from(("", *STRICTNESS))

ALIKE = CohortFacts("session", "default", "default", "equal")
NEW = PolicyFacts("new", "auto", False, False, "session", True, False)
INSIDE = replace(NEW, arrival="inside")


# --- the effective policy ---


@pytest.mark.spec("FLOOR-1", "FLOOR-2", "FLOOR-3", "FLOOR-5", "FLOOR-6", "FLOOR-7", "FLOOR-9", "FLOOR-10", "FLOOR-12")
@pytest.mark.parametrize(
    ("override", "default", "floor", "wanted"),
    [
        ("", "auto", "", "auto"),
        ("accept", "hold", "", "accept"),
        ("", "auto", "hold", "hold"),
        ("", "accept", "auto", "auto"),
        ("refuse", "accept", "auto", "refuse"),
        ("accept", "auto", "hold", "hold"),
        ("auto", "auto", "hold", "hold"),
        ("hold", "auto", "refuse", "refuse"),
    ],
)
def test_the_stricter_of_choice_and_floor_counts(override, default, floor, wanted) -> None:
    """The last three are saved choices under a floor that came later: trap P10, clamped without a word."""
    assert effective(override, default, floor) == wanted


@pytest.mark.spec("FLOOR-3", "FLOOR-4")
@given(MAYBE, POLICIES, MAYBE)
def test_nothing_gets_below_a_floor_and_a_floor_loosens_nothing(override, default, floor) -> None:
    counts = effective(override, default, floor)
    assert floor == "" or not laxer(counts, floor)
    assert not laxer(counts, effective(override, default, ""))


@pytest.mark.spec("FLOOR-4")
@given(POLICIES, POLICIES, MAYBE)
def test_a_choice_is_allowed_exactly_when_it_would_count_as_it_stands(wanted, default, floor) -> None:
    verdict = judge_override(OverrideFacts(wanted, floor or "none", default))
    assert verdict.refused == (effective(wanted, default, floor) != wanted)


@pytest.mark.spec("FLOOR-4", "FLOOR-7")
@given(POLICIES, MAYBE)
def test_a_choice_can_always_be_taken_back(default, floor) -> None:
    assert judge_override(OverrideFacts("default", floor or "none", default)).outcome == "allowed"


def test_strictness_is_one_order() -> None:
    assert STRICTNESS == ("accept", "auto", "hold", "refuse")
    for a, b in itertools.product(STRICTNESS, repeat=2):
        assert stricter(a, b) == stricter(b, a) and not laxer(stricter(a, b), a)
        assert (laxer(a, b), laxer(b, a)).count(True) == (a != b)


# --- cohorts ---


@pytest.mark.spec("COHORT-4")
@pytest.mark.parametrize("mode", ["acceptEdits", "auto", "dontAsk", "bypassPermissions", "", "Plan", "brandNew"])
def test_a_mode_that_does_not_ask_matches_nothing_not_even_itself(mode: str) -> None:
    assert mode_of(mode) == "other"
    both = replace(ALIKE, sender_mode=mode_of(mode), receiver_mode=mode_of(mode))
    assert judge_cohort(both).outcome == "other"


@pytest.mark.spec("COHORT-2", "COHORT-4")
def test_planning_sessions_match_each_other_and_no_others() -> None:
    assert (mode_of("default"), mode_of("plan")) == ("default", "plan")
    assert judge_cohort(ALIKE).outcome == "same"
    assert judge_cohort(replace(ALIKE, sender_mode="plan", receiver_mode="plan")).outcome == "same"
    one = judge_cohort(replace(ALIKE, sender_mode="plan"))
    two = judge_cohort(replace(ALIKE, receiver_mode="plan"))
    assert one == two and (one.spec_id, one.outcome) == ("COHORT-2", "other")


@pytest.mark.spec("COHORT-3")
def test_two_unknown_folders_are_not_the_same_folder() -> None:
    """Trap P11, as far as it is decided here: nothing known is no match."""
    assert judge_cohort(replace(ALIKE, folder="unknown")).outcome == "other"
    assert judge_cohort(replace(ALIKE, folder="different")).outcome == "other"


@pytest.mark.spec("COHORT-1")
@pytest.mark.parametrize("sender", ["script", "unverified"])
def test_an_unproven_sender_is_in_nobodys_cohort(sender) -> None:
    assert judge_cohort(replace(ALIKE, sender=sender)).spec_id == "COHORT-1"


# --- messages ---


@pytest.mark.spec("POLICY-2", "POLICY-5", "POLICY-6", "POLICY-7", "POLICY-8", "POLICY-9")
@pytest.mark.parametrize(
    ("policy", "mate", "stranger", "script"),
    [
        ("accept", "deliver", "deliver", "deliver"),
        ("auto", "deliver", "cohort", "script"),
        ("hold", "policy", "policy", "policy"),
        ("refuse", "refuse", "refuse", "refuse"),
    ],
)
def test_what_becomes_of_a_new_message_by_sender_and_policy(policy, mate, stranger, script) -> None:
    new = replace(NEW, policy=policy)
    assert judge(new).outcome == mate
    assert judge(replace(new, cohort=False)).outcome == stranger
    assert judge(replace(new, cohort=False, sender="script")).outcome == script
    assert judge(replace(new, cohort=False, sender="unverified")).outcome == script


@pytest.mark.spec("POLICY-3", "SUP-3")
@pytest.mark.parametrize("policy", ["accept", "auto", "hold"])
def test_no_policy_and_no_approval_overrides_suppression(policy: Policy) -> None:
    """Trap P7."""
    waiting = replace(INSIDE, policy=policy, suppressed=True)
    for facts in (waiting, replace(waiting, approved=True), replace(waiting, arrival="new")):
        assert judge(facts).outcome == "waits_for_resume"


@pytest.mark.spec("POLICY-2", "POLICY-3")
def test_refuse_keeps_a_new_message_out_of_a_suppressed_row_too() -> None:
    assert judge(replace(NEW, policy="refuse", suppressed=True)).outcome == "refuse"
    assert judge(replace(INSIDE, policy="refuse", suppressed=True)).outcome == "waits_for_resume"


@pytest.mark.spec("POLICY-4", "POLICY-6")
def test_an_approval_is_of_one_message_and_lasts_until_the_controls_change() -> None:
    """Trap P4: the sender's next message is held, and so is this one when its approval is of an epoch gone by."""
    first = replace(INSIDE, policy="hold")
    assert judge(first).outcome == "policy"
    assert judge(replace(first, approved=True)).outcome == "deliver"
    assert judge(replace(first, arrival="new")).outcome == "policy"


@pytest.mark.spec("POLICY-6", "POLICY-8")
def test_what_is_inside_is_held_under_refuse_and_released_by_a_laxer_policy() -> None:
    said = [judge(replace(INSIDE, policy=p)).outcome for p in ("auto", "hold", "refuse", "hold", "accept")]
    assert said == ["deliver", "policy", "policy", "policy", "deliver"]


@pytest.mark.spec("POLICY-6", "SET-6")
def test_a_hold_for_the_projects_file_says_so_and_one_that_the_owner_wants_anyway_does_not() -> None:
    assert judge(replace(NEW, policy="hold", project_file=True)).outcome == "project_file"
    assert judge(replace(INSIDE, policy="refuse", project_file=True)).outcome == "policy"


@pytest.mark.spec("POLICY-5", "POLICY-6", "POLICY-8")
def test_a_stricter_policy_never_lets_through_what_a_laxer_one_keeps_back() -> None:
    """Over every message that no approval speaks for."""
    for facts in decisions()["policy"].combinations():
        if facts["approved"] or judge(PolicyFacts(**facts)).outcome != "deliver":
            continue
        for policy in STRICTNESS[: STRICTNESS.index(facts["policy"])]:
            assert judge(PolicyFacts(**facts | {"policy": policy})).outcome == "deliver", (facts, policy)


# --- relaxing ---


@pytest.mark.spec("RELAX-1", "RELAX-2", "RELAX-3")
def test_a_laxer_policy_is_asked_about_and_asked_again_when_something_changed_meanwhile() -> None:
    wish = RelaxFacts("hold", "auto", confirmed=False, changed=False)
    assert judge_relax(wish).answer == "policy.confirm"
    assert judge_relax(replace(wish, confirmed=True, changed=True)).answer == "policy.confirm_void"
    assert judge_relax(replace(wish, confirmed=True)).outcome == "apply"
    tightened = replace(wish, new="refuse")
    assert judge_relax(tightened).outcome == "apply"


@pytest.mark.spec("RELAX-1", "RELAX-2")
@given(POLICIES, POLICIES, st.booleans())
def test_nothing_becomes_laxer_without_a_confirmation(old, new, changed) -> None:
    assert judge_relax(RelaxFacts(old, new, False, changed)).refused == laxer(new, old)


# --- words ---


def test_every_reason_of_a_hold_is_worded_and_every_refusal_has_a_code() -> None:
    outcomes = {row.outcome for row in decisions()["policy"].rows} - {"deliver", "refuse"}
    assert outcomes == {id_.removeprefix("held.") for id_ in answers() if id_.startswith("held.")}
    assert not any(answers()[f"held.{reason}"].error for reason in outcomes)
    for name in ("override", "relax"):
        for row in decisions()[name].rows:
            assert row.outcome != "refuse" or answers()[row.answer].code, row


@pytest.mark.spec("FLOOR-8", "RELAX-2", "SET-6")
@pytest.mark.parametrize(
    ("answer", "code", "values"),
    [
        ("policy.below_floor", "policy_below_floor", {"floor": "hold", "file": ".relaybay.toml"}),
        ("policy.confirm", "confirmation_required", {"old": "hold", "new": "auto", "floor": "none", "count": 3}),
        ("policy.confirm_void", "confirmation_void", {}),
        ("review.blocked", "approve_blocked", {"by": "refuse"}),
        ("review.stale", "review_stale", {}),
        ("review.not_held", "not_held", {}),
        ("held.project_file", "", {"place": ".relaybay.toml:7"}),
        ("closed.consumed", "", {"automation": "nightly"}),
        ("closed.sender", "", {"seconds": 12}),
        ("closed.recipient", "", {"seconds": 12}),
    ],
)
def test_a_sentence_takes_exactly_the_values_it_is_given(answer: str, code: str, values: dict[str, object]) -> None:
    worded = word(answer, **values)
    assert worded.code == code and worded.error == (code != "")
    assert all(str(value) in worded.text for value in values.values())
    fields = {name for _, name, _, _ in string.Formatter().parse(answers()[answer].text) if name}
    assert fields == set(values)
