"""Which bodies are taken: SEND-9, 15, 10, 11, and that what is taken always fits one hook answer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaybay import frames, specs
from relaybay.answers import word_refusal
from relaybay.rules.body import BodyLimits, judge
from relaybay.rules.text import literal, name_literal, units


@pytest.fixture(scope="module")
def limits() -> BodyLimits:
    return BodyLimits(specs.limit("body_chars_max"), specs.limit("answer_utf16_max"), frames.longest_frame_units())


def refused(body: str, limits: BodyLimits) -> tuple[str, str]:
    refusal = judge(body, limits).refusal
    assert refusal is not None
    answer = word_refusal(refusal)
    assert answer.error
    return answer.code, answer.spec_id


@pytest.mark.spec("SEND-9", "SEND-15", "SEND-10", "SEND-11")
def test_each_check_refuses_with_its_own_code(limits: BodyLimits) -> None:
    assert refused(" \r\n\u2028", limits) == ("body_blank", "SEND-9")
    assert refused("a\x00", limits) == ("body_not_text", "SEND-15")
    assert refused("a" * 4001, limits) == ("body_too_long", "SEND-10")
    assert refused("<" * 2000, limits) == ("body_too_long_quoted", "SEND-11")


@pytest.mark.spec("SEND-9", "SEND-15", "SEND-10", "SEND-11")
def test_the_checks_run_in_the_pages_order(limits: BodyLimits) -> None:
    assert refused("\n" * 5000, limits) == ("body_blank", "SEND-9")
    assert refused("\ud800" * 5000, limits) == ("body_not_text", "SEND-15")
    assert refused("<" * 5000, limits) == ("body_too_long", "SEND-10")


@pytest.mark.spec("SEND-10", "TEXT-1")
def test_length_is_that_of_the_normalised_body(limits: BodyLimits) -> None:
    assert judge("a" * 4000, limits).refusal is None
    assert judge("ab\r\n" * 1333, limits).text == "ab\n" * 1333
    assert judge("ab\r\n" * 1333, limits).refusal is None
    assert refused("ab\r\n" * 1334, limits)[1] == "SEND-10"
    assert "4001" in word_refusal(judge("a" * 4001, limits).refusal).text
    assert "4000" in word_refusal(judge("a" * 4001, limits).refusal).text


@pytest.mark.spec("SEND-11")
def test_the_quoted_limit_is_met_exactly_and_the_refusal_counts_what_costs(limits: BodyLimits) -> None:
    room = limits.quoted_units_max - 2
    pairs, rest = divmod(room, 2)
    fits = "😀" * min(pairs, 4000) + "a" * rest
    assert pairs < 4000, "the quoted limit must bite before the length does"
    assert judge(fits, limits).refusal is None
    refusal = judge(fits + "b", limits).refusal
    assert refusal is not None
    assert refusal.values["astral"] == pairs
    assert refusal.values["units"] == limits.quoted_units_max + 1
    assert str(pairs) in word_refusal(refusal).text


@pytest.mark.spec("SEND-11", "PACK-1")
def test_an_accepted_body_fits_an_answer_with_the_longest_frame(limits: BodyLimits) -> None:
    room = limits.quoted_units_max - 2
    body = "é" * (room % 2) + "\n" * (room // 2)
    assert units(literal(body)) == limits.quoted_units_max
    facts = frames.replace(
        frames._LONGEST_MESSAGE, sender_name="m" * 80, task="t" * specs.limit("task_key_chars_max"), body=body
    )
    sender = frames.Sender(facts.sender_title, verified=False)
    frame = frames.message_frame(facts)
    for door in ("context", "stop", "wake"):
        need = frames.item_units(frame, door=door, sender=sender) + frames.tail_room()
        assert need <= frames.items_room(door)
    need = frames.item_units(frame, door="stop", sender=sender) + frames.tail_room()
    assert need == frames.items_room("stop"), "the longest frame must be measured exactly where room is tightest"


@pytest.mark.spec("SEND-11", "TEXT-3")
@given(st.text(st.sampled_from("\U0001f600a\n\ue000\U000f0000<\u200d\U0001f468\u0301"), min_size=70, max_size=90))
@settings(max_examples=500)
def test_no_name_is_longer_than_the_one_the_longest_frame_has(name: str) -> None:
    assert units(name_literal(name)) <= units(name_literal(frames._LONGEST_TITLE))


@pytest.mark.spec("SEND-11")
def test_no_mix_of_name_characters_is_longer_by_arithmetic() -> None:
    """At most 80 characters and 160 when escaped; each kind (characters when escaped, units) tried exhaustively."""
    best = 0
    for plain in range(81):
        for short in range(81 - plain):
            for six in range(81 - plain - short):
                for twelve in range(min(13, 81 - plain - short - six)):
                    emoji = min(80 - plain - short - six - twelve, 160 - plain - 2 * short - 6 * six - 12 * twelve)
                    if emoji >= 0:
                        best = max(best, plain + 2 * short + 6 * six + 12 * twelve + 2 * emoji)
    assert units(name_literal(frames._LONGEST_TITLE)) == best + len('"…"')


@pytest.mark.spec("SEND-10", "SEND-11")
def test_an_owners_comment_of_its_full_length_fits() -> None:
    limits = BodyLimits(
        specs.limit("comment_chars_max"), specs.limit("answer_utf16_max"), frames.longest_comment_frame_units()
    )
    assert judge("a" * 6000, limits).refusal is None
    assert refused("a" * 6001, limits) == ("body_too_long", "SEND-10")
    assert refused('"' * 4000, limits) == ("body_too_long_quoted", "SEND-11")
