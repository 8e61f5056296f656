"""The history of messages: pages of a topic, of a pattern, of broadcasts, of two parties (page 50, READ and CLI)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relaybay.store import messages
from relaybay.store.messages import Mail
from relaybay.store.transaction import Tx

_AT_ONCE = 200
_FIRST = 2**62


@dataclass(frozen=True, slots=True)
class Page:
    """Messages newest first, each without its deliveries, and whether there are older ones."""

    messages: tuple[Mail, ...]
    more: bool


def published(tx: Tx, *, wanted: Callable[[str], bool] | None, topic: str = "", before: int = 0, most: int) -> Page:
    """A page of one topic, of all topics that `wanted` takes, or (`wanted` None and no topic) of broadcasts.

    `before` is a message's number, exclusive; 0 begins with the newest. Topics are compared one message after another,
    so that any number of them may match.
    """
    if topic:
        where, values = "m.audience = 'topic' AND m.topic = ?", [topic]
    elif wanted is None:
        where, values = "m.audience = 'broadcast'", []
    else:
        where, values = "m.audience = 'topic'", []
    found: list[Mail] = []
    last = before or _FIRST
    while len(found) <= most:
        batch = messages.older(tx, where, values, last, _AT_ONCE)
        found += [one for one in batch if topic or wanted is None or wanted(one.topic)]
        if len(batch) < _AT_ONCE:
            break
        last = batch[-1].message_id
    return Page(tuple(found[:most]), len(found) > most)


def newest(tx: Tx, most: int, *, where: str = "1 = 1", values: tuple[Any, ...] = (), before: int = 0) -> Page:
    """The newest messages that meet a condition over `m`."""
    found = messages.older(tx, where, list(values), before or _FIRST, most + 1)
    return Page(tuple(found[:most]), len(found) > most)


def with_party(name: str) -> tuple[str, tuple[Any, ...]]:
    """Direct messages that a party sent or received under this `@name`, as it was then (CLI-4)."""
    condition = (
        "m.audience = 'direct' AND (m.sender_name = ? OR EXISTS (SELECT 1 FROM delivery d WHERE d.message_id = m.id"
        " AND d.recipient_name = ?))"
    )
    return condition, (name, name)


def between(one: int, other: int) -> tuple[str, tuple[Any, ...]]:
    """Direct messages of two sessions with each other."""
    condition = (
        "m.audience = 'direct' AND ((m.sender_id = ? AND EXISTS (SELECT 1 FROM delivery d WHERE d.message_id = m.id"
        " AND d.recipient_id = ?)) OR (m.sender_id = ? AND EXISTS (SELECT 1 FROM delivery d WHERE d.message_id = m.id"
        " AND d.recipient_id = ?)))"
    )
    return condition, (one, other, other, one)


def rows_with_open_mail(tx: Tx) -> list[int]:
    """Rows that have something `sent` or `delivered`."""
    found = tx.rows(
        "SELECT DISTINCT recipient_id FROM delivery WHERE state IN ('sent','delivered') AND recipient_id IS NOT NULL"
    )
    return [int(r[0]) for r in found]
