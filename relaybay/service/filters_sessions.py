"""The filter grammar on sessions. What they do stands in memory ahead of the tables (`presence.py`), so each row is
looked at by itself, with counts that were read once for all.
"""

from __future__ import annotations

from collections.abc import Callable

from relaybay.domain import Refusal
from relaybay.rules.query import Query, Term, Value
from relaybay.rules.query_keys import KEYS, age_seconds
from relaybay.service import filters
from relaybay.service.relay import Relay
from relaybay.store import board as counted
from relaybay.store import channels, events, messages, sessions, tasks
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

_SECOND = 1_000_000
_LIVE = ("exact", "guessed")
#: Whether a row passes.
Passes = Callable[[SessionRow], bool]


def passing(tx: Tx, relay: Relay, text: str) -> tuple[Query, list[SessionRow]] | Refusal:
    """The rows that a filter lets through, in the order that it asks for: the newest first, the oldest, or those seen
    last.
    """
    query = filters.read(text, "sessions")
    if isinstance(query, Refusal):
        return query
    facts = _Facts(tx, relay)
    conditions = [facts.term(term) for term in query.terms if term.key != "sort"]
    for one in conditions:
        if isinstance(one, Refusal):
            return one
    rows = [
        row
        for row in sessions.every(tx)
        if all(passes(row) for passes in conditions if not isinstance(passes, Refusal))
    ]
    order = query.once("sort", "new")
    if order == "seen":
        rows.sort(key=lambda row: relay.presence.current(row).last_seen_us, reverse=True)
    return query, rows[::-1] if order == "old" else rows


class _Facts:
    def __init__(self, tx: Tx, relay: Relay) -> None:
        self._tx, self._relay = tx, relay
        self._mail = counted.mail_by_session(tx)
        self._comments = counted.comments_by_session(tx)
        self._replies = counted.replies_by_session(tx)
        self._patterns = channels.all_patterns(tx) if relay.messaging.channels else {}
        self._held = messages.for_review_counts(tx) if relay.messaging.channels else {}
        self._entries = {session_id for _, _, session_id, _ in events.inbox(tx)}

    def term(self, term: Term) -> Passes | Refusal:
        """Whether any of the term's values fits, or none where it is turned round."""
        parts = [self._value(term.key, value) for value in term.values]
        known: list[Passes] = []
        for part in parts:
            if isinstance(part, Refusal):
                return part
            known.append(part)
        return lambda row: any(passes(row) for passes in known) != term.negated

    def _value(self, key: str, value: Value) -> Passes | Refusal:
        if not key:
            wanted = value.text.casefold()
            return lambda row: wanted in self._text(row)
        match KEYS["sessions"][key].kind:
            case "name":
                ids = filters.sessions_called(self._tx, value)
                return ids if isinstance(ids, Refusal) else lambda row: row.id in ids
            case "task":
                task = filters.task_of(self._tx, value)
                return task if isinstance(task, Refusal) else lambda row: row.id == task.session_id
            case "project":
                project = filters.project_of(self._tx, value)
                return project if isinstance(project, Refusal) else lambda row: row.project_id == project.id
            case "time":
                return self._seen_before(filters.moment_us(value.text), turned=key == "after")
            case "age":
                return self._seen_before(self._tx.now - age_seconds(value.text) * _SECOND)
        return lambda row: self._is(row, value.text)

    def _seen_before(self, at_us: int, *, turned: bool = False) -> Passes:
        return lambda row: (self._now(row).last_seen_us < at_us) != turned

    def _now(self, row: SessionRow) -> SessionRow:
        return self._relay.presence.current(row)

    def _text(self, row: SessionRow) -> str:
        aliases = [text for _, text, _, _ in sessions.aliases(self._tx, row.id)]
        handle = [f"@{row.name}"] if row.name else []
        chosen = [f"@{row.name_chosen}"] if row.name_chosen else []
        patterns = self._patterns.get(row.id, ())
        return "\n".join([row.title, *handle, *chosen, row.ref, row.cwd, *aliases, *patterns]).casefold()

    def _is(self, row: SessionRow, word: str) -> bool:
        mail, comments = self._mail.get(row.id, {}), self._comments.get(row.id, {})
        match word:
            case "live":
                return self._now(row).link_state in _LIVE
            case "undelivered":
                return bool(mail.get("sent") or comments.get("sent"))
            case "unread":
                return bool(mail.get("delivered") or comments.get("delivered"))
            case "unanswered":
                return row.id in self._replies
            case "needs-me":
                return bool(row.asks) or any(
                    row.id in waiting for waiting in (self._replies, self._entries, self._held)
                )
            case "comment":
                return bool(comments)
            case "task":
                return bool(tasks.bound_to(self._tx, row.id))
        return self._now(row).activity == word
