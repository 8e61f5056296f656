"""The whole store at one moment, and what the promises are judged on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from relaybay.store.transaction import Tx

#: A used tool-use id is a refused call's one trace (PROOF) beside SEND-13's Inbox entry; `spool_seen` no call touches.
UNTOUCHED = (
    "session", "alias", "hook_fate", "message", "delivery", "comment", "comment_given", "project", "task", "step",
    "event",
)  # fmt: skip


@dataclass(frozen=True)
class Snapshot:
    """Rows by key, and every row of every table that a refused call must leave alone."""

    tables: dict[str, list[dict[str, Any]]]
    inbox: list[dict[str, Any]]

    def keyed(self, table: str) -> dict[int, dict[str, Any]]:
        return {row["id"]: row for row in self.tables[table]}

    @property
    def sessions(self) -> dict[int, dict[str, Any]]:
        return self.keyed("session")

    @property
    def deliveries(self) -> dict[int, dict[str, Any]]:
        return self.keyed("delivery")

    @property
    def owner_comments(self) -> dict[int, dict[str, Any]]:
        return {key: row for key, row in self.keyed("comment").items() if row["author_kind"] == "owner"}

    @property
    def messages(self) -> dict[int, dict[str, Any]]:
        return self.keyed("message")

    @property
    def bound(self) -> dict[int, int | None]:
        """Task → the session bound to it."""
        return {row["id"]: row["session_id"] for row in self.tables["task"]}

    def holder(self, hook_id: str) -> dict[str, Any] | None:
        return next((row for row in self.tables["session"] if row["hook_id"] == hook_id), None)


def take(tx: Tx) -> Snapshot:
    """Reads all of it in one snapshot."""
    order = {"hook_fate": "hook_id", "comment_given": "comment_id, session_id"}
    tables = {name: tx.dicts(f"SELECT * FROM {name} ORDER BY {order.get(name, 'id')}") for name in UNTOUCHED}
    return Snapshot(tables, tx.dicts("SELECT * FROM inbox"))
