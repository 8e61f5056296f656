"""The owner's rules: what sets one off, who gets a message that several want, and what is wrong with a rule."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaybay.answers import word_refusal
from relaybay.rules import automation
from relaybay.rules.automation import (
    Received,
    Trigger,
    check,
    first_to_consume,
    is_session_pattern,
    judge,
    match_facts,
    named,
    seconds_until_firing,
    seconds_until_turn,
    trigger,
    valid_rule_name,
)

SECOND = 1_000_000
HOUR = 3600 * SECOND
RULE: dict[str, Any] = {"name": "answer-ci", "session": "@ci-*", "on": "message_received"}


def received(**values: Any) -> Received:
    usual = {
        "message_id": "m-1",
        "recipient": "ci-one",
        "audience": "direct",
        "sender_kind": "session",
        "admission": "sent",
    }
    return Received(**(usual | values))


def outcome(rule: dict[str, Any], **values: Any) -> tuple[str, str]:
    assert check(RULE | rule) == []
    verdict = judge(match_facts(trigger(RULE | rule), received(**values)))
    return verdict.outcome, verdict.spec_id


def fires(rule: dict[str, Any], **values: Any) -> bool:
    return outcome(rule, **values)[0] == "fires"


# -- what sets one off ------------------------------------------------------------------------------------------------


@pytest.mark.spec("AUTO-1", "AUTO-3")
def test_a_rule_that_asks_for_nothing_fires_for_every_message_of_its_sessions() -> None:
    for audience, topic in (("direct", ""), ("topic", "ci.failures"), ("broadcast", "")):
        assert fires({}, audience=audience, topic=topic)
    assert fires({}, sender_kind="script", label="cron")
    assert fires({}, sender_kind="unverified")
    assert outcome({}, recipient="web") == ("passes", "50")
    assert outcome({}, recipient="") == ("passes", "50")
    assert outcome({"audiences": ["topic"]}) == ("passes", "AUTO-1")


@pytest.mark.spec("AUTO-2")
def test_topics_are_asked_of_topic_messages_only() -> None:
    rule = {"topics": ["ci.**", "deploy"]}
    assert fires(rule, audience="topic", topic="ci.failures.linux")
    assert fires(rule, audience="topic", topic="deploy")
    assert outcome(rule, audience="topic", topic="ci") == ("passes", "AUTO-2")
    assert fires(rule, audience="direct")
    assert fires(rule, audience="broadcast")


@pytest.mark.spec("AUTO-3", "AUTO-4")
def test_with_senders_or_scripts_the_sender_is_one_of_them() -> None:
    rule = {"senders": ["@web", "@db-*"], "scripts": ["cron"]}
    assert fires(rule, sender="web")
    assert fires(rule, sender="db-two")
    assert outcome(rule, sender_kind="script", label="cron") == ("fires", "AUTO-4")
    assert outcome(rule, sender="api") == ("passes", "AUTO-4")
    assert not fires(rule, sender_kind="script", label="web")
    assert not fires({"senders": ["*"]}, sender_kind="script", label="cron")
    assert not fires({"scripts": ["cron"]}, sender="cron")


@pytest.mark.spec("AUTO-3", "CH-7")
def test_a_sender_that_only_says_its_name_is_none_of_the_named_ones() -> None:
    assert fires({"senders": ["*"]}, sender="")
    assert not fires(
        {"senders": ["*", "@web"], "scripts": ["web"]}, sender_kind="unverified", sender="web", label="web"
    )


@pytest.mark.spec("AUTO-5")
def test_held_messages_set_off_only_the_rules_that_ask_for_them() -> None:
    assert outcome({}, admission="held") == ("passes", "AUTO-5")
    assert fires({"admissions": ["held", "sent"]}, admission="held")
    assert not fires({"admissions": ["held"]}, admission="sent")


@pytest.mark.spec("AUTO-6")
def test_what_a_rule_wrote_sets_off_no_rule_unless_it_asks_for_that() -> None:
    assert outcome({}, automation="other-rule") == ("passes", "AUTO-6")
    assert fires({"from_automations": True}, automation="other-rule")
    assert fires({"from_automations": True})


def test_a_rule_that_waits_for_work_takes_no_message() -> None:
    assert outcome({"on": "work_finished"}) == ("passes", "50")


@pytest.mark.spec("AUTO-3")
@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("@ci", ["ci"], ["ci-one", "c", ""]),
        ("@ci-*", ["ci-one", "ci-one-two", "ci--"], ["ci", "ci-", "cix-one", ""]),
        ("*", ["ci", ""], []),
    ],
)
def test_the_three_forms(pattern: str, yes: list[str], no: list[str]) -> None:
    assert is_session_pattern(pattern)
    assert [name for name in [*yes, *no] if named(pattern, name)] == yes


@pytest.mark.spec("AUTO-3")
@pytest.mark.parametrize(
    "text", ["", "@", "ci", "ci-*", "@*", "@-*", "@ci*", "@ci-**", "@Ci", "@" + "x" * 33, "@*-ci", "**", "@a,@b"]
)
def test_other_forms_name_nobody(text: str) -> None:
    assert not is_session_pattern(text)


# -- several rules, and how often -------------------------------------------------------------------------------------


@pytest.mark.spec("AUTO-8")
@given(st.lists(st.from_regex(r"[a-c]{1,3}(-[a-c]{1,3})?", fullmatch=True), max_size=6))
def test_the_first_by_name_gets_it_whatever_the_order_in_the_file(names: list[str]) -> None:
    assert first_to_consume(names) == first_to_consume(reversed(names)) == ([*sorted(names), ""][0])


def test_twelve_times_an_hour_and_not_during_the_cool_down() -> None:
    now = 10 * HOUR
    times = [now - n * 60 * SECOND for n in range(1, 13)]
    assert seconds_until_firing(times[:11], now, automation.FIRINGS_PER_HOUR, 0) == 0
    assert seconds_until_firing(times, now, automation.FIRINGS_PER_HOUR, 0) == 48 * 60
    assert seconds_until_firing(times[:1], now, 12, 61) == 1
    assert seconds_until_firing(times[:1], now, 12, 60) == 0
    assert seconds_until_firing(times, now, 12, 90) == 48 * 60
    assert seconds_until_firing([], now, 1, 600) == 0


def test_twenty_turns_an_hour() -> None:
    now = 10 * HOUR
    assert seconds_until_turn([now] * 19, now) == 0
    assert seconds_until_turn([now - HOUR + SECOND] * 20, now) == 1
    assert seconds_until_turn([now - HOUR] * 20, now) == 0


# -- what is wrong with a rule ----------------------------------------------------------------------------------------


def test_a_rule_becomes_its_trigger_with_the_defaults_of_the_page() -> None:
    assert trigger(RULE) == Trigger("message_received", "@ci-*")
    assert trigger(RULE | {"consume": True, "topics": ["a", "b.**"], "admissions": ["sent"]}) == Trigger(
        "message_received", "@ci-*", topics=("a", "b.**"), consume=True
    )
    assert trigger({"name": "a", "session": "*", "on": "work_finished"}).states == ("completed", "failed", "cancelled")


GOOD: list[dict[str, Any]] = [
    {},
    {"firings_per_hour": 600, "cool_down_seconds": 0},
    {"firings_per_hour": 1},
    {"senders": [f"@a{n}" for n in range(16)]},
    {"scripts": ["nightly build", "@cron"]},
    {"on": "work_finished", "states": ["failed", "paused"], "consume": False},
    {"consume": True, "admissions": ["sent"]},
    {"run": ["true"], "timeout_seconds": 5},
]


@pytest.mark.parametrize("rule", GOOD)
def test_rules_that_can_be_used(rule: dict[str, Any]) -> None:
    assert check(RULE | rule) == []


BAD: list[tuple[dict[str, Any], list[str]]] = [
    ({"name": "Answer"}, ["automation.name_invalid"]),
    ({"name": "a--b"}, ["automation.name_invalid"]),
    ({"name": "x" * 65}, ["automation.name_invalid"]),
    ({"name": 7}, ["automation.not_text"]),
    ({"session": "ci"}, ["automation.session_invalid"]),
    ({"session": None}, ["automation.key_missing"]),
    ({"on": "message"}, ["automation.on_invalid"]),
    ({"audiences": "direct"}, ["automation.not_a_list"]),
    ({"audiences": []}, ["automation.not_a_list"]),
    ({"topics": ["ci", 3]}, ["automation.not_a_list"]),
    ({"audiences": ["direct", "group"]}, ["automation.audiences_invalid"]),
    ({"topics": ["CI", "**.x"]}, ["automation.topics_invalid", "automation.topics_invalid"]),
    ({"senders": ["web"]}, ["automation.senders_invalid"]),
    ({"senders": [f"@a{n}" for n in range(17)]}, ["automation.list_too_long"]),
    ({"senders": ["@a", "*", "@a"]}, ["automation.list_repeats"]),
    ({"scripts": ["a\u202eb"]}, ["automation.scripts_invalid"]),
    ({"admissions": ["queued"]}, ["automation.admissions_invalid"]),
    ({"consume": "yes"}, ["automation.not_yes_or_no"]),
    ({"from_automations": 1}, ["automation.not_yes_or_no"]),
    ({"consume": True, "admissions": ["held"]}, ["automation.consume_held"]),
    ({"consume": True, "admissions": ["sent", "held"]}, ["automation.consume_held"]),
    ({"firings_per_hour": 0}, ["automation.number_invalid"]),
    ({"firings_per_hour": 601}, ["automation.number_invalid"]),
    ({"firings_per_hour": True}, ["automation.number_invalid"]),
    ({"cool_down_seconds": -1}, ["automation.number_invalid"]),
    ({"cool_down_seconds": 1.5}, ["automation.number_invalid"]),
    ({"states": ["failed"]}, ["automation.of_other_trigger"]),
    ({"on": "work_finished", "topics": ["a"]}, ["automation.of_other_trigger"]),
    ({"on": "work_finished", "consume": True}, ["automation.of_other_trigger"]),
    ({"on": "work_finished", "states": ["leased"]}, ["automation.states_invalid"]),
    (
        {"name": "A", "consume": 1, "firings_per_hour": 0},
        ["automation.name_invalid", "automation.not_yes_or_no", "automation.number_invalid"],
    ),
]


@pytest.mark.spec("AUTO-7", "AUTO-9", "NAME-5")
@pytest.mark.parametrize(("rule", "wrong"), BAD)
def test_all_that_is_wrong_with_a_rule_is_told_in_sentences(rule: dict[str, Any], wrong: list[str]) -> None:
    found = check(RULE | rule)
    assert [one.answer for one in found] == wrong
    for one in found:
        said = word_refusal(one)
        assert said.code == "automation_invalid"
        assert said.text.isprintable()


def test_every_sentence_about_rules_can_be_said() -> None:
    from relaybay import specs

    listed = {one for one in specs.answers() if one.startswith("automation.")}
    assert {one for _, wrong in BAD for one in wrong} == listed


@pytest.mark.spec("NAME-5")
@pytest.mark.parametrize("name", ["a", "answer-ci", "7-eleven", "x" * 64])
def test_names_of_rules(name: str) -> None:
    assert valid_rule_name(name)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(sorted(automation.KEYS)), json_values, max_size=8))
def test_no_value_of_a_file_breaks_the_check(values: dict[str, Any]) -> None:
    found = check(RULE | values)
    assert all(word_refusal(one).text for one in found)
    if not found:
        trigger(RULE | values)
