"""Chosen names: which texts can be one, who may have one, and what a session goes by while it can't."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaybay.answers import word
from relaybay.domain import Verdict
from relaybay.rules import handles
from relaybay.rules.claim import ChosenNameFacts, ClaimFacts, judge_chosen, judge_claim, valid_name


@pytest.mark.spec("NAME-1")
@pytest.mark.parametrize("name", ["a", "0", "ci-watcher", "a-", "a--b", "9-lives", "x" * 32])
def test_names_that_can_be_chosen(name: str) -> None:
    assert valid_name(name)


@pytest.mark.spec("NAME-1", "NAME-27")
@pytest.mark.parametrize(
    "name",
    [
        "",
        "@a",
        "Ci-Watcher",
        "-x",
        "x" * 33,
        "a b",
        "a_b",
        "a.b",
        "a\n",
        " a",
        "\u0441i",
        "caf\u00e9",
        "a\u200b",
        "\uff41",
        "*",
        "\u0661",
    ],
)
def test_names_that_can_not_be_chosen_nor_are_folded_into_one(name: str) -> None:
    assert not valid_name(name)


@pytest.mark.spec("NAME-1", "NAME-8")
@given(st.integers(1, 10**9), st.integers(0, handles.ATTEMPTS_MAX - 1))
def test_every_generated_name_could_have_been_chosen(row: int, attempt: int) -> None:
    assert valid_name(handles.generated(row, attempt))


def chosen(**facts: bool) -> Verdict:
    given_ = {"grammar_ok": True, "own_already": False, "held_by_other_live": False, "names_other_live_session": False}
    return judge_chosen(ChosenNameFacts(**(given_ | facts)))


@pytest.mark.spec("NAME-14", "NAME-15")
def test_a_held_name_is_refused_and_says_whose_it_is() -> None:
    assert chosen() == Verdict("NAME-14", "allowed")
    refused = chosen(held_by_other_live=True)
    said = word(refused.answer, name="ci-watcher", title='"Shop web"', ref="S-12", folder='"/srv/shop"')
    assert (refused.spec_id, said.code) == ("NAME-15", "name_held")
    assert all(part in said.text for part in ("@ci-watcher", '"Shop web"', "S-12", '"/srv/shop"'))


@pytest.mark.spec("OWN-10")
def test_a_title_or_alias_of_a_live_session_is_kept_for_it() -> None:
    refused = chosen(names_other_live_session=True)
    assert word(refused.answer, name='"web"', title='"web"', ref="S-3", folder='"/srv"').code == "name_reserved"
    assert chosen(names_other_live_session=True, held_by_other_live=True).answer == "chosen_name.held"


@pytest.mark.spec("NAME-16", "NAME-18")
def test_choosing_again_what_is_chosen_is_no_conflict_even_while_another_goes_by_it() -> None:
    assert chosen(own_already=True, held_by_other_live=True) == Verdict("NAME-16", "allowed")


@pytest.mark.spec("NAME-27")
def test_what_is_no_name_is_told_the_grammar() -> None:
    refused = chosen(grammar_ok=False)
    said = word(refused.answer, name='"Ci"')
    assert said.code == "name_invalid"
    assert "a-z" in said.text and "32" in said.text


@pytest.mark.spec("NAME-13", "NAME-17", "NAME-18")
def test_a_session_comes_back_to_its_name_or_is_warned() -> None:
    assert judge_claim(ClaimFacts("none")) == Verdict("NAME-13", "generated")
    assert judge_claim(ClaimFacts("free")) == Verdict("NAME-17", "chosen")
    kept_waiting = judge_claim(ClaimFacts("held"))
    assert kept_waiting.outcome == "generated_with_warning"
    said = word(kept_waiting.answer, chosen="ci-watcher", name="calm-proud-otter")
    assert "@ci-watcher" in said.text and "@calm-proud-otter" in said.text
    assert not said.error
