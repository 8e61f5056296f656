"""A store in a folder of its own, and its tables as they are."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from relaybay.store.database import Store

NOW = 1_800_000_000_000_000


def open_store(folder: Path, **more) -> Store:
    return Store(folder / "relaybay.db", lambda: NOW, **more)


def event(tx, kind: str = "x", data: str = "{}") -> int:
    """The smallest write there is."""
    return tx.insert("event", type=kind, at_us=tx.now, data=data)


def kinds(store: Store) -> list[str]:
    """The events on disk, by type, as a reader sees them."""
    return [row[0] for row in store.read(lambda tx: tx.rows("SELECT type FROM event ORDER BY id"))]


def on_disk(path: Path) -> list[str]:
    """The same, from a connection that the store has nothing to do with."""
    connection = sqlite3.connect(path)
    try:
        return [row[0] for row in connection.execute("SELECT type FROM event ORDER BY id")]
    finally:
        connection.close()


@pytest.fixture
def store(tmp_path: Path):
    made = open_store(tmp_path)
    yield made
    made.close()
