"""Spooled events, applied once, in the order of their happening (page 20, SPOOL)."""

from __future__ import annotations

from collections.abc import Iterable

from relaybay.domain import HookEvent
from relaybay.service import hooks
from relaybay.service.relay import Relay
from relaybay.store import events as feed
from relaybay.store.transaction import Tx


def apply(tx: Tx, relay: Relay, spooled: Iterable[HookEvent]) -> tuple[int, int]:
    """Applies replayed events; (applied, seen before). Nothing is handed over, marked, claimed or renewed."""
    applied = repeated = 0
    for event in sorted(spooled, key=lambda e: (e.at_us, e.event_id)):
        assert event.replayed, "a live event is not applied here"
        if relay.presence.heard(event.event_id) or not feed.spool_event_is_new(tx, event.event_id):
            repeated += 1
            continue
        answer = hooks.handle(tx, relay, event)
        assert answer.done is None, f"a replay carries nothing ({answer.spec_ids})"
        applied += 1
    return applied, repeated
