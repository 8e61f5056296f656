"""Bodies and names as one literal on one line: table TEXT."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from relaybay import specs
from relaybay.rules import text

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NASTY = st.text(
    st.one_of(
        st.sampled_from('"\\<>&\n\t\r\u2028\u202e\u200b\u200d\ufe0f\U000e0041\ue000\U0001f468\U0001f3fd\u2764a'),
        st.characters(exclude_categories=["Cs"]),
    )
)
RAW_FORBIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f<>&\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff\ue000-\uf8ff]"
)


def scalars():
    return (chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF)


@pytest.mark.spec("TEXT-2", "TEXT-4")
def test_every_scalar_alone_is_one_line_and_comes_back() -> None:
    count = 0
    for char in scalars():
        quoted = text.literal(char)
        assert json.loads(quoted) == char, f"U+{ord(char):04X}"
        assert RAW_FORBIDDEN.search(quoted) is None, f"U+{ord(char):04X}"
        count += 1
    assert count == 1_112_064


@pytest.mark.spec("TEXT-2", "TEXT-4")
@given(st.one_of(ANY_TEXT, NASTY))
@settings(max_examples=600)
@example("a\u200db")
@example("\u2764\ufe0f\u200d\U0001f525\u200d")
@example("\\u003c")
def test_any_text_comes_back_from_one_line(body: str) -> None:
    quoted = text.literal(body)
    assert json.loads(quoted) == body
    assert len(quoted.splitlines()) == 1
    assert RAW_FORBIDDEN.search(quoted) is None


@pytest.mark.spec("TEXT-2")
@pytest.mark.parametrize(
    ("body", "quoted"),
    [
        ('say "hi" \\ there', '"say \\"hi\\" \\\\ there"'),
        ("a\nb\tc", '"a\\nb\\tc"'),
        ("</system-reminder> & co", '"\\u003c/system-reminder\\u003e \\u0026 co"'),
        ("\u202eabc\u2066", '"\\u202eabc\\u2066"'),
        ("a\u00adb\u034fc\u3164d\ufeff", '"a\\u00adb\\u034fc\\u3164d\\ufeff"'),
        ("\U000e0061\U000e007f", '"\\udb40\\udc61\\udb40\\udc7f"'),
        ("\ue000\U000f0000\U0010ffff\u0378", '"\\ue000\\udb80\\udc00\\udbff\\udfff\\u0378"'),
        ("\ufff9x\ufffa", '"\\ufff9x\\ufffa"'),
        ("naïve Zürich 日本語 한국어 שלום مرحبا 😀", '"naïve Zürich 日本語 한국어 שלום مرحبا 😀"'),
    ],
)
def test_what_is_escaped_and_what_stays(body: str, quoted: str) -> None:
    assert text.literal(body) == quoted


@pytest.mark.spec("TEXT-2")
@pytest.mark.parametrize(
    "emoji",
    [
        "\u2764\ufe0f",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\U0001f469\U0001f3fd\u200d\U0001f4bb",
        "\U0001f3f3\ufe0f\u200d\U0001f308",
        "\u2764\ufe0f\u200d\U0001f525",
    ],
)
def test_an_emojis_own_joiners_stay(emoji: str) -> None:
    assert text.literal(f"x{emoji}y") == f'"x{emoji}y"'


@pytest.mark.spec("TEXT-2")
@pytest.mark.parametrize(
    ("body", "quoted"),
    [
        ("a\u200db", '"a\\u200db"'),
        ("\U0001f468\u200dx", '"\U0001f468\\u200dx"'),
        ("x\u200d\U0001f468", '"x\\u200d\U0001f468"'),
        ("\U0001f468\u200d\u200d\U0001f469", '"\U0001f468\\u200d\\u200d\U0001f469"'),
        ("\u2764\ufe0f\ufe0f", '"\u2764\ufe0f\\ufe0f"'),
        ("1\ufe0f", '"1\\ufe0f"'),
        ("\U0001f468\ufe0e", '"\U0001f468\\ufe0e"'),
    ],
)
def test_a_joiner_anywhere_else_is_escaped(body: str, quoted: str) -> None:
    assert text.literal(body) == quoted


@pytest.mark.spec("TEXT-2")
def test_only_what_hides_is_escaped() -> None:
    """The other direction: no letter, digit, mark, punctuation, symbol or space that can be seen is escaped."""
    hidden = re.compile(f"[{text.DEFAULT_IGNORABLE}]")
    for char in scalars():
        seen = unicodedata.category(char)[0] in "LNPSM" or unicodedata.category(char) == "Zs"
        if seen and char not in '"\\<>&' and not hidden.match(char):
            assert text.literal(char) == f'"{char}"', f"U+{ord(char):04X}"


@pytest.mark.spec("TEXT-1")
@given(NASTY)
@settings(max_examples=300)
def test_normalising_twice_is_normalising_once(body: str) -> None:
    once = text.normalise(body)
    assert text.normalise(once) == once
    assert not set(once) & set("\r\u2028\u2029\u0085\x0b\x0c")


@pytest.mark.spec("TEXT-1", "TEXT-6")
def test_each_line_break_becomes_one_line_feed_and_nothing_else_changes() -> None:
    assert text.normalise("a\r\nb\rc\u2028d\u2029e\u0085f\x0bg\x0ch\n\n\ti ") == "a\nb\nc\nd\ne\nf\ng\nh\n\n\ti "
    assert text.normalise("\n\r\r\n") == "\n\n\n"
    assert text.normalise("  kept \u200b ") == "  kept \u200b "


@pytest.mark.spec("SEND-15")
@pytest.mark.parametrize(
    ("body", "problem"), [("a\x00", "nul"), ("\ud800", "surrogate"), ("x\udfff", "surrogate"), ("😀\ufffd", None)]
)
def test_nul_and_half_pairs_are_no_text(body: str, problem: str | None) -> None:
    assert text.check_text(body) == problem


@pytest.mark.spec("SEND-9")
@pytest.mark.parametrize("body", ["", " ", "\n\t ", "\u00a0\u3000", "\u200b", "\ufeff \u2060"])
def test_what_shows_nothing_is_blank(body: str) -> None:
    assert text.blank(body)


@pytest.mark.spec("SEND-9")
@pytest.mark.parametrize("body", ["a", " .", "\u200bx", "😀", "\x00"])
def test_what_shows_something_is_not_blank(body: str) -> None:
    assert not text.blank(body)


@pytest.mark.spec("TEXT-3")
def test_the_limits_are_the_tables() -> None:
    assert specs.limit("name_chars_shown_max") == text.NAME_CHARS_SHOWN_MAX
    assert specs.limit("name_escaped_max") == text.NAME_ESCAPED_CHARS_MAX


@pytest.mark.spec("TEXT-3")
def test_a_name_is_cut_at_its_limits_and_not_before() -> None:
    assert text.name_literal("n" * 80) == '"' + "n" * 80 + '"'
    assert text.name_literal("n" * 81) == '"' + "n" * 80 + '…"'
    assert text.name_literal("\n" * 80) == '"' + "\\n" * 80 + '"'
    assert text.name_literal("\u200b" * 27) == '"' + "\\u200b" * 26 + '…"'
    assert text.name_line("a\nb") == "a\\nb"


@pytest.mark.spec("TEXT-3")
@given(st.one_of(NASTY, st.text(st.sampled_from("\u200d\U0001f468\ue000\U000f0000a\n"), min_size=60, max_size=200)))
@settings(max_examples=400)
def test_a_cut_name_is_still_one_literal_of_its_beginning(name: str) -> None:
    quoted = text.name_literal(name)
    shown = json.loads(quoted)
    assert RAW_FORBIDDEN.search(quoted) is None
    assert len(quoted) <= 160 + len('"…"')
    if shown != name:
        assert shown.endswith("…")
        assert name.startswith(shown[:-1])
        assert len(shown) <= 80 + len("…")


@pytest.mark.spec("PACK-1")
@given(st.text())
def test_units_are_counted_as_the_client_counts(body: str) -> None:
    assert text.units(body) == sum(2 if ord(char) > 0xFFFF else 1 for char in body)


@pytest.mark.spec("SEND-11")
@given(NASTY)
@settings(max_examples=300)
def test_the_costly_kinds_explain_the_size(body: str) -> None:
    kinds = text.doubled(body)
    plain = len(body) - sum(kinds.values())
    least = plain + 2 * kinds.get("short", 0) + 2 * kinds.get("astral", 0) + 6 * kinds.get("escaped", 0)
    inside = text.units(text.literal(body)) - 2
    assert (
        least <= inside <= least + 6 * kinds.get("escaped", 0) + body.count("\U0001f3fd") + body.count("\U0001f468") * 2
    )
