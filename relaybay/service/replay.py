"""Spooled events, applied once, in the order of their happening (page 20, SPOOL)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from relaybay.domain import HookEvent
from relaybay.service import hooks
from relaybay.service.relay import Relay
from relaybay.store import events as feed
from relaybay.store.transaction import Tx


def in_order(spooled: Iterable[HookEvent]) -> list[HookEvent]:
    """By the time they happened; the id, which begins with that time, decides between two of one microsecond."""
    return sorted(spooled, key=lambda event: (event.at_us, event.event_id))


def apply(tx: Tx, relay: Relay, spooled: Iterable[HookEvent]) -> tuple[int, int]:
    """Applies replayed events; (applied, seen before). Nothing is handed over, marked, claimed or renewed.

    A time ahead of ours is not believed: all that is told later would count as older than it (HL-12).
    """
    applied = repeated = 0
    for event in in_order(spooled):
        assert event.replayed, "a live event is not applied here"
        if relay.presence.heard(event.event_id) or not feed.spool_event_is_new(tx, event.event_id):
            repeated += 1
            continue
        answer = hooks.handle(tx, relay, replace(event, at_us=min(event.at_us, tx.now)))
        assert answer.done is None, f"a replay carries nothing ({answer.spec_ids})"
        applied += 1
    return applied, repeated
