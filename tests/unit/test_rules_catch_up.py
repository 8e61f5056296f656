"""What a session that was away is offered, and what it may read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaybay.answers import word
from relaybay.domain import Verdict
from relaybay.rules.catch_up import TOPICS_MAX, Candidate, CatchUpFacts, choose, judge
from relaybay.rules.withhold import WithholdFacts
from relaybay.rules.withhold import judge as judge_read

ME, OTHER = 1, 2


def said(topic: str, number: int, *, sender: int | None = OTHER, cursor: int = 0, there: bool = False) -> Candidate:
    return Candidate(topic, number, sender, cursor, there)


def numbers(candidates: list[Candidate], most: int = TOPICS_MAX) -> list[int]:
    return [candidate.number for candidate in choose(candidates, ME, most)]


@pytest.mark.spec("CATCHUP-2", "CATCHUP-3")
def test_one_of_each_topic_and_the_oldest_first() -> None:
    assert numbers([said("b", 9), said("a", 4), said("b", 7), said("a", 5), said("c", 6)]) == [5, 6, 9]


@pytest.mark.spec("CATCHUP-2")
def test_ones_own_is_never_offered_and_does_not_hide_what_others_said() -> None:
    assert numbers([said("a", 3), said("a", 8, sender=ME)]) == [3]
    assert numbers([said("a", 8, sender=ME)]) == []


@pytest.mark.spec("CATCHUP-2")
def test_what_a_script_published_is_nobodys_own() -> None:
    assert numbers([said("a", 3, sender=None)]) == [3]


@pytest.mark.spec("CATCHUP-4", "CATCHUP-8")
def test_an_older_one_never_comes_in_the_place_of_one_that_counts_as_seen() -> None:
    assert numbers([said("a", 5, cursor=4), said("b", 6, cursor=6), said("c", 7, cursor=9)]) == [5]
    assert numbers([said("a", 5, there=True), said("a", 4)]) == []


@pytest.mark.spec("CATCHUP-3")
def test_of_many_topics_the_sixteen_with_the_newest_messages() -> None:
    many = [said(f"t{n}", n) for n in range(1, 31)]
    assert numbers(many) == list(range(15, 31))
    assert numbers(many, most=0) == []


@pytest.mark.spec("CATCHUP-3", "CATCHUP-5")
def test_looking_again_while_all_of_them_wait_brings_no_more() -> None:
    """A pattern over a large backlog, and several occasions to catch up before the first prompt."""
    waiting: set[int] = set()
    for _ in range(3):
        waiting |= set(numbers([said(f"t{n}", n, there=n in waiting) for n in range(1, 101)]))
    assert waiting == set(range(85, 101))


candidates = st.lists(
    st.builds(
        Candidate,
        topic=st.sampled_from([f"t{n}" for n in range(30)]),
        number=st.integers(1, 400),
        sender=st.sampled_from([None, ME, OTHER]),
        cursor=st.just(0),
        already_there=st.booleans(),
    ),
    max_size=80,
    unique_by=lambda c: c.number,
)


@pytest.mark.spec("CATCHUP-2", "CATCHUP-3")
@given(
    candidates, st.dictionaries(st.sampled_from([f"t{n}" for n in range(30)]), st.integers(0, 400)), st.integers(0, 20)
)
def test_every_offer_is_of_its_topic_the_newest_unseen_of_somebody_else(
    some: list[Candidate], cursors: dict[str, int], most: int
) -> None:
    some = [Candidate(c.topic, c.number, c.sender, cursors.get(c.topic, 0), c.already_there) for c in some]
    offered = choose(some, ME, most)
    assert len(offered) <= most
    assert [c.number for c in offered] == sorted(c.number for c in offered)
    assert len({c.topic for c in offered}) == len(offered)
    for c in offered:
        assert c.sender != ME and c.number > c.cursor and not c.already_there
        assert c.number == max(o.number for o in some if o.topic == c.topic and o.sender != ME)
    left_out = {c.topic for c in some if c.sender != ME} - {c.topic for c in offered}
    newer = [
        best
        for topic in left_out
        if (best := max((c for c in some if c.topic == topic and c.sender != ME), key=lambda c: c.number)).number
        > best.cursor
        and not best.already_there
    ]
    # What was left out for want of room is older than all that was offered.
    assert all(one.number < c.number for one in newer for c in offered)


# -- the delivery it becomes ------------------------------------------------------------------------------------------


@pytest.mark.spec("DLV-41", "DLV-42", "DLV-43")
def test_what_never_got_in_may_come_again_and_what_the_owner_rejected_may_not() -> None:
    for state in ("dropped", "rate_limited", "refused"):
        assert judge(CatchUpFacts(state, False, True, True)) == Verdict("DLV-41", "admit")
        assert judge(CatchUpFacts(state, False, True, False)) == Verdict("DLV-43", "unchanged")
    for state in ("rejected", "consumed", "held", "sent", "taken", "delivered", "read", "orphaned"):
        assert judge(CatchUpFacts(state, False, True, True)) == Verdict("DLV-43", "unchanged")
    assert judge(CatchUpFacts("refused", True, True, True)) == Verdict("DLV-43", "unchanged")


# -- reading back -----------------------------------------------------------------------------------------------------


def shown(**facts: object) -> Verdict:
    usual = {
        "identity": "proven",
        "policy": "auto",
        "sender": "session",
        "own": False,
        "cohort": True,
        "not_through": False,
    }
    return judge_read(WithholdFacts(**(usual | facts)))


@pytest.mark.spec("READ-8", "CH-3")
def test_auto_shows_its_cohort_and_no_script() -> None:
    assert shown().outcome == "show"
    assert shown(cohort=False) == Verdict("READ-8", "withhold")
    assert shown(cohort=False, sender="script") == Verdict("READ-8", "withhold")
    assert shown(cohort=False, sender="unverified") == Verdict("READ-8", "withhold")
    assert shown(cohort=False, sender="script", policy="accept").outcome == "show"


@pytest.mark.spec("CH-9")
@pytest.mark.parametrize("policy", ["accept", "auto"])
def test_what_did_not_get_through_is_not_read_back_either(policy: str) -> None:
    assert shown(policy=policy, not_through=True) == Verdict("CH-9", "withhold")


@pytest.mark.spec("CH-9")
def test_a_session_reads_what_it_published_itself() -> None:
    assert shown(own=True, cohort=False) == Verdict("CH-9", "show")


@pytest.mark.spec("CH-3", "75")
@pytest.mark.parametrize("policy", ["hold", "refuse"])
def test_under_hold_and_refuse_the_call_itself_is_refused(policy: str) -> None:
    refused = shown(policy=policy, own=True)
    said_ = word(refused.answer, policy=policy)
    assert (said_.code, said_.status) == ("policy_withholds", 403)
    assert policy in said_.text


@pytest.mark.spec("CH-3", "75")
def test_a_name_that_nothing_proves_learns_neither_text_nor_policy() -> None:
    assert {shown(identity="unverified", policy=p, own=True).outcome for p in ("accept", "auto", "hold", "refuse")} == {
        "withhold"
    }
    refused = shown(identity="none")
    assert word(refused.answer).code == "session_required"
