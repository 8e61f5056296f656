"""Checks of arguments that several use cases share: slugs, titles, pages of lists, sessions that a call means.

A value out of range is refused and never moved into it (page 75).
"""

from __future__ import annotations

from typing import Any

from relaybay.answers import word
from relaybay.domain import Refusal
from relaybay.rules import names
from relaybay.rules.text import blank, check_text, name_literal
from relaybay.service import naming
from relaybay.specs import limit
from relaybay.store import sessions
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

STATUSES = ("inbox", "todo", "doing", "review", "done", "dropped")
LIST_MAX = 200
LIST_DEFAULT = 50
#: Short enough that a key, with its number, stays within `task_key_chars_max`.
#: What `before` means when it is not given: no key reaches it.
NEWEST = 2**62


def invalid(name: str, why: str, **values: Any) -> Refusal:
    """`argument_invalid` for the argument `name`; `why` is the id of the answer that says it."""
    return Refusal("http.argument_invalid", "75", {"name": name, "why": word(why, **values).text})


def check_limit(value: int) -> Refusal | None:
    """A page of a list has 1 to 200 entries."""
    return None if 1 <= value <= LIST_MAX else invalid("limit", "why.range", least=1, most=LIST_MAX)


def check_status(value: str) -> Refusal | None:
    """An unknown status is refused by name (page 40)."""
    if value in STATUSES:
        return None
    return invalid("status", "why.status", status=name_literal(value), known=", ".join(STATUSES))


def check_line(name: str, value: str) -> Refusal | None:
    """A title or a step: text, not blank, and as a title no longer than a name may be."""
    if check_text(value) is not None:
        return Refusal("body.not_text", "SEND-15")
    if blank(value):
        return invalid(name, "why.blank")
    chars, most = len(names.one_line(value)), limit("name_chars_max")
    if name == "title" and chars > most:
        return invalid(name, "why.too_long", chars=chars, chars_max=most)
    return None


def one_session(tx: Tx, text: str) -> SessionRow | Refusal:
    """The one session that a name or a hook id means, found as a recipient is (RECV-1, RECV-2). Makes none (ROW-4)."""
    found = {row.id: row for row in naming.resolve(tx, text)}
    holder = sessions.by_hook(tx, text.strip())
    if holder is not None:
        found[holder.id] = holder
    # A hook id is accepted, but shown to nobody, not even to the caller who passed it (page 10).
    shown = name_literal("…" if naming.is_hook_id(tx, text) else names.one_line(text))
    if not found:
        return Refusal("session.unknown", "RECV-1", {"session": shown, "near": naming.near(tx, text)})
    if len(found) > 1:
        values = {"session": shown, "candidates": naming.candidates(found.values())}
        return Refusal("session.ambiguous", "RECV-2", values)
    return next(iter(found.values()))
