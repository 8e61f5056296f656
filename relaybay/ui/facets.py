"""What stands around a filter on a page: its common words as links, and the keys that it takes.

A link sets one word of its key, and takes it away again where it stands; the rest of the filter is left as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from relaybay.rules.query import Fault, Query, parse, printed, replaced
from relaybay.rules.query_keys import KEYS, RESERVED, WORDY, Key, Subject

#: Page → its subject, and the keys whose words stand there as links.
_PAGES: Final[dict[str, tuple[Subject, tuple[str, ...]]]] = {
    "board": ("tasks", ("is", "has", "sort")),
    "sessions": ("sessions", ("state", "is", "sort")),
    "messages": ("messages", ("is", "audience", "sort")),
    "search": ("search", ("in", "author", "status", "sort")),
    "events": ("events", ("type", "sort")),
}
#: Words for a key that takes any of its kind.
_OFFERED: Final = {"type": ("message.*", "comment.*", "task.*", "session.*", "project.*", "inbox.*")}
_WORDS: Final = {
    "undelivered": "not delivered", "unread": "not read", "in-context": "in context", "lost": "recipient is gone",
    "held": "held for review", "unanswered": "not answered", "needs-me": "needs me", "unknown": "no hooks yet",
    "new": "newest first", "old": "oldest first", "updated": "changed last", "seen": "seen last", "best": "best first",
    "task": "task", "todo": "to do", "session": "agent", "message.*": "messages", "comment.*": "comments",
    "task.*": "tasks", "session.*": "sessions", "project.*": "projects", "inbox.*": "Inbox",
}  # fmt: skip
_KINDS: Final = {
    "name": "a session: title, @name or S-12",
    "task": "a task's key",
    "project": "a project's slug",
    "type": "an event's type, or message.*",
    "topic": "a topic, or a pattern: ci.failures, ci.*, ci.**",
    "age": "10m, 2h, 3d",
    "time": "2030-12-24 or 2030-12-24T18:00",
}


@dataclass(frozen=True, slots=True)
class Facet:
    """One link: its word, the term that it stands for, the filter it leads to, and whether the term is there now."""

    word: str
    term: str
    query: str
    on: bool


def facets(page: str, text: str) -> list[tuple[str, list[Facet]]]:
    """The links of a page, by key. A filter that is wrong is taken for an empty one."""
    subject, keys = _PAGES[page]
    found = parse(text, subject)
    query = Query() if isinstance(found, Fault) else found
    return [(key, [_facet(query, key, word) for word in _words(KEYS[subject][key], key)]) for key in keys]


def _words(key: Key, name: str) -> tuple[str, ...]:
    return key.choices or _OFFERED[name]


def _facet(query: Query, key: str, word: str) -> Facet:
    on = any(term.key == key and word in term.texts and not term.negated for term in query.terms)
    changed = replaced(query, key) if on else replaced(query, key, word)
    return Facet(_WORDS.get(word, word), f"{key}:{word}", printed(changed), on)


def grammar(page: str) -> list[dict[str, Any]]:
    """The keys of a page with what each takes, for its help. The last is how to look for words, where one can."""
    subject, _ = _PAGES[page]
    known = [{"key": f"{name}:", "takes": _takes(key)} for name, key in KEYS[subject].items()]
    known += [{"key": f"{name}:", "takes": f"kept for {what}; none yet"} for name, what in RESERVED.items()]
    if subject in WORDY:
        known.append({"key": "words", "takes": 'all of them; "two words" beside each other, begin* for a beginning'})
    return known


def _takes(key: Key) -> str:
    return ", ".join(key.choices) or _KINDS[key.kind]
