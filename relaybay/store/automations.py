"""What set off the owner's rules: queued with the admission that did it, kept with how it ended."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from relaybay.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Firing:
    """One rule set off by one message at one row, once for each admission. Times in µs, 0 where nothing happened."""

    id: int
    rule: str
    rule_digest: str
    delivery_id: int | None
    mid: str
    session_id: int | None
    session_title: str
    admission: str
    catch_up: int
    consume: int
    consumed: int
    state: str
    queued_us: int
    started_us: int
    ended_us: int
    reason_code: str
    detail: str
    sent: int

    @property
    def ended(self) -> bool:
        """Whether nothing more comes of it."""
        return self.state not in ("waiting", "running")


_SELECT = f"SELECT {', '.join(f.name for f in fields(Firing))} FROM automation_firing"  # noqa: S608 - own names.


def _firings(tx: Tx, where: str, *values: Any) -> list[Firing]:
    return [Firing(*r) for r in tx.rows(f"{_SELECT} {where}", *values)]


def queue(tx: Tx, **columns: Any) -> Firing:
    """Adds one firing."""
    key = tx.insert("automation_firing", queued_us=tx.now, **columns)
    return _firings(tx, "WHERE id = ?", key)[0]


def get(tx: Tx, key: int) -> Firing | None:
    """A firing by its key."""
    found = _firings(tx, "WHERE id = ?", key)
    return found[0] if found else None


def change(tx: Tx, key: int, **columns: Any) -> None:
    """Sets columns of a firing."""
    tx.update("automation_firing", key, **columns)


def known(tx: Tx, rule: str, delivery_id: int, admission: str) -> bool:
    """Whether this admission has set off this rule before."""
    found = tx.value(
        "SELECT 1 FROM automation_firing WHERE rule = ? AND delivery_id = ? AND admission = ?",
        rule,
        delivery_id,
        admission,
    )
    return found is not None


def unfinished(tx: Tx) -> list[Firing]:
    """Everything that waits or runs, in the order in which it was queued."""
    return _firings(tx, "WHERE state IN ('waiting','running') ORDER BY id")


def waiting_count(tx: Tx, rule: str) -> int:
    """How many firings of a rule wait."""
    return int(tx.value("SELECT count(*) FROM automation_firing WHERE rule = ? AND state = 'waiting'", rule))


def started(tx: Tx, rule: str, since_us: int) -> list[int]:
    """When a rule fired since then (µs)."""
    found = tx.rows("SELECT started_us FROM automation_firing WHERE rule = ? AND started_us > ?", rule, since_us)
    return [int(r[0]) for r in found]


def turns(tx: Tx, session_id: int, since_us: int) -> list[int]:
    """When messages of automations were let in at a row since then (µs): each of them may start a turn there."""
    found = tx.rows(
        "SELECT d.admitted_us FROM delivery d JOIN message m ON m.id = d.message_id"
        " WHERE d.recipient_id = ? AND d.admitted_us > ? AND m.automation <> ''",
        session_id,
        since_us,
    )
    return [int(r[0]) for r in found]


def taken(tx: Tx) -> list[int]:
    """Deliveries that an automation has."""
    return [int(r[0]) for r in tx.rows("SELECT id FROM delivery WHERE state = 'taken' ORDER BY id")]


def log(tx: Tx, *, rule: str, before: int, most: int) -> list[Firing]:
    """The newest firings below a number, newest first; of one rule, or of all."""
    if rule:
        return _firings(tx, "WHERE rule = ? AND id < ? ORDER BY id DESC LIMIT ?", rule, before, most)
    return _firings(tx, "WHERE id < ? ORDER BY id DESC LIMIT ?", before, most)


def counts(tx: Tx) -> dict[str, dict[str, int]]:
    """How many firings each rule has in each state."""
    found: dict[str, dict[str, int]] = {}
    for rule, state, count in tx.rows("SELECT rule, state, count(*) FROM automation_firing GROUP BY rule, state"):
        found.setdefault(str(rule), {})[str(state)] = int(count)
    return found


def forget(tx: Tx, before_us: int) -> int:
    """Removes what ended before then; how many."""
    return tx.run("DELETE FROM automation_firing WHERE ended_us > 0 AND ended_us < ?", before_us)
