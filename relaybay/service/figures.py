"""Numbers and states of the whole relay, for `/metrics`, `relaybay status` and `relaybay doctor`. Reads only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from relaybay.domain import Outcome
from relaybay.service import floors, inbox
from relaybay.service.clock import rfc3339
from relaybay.service.relay import Relay
from relaybay.store import events, sessions, sqlite
from relaybay.store.transaction import Tx

_LIVE = ("exact", "guessed")


def figures(tx: Tx, relay: Relay) -> Outcome:
    """How many there are of what: sessions by activity and link, deliveries and the owner's comments by state."""
    rows = [relay.presence.current(row) for row in sessions.every(tx)]
    deliveries = tx.rows("SELECT state, count(*) FROM delivery GROUP BY state")
    comments = tx.rows("SELECT state, count(*) FROM comment WHERE author_kind = 'owner' GROUP BY state")
    tasks = tx.rows("SELECT status, count(*) FROM task GROUP BY status")
    return Outcome(
        {
            "sessions": dict(Counter(row.activity for row in rows)),
            "sessions_live": sum(row.link_state in _LIVE for row in rows),
            "deliveries": dict(deliveries),
            "comments": dict(comments),
            "tasks": dict(tasks),
            "inbox": inbox.count(tx, channels=relay.messaging.channels),
            "events": events.last(tx),
        }
    )


def last_heard(tx: Tx, relay: Relay, heard: Mapping[str, int]) -> dict[str, int]:
    """When each client's hooks were last heard, in µs: by `heard` since the server's start, by the rows before that."""
    last = dict(heard)
    for row in sessions.every(tx):
        now = relay.presence.current(row)
        if now.last_event_us:
            last[now.client] = max(last.get(now.client, 0), now.last_event_us)
    return last


def project_problems(tx: Tx, relay: Relay) -> list[str]:
    """What is wrong, on which line, in the `.relaybay.toml` of a session that is not over (SET-6)."""
    rows = sessions.every(tx) if relay.messaging.channels else []
    return sorted({floors.of(row.cwd).problem for row in rows if row.activity != "ended"} - {""})


def doctor(tx: Tx, relay: Relay, *, heard: Mapping[str, int]) -> Outcome:
    """What only a running server knows of its health (page 20, Setup and doctor).

    `heard` is when each client's hooks were last heard since the start, in µs; rows remember longer. `integrity` is
    `ok`, or what the database's own check found.
    """
    last = last_heard(tx, relay, heard)
    found = sqlite.problems(relay.store.path)
    return Outcome(
        {
            "last_events": {client: rfc3339(at_us) for client, at_us in sorted(last.items())},
            "integrity": "; ".join(found) or "ok",
            "project_files": project_problems(tx, relay),
            "events": events.last(tx),
        }
    )
