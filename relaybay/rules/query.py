r"""The one filter grammar of board, command line and API: `from:brave-otter is:undelivered -task:shop-3 older:10m`.

A query is terms that all have to hold. A term is `key:value`, or words to look for; `-` before it turns it round, a
comma between values means either. `"…"` holds spaces and commas, with `\"` and `\\` in it, and several words in
quotes stand beside each other; `*` after words says that the last may go on. Pure: what exists, and what a key means,
is asked elsewhere. `parse(printed(query))` is the query again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from relaybay.rules.query_keys import KEYS, RESERVED, WORDY, Key, Subject, elsewhere, takes
from relaybay.rules.recipient import near_names

QUERY_CHARS_MAX: Final = 1_000
TERMS_MAX: Final = 40
_NEAR_MAX: Final = 3

Problem = Literal[
    "too_long", "too_many", "not_text", "quote_open", "quote_inside", "value_missing", "value_unknown", "key_unknown",
    "key_elsewhere", "key_reserved", "no_words", "no_letters", "only_once",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """One value. `prefix`: words whose last may go on. `at`: where it stands, which is not part of what it says."""

    text: str
    prefix: bool = False
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Term:
    """One condition: any of the values of `key`, or with an empty key the words in `values[0]`; or not that."""

    key: str
    values: tuple[Value, ...]
    negated: bool = False
    at: int = field(default=0, compare=False)

    @property
    def texts(self) -> tuple[str, ...]:
        """The values' texts."""
        return tuple(value.text for value in self.values)


@dataclass(frozen=True, slots=True)
class Query:
    """Terms that all have to hold."""

    terms: tuple[Term, ...] = ()

    def once(self, key: str, default: str) -> str:
        """The value of a key that stands at most once."""
        return next((term.texts[0] for term in self.terms if term.key == key), default)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a query: at which character (from 0), what stands there, and what could stand there."""

    problem: Problem
    at: int
    given: str = ""
    offers: tuple[str, ...] = ()


class _Wrong(Exception):  # noqa: N818 - a fault on its way out of the parser, and nowhere else.
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.problem)
        self.fault = fault


def parse(text: str, subject: Subject) -> Query | Fault:
    """The query that a text stands for, or the first thing that is wrong with it."""
    if len(text) > QUERY_CHARS_MAX:
        return Fault("too_long", QUERY_CHARS_MAX)
    odd = _NO_TEXT.search(text)
    if odd is not None:
        return Fault("not_text", odd.start())
    try:
        query = Query(tuple(_Parser(text, subject).terms()))
    except _Wrong as wrong:
        return wrong.fault
    # Its own address has it in the other form, which must not be refused where this one was taken.
    return Fault("too_long", QUERY_CHARS_MAX) if len(printed(query)) > QUERY_CHARS_MAX else query


_NO_TEXT: Final = re.compile("[\x00\ud800-\udfff]")
_KEY: Final = re.compile(r"([A-Za-z][A-Za-z_-]*):")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)


class _Parser:
    def __init__(self, text: str, subject: Subject) -> None:
        self._text, self._subject = text, subject
        self._at = 0

    def terms(self) -> Iterable[Term]:
        seen: set[str] = set()
        count = 0
        while self._skip():
            term = self._term()
            count += len(term.values)
            if count > TERMS_MAX:
                raise _Wrong(Fault("too_many", term.at))
            key = KEYS[self._subject].get(term.key)
            if key is not None and key.kind == "once":
                if term.negated or len(term.values) > 1 or term.key in seen:
                    raise _Wrong(Fault("only_once", term.at, term.key))
                seen.add(term.key)
            yield term

    def _skip(self) -> bool:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._at < len(self._text)

    def _term(self) -> Term:
        start = self._at
        negated = self._text[start] == "-"
        self._at += negated
        found = _KEY.match(self._text, self._at)
        if found is None:
            return Term("", (self._words(start),), negated, start)
        named = found[1]
        key = self._key(named)
        self._at = found.end()
        values = [self._value(named, key)]
        while self._here() == ",":
            self._at += 1
            values.append(self._value(named, key))
        self._end_of_term()
        return Term(named.lower(), tuple(values), negated, start)

    def _key(self, named: str) -> Key:
        known = KEYS[self._subject]
        key = known.get(named.lower())
        if key is not None:
            return key
        if named.lower() in RESERVED:
            raise _Wrong(Fault("key_reserved", self._at, named, (RESERVED[named.lower()],)))
        others = elsewhere(named.lower())
        if others:
            raise _Wrong(Fault("key_elsewhere", self._at, named, others))
        raise _Wrong(Fault("key_unknown", self._at, named, near(named, known)))

    def _value(self, named: str, key: Key) -> Value:
        at = self._at
        text, _ = self._read(",")
        if not text:
            raise _Wrong(Fault("value_missing", at, named, _offers(key)))
        shown = text.lower() if key.kind in ("choice", "once", "age", "type", "task", "project") else text
        if not takes(key, shown):
            offers = near(shown, key.choices) if key.choices else _offers(key)
            raise _Wrong(Fault("value_unknown", at, text, offers))
        return Value(shown, at=at)

    def _words(self, start: int) -> Value:
        at = self._at
        text, quoted = self._read("")
        prefix = text.endswith("*") if not quoted else self._here() == "*"
        if prefix and quoted:
            self._at += 1
        elif prefix:
            text = text[:-1]
        self._end_of_term()
        if self._subject not in WORDY:
            raise _Wrong(Fault("no_words", start, text, tuple(KEYS[self._subject])))
        if not any(char.isalnum() for char in text):
            raise _Wrong(Fault("no_letters", start, self._text[start : self._at]))
        return Value(text, prefix, at)

    def _read(self, stops: str) -> tuple[str, bool]:
        """What stands here, in quotes or up to a space (or one of `stops`), and whether it stood in quotes."""
        if self._here() == '"':
            found = _QUOTED.match(self._text, self._at)
            if found is None:
                raise _Wrong(Fault("quote_open", self._at))
            self._at = found.end()
            return _ESCAPED.sub(r"\1", found[1]), True
        start = self._at
        while self._here() and not self._here().isspace() and self._here() not in ('"', *stops):
            self._at += 1
        return self._text[start : self._at], False

    def _here(self) -> str:
        return self._text[self._at : self._at + 1]

    def _end_of_term(self) -> None:
        if self._here() and not self._here().isspace():
            raise _Wrong(Fault("quote_inside", self._at, self._here()))


def near(given: str, known: Iterable[str]) -> tuple[str, ...]:
    """The words that a mistyped one could be; all of them when none is near."""
    words = tuple(known)
    return near_names(given.lower(), [(word, False) for word in words], _NEAR_MAX) or words


def _offers(key: Key) -> tuple[str, ...]:
    """What a value could be, by its kind."""
    examples = {"age": ("10m", "2h", "3d"), "time": ("2030-12-24", "2030-12-24T18:00"), "type": ("message.*",)}
    examples["topic"] = ("ci.failures", "ci.*", "ci.**")
    return key.choices or examples.get(key.kind, ())


def printed(query: Query) -> str:
    """The query as one would type it, each term in its shortest form."""
    return " ".join(_term(term) for term in query.terms)


def _term(term: Term) -> str:
    sign = "-" * term.negated
    if term.key:
        return f"{sign}{term.key}:{','.join(_value(value.text) for value in term.values)}"
    (value,) = term.values
    plain = not value.text.startswith("-") and not value.text.endswith("*") and _KEY.match(value.text) is None
    plain = plain and _bare(value.text, '"')
    return sign + (value.text if plain else _in_quotes(value.text)) + "*" * value.prefix


def _value(text: str) -> str:
    return text if _bare(text, '",') else _in_quotes(text)


def _bare(text: str, unlike: str) -> bool:
    return not any(char.isspace() or char in unlike for char in text)


def _in_quotes(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def replaced(query: Query, key: str, *values: str) -> Query:
    """The query with these values for `key`, at its end, and no others; with none the key is left out. What the key
    is not to be (`-key:…`) stays.
    """
    kept = tuple(term for term in query.terms if term.key != key or term.negated)
    return Query((*kept, Term(key, tuple(Value(value) for value in values))) if values else kept)
