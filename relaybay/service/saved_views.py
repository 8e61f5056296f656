"""The owner's saved filters: a name for an address, and nothing more (page 70). Each page lists its own, with how much
each lets through at present.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from relaybay.answers import word
from relaybay.domain import Outcome, Refusal
from relaybay.rules import names
from relaybay.rules.query import printed
from relaybay.rules.query_keys import Subject
from relaybay.rules.text import literal, name_literal
from relaybay.service import filters, filters_sessions
from relaybay.service.arguments import invalid
from relaybay.service.relay import Relay
from relaybay.store import conditions as on
from relaybay.store import messages, saved_views, tasks
from relaybay.store.saved_views import SavedView
from relaybay.store.transaction import Tx

#: Page → what its filter is about.
PAGES: Final[dict[str, Subject]] = {
    "board": "tasks", "sessions": "sessions", "messages": "messages", "search": "search", "events": "events",
}  # fmt: skip
NAME_CHARS_MAX = 60
VIEWS_MAX = 20
#: More than that is not counted.
COUNT_MAX = 100


def save(tx: Tx, _relay: Relay, *, page: str, name: str, q: str) -> Outcome:
    """Keeps a filter of a page under a name; one that the page has under that name is replaced.

    Refused are an unknown page, a name that is blank or too long, an empty filter or a wrong one, and one too many.
    """
    if page not in PAGES:
        return Outcome(refusal=invalid("page", "argument.enum", allowed=", ".join(PAGES)))
    shown = names.one_line(name)
    if not names.is_given(name):
        return Outcome(refusal=invalid("name", "why.blank"))
    if len(shown) > NAME_CHARS_MAX:
        return Outcome(refusal=invalid("name", "why.too_long", chars=len(shown), chars_max=NAME_CHARS_MAX))
    query = filters.read(q, PAGES[page])
    if isinstance(query, Refusal):
        return Outcome(refusal=query)
    if not query.terms:
        return Outcome(refusal=invalid("q", "why.blank"))
    have = saved_views.of_page(tx, page)
    if len(have) >= VIEWS_MAX and all(one.name != shown for one in have):
        return Outcome(refusal=Refusal("view.too_many", "70", {"views_max": VIEWS_MAX}))
    key = saved_views.put(tx, page, shown, printed(query))
    return Outcome({"id": key, "page": page, "query": printed(query), "text": _said("saved", shown)})


def forget(tx: Tx, _relay: Relay, *, view_id: str) -> Outcome:
    """Forgets a saved filter. What it filtered is left alone."""
    found = saved_views.get(tx, int(view_id)) if view_id.isascii() and view_id.isdigit() and len(view_id) < 18 else None  # noqa: PLR2004
    if found is None:
        return Outcome(refusal=Refusal("view.unknown", "70", {"view": name_literal(view_id)}))
    saved_views.remove(tx, found.id)
    return Outcome({"page": found.page, "query": found.query, "text": _said("forgotten", found.name)})


def _said(what: str, name: str) -> str:
    return word(f"view.{what}", name=name_literal(name)).text


def listed(tx: Tx, relay: Relay, page: str) -> list[dict[str, Any]]:
    """A page's saved filters: `{id, name, query, count?}`. One that names what is gone meanwhile has no count, nor has
    one of the search or of the feed.
    """
    return [_view(one, _COUNTED[page](tx, relay, one.query)) for one in saved_views.of_page(tx, page)]


def _view(one: SavedView, count: int | None) -> dict[str, Any]:
    shown = {"id": one.id, "name": literal(one.name), "query": one.query}
    return shown if count is None else shown | {"count": count, "more": count >= COUNT_MAX}


def _messages(tx: Tx, _relay: Relay, query: str) -> int | None:
    asked = filters.narrowed(tx, query, "messages")
    return None if isinstance(asked, Refusal) else messages.count(tx, *on.all_of(asked[1]), COUNT_MAX)


def _tasks(tx: Tx, _relay: Relay, query: str) -> int | None:
    asked = filters.narrowed(tx, query, "tasks")
    return None if isinstance(asked, Refusal) else min(sum(tasks.counted(tx, *on.all_of(asked[1])).values()), COUNT_MAX)


def _sessions(tx: Tx, relay: Relay, query: str) -> int | None:
    found = filters_sessions.passing(tx, relay, query)
    return None if isinstance(found, Refusal) else min(len(found[1]), COUNT_MAX)


def _uncounted(_tx: Tx, _relay: Relay, _query: str) -> int | None:
    return None


_COUNTED: Final[dict[str, Callable[[Tx, Relay, str], int | None]]] = {
    "messages": _messages, "board": _tasks, "sessions": _sessions, "search": _uncounted, "events": _uncounted,
}  # fmt: skip
