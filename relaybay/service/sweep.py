"""What happens because time passed: clients that are gone (HL-9), sessions long silent (HL-10), and old ids forgotten.
Called by a timer; each function is one transaction.
"""

from __future__ import annotations

from relaybay.service import controls, links, processes
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import messages, sessions
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

_SECOND = 1_000_000
_HOUR = 3_600 * _SECOND
_MAY_END = ("exact", "guessed", "exact_unseen", "guessed_unseen")


def gone_clients(tx: Tx) -> list[int]:
    """Rows whose client's process is gone. Reads only: asking the system is done outside a write."""
    return [row.id for row in sessions.with_process(tx) if processes.gone(row.process)]


def end_gone(tx: Tx, relay: Relay, session_ids: list[int]) -> int:
    """HL-9: ends the links of rows found gone, those that still are; how many."""
    ended = 0
    for key in session_ids:
        row = sessions.get(tx, key)
        if row is None or row.link_state not in _MAY_END or not processes.gone(row.process):
            continue
        _end(tx, relay, row, "process_gone")
        ended += 1
    return ended


def end_silent(tx: Tx, relay: Relay, hours: int) -> int:
    """HL-10: ends the links of rows without an event for so long, where no process is known; how many."""
    before = tx.now - hours * _HOUR
    rows = [relay.presence.write_back(tx, row) for row in sessions.silent_since(tx, before)]
    rows = [row for row in rows if row.last_event_us < before]
    for row in rows:
        _end(tx, relay, row, "silent")
    return len(rows)


def drop_published(tx: Tx, relay: Relay) -> int:
    """CH-5, for sessions that ended by a SessionEnd which the start after a `/clear` could have followed: the time for
    that is over, so what was published to them is dropped; how many rows.
    """
    before = tx.now - limit("clear_pair_seconds") * _SECOND
    rows = messages.ended_with_published(tx, before)
    for key in rows:
        controls.session_ended(tx, relay, sessions.need(tx, key))
    return len(rows)


def _end(tx: Tx, relay: Relay, row: SessionRow, event: str) -> None:
    row = relay.presence.write_back(tx, row)
    folder_guess = row.link_state == "guessed" and row.kind != "hook"
    links.take(tx, relay, row, event, {"folder_guess": folder_guess}, reason=event)


def forget_old(tx: Tx) -> None:
    """Tool-use ids older than their hour and spool ids older than a week serve nobody any more."""
    old = tx.now - 2 * limit("tool_use_minutes_max") * 60 * _SECOND
    tx.run("DELETE FROM tool_use WHERE at_us < ?", old)
    tx.run("DELETE FROM witnessed WHERE at_us < ?", old)
    tx.run("DELETE FROM spool_seen WHERE at_us < ?", tx.now - limit("spool_ids_days") * 24 * _HOUR)


def end_orphaned_waits(relay: Relay) -> None:
    """WAIT-6: a wait whose client's process is gone ends; a killed client leaves its waiting hook behind."""
    for entry in relay.waits.with_process():
        if processes.gone(entry.process):
            relay.waits.take(entry, "client_gone")
