"""Read model of `/events` (page 40): the feed, newest first, of one kind, one session, one task, or all of it."""

from __future__ import annotations

from relaybay.domain import Outcome, Refusal
from relaybay.service.arguments import one_session
from relaybay.service.card import session_view
from relaybay.service.relay import Relay
from relaybay.service.tasks import unknown
from relaybay.service.views import happened
from relaybay.store import events, sessions, tasks
from relaybay.store.subjects import subject
from relaybay.store.transaction import Tx

PAGE_EVENTS = 100
_KEY_DIGITS_MAX = 18


def events_page(
    tx: Tx, _relay: Relay, *, kind: str = "", session: str = "", task: str = "", before: str = ""
) -> Outcome:
    """A page of the feed. `kind` is a type or its beginning (`message`, `task.*`); `before` is an event's id."""
    if before and not (before.isascii() and before.isdigit() and len(before) <= _KEY_DIGITS_MAX):
        return Outcome(refusal=Refusal("cursor.invalid", "75"))
    about: list[str] = []
    ref = ""
    if task:
        found = tasks.get(tx, task)
        if found is None:
            return unknown(task, owner=True)
        about.append(subject("task", found.task_key))
    if session:
        row = one_session(tx, session)
        if isinstance(row, Refusal):
            return Outcome(refusal=row)
        ref = row.ref
        about.append(subject("session", ref))
    known = events.types(tx)
    wanted = [one for one in known if one.startswith(kind.removesuffix("*"))] if kind else None
    rows = events.newest(tx, PAGE_EVENTS + 1, subjects=about, types=wanted, before=int(before or 0))
    shown = happened(rows[:PAGE_EVENTS])
    return Outcome(
        data={
            "events": shown,
            "before": shown[-1]["id"] if len(rows) > PAGE_EVENTS else None,
            "stored": events.last(tx),
            "types": known,
            "sessions": [session_view(one) for one in sessions.every(tx)],
            "filter": {
                "type": kind,
                "session": ref,
                "task": task.lower(),
                "before": before,
            },
        }
    )
