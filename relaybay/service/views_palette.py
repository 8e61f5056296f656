"""Read model of `/palette?q=` (page 70, Board): the sessions, tasks and saved filters that fit a few typed words. A
read of a few rows, for a list that is asked for with every key.
"""

from __future__ import annotations

from typing import Any

from relaybay.domain import Outcome
from relaybay.rules import names
from relaybay.rules.text import literal
from relaybay.service.arguments import NEWEST
from relaybay.service.relay import Relay
from relaybay.service.saved_views import PAGES
from relaybay.service.views import session_short
from relaybay.store import saved_views, sessions, tasks
from relaybay.store.transaction import Tx

#: How many of each kind are shown.
FOUND_MAX = 8
#: More words than these narrow nothing that a person looks for.
WORDS_MAX = 6


def words(query: str) -> list[str]:
    """What is looked for, folded as names are."""
    return names.key(query).split()[:WORDS_MAX]


def fits(text: str, query: str) -> bool:
    """Whether every word of the query stands in the text, whatever the case."""
    folded = names.key(text)
    return all(word in folded for word in words(query))


def palette(tx: Tx, relay: Relay, *, q: str) -> Outcome:
    """`{query, sessions, tasks, views}`: ended sessions last, newest tasks first; without a query the latest of each.
    Saved filters stand by page and name; what they let through is not counted here.
    """
    found = [row for row in sessions.every(tx) if fits(f"{row.title} @{row.name or ''} {row.ref}", q)]
    shown = [session_short(relay, row) for row in found]
    shown.sort(key=lambda one: one["activity"] == "ended")
    conditions: list[tuple[str, Any]] = [
        ("lower(t.task_key || ' ' || t.title) LIKE ? ESCAPE '!'", f"%{_plain(word)}%") for word in words(q)
    ]
    listed = tasks.listed(tx, conditions, NEWEST, FOUND_MAX)
    places = list(PAGES)
    kept = [view for view in saved_views.every(tx) if view.page in PAGES and fits(f"{view.name} {view.page}", q)]
    kept.sort(key=lambda view: places.index(view.page))
    return Outcome(
        data={
            "query": q,
            "sessions": shown[:FOUND_MAX],
            "tasks": [{"key": one.task_key, "title": literal(one.title), "status": one.status} for one in listed],
            "views": [
                {"id": view.id, "page": view.page, "name": literal(view.name), "query": view.query}
                for view in kept[:FOUND_MAX]
            ],
        }
    )


def _plain(word: str) -> str:
    """A word as a pattern that stands for itself."""
    return word.replace("!", "!!").replace("%", "!%").replace("_", "!_")
