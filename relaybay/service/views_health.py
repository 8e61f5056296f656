"""Read model of `/health` (page 70): doctor's checks, and what only the running server knows of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from relaybay.domain import Outcome
from relaybay.rules.text import literal
from relaybay.service.clock import rfc3339
from relaybay.service.house import House, Looked, Told
from relaybay.service.relay import Relay
from relaybay.store import board as counted
from relaybay.store.transaction import Tx


def health_page(tx: Tx, relay: Relay, *, house: House, looked: Looked) -> Outcome:
    """All checks with their verdicts, the worst first, and the server's own figures beside them.

    `looked` is what the checks found; they take too long for a snapshot.
    """
    told = house.told()
    checks = [
        {"name": one.name, "ok": one.ok, "detail": literal(one.detail), "fix": literal(one.fix) if one.fix else None}
        for one in looked.findings
    ]
    checks.sort(key=lambda check: (check["ok"] is not False, check["ok"] is not None))
    return Outcome(
        data={
            "checks": checks,
            "doctor": house.doctor is not None,
            "looked_at": rfc3339(looked.at_us),
            "broken": sum(check["ok"] is False for check in checks),
            "warned": sum(check["ok"] is None for check in checks),
            "server": _server(relay, told),
            "hooks": _hooks(told),
            "database": _database(tx, relay, looked.integrity, looked.checked_us),
            "context": _context(tx, relay),
        }
    )


def _server(relay: Relay, told: Told) -> dict[str, Any]:
    return {
        "url": told.url or None,
        "started_at": rfc3339(told.started_us) if told.started_us else None,
        "streams": told.streams,
        "waits": relay.waits.count,
        "mcp_last_call_at": rfc3339(told.mcp_seen_us) if told.mcp_seen_us else None,
    }


def _hooks(told: Told) -> list[dict[str, Any]]:
    """Client by client, which hook events came since the start, the latest first."""
    return [
        {
            "client": client,
            "events": [
                {"event": literal(name), "at": rfc3339(at_us)}
                for name, at_us in sorted(events.items(), key=lambda pair: (-pair[1], pair[0]))
            ],
        }
        for client, events in sorted(told.heard.items())
    ]


def _database(tx: Tx, relay: Relay, integrity: str, checked_us: int) -> dict[str, Any]:
    path = relay.store.path
    return {
        "path": literal(str(path)),
        "bytes": _size(path),
        "log_bytes": _size(path.with_name(path.name + "-wal")),
        "schema": int(tx.value("SELECT version FROM schema_version")),
        "integrity": "ok" if integrity == "ok" else literal(integrity),
        "checked_at": rfc3339(checked_us),
    }


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _context(tx: Tx, relay: Relay) -> dict[str, Any]:
    """The proof that texts arrive: where it is looked for, for how many, and what came of the others (table CTX)."""
    watched = relay.contexts.watched()
    return {
        "folders": [
            {"path": literal(str(folder)), "there": folder.is_dir()} for folder in relay.contexts.transcripts.folders
        ],
        "looked_for": sum(count for _, count in watched),
        "unreadable": sum(count for file, count in watched if file != "read"),
        **counted.proofs(tx),
    }
