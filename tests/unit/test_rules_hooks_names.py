"""Names of sessions: when two are equal, and what a row keeps (page 10, Names; ROW-2, ROW-5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaybay import specs
from relaybay.rules.names import (
    ALIASES_MAX,
    NAME_CHARS_MAX,
    Alias,
    AliasChange,
    folder_title,
    free_title,
    is_given,
    key,
    one_line,
    put_alias,
    shape,
    too_long,
)

ANY_TEXT = st.text(st.characters(codec=None), max_size=60)


def test_the_bounds_are_those_of_the_table() -> None:
    assert specs.limit("name_chars_max") == NAME_CHARS_MAX
    assert specs.limit("aliases_per_row_max") == ALIASES_MAX


@pytest.mark.spec("ROW-3")
def test_a_kept_name_is_one_line() -> None:
    assert one_line("\u2028 a\t\tb\r\nc\u0085d\x0be \u00a0 f ") == "a b c d e f"


@pytest.mark.spec("ROW-3")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "STRASSE"),
        ("ﬁx", "FIX"),
        ("a\u200bb", "ab"),
        ("a\u200b b", "a b"),
        ("a \u200d b", "a b"),
        ("\u3164x", "x"),
        ("ａ", "A"),
        ("e\u0301", "é"),
        ("x\u202ey", "xy"),
        ("a\ue0001\U000e0041", "a\ue0001"),
        ("tab\tname", "Tab Name"),
    ],
)
def test_equal_names_have_one_key(one: str, other: str) -> None:
    assert key(one) == key(other) != ""


@pytest.mark.spec("ROW-3")
def test_other_names_have_other_keys() -> None:
    assert len({key(n) for n in ("api", "api 2", "a pi", "аpi", "api-2", "api.")}) == 6


@pytest.mark.spec("ROW-3")
@pytest.mark.parametrize("blank", ["", "  ", "\u200b", "\u2028\u00ad\u3164", "\0", "\ufe0f"])
def test_a_name_of_nothing_visible_is_not_given(blank: str) -> None:
    assert not is_given(blank)


@given(ANY_TEXT)
def test_keys_and_lines_are_stable(text: str) -> None:
    line = one_line(text)
    assert one_line(line) == line and key(line) == key(text) and key(key(text)) == key(text)
    assert "\n" not in line and "\0" not in line
    line.encode()


@pytest.mark.spec("ROW-3")
def test_the_limit_counts_characters_of_the_kept_name() -> None:
    assert not too_long("é" * 200) and too_long("é" * 201)
    assert not too_long("  " + "x" * 100 + " \t\n " + "y" * 99 + "  ")


@pytest.mark.spec("ROW-3")
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("S-12", "ref"),
        ("s-007", "ref"),
        ("\uff33-12", "ref"),
        ("S-\u200b12", "ref"),
        ("S-12a", "other"),
        ("S-", "other"),
        ("@calm-proud-otter", "handle"),
        ("@Calm", "handle"),
        ("\uff20ci", "handle"),
        ("@" + "a" * 32, "handle"),
        ("@" + "a" * 33, "other"),
        ("@-a", "other"),
        ("calm-proud-otter", "other"),
        ("@two words", "other"),
    ],
)
def test_shapes(name: str, wanted: str) -> None:
    assert shape(name) == wanted


@pytest.mark.spec("ROW-2", "ROW-5")
def test_a_taken_title_is_numbered() -> None:
    taken = {key("Shop"), key("shop 2"), key("SHOP 3")}
    assert free_title(" shop ", taken.__contains__) == "shop 4"
    assert free_title("other", taken.__contains__) == "other"


@pytest.mark.spec("ROW-2")
def test_a_numbered_title_keeps_to_the_limit() -> None:
    long = "x" * 300
    first = free_title(long, lambda _: False)
    second = free_title(long, {key(first)}.__contains__)
    assert len(first) == len(second) == 200 and second.endswith("x 2")


@pytest.mark.spec("ROW-2")
@pytest.mark.parametrize(
    ("folder", "title"),
    [
        ("/srv/acme/shop", "shop"),
        ("/srv/acme/shop/", "shop"),
        ("/srv/a\\b", "a\\b"),
        ("/", "session"),
        ("", "session"),
        ("/a/\u200b", "session"),
        ("/a/S-12", "folder S-12"),
        ("/a/@ci", "folder @ci"),
        ("/a/two\nlines", "two lines"),
    ],
)
def test_titles_from_folders(folder: str, title: str) -> None:
    assert folder_title(folder) == title
    assert shape(folder_title(folder)) == "other"


@pytest.mark.spec("ROW-2")
def test_a_folder_named_by_a_hook_id_gives_no_title() -> None:
    assert folder_title("/w/0a1f", is_hook_id=True) == "session"


def full(*given_by: str) -> list[Alias]:
    return [Alias(f"alias {n}", given_by[n % len(given_by)]) for n in range(ALIASES_MAX)]


@pytest.mark.spec("ROW-5")
def test_the_seventeenth_alias_puts_out_the_oldest_that_nobody_meant() -> None:
    assert put_alias(full("client")[:-1], "new") == AliasChange(kept=True)
    assert put_alias(full("owner", "call", "renaming", "client"), "new") == AliasChange(kept=True, put_out=2)
    assert put_alias(full("owner", "call"), "new") == AliasChange(kept=False)


@pytest.mark.spec("ROW-5")
def test_a_name_the_row_has_is_no_new_alias() -> None:
    aliases = full("client")[:2]
    assert not put_alias(aliases, "ALIAS\u200b 1").kept
    assert not put_alias(aliases, "Title", others=("title",)).kept
    assert not put_alias(aliases, " \u200b").kept
