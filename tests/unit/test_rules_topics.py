"""Topics and patterns: the grammar, what matches what, and subscriptions that change as a whole or not at all."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from relaybay.answers import word_refusal
from relaybay.domain import Refusal
from relaybay.rules import topics
from relaybay.rules.topics import add_patterns, audience, how_received, is_pattern, is_topic, matches, remove_patterns

EIGHT = "a.b.c.d.e.f.g.h"

# -- grammar ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("TOPIC-1", "TOPIC-2", "TOPIC-3")
@pytest.mark.parametrize(
    "text", ["ci", "ci.failures", "0", "a-", "a_", "a--b__c", "7.x", EIGHT, "x" * 128, "a." + "b" * 126]
)
def test_a_topic_is_a_pattern_of_itself(text: str) -> None:
    assert is_topic(text)
    assert is_pattern(text)
    assert matches(text, text)


@pytest.mark.spec("TOPIC-4", "TOPIC-5")
@pytest.mark.parametrize(
    "text", ["*", "**", "ci.*", "ci.**", "*.*", "*.**", "ci.*.linux", "*.b.*.**", "a.b.c.d.e.f.g.**"]
)
def test_a_pattern_with_wildcards_is_no_topic(text: str) -> None:
    assert is_pattern(text)
    assert not is_topic(text)


INVALID = {
    "": "TOPIC-1", "x" * 129: "TOPIC-1", "ü" * 65: "TOPIC-1",
    ".": "TOPIC-2", "ci.": "TOPIC-2", ".ci": "TOPIC-2", "ci..x": "TOPIC-2", EIGHT + ".i": "TOPIC-2", EIGHT + ".**": "TOPIC-2",
    "CI.x": "TOPIC-3", "-ci": "TOPIC-3", "_ci": "TOPIC-3", "ci x": "TOPIC-3", " ci": "TOPIC-3", "ci\n": "TOPIC-3", "ä": "TOPIC-3",
    "ci.\u0456": "TOPIC-3", "\ud800": "TOPIC-3", "ci.x/y": "TOPIC-3", "\u0663": "TOPIC-3",
    "ci.fail*": "TOPIC-4", "*x": "TOPIC-4", "a*b": "TOPIC-4",
    "***": "TOPIC-5", "**.ci": "TOPIC-5", "ci.**.x": "TOPIC-5", "x**": "TOPIC-5", "****": "TOPIC-5",
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "row"), [pytest.param(*pair, marks=pytest.mark.spec(pair[1])) for pair in INVALID.items()]
)
def test_what_is_neither_topic_nor_pattern_is_refused_with_the_row_it_breaks(text: str, row: str) -> None:
    assert not is_topic(text)
    assert not is_pattern(text)
    added, published = add_patterns(["ci.*"], [text]), audience(text, broadcast=False)
    assert isinstance(added, Refusal) and isinstance(published, Refusal)
    assert (added.answer, added.spec_id) == ("pattern.invalid", row)
    assert (published.answer, published.spec_id) == ("topic.invalid", row)
    assert "\n" not in word_refusal(added).text + word_refusal(published).text


# -- matching ---------------------------------------------------------------------------------------------------------

EXAMPLES = [
    ("TOPIC-6", "ci.failures", ["ci.failures"], ["ci", "ci.failures.linux"]),
    ("TOPIC-7", "ci.*", ["ci.failures"], ["ci", "ci.failures.linux"]),
    ("TOPIC-8", "ci.**", ["ci.failures", "ci.failures.linux"], ["ci", "cix.a"]),
    ("TOPIC-9", "*", ["ci"], ["ci.failures"]),
    ("TOPIC-10", "**", ["ci", "ci.failures", EIGHT], []),
    ("TOPIC-11", "*.failures", ["ci.failures"], ["failures", "a.b.failures"]),
    ("TOPIC-12", "ci.*.linux", ["ci.failures.linux"], ["ci.linux"]),
    ("TOPIC-13", "*.**", ["ci.failures"], ["ci"]),
    ("TOPIC-14", "a.b.c.d.e.f.g.**", [EIGHT], ["a.b.c.d.e.f.g", "a.b.c.d.e.f.x.h"]),
]


@pytest.mark.parametrize(
    ("pattern", "yes", "no"), [pytest.param(*rest, marks=pytest.mark.spec(row)) for row, *rest in EXAMPLES]
)
def test_the_examples_of_the_page(pattern: str, yes: list[str], no: list[str]) -> None:
    assert is_pattern(pattern)
    assert all(is_topic(topic) for topic in [*yes, *no])
    assert [topic for topic in [*yes, *no] if matches(pattern, topic)] == yes


SEGMENT = "[a-z0-9][a-z0-9_-]*"
TOPIC = re.compile(rf"(?=.{{1,128}}\Z)(?s:{SEGMENT}(\.{SEGMENT}){{0,7}})\Z")
PATTERN = re.compile(
    rf"(?=.{{1,128}}\Z)(?s:\*\*|({SEGMENT}|\*)(\.({SEGMENT}|\*)){{0,7}}|({SEGMENT}|\*)(\.({SEGMENT}|\*)){{0,6}}\.\*\*)\Z"
)


def as_regex(pattern: str) -> re.Pattern[str]:
    """A second reading of a pattern, which shares nothing with the first."""
    text = re.escape(pattern).replace(r"\*\*", "REST").replace(r"\*", "[^.]+").replace("REST", ".+")
    return re.compile(text)


near_grammar = st.text(alphabet="ab0-_.*X ü", max_size=24)
words = st.sampled_from(["a", "b", "ab", "a-b"])
topic_texts = st.lists(words, min_size=1, max_size=8).map(".".join)
pattern_texts = st.one_of(
    st.lists(st.one_of(words, st.just("*")), min_size=1, max_size=8),
    st.lists(st.one_of(words, st.just("*")), max_size=7).map(lambda head: [*head, "**"]),
).map(".".join)


@pytest.mark.spec("TOPIC-1", "TOPIC-2", "TOPIC-3", "TOPIC-4", "TOPIC-5")
@given(near_grammar)
@example("a" * 128)
@example("a" * 129)
@example(".".join("a" * 9))
def test_the_grammar_is_that_of_a_second_reading(text: str) -> None:
    assert is_topic(text) == bool(TOPIC.match(text))
    assert is_pattern(text) == bool(PATTERN.match(text))


@pytest.mark.spec("TOPIC-6", "TOPIC-8")
@given(pattern_texts, topic_texts)
def test_matching_is_that_of_a_second_reading(pattern: str, topic: str) -> None:
    assert is_pattern(pattern) and is_topic(topic)
    assert matches(pattern, topic) == bool(as_regex(pattern).fullmatch(topic))


@pytest.mark.spec("TOPIC-22")
def test_several_patterns_that_match_are_one_answer_and_the_name_itself_wins() -> None:
    assert how_received(["**", "ci.*", "ci.a"], "ci.a") == "exact"
    assert how_received(["**", "ci.*"], "ci.a") == "pattern"
    assert how_received(["ci.a.*", "ci"], "ci.a") == "not"
    assert how_received([], "ci.a") == "not"


# -- subscriptions ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("TOPIC-15")
def test_the_seventeenth_pattern_adds_none_of_those_that_came_with_it() -> None:
    have = [f"t{n}" for n in range(14)]
    assert add_patterns(have, ["a", "b"]) == (*have, "a", "b")
    refused = add_patterns(have, ["a", "b", "c"])
    assert refused == Refusal("pattern.too_many", "TOPIC-15", {"count": 17, "count_max": topics.PATTERNS_MAX})
    assert word_refusal(refused).code == "too_many_patterns"


@pytest.mark.spec("TOPIC-15", "TOPIC-16")
def test_what_is_there_already_takes_no_second_place() -> None:
    have = tuple(f"t{n}" for n in range(16))
    assert add_patterns(have, ["t3", "t15", "t3"]) == have
    assert add_patterns(["b", "a"], ["c", "a", "c", "b"]) == ("b", "a", "c")


@pytest.mark.spec("TOPIC-15")
def test_a_bad_pattern_among_good_ones_adds_none() -> None:
    refused = add_patterns(["a"], ["b", "C", "**.d"])
    assert isinstance(refused, Refusal)
    assert (refused.spec_id, refused.values) == ("TOPIC-3", {"pattern": '"C"'})


@pytest.mark.spec("TOPIC-17")
def test_a_missing_pattern_is_named_and_none_is_removed() -> None:
    assert remove_patterns(["a", "ci.*", "b"], ["ci.*", "a"]) == ("b",)
    refused = remove_patterns(["a", "ci.*"], ["a", "ci.failures", "x"])
    assert refused == Refusal("pattern.missing", "TOPIC-17", {"pattern": '"ci.failures"'})
    assert "ci.failures" in word_refusal(refused).text


@given(st.lists(pattern_texts, max_size=16, unique=True), st.lists(pattern_texts, max_size=6))
def test_adding_keeps_what_was_there_in_its_order(have: list[str], new: list[str]) -> None:
    added = add_patterns(have, new)
    if isinstance(added, Refusal):
        assert len({*have, *new}) > topics.PATTERNS_MAX
    else:
        assert added[: len(have)] == tuple(have)
        assert sorted(added) == sorted({*have, *new})
        assert remove_patterns(added, added[len(have) :]) == tuple(have)


# -- audience ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec("PUB-1")
def test_exactly_one_of_a_topic_and_broadcast() -> None:
    assert audience("ci.failures", broadcast=False) == "topic"
    assert audience(None, broadcast=True) == "broadcast"
    for topic, broadcast in ((None, False), ("ci.failures", True), ("*", True)):
        assert audience(topic, broadcast=broadcast) == Refusal("audience.invalid", "PUB-1")


@pytest.mark.spec("PUB-1", "TOPIC-4")
def test_a_publication_goes_to_one_topic_and_not_to_a_pattern() -> None:
    refused = audience("ci.*", broadcast=False)
    assert isinstance(refused, Refusal)
    assert (refused.answer, refused.spec_id) == ("topic.invalid", "TOPIC-4")
    assert "subscriptions" in word_refusal(refused).text
