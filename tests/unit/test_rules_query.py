"""The filter grammar: what a query is read as, where it is wrong, and that printing it loses nothing."""

from __future__ import annotations

import string
from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from relaybay.rules import query_keys
from relaybay.rules.query import (
    QUERY_CHARS_MAX,
    TERMS_MAX,
    Fault,
    Query,
    Term,
    Value,
    near,
    parse,
    printed,
    replaced,
)
from relaybay.rules.query_keys import KEYS, WORDY, Key, age_seconds, elsewhere, takes

pytestmark = pytest.mark.spec("40", "70")


def read(text: str, subject: str = "tasks") -> list[tuple[str, ...] | tuple[str, bool]]:
    found = parse(text, subject)
    assert isinstance(found, Query), found
    return [
        ("-" * t.negated + t.key, *t.texts) if t.key else ("-" * t.negated + t.values[0].text, t.values[0].prefix)
        for t in found.terms
    ]


def wrong(text: str, subject: str = "tasks") -> Fault:
    found = parse(text, subject)
    assert isinstance(found, Fault), found
    return found


# -- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        (" \t\n\u2028 ", []),
        ("cart", [("cart", False)]),
        ("  cart  basket ", [("cart", False), ("basket", False)]),
        ('"the cart"', [("the cart", False)]),
        ("-cart", [("-cart", False)]),
        ('-"the cart"', [("-the cart", False)]),
        ("--cart", [("--cart", False)]),
        ("cart*", [("cart", True)]),
        ('"the car"*', [("the car", True)]),
        ('"the car*"', [("the car*", False)]),
        ("cart**", [("cart*", True)]),
        ("a,b", [("a,b", False)]),
        ("12:30", [("12:30", False)]),
        (r'"say \"no\" \\ \x"', [('say "no" \\ x', False)]),
        (r"back\slash", [("back\\slash", False)]),
        ("status:doing", [("status", "doing")]),
        ("STATUS:Doing", [("status", "doing")]),
        ("status:doing,review", [("status", "doing", "review")]),
        ('status:"doing",review', [("status", "doing", "review")]),
        ("-status:done", [("-status", "done")]),
        ("session:brave-otter", [("session", "brave-otter")]),
        ('session:"Shop web, two"', [("session", "Shop web, two")]),
        ('session:"a","b c",d', [("session", "a", "b c", "d")]),
        ("session:-x", [("session", "-x")]),
        ("session:a:b", [("session", "a:b")]),
        ("session:x*", [("session", "x*")]),
        ("project:SHOP", [("project", "shop")]),
        ("older:10M", [("older", "10m")]),
        ("after:2026-11-30 before:2026-12-01T09:30", [("after", "2026-11-30"), ("before", "2026-12-01T09:30")]),
        ("is:unread is:bound", [("is", "unread"), ("is", "bound")]),
        ("status:doing cart -is:bound", [("status", "doing"), ("cart", False), ("-is", "bound")]),
    ],
)
def test_a_query_is_read(text: str, terms: list[tuple[str, ...]]) -> None:
    assert read(text) == terms


def test_terms_and_values_know_where_they_stand() -> None:
    found = parse('  -is:bound,"unbound" "the cart"', "tasks")
    assert isinstance(found, Query)
    assert [(term.at, [value.at for value in term.values]) for term in found.terms] == [(2, [6, 12]), (22, [22])]


@pytest.mark.parametrize(
    ("text", "subject", "fault"),
    [
        ("cart stauts:doing", "tasks", Fault("key_unknown", 5, "stauts", ("status",))),
        ("-Stauts:doing", "tasks", Fault("key_unknown", 1, "Stauts", ("status",))),
        ("http://x", "tasks", Fault("key_unknown", 0, "http", tuple(KEYS["tasks"]))),
        ("is:bound Group:x", "tasks", Fault("key_reserved", 9, "Group", ("groups",))),
        ("from:x", "tasks", Fault("key_elsewhere", 0, "from", ("messages",))),
        ("author:owner", "messages", Fault("key_elsewhere", 0, "author", ("search",))),
        ("a status:don", "tasks", Fault("value_unknown", 9, "don", ("done", "doing"))),
        ("status:done,reviw", "tasks", Fault("value_unknown", 12, "reviw", ("review",))),
        ("status:Zzz", "tasks", Fault("value_unknown", 7, "Zzz", query_keys.STATUSES)),
        ("status:", "tasks", Fault("value_missing", 7, "status", query_keys.STATUSES)),
        ("status:done,", "tasks", Fault("value_missing", 12, "status", query_keys.STATUSES)),
        ("status:,done", "tasks", Fault("value_missing", 7, "status", query_keys.STATUSES)),
        ("session: x", "tasks", Fault("value_missing", 8, "session", ())),
        ('session:""', "tasks", Fault("value_missing", 8, "session", ())),
        ('session:"  "', "tasks", Fault("value_unknown", 8, "  ", ())),
        ("older:10", "tasks", Fault("value_unknown", 6, "10", ("10m", "2h", "3d"))),
        ("before:tomorrow", "tasks", Fault("value_unknown", 7, "tomorrow", ("2030-12-24", "2030-12-24T18:00"))),
        ("type:Message.", "events", Fault("value_unknown", 5, "Message.", ("message.*",))),
        ('a "b c', "tasks", Fault("quote_open", 2)),
        ('session:"b c', "tasks", Fault("quote_open", 8)),
        (r'"a\"', "tasks", Fault("quote_open", 0)),
        ('a"b"', "tasks", Fault("quote_inside", 1, '"')),
        ('"b"a', "tasks", Fault("quote_inside", 3, "a")),
        ('"b"**', "tasks", Fault("quote_inside", 4, "*")),
        ('session:a"b"', "tasks", Fault("quote_inside", 9, '"')),
        ('session:"b"a', "tasks", Fault("quote_inside", 11, "a")),
        ('session:"b"*', "tasks", Fault("quote_inside", 11, "*")),
        ("a -", "tasks", Fault("no_letters", 2, "-")),
        ("a - b", "tasks", Fault("no_letters", 2, "-")),
        ("*", "tasks", Fault("no_letters", 0, "*")),
        ('x "!? "', "tasks", Fault("no_letters", 2, '"!? "')),
        ("🚀", "search", Fault("no_letters", 0, "🚀")),
        ("is:read cart", "messages", Fault("no_words", 8, "cart", tuple(KEYS["messages"]))),
        ("cart", "events", Fault("no_words", 0, "cart", tuple(KEYS["events"]))),
        ("-sort:new", "tasks", Fault("only_once", 0, "sort")),
        ("sort:new,old", "tasks", Fault("only_once", 0, "sort")),
        ("sort:new sort:new", "tasks", Fault("only_once", 9, "sort")),
        ("a\0b", "tasks", Fault("not_text", 1)),
        ("ab\udc80", "tasks", Fault("not_text", 2)),
        ("a\ud800", "tasks", Fault("not_text", 1)),
        ("\udfffa", "tasks", Fault("not_text", 0)),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, subject: str, fault: Fault) -> None:
    assert wrong(text, subject) == fault


def test_keys_that_name_things_of_ours_are_read_in_small_letters() -> None:
    assert read("task:SHOP-1 session:Ann has:REPLY", "messages") == [
        ("task", "shop-1"),
        ("session", "Ann"),
        ("has", "reply"),
    ]
    assert read("type:Message.*", "events") == [("type", "message.*")]
    assert read("sort:Best author:OWNER", "search") == [("sort", "best"), ("author", "owner")]


def test_a_query_has_bounds() -> None:
    assert (QUERY_CHARS_MAX, TERMS_MAX) == (1_000, 40)
    assert read("x" * QUERY_CHARS_MAX) == [("x" * QUERY_CHARS_MAX, False)]
    assert wrong("x" * (QUERY_CHARS_MAX + 1)) == Fault("too_long", QUERY_CHARS_MAX)
    assert len(read("x " * TERMS_MAX)) == TERMS_MAX
    assert wrong("x " * (TERMS_MAX + 1)) == Fault("too_many", 2 * TERMS_MAX)
    assert len(read("is:" + ",".join(["bound"] * TERMS_MAX))) == 1
    assert wrong("x is:" + ",".join(["bound"] * TERMS_MAX)) == Fault("too_many", 2), "either-values count as well"


def test_sort_stands_once_and_can_be_asked_for() -> None:
    found = parse("cart sort:old", "tasks")
    assert isinstance(found, Query)
    assert found.once("sort", "new") == "old"
    assert Query().once("sort", "new") == "new"


# -- what keys take ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("age", ["1s", "10m", "2h", "3d", "1w", "99999d"], ["", "0m", "05m", "10", "m", "10 m", "1y", "100000d", "-1m", "1mm"]),
        (
            "time",
            ["1970-01-01", "2026-11-30", "2026-11-30T09:30", "2026-11-30T09:30:15", "2026-11-30T09:30Z", "2999-12-31", "2028-02-29"],
            ["1969-12-31", "3000-01-01", "2026-13-01", "2026-02-30", "2026-11-30T24:30", "2026-11-30t09:30", "2026-11-30 09:30",
             "2026-11-30T", "2026-11-30Z", "2026-W12", "20261130", "2027-02-29", "x2026-11-30", "2026-11-30x"],
        ),
        ("type", ["message.*", "message.sent", "x", "a_b.c"], ["", ".", "message.", ".*", "*", "message.*.x", "Message.sent", "m*"]),
        ("topic", ["ci", "ci.*", "**"], ["", "CI", "ci.", "**.ci"]),
        ("name", ["x", " x", "-"], [" ", "\n\t"]),
        ("task", ["shop-1"], [" "]),
        ("project", ["shop"], [" "]),
    ],
)  # fmt: skip
def test_a_value_has_the_form_that_its_key_wants(kind: str, good: list[str], bad: list[str]) -> None:
    assert [value for value in good if not takes(Key(kind), value)] == []
    assert [value for value in bad if takes(Key(kind), value)] == []


def test_an_age_is_seconds() -> None:
    assert [age_seconds(f"3{unit}") for unit in "smhdw"] == [3, 180, 10_800, 259_200, 1_814_400]
    assert age_seconds("12345s") == 12_345


def test_the_vocabulary_is_consistent() -> None:
    for keys in KEYS.values():
        for name, key in keys.items():
            assert bool(key.choices) == (key.kind in ("choice", "once")), name
            assert not set(name) - set(string.ascii_lowercase), name
            assert all(choice == choice.lower() for choice in key.choices)
    assert {name for name, key in KEYS["messages"].items() if key.kind == "name"} == {"from", "to", "session"}
    assert "messages" not in WORDY and "events" not in WORDY and {"tasks", "sessions", "search"} == WORDY
    assert elsewhere("author") == ("search",) and elsewhere("task") == ("messages", "sessions", "events", "search")
    assert elsewhere("group") == elsewhere("nothing") == () and elsewhere("topic") == ("messages",)


def test_near_words_are_offered() -> None:
    assert near("unred", KEYS["messages"]["is"].choices) == ("unread", "read", "unanswered")
    assert near("UNRED", KEYS["messages"]["is"].choices) == ("unread", "read", "unanswered")
    assert near("zzz", ("a", "b")) == ("a", "b")
    assert len(near("s", ("sa", "sb", "sc", "sd"))) == 3


# -- printing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shortest"),
    [
        ("  a   b ", "a b"),
        ('"a"', "a"),
        ('"a b"*', '"a b"*'),
        ('"a"*', "a*"),
        ('"-a" "x:y" "a*" "12:30"', '"-a" "x:y" "a*" 12:30'),
        ('STATUS:"doing",DONE', "status:doing,done"),
        ('session:"a,b","c d","e"', 'session:"a,b","c d",e'),
        (r'"a \" \\ b"', r'"a \" \\ b"'),
        (r"a\b", r"a\b"),
        ('-"a"', "-a"),
    ],
)
def test_a_query_is_printed_in_its_shortest_form(text: str, shortest: str) -> None:
    found = parse(text, "tasks")
    assert isinstance(found, Query)
    assert printed(found) == shortest


ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
ODD_TEXT = st.text(st.sampled_from('ab1 ,:"\\-*\n\u2028é'), min_size=1, max_size=8)
VALUES = {
    "name": (ANY_TEXT | ODD_TEXT).filter(lambda text: not text.isspace()),
    "task": st.from_regex(r"[a-z]{1,5}-[0-9]{1,3}", fullmatch=True),
    "project": st.from_regex(r"[a-z0-9][a-z0-9-]{0,9}", fullmatch=True),
    "topic": st.sampled_from(["ci", "ci.failures", "ci.*", "**"]),
    "type": st.sampled_from(["message.*", "message.sent", "task.updated"]),
    "age": st.from_regex(r"[1-9][0-9]{0,4}[smhdw]", fullmatch=True),
    "time": st.dates(min_value=date(1970, 1, 1), max_value=date(2999, 12, 31)).map(str)
    | st.times().map(lambda at: f"2026-11-30T{at.isoformat(timespec='minutes')}"),
}  # fmt: skip


@st.composite
def queries(draw: st.DrawFn) -> tuple[str, Query]:
    subject = draw(st.sampled_from(sorted(KEYS)))
    terms = []
    for name in draw(st.lists(st.sampled_from([*KEYS[subject], ""]), max_size=6)):
        negated = draw(st.booleans())
        if not name:
            if subject in WORDY:
                text = draw((ANY_TEXT | ODD_TEXT).filter(lambda text: any(char.isalnum() for char in text)))
                terms.append(Term("", (Value(text, draw(st.booleans())),), negated))
            continue
        key = KEYS[subject][name]
        if key.kind == "once":
            if all(term.key != name for term in terms):
                terms.append(Term(name, (Value(draw(st.sampled_from(key.choices))),)))
            continue
        one = st.sampled_from(key.choices) if key.choices else VALUES[key.kind]
        terms.append(Term(name, tuple(map(Value, draw(st.lists(one, min_size=1, max_size=3)))), negated))
    return subject, Query(tuple(terms))


@given(queries())
@example(("tasks", Query((Term("", (Value('a" *\\', True),), True), Term("session", (Value('",\\'), Value("-")))))))
def test_what_is_printed_is_read_as_the_same_query(drawn: tuple[str, Query]) -> None:
    subject, query = drawn
    assert parse(printed(query), subject) == query


@given(
    st.sampled_from(sorted(KEYS)), st.text(max_size=60) | st.text(st.sampled_from('a1 ,:"\\-*isdone\n'), max_size=30)
)
def test_any_text_is_a_query_or_wrong_at_a_place_in_it(subject: str, text: str) -> None:
    found = parse(text, subject)
    if isinstance(found, Fault):
        assert 0 <= found.at <= len(text)
    else:
        assert parse(printed(found), subject) == found
        assert printed(parse(printed(found), subject)) == printed(found)


def test_a_key_is_replaced() -> None:
    found = parse("a is:bound status:done -is:unread is:unbound", "tasks")
    assert isinstance(found, Query)
    assert printed(replaced(found, "is", "unread", "bound")) == "a status:done -is:unread is:unread,bound"
    assert printed(replaced(found, "is")) == "a status:done -is:unread"
    assert printed(replaced(found, "project", "shop")) == f"{printed(found)} project:shop"


def test_the_table_in_the_documents_has_every_key_and_word() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "board.md").read_text(encoding="utf-8")
    section = text.partition("## Filters")[2].partition("### Saved filters")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in section.splitlines()
        if line.startswith("| `")
    ]
    for subject, keys in KEYS.items():
        for name, key in keys.items():
            told = [row for row in rows if f"`{name}:`" in row[0] and (subject in row[1] or row[1] == "all")]
            assert len(told) == 1, (subject, name)
            for choice in key.choices:
                assert f"`{choice}`" in told[0][2], (subject, name, choice)
