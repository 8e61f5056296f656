"""Every word of the filter grammar (page 70), by subject: what is read, and what is refused beside it."""

from __future__ import annotations

import pytest

from relaybay.rules import query
from relaybay.rules.query_keys import KEYS, WORDY

_TIMES = "before:2030-12-24 after:2030-12-24T18:00 after:2030-12-24T18:00:30Z older:10m older:99999s older:2h older:3d older:4w"
_STATUS = "inbox todo doing review done dropped"

#: Subject → each key with all that may stand after it; the last word is one that may not.
WORDS = {
    "messages": {
        "is": "undelivered unread read in-context held lost unanswered needs-me bound",
        "state": "sent held delivered read orphaned taken refused rate_limited rejected dropped consumed working",
        "audience": "direct topic broadcast all",
        "has": "reply task comment",
        "sort": "new old updated",
    },
    "tasks": {
        "is": "undelivered unread unanswered needs-me bound unbound read",
        "status": f"{_STATUS} later",
        "has": "attachment comment step undelivered reply",
        "sort": "new old updated seen",
    },
    "sessions": {
        "is": "live undelivered unread unanswered needs-me bound",
        "state": "working idle unknown ended sent",
        "has": "comment task undelivered step",
        "sort": "new old seen best",
    },
    "events": {"sort": "new old seen"},
    "search": {
        "in": "task comment message",
        "author": "owner session unnamed",
        "status": f"{_STATUS} later",
        "sort": "best new old seen",
    },
}
#: Subject → terms with a value that the store looks up, or a time.
FREE = {
    "messages": "from:S-1 to:@calm-otter session:x task:shop-1 project:shop topic:ci.failures topic:ci.**",
    "tasks": "session:x project:shop",
    "sessions": "session:x task:shop-1 project:shop",
    "events": "type:message.* type:task.updated type:message session:x task:shop-1",
    "search": "task:shop-1 project:shop",
}


def read(text: str, subject: str) -> query.Query:
    found = query.parse(text, subject)
    assert isinstance(found, query.Query), (subject, text, found)
    return found


@pytest.mark.parametrize("subject", KEYS)
def test_each_word_of_a_subject_is_read_and_the_next_one_is_not(subject: str) -> None:
    keys = {*WORDS[subject], *(term.partition(":")[0] for term in f"{FREE[subject]} {_TIMES}".split())}
    assert keys == set(KEYS[subject])
    for key, listed in WORDS[subject].items():
        *words, wrong = listed.split()
        for word in words:
            (term,) = read(f"{key}:{word}", subject).terms
            assert (term.key, term.texts, term.negated, term.at) == (key, (word,), False, 0)
        found = query.parse(f"{key}:{wrong}", subject)
        assert isinstance(found, query.Fault), (key, wrong)
        assert (found.problem, found.given, found.at) == ("value_unknown", wrong, len(key) + 1)
    for text in f"{FREE[subject]} {_TIMES}".split():
        assert query.printed(read(text, subject)) == text.lower().replace("s-1", "S-1").replace("t18", "T18").replace(
            "z", "Z"
        )


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        ("tasks", "older:0m"), ("tasks", "older:100000s"), ("tasks", "older:5y"), ("tasks", "before:2030-02-30"),
        ("tasks", "after:1969-12-31"), ("tasks", "after:2030-12-24T25:00"), ("events", "type:a-b"), ("events", "type:*"),
        ("messages", "topic:CI.x"), ("messages", "topic:ci."), ("messages", "topic:**.ci"),
    ],
)  # fmt: skip
def test_what_has_not_the_form_of_its_key_is_refused(subject: str, text: str) -> None:
    found = query.parse(text, subject)
    assert isinstance(found, query.Fault) and found.problem == "value_unknown"


def test_words_are_for_what_is_searched_and_may_end_in_a_star_or_be_turned_round() -> None:
    assert {"tasks", "sessions", "search"} == WORDY
    (term,) = read("-box*", "tasks").terms
    assert (term.key, term.texts, term.negated, term.values[0].prefix) == ("", ("box",), True, True)
    (term,) = read('"a \\"b\\" \\\\ c"', "tasks").terms
    assert (term.texts, term.negated, term.values[0].prefix) == (('a "b" \\ c',), False, False)
    found = query.parse("  box", "messages")
    assert isinstance(found, query.Fault) and (found.problem, found.at) == ("no_words", 2)
    found = query.parse("group:x", "messages")
    assert isinstance(found, query.Fault) and (found.problem, found.offers) == ("key_reserved", ("groups",))
    assert query.parse("a\x00", "tasks") == query.Fault("not_text", 1)
    assert query.Fault("not_text", 1).given == "" and query.Query().terms == ()


def test_two_queries_are_equal_wherever_their_terms_stand() -> None:
    assert read("sort:old  is:unread", "tasks") == read("sort:old is:unread", "tasks")
    assert query.Term("sort", (query.Value("old"),)) == read("sort:old", "tasks").terms[0]
    assert not query.Value("x").prefix and query.Value("x").at == 0 and query.Term("", ()).at == 0
