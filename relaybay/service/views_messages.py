"""Read model of `/messages` (page 70): each message with its marks, their proofs and, while it is not delivered, the
reason and what will change it.
"""

from __future__ import annotations

from typing import Any

from relaybay.answers import word
from relaybay.domain import Outcome, Refusal
from relaybay.rules.query import Query, printed, replaced
from relaybay.rules.text import literal, name_literal
from relaybay.service import filters, message_lists, naming, receipts, saved_views, threads
from relaybay.service.card import session_view
from relaybay.service.clock import rfc3339
from relaybay.service.relay import Relay
from relaybay.store import messages, sessions
from relaybay.store.conditions import all_of
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

PAGE_MESSAGES = 30
#: Sessions that are offered to choose from; others go by the filter.
PICKER_MAX = 50
THREAD_MAX = 200
#: Old addresses: the filter's word → the states that it lets through. They go on working; pages write `?q=`.
STATES = {"undelivered": ("sent",), "unread": ("delivered",), "read": ("read",), "lost": ("orphaned",)}
#: The same of a session's end: the condition on it, and the filter's key.
BOXES = {
    "all": ("(d.recipient_id = ? OR m.sender_id = ?)", "session"),
    "in": ("d.recipient_id = ?", "to"),
    "out": ("m.sender_id = ?", "from"),
}


def message(tx: Tx, relay: Relay, mail: Mail, row: SessionRow | None = None) -> dict[str, Any]:
    """One message as pages show it: the item of a list, with the sentence of its state, since when that holds where it
    is known, what a mark was made by, and whether anybody looks in the session's `context` for it (CTX-3).

    `row` is the session whose page it stands on; without one every message counts as incoming.
    """
    outgoing = row is not None and mail.recipient_id != row.id
    shown = receipts.item(tx, relay, mail, "out" if outgoing else "in")
    if mail.sender_id is not None:
        shown["from"]["ref"] = f"S-{mail.sender_id}"
    # A publication stands in a list once for each recipient, so its id alone names no place on a page.
    shown["place"] = f"{mail.mid}-{mail.id}" if mail.published else mail.mid
    if mail.delivered_us and mail.delivered_by:
        shown["delivered_by"] = mail.delivered_by
    if mail.state == "delivered" and not mail.in_context_us:
        shown["context"] = receipts.context_of(relay, "message", mail)
    code, shown["reason"] = receipts.standing(tx, relay, mail)
    if mail.state == "delivered" and not code:
        shown["reason"] = receipts.not_read(relay, "message", mail)
    since = receipts.since(tx, relay, mail, code)
    return shown | ({"reason_since": rfc3339(since)} if since else {})


def message_list(
    tx: Tx,
    relay: Relay,
    *,
    session: str = "",
    box: str = "all",
    state: str = "",
    task: str = "",
    q: str = "",
    before: str = "",
) -> Outcome:
    """A page of messages, newest first; it marks nothing. `q` is a filter; the others are those of old addresses, and
    stand in the answer's `q` as well. `session` is a name or ref.
    """
    row: SessionRow | None = None
    where: list[str] = ["1 = 1"]
    values: list[Any] = []
    for name, given, known in (("box", box, BOXES), ("state", state or "read", STATES)):
        if given not in known:
            why = word("argument.enum", allowed=", ".join(known)).text
            return Outcome(refusal=Refusal("http.argument_invalid", "75", {"name": name, "why": why}))
    asked = filters.narrowed(tx, q, "messages")
    if isinstance(asked, Refusal):
        return Outcome(refusal=asked)
    query, conditions = asked
    if session:
        found = naming.resolve(tx, session)
        if len(found) != 1:
            return Outcome(refusal=_not_one(tx, session, found))
        row = found[0]
        sql, key = BOXES[box]
        where.append(sql)
        values += [row.id] * sql.count("?")
        query = replaced(query, key, row.ref)
    if state:
        where.append(f"d.state IN ({', '.join('?' * len(STATES[state]))})")
        values += STATES[state]
        query = replaced(query, "is", state)
    if task:
        query = replaced(query, "task", task.lower())
    oldest_first = query.once("sort", "new") == "old"
    refusal = message_lists.narrow(tx, where, values, task, "", before, _unknown, oldest_first=oldest_first)
    if refusal is not None:
        return Outcome(refusal=refusal)
    where_all, values = all_of([(" AND ".join(where), values), *conditions])
    mails = messages.listed(tx, where_all, values, PAGE_MESSAGES + 1, oldest_first=oldest_first)
    row = row or _only_session(tx, query)
    others = sessions.every(tx)
    shown = [message(tx, relay, mail, row) for mail in mails[:PAGE_MESSAGES]]
    return Outcome(
        data={
            "messages": shown,
            "before": shown[-1]["message_id"] if len(mails) > PAGE_MESSAGES else None,
            "past": before,
            "q": printed(query),
            "views": saved_views.listed(tx, relay, "messages"),
            "session": session_view(row) if row is not None else None,
            "sessions": [session_view(one) for one in others[:PICKER_MAX]],
            "sessions_left_out": max(len(others) - PICKER_MAX, 0),
        }
    )


def _only_session(tx: Tx, query: Query) -> SessionRow | None:
    """The one session that a filter is about, if it is about one."""
    terms = [term for term in query.terms if term.key in ("session", "from", "to") and not term.negated]
    found = naming.resolve(tx, terms[0].texts[0]) if len(terms) == 1 and len(terms[0].values) == 1 else []
    return found[0] if len(found) == 1 else None


def thread(tx: Tx, relay: Relay, *, message_id: str) -> Outcome:
    """A message with the whole chain that it stands in: each after what it answers, with how deep it stands. Chains
    that go deep are folded (`runs`: places in `messages`).
    """
    mails = messages.thread(tx, message_id, THREAD_MAX + 1)
    if not mails:
        return Outcome(refusal=_unknown(message_id))
    placed = threads.arranged(mails[:THREAD_MAX])
    shown = [message(tx, relay, mail) | {"level": level} for mail, level in placed]
    asked = next((place for place, (mail, _) in enumerate(placed) if mail.mid == message_id), 0)
    # Links lead to a message; of one with several recipients to the first of them.
    shown[asked]["place"] = shown[asked]["message_id"]
    return Outcome(
        data={
            "message": message_id,
            "messages": shown,
            "runs": threads.runs([level for _, level in placed], asked),
            "left_out": len(mails) > THREAD_MAX,
        }
    )


def _not_one(tx: Tx, session: str, found: list[SessionRow]) -> Refusal:
    values = {"session": name_literal(session), "near": naming.near(tx, session)}
    if not found:
        return Refusal("session.unknown", "RECV-1", values)
    return Refusal("session.ambiguous", "RECV-2", {**values, "candidates": naming.candidates(found)})


def _unknown(message_id: str) -> Refusal:
    return Refusal("board.message_unknown", "75", {"message_id": literal(message_id)})
