"""Read model of `/events` (page 40): the feed, newest first, as a filter narrows it (page 70, one grammar)."""

from __future__ import annotations

from dataclasses import dataclass

from relaybay.domain import Outcome, Refusal
from relaybay.rules.query import Query, Term, printed, replaced
from relaybay.service import filters, naming, saved_views
from relaybay.service.arguments import one_session
from relaybay.service.card import session_view
from relaybay.service.relay import Relay
from relaybay.service.tasks import unknown
from relaybay.service.views import happened, titles_of
from relaybay.store import events, sessions, tasks
from relaybay.store.conditions import all_of
from relaybay.store.events import Event
from relaybay.store.subjects import subject
from relaybay.store.transaction import Tx

PAGE_EVENTS = 100
#: Sessions that are offered to choose from; others go by the filter.
PICKER_MAX = 50
_KEY_DIGITS_MAX = 18


def events_page(
    tx: Tx, relay: Relay, *, q: str = "", kind: str = "", session: str = "", task: str = "", before: str = ""
) -> Outcome:
    """A page of the feed. `before` is an event's id: what comes after it, in the filter's order. `kind` (a type or its
    beginning), `session` and `task` are those of old addresses, and stand in the answer's `q` as well.
    """
    if before and not (before.isascii() and before.isdigit() and len(before) <= _KEY_DIGITS_MAX):
        return Outcome(refusal=Refusal("cursor.invalid", "75"))
    known = events.types(tx)
    query = _asked(tx, q, kind, session, task, known)
    if isinstance(query, Refusal):
        return Outcome(refusal=query)
    rows = _found(tx, query, known, int(before or 0))
    if isinstance(rows, Refusal):
        return Outcome(refusal=rows)
    others = sessions.every(tx)
    shown = happened(rows[:PAGE_EVENTS], titles_of(others))
    return Outcome(
        data={
            "events": shown,
            "before": shown[-1]["id"] if len(rows) > PAGE_EVENTS else None,
            "past": before,
            "stored": events.last(tx),
            "types": known,
            "kinds": [text for term in query.terms if term.key == "type" and not term.negated for text in term.texts],
            "sessions": [session_view(one) for one in others[:PICKER_MAX]],
            "sessions_left_out": max(len(others) - PICKER_MAX, 0),
            "q": printed(query),
            "views": saved_views.listed(tx, relay, "events"),
        }
    )


def _asked(tx: Tx, q: str, kind: str, session: str, task: str, known: list[str]) -> Query | Refusal:
    """The filter, with what an old address says in it."""
    query = filters.read(q, "events")
    if isinstance(query, Refusal):
        return query
    if task:
        found = tasks.get(tx, task)
        if found is None:
            refusal = unknown(task, owner=True).refusal
            assert refusal is not None
            return refusal
        query = replaced(query, "task", found.task_key)
    if session:
        row = one_session(tx, session)
        if isinstance(row, Refusal):
            return row
        query = replaced(query, "session", row.ref)
    if kind:
        # Read once more: what stood in the address may be no type at all.
        return filters.read(printed(replaced(query, "type", *_types(kind, known))), "events")
    return query


def _types(kind: str, known: list[str]) -> list[str]:
    """The values that stand for a type or its beginning (`message.read`, `message`, `message.*`, `mess`)."""
    start = kind.removesuffix("*").removesuffix(".")
    if kind in known:
        return [kind]
    whole = f"{start}.*"
    if any(one.startswith(f"{start}.") for one in known):
        return [whole]
    return [one for one in known if one.startswith(start)] or [whole]


@dataclass(frozen=True, slots=True)
class _Simple:
    """A filter that the feed's own indexes answer, however long the feed is."""

    types: list[str] | None
    subjects: list[str]


def _found(tx: Tx, query: Query, known: list[str], past: int) -> list[Event] | Refusal:
    conditions = filters.made(tx, query, "events")
    if isinstance(conditions, Refusal):
        return conditions
    simple = _simple(tx, query, known)
    if simple is not None:
        return events.newest(tx, PAGE_EVENTS + 1, subjects=simple.subjects, types=simple.types, before=past)
    oldest_first = query.once("sort", "new") == "old"
    return events.page(tx, *all_of(conditions), PAGE_EVENTS + 1, past=past, oldest_first=oldest_first)


def _simple(tx: Tx, query: Query, known: list[str]) -> _Simple | None:
    types: list[str] | None = None
    subjects: list[str] = []
    for term in query.terms:
        if term.negated:
            return None
        match term.key:
            case "type":
                types = [one for one in (known if types is None else types) if _is_any_of(one, term)]
            case "task" if len(term.texts) == 1:
                subjects.append(subject("task", term.texts[0]))
            case "session" if len(rows := _called(tx, term)) == 1:
                subjects.append(subject("session", f"S-{rows.pop()}"))
            case _:
                return None
    return _Simple(types, subjects)


def _is_any_of(type_: str, term: Term) -> bool:
    return any(type_.startswith(text[:-1]) if text.endswith("*") else type_ == text for text in term.texts)


def _called(tx: Tx, term: Term) -> set[int]:
    return {row.id for text in term.texts for row in naming.resolve(tx, text)}
