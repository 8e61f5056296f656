"""The whole store at one moment, and what the promises are judged on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from relaybay.store.transaction import Tx

#: What a refused call may leave: a tool-use id that was shown and used (PROOF), and SEND-13's Inbox entry, which is looked
#: at by itself. `spool_seen` no call touches.
EXEMPT = {"tool_use", "witnessed", "spool_seen", "inbox"}
#: The store's own: its version, and what the search's virtual tables are made of.
_OWN = "name NOT LIKE 'sqlite_%' AND name <> 'schema_version' AND sql NOT LIKE 'CREATE TABLE ''%'"


def tables(tx: Tx) -> list[str]:
    """Every table that holds what somebody said or did, also those of tomorrow."""
    return [row["name"] for row in tx.dicts(f"SELECT name FROM sqlite_schema WHERE type = 'table' AND {_OWN}")]


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
    found = {name: tx.dicts(f'SELECT * FROM "{name}"') for name in tables(tx) if name not in EXEMPT}
    for rows in found.values():
        rows.sort(key=lambda row: (row.get("id", 0), repr(row) if "id" not in row else ""))
    return Snapshot(found, tx.dicts("SELECT * FROM inbox"))
