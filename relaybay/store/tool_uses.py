"""Tool-use ids: which a live hook reported, which a call has used, and what it was answered (PROOF)."""

from __future__ import annotations

from typing import Any

from relaybay.store.transaction import Tx


def get(tx: Tx, tool_use_id: str) -> dict[str, Any] | None:
    """The call that used a tool-use id: hook_id, session_id, tool, digest, answer (JSON text), at_us."""
    found = tx.dicts("SELECT * FROM tool_use WHERE tool_use_id = ?", tool_use_id)
    return found[0] if found else None


def keep_witnessed(tx: Tx, tool_use_id: str, hook_id: str) -> None:
    """Remembers over a restart that a live hook reported this tool-use id."""
    tx.run(
        "INSERT INTO witnessed (tool_use_id, hook_id, at_us) VALUES (?, ?, ?)"
        " ON CONFLICT (tool_use_id) DO UPDATE SET hook_id = excluded.hook_id, at_us = excluded.at_us",
        tool_use_id,
        hook_id,
        tx.now,
    )


def witnessed_since(tx: Tx, since_us: int, most: int) -> list[tuple[str, str, int]]:
    """What hooks reported since then, oldest first: (tool-use id, hook id, at)."""
    rows = tx.rows(
        "SELECT tool_use_id, hook_id, at_us FROM witnessed WHERE at_us >= ? ORDER BY at_us DESC LIMIT ?", since_us, most
    )
    return [(str(tool_use), str(hook), int(at)) for tool_use, hook, at in reversed(rows)]


def use(tx: Tx, tool_use_id: str, hook_id: str, session_id: int | None, tool: str, digest: str) -> None:
    """Marks a tool-use id as used by a call (PROOF); a second call finds it so."""
    tx.run(
        "INSERT INTO tool_use (tool_use_id, hook_id, session_id, tool, digest, answer, at_us)"
        " VALUES (?, ?, ?, ?, ?, '', ?) ON CONFLICT (tool_use_id) DO NOTHING",
        tool_use_id,
        hook_id,
        session_id,
        tool,
        digest,
        tx.now,
    )


def keep_answer(tx: Tx, tool_use_id: str, answer: str) -> None:
    """Keeps what the first call with a tool-use id was answered, so that its repeat gets the same (PROOF-6)."""
    tx.run("UPDATE tool_use SET answer = ? WHERE tool_use_id = ? AND answer = ''", answer, tool_use_id)
