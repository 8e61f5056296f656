"""What a merge or a deletion moves from one row to another, table by table (page 10, MOVE)."""

from __future__ import annotations

from relaybay.store.transaction import Row, Tx

_EVENTS_AT_ONCE = 500


def bindings_to(tx: Tx, from_id: int, to_id: int) -> None:
    """Tasks bound to one row are bound to the other."""
    tx.run("UPDATE task SET session_id = ? WHERE session_id = ?", to_id, from_id)


def marks_to(tx: Tx, from_id: int, to_id: int) -> None:
    """What a row wrote and was given counts as the other's: comments, hand-overs, lists that gave a text, Inbox
    entries, uses of tool-use ids, and rows that say where their link went.
    """
    tx.run("UPDATE comment SET author_id = ? WHERE author_id = ?", to_id, from_id)
    tx.run("UPDATE comment SET delivered_to = ? WHERE delivered_to = ?", to_id, from_id)
    tx.run(
        "DELETE FROM comment_given WHERE session_id = ? AND comment_id IN"
        " (SELECT comment_id FROM comment_given WHERE session_id = ?)",
        to_id,
        from_id,
    )
    tx.run("UPDATE comment_given SET session_id = ? WHERE session_id = ?", to_id, from_id)
    tx.run("UPDATE inbox SET session_id = ? WHERE session_id = ?", to_id, from_id)
    tx.run("UPDATE tool_use SET session_id = ? WHERE session_id = ?", to_id, from_id)
    moved_to(tx, from_id, to_id)


def forget_given(tx: Tx, session_id: int) -> None:
    """Another conversation stands behind the row: what lists gave the one before counts no more (CMT-8)."""
    tx.run("DELETE FROM comment_given WHERE session_id = ?", session_id)


def moved_to(tx: Tx, from_id: int, to_id: int | None) -> None:
    """Rows whose link went to one row: it is the other's now, or nobody's (RECV-8)."""
    tx.run("UPDATE session SET moved_to = ? WHERE moved_to = ? AND id <> ?", to_id, from_id, to_id or 0)


def events_to(tx: Tx, from_ref: str, to_ref: str, since_us: int) -> None:
    """The events that name one row name the other. Walks back from the newest and stops before `since_us`, since
    which the row has existed, so that a young row costs little however long the feed is.
    """
    before = int(tx.value("SELECT coalesce(max(id), 0) FROM event")) + 1
    old, new = f'"{from_ref}"', f'"{to_ref}"'
    while True:
        batch: list[Row] = tx.rows(
            "SELECT id, at_us, data FROM event WHERE id < ? ORDER BY id DESC LIMIT ?", before, _EVENTS_AT_ONCE
        )
        for key, _at, data in batch:
            if old in data:
                tx.run("UPDATE event SET data = ? WHERE id = ?", data.replace(old, new), key)
        if len(batch) < _EVENTS_AT_ONCE or batch[-1][1] < since_us:
            return
        before = batch[-1][0]
