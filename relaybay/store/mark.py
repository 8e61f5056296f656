"""How far the promises of a database went, kept in a small file beside it: the newest event that was acknowledged.

A log that was cut, lost or damaged looks to SQLite like a shorter one, and a file of no bytes like a new database: what
was acknowledged would be gone without a word. The mark is written after a commit is on the disk and is itself not
synced, so a crash can leave it behind the database and never ahead of it. A database that has not what its mark names
is therefore not the one that gave the promises, and is not opened (FLT-8). `restore` takes the mark away. What no event
tells is not in the mark: what is remembered of calls and of spooled ids, when somebody was last seen.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from hashlib import sha256
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)
_TAIL = "-mark"
_BYTES = 160
_NEWEST = "SELECT id, type, at_us FROM event ORDER BY id DESC LIMIT 1"
_AT = "SELECT id, type, at_us FROM event WHERE id = ?"


def file_of(database: Path) -> Path:
    """Where a database's mark stands."""
    return database.with_name(database.name + _TAIL)


def _line(row: tuple[Any, ...]) -> bytes:
    """The file's whole content for one event: its number, what it was, and a check of both, always as long."""
    said = f"{int(row[0]):020d} {sha256(repr(tuple(row)).encode()).hexdigest()}"
    return f"{said} {sha256(said.encode()).hexdigest()}".ljust(_BYTES - 1).encode() + b"\n"


class Mark:
    """The mark of one open database. `write` is called in the writer's thread after each commit; it raises nothing."""

    def __init__(self, database: Path) -> None:
        self._path = file_of(database)
        self._file = -1
        self._told = False

    def write(self, newest: tuple[Any, ...]) -> None:
        """Says that this event (id, type, at_us) is on the disk. What fails here leaves the mark behind, no more."""
        try:
            if self._file < 0:
                flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                self._file = os.open(self._path, flags, 0o600)
            os.pwrite(self._file, _line(newest), 0)
        except OSError as error:
            if not self._told:
                log.warning("%s cannot be written: %s", self._path, error.strerror or error)
            self._told = True

    def close(self) -> None:
        """Lets the file go."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def newest(connection: Any) -> tuple[Any, ...] | None:
    """The newest event of a database, as `Mark.write` takes it."""
    found = connection.execute(_NEWEST).fetchone()
    return None if found is None else tuple(found)


def promised(database: Path) -> bytes | None:
    """What the mark says; None when there is none, or one that a crash left half written."""
    try:
        descriptor = os.open(file_of(database), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        line = os.read(descriptor, _BYTES + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    said, _, check = line.decode("ascii", "replace").strip().rpartition(" ")
    sound = len(line) == _BYTES and check == sha256(said.encode()).hexdigest()
    return line if sound else None


def kept(connection: Any, promise: bytes) -> bool:
    """Whether a database has the event that its mark names."""
    try:
        found = connection.execute(_AT, (int(promise.split()[0]),)).fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return False
        raise
    return found is not None and _line(tuple(found)) == promise
