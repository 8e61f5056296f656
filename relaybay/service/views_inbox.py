"""Read model of `/inbox` (pages 40 and 70): what waits for the owner, each entry with what it takes to decide on it."""

from __future__ import annotations

from typing import Any

from relaybay.domain import Outcome
from relaybay.service import inbox
from relaybay.service.relay import Relay
from relaybay.service.views_messages import message
from relaybay.store import comments, messages
from relaybay.store.transaction import Tx


def inbox_page(tx: Tx, relay: Relay) -> Outcome:
    """The Inbox, oldest first; an entry about a message has that message with it."""
    found = inbox.inbox(tx).data
    return Outcome(data={"entries": [_entry(tx, relay, entry) for entry in found["entries"]], "count": found["count"]})


def _entry(tx: Tx, relay: Relay, entry: dict[str, Any]) -> dict[str, Any]:
    if entry["kind"] == "reply":
        reply = comments.get(tx, entry["ref"])
        return entry | {"verified": reply is not None and bool(reply.author_verified)}
    mail = messages.get(tx, entry["ref"]) if entry["kind"] == "reply_too_deep" else None
    return entry | ({"message": message(tx, relay, mail)} if mail is not None else {})
