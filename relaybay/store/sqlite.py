"""What only SQLite has: pragmas, the DDL's key words, its errors by name, backup. Its twin is `postgres.py`."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from relaybay.errors import StoreError, StoreFull, StoreReadOnly, StoreUnavailable

#: The DDL's words (`migrations/`): an INTEGER PRIMARY KEY is 64 bits; AUTOINCREMENT keeps a deleted row's key
#: (a session's public `S-12`) from ever being used again.
WORDS = {"key": "INTEGER PRIMARY KEY AUTOINCREMENT", "big": "INTEGER"}

BUSY_MS = 5_000
#: WAL with FULL: an acknowledgement is given only when the commit is on disk (page 80, Store).
PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", f"busy_timeout={BUSY_MS}", "foreign_keys=ON")


def prepare(connection: Any) -> None:
    """Sets the pragmas on a new connection."""
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def reader(path: Path) -> Any:
    """A connection that can only read, for one reader thread; closed by whoever closes the store."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
    return connection


def named(error: BaseException) -> StoreError | None:
    """The store's own name for a SQLite error, or None when it is a programmer's error and must be seen as one."""
    text = str(error).lower()
    if "disk is full" in text or "no space left" in text:
        return StoreFull(str(error))
    if "readonly" in text or "read-only" in text or "unable to open database" in text:
        return StoreReadOnly(str(error))
    if "disk i/o error" in text or "malformed" in text or "not a database" in text:
        return StoreUnavailable(str(error))
    return None


def back_up(source: Path, target: Path) -> None:
    """Copies a database that may be in use, page by page, from a fresh connection. `target` must not exist."""
    reader = sqlite3.connect(f"file:{source}?mode=ro", uri=True)
    writer = sqlite3.connect(target)
    try:
        reader.backup(writer)
    finally:
        writer.close()
        reader.close()


def problems(path: Path) -> list[str]:
    """What SQLite's own check finds wrong with a file; an empty list when nothing."""
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            rows = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
            rows += [f"foreign key of {row[0]}" for row in connection.execute("PRAGMA foreign_key_check")]
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        return [str(error)]
    return [row for row in rows if row != "ok"]


def schema_of(path: Path) -> int:
    """The schema number of a file that no server has open."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return int(connection.execute("SELECT version FROM schema_version").fetchone()[0])
    finally:
        connection.close()
