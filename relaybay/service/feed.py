"""The event feed: an ever-growing cursor, no gaps for a reader that keeps it (page 40). Long polls are elsewhere."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Any

from relaybay.answers import word
from relaybay.domain import Outcome, Refusal
from relaybay.rules.text import name_literal
from relaybay.service import filters, listing
from relaybay.service.arguments import LIST_DEFAULT, check_limit, invalid
from relaybay.service.clock import rfc3339
from relaybay.store import events
from relaybay.store.transaction import Tx

_TYPE = re.compile(r"[a-z][a-z_]{0,39}(\.[a-z][a-z_]{0,39})?|[a-z][a-z_]{0,39}\.\*")
_CURSOR = re.compile(r"e1:(0|[1-9][0-9]{0,17})")


def cursor_of(key: int) -> str:
    """The cursor after the event with this key. Opaque to callers, who only keep it."""
    return base64.urlsafe_b64encode(f"e1:{key}".encode()).decode("ascii").rstrip("=")


def _key_of(cursor: str) -> int | None:
    try:
        plain = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except (binascii.Error, ValueError):
        return None
    found = _CURSOR.fullmatch(plain)
    # Only the one spelling that was handed out is taken back.
    return int(found[1]) if found and cursor_of(int(found[1])) == cursor else None


def events_since(
    tx: Tx, *, cursor: str = "", types: Sequence[str] = (), limit: int = LIST_DEFAULT, q: str = ""
) -> Outcome:
    """Events after `cursor`, oldest first, and the cursor to go on with; without one no events, only the present one.

    A read. `types` are names or `kind.*`, `q` is a filter (page 70), whose order does not count
    here; with either the cursor moves past what it left out.
    """
    wrong = check_limit(limit)
    for kind in types:
        if wrong is None and not _TYPE.fullmatch(kind):
            wrong = invalid("types", "why.event_type", type=name_literal(kind))
    asked = filters.narrowed(tx, q, "events") if wrong is None else wrong
    if isinstance(asked, Refusal):
        return Outcome(refusal=asked)
    newest = events.last(tx)
    if not cursor:
        return Outcome(data={"events": [], "cursor": cursor_of(newest), "text": word("events.cursor").text})
    key = _key_of(cursor)
    if key is None or key > newest:
        return Outcome(refusal=Refusal("cursor.invalid", "75"))
    found = events.since(tx, key, tuple(types), limit + 1, asked[1])
    views, more = listing.cut([_view(*event) for event in found[:limit]], listing.room())
    last = views[-1]["id"] if more or len(found) > limit else newest
    said = word("events.listed", count=len(views)).text
    return Outcome(data={"events": views, "cursor": cursor_of(last), "text": said})


def _view(key: int, type_: str, at_us: int, data: dict[str, Any]) -> dict[str, Any]:
    return {"id": key, "type": type_, "at": rfc3339(at_us), "data": data}
