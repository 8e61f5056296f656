"""What only SQLite has: pragmas, the DDL's key words, its errors by name, backup. Its twin is `postgres.py`."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import stat
from functools import cache
from pathlib import Path
from typing import Any

from relaybay.errors import SearchDamaged, StoreError, StoreFull, StoreReadOnly, StoreUnavailable
from relaybay.store import migrations, seals

#: The DDL's words (`migrations/`): an INTEGER PRIMARY KEY is 64 bits; AUTOINCREMENT keeps a deleted row's key
#: (a session's public `S-12`) from ever being used again. Searched texts are found whatever their case and accents.
WORDS = {
    "key": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "big": "INTEGER",
    "blob": "BLOB",
    "search_text": (
        "VIRTUAL TABLE search_text USING fts5(task_key, title, body, steps, tokenize = 'unicode61 remove_diacritics 2')"
    ),
}

BUSY_MS = 5_000
ORPHANED = "the database is empty or gone, and its log is there"
#: What is wrong with a database that is no database of relaybay.
FOREIGN = "it has tables, and no schema_version"
#: WAL with FULL: an acknowledgement is given only when the commit is on disk (page 80, Store).
PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", f"busy_timeout={BUSY_MS}", "foreign_keys=ON")

#: The last eight bits of a result code say the kind of error, the others only more of it.
_PRIMARY = 0xFF
_NAMES: dict[int, type[StoreError]] = {
    sqlite3.SQLITE_FULL: StoreFull,
    sqlite3.SQLITE_READONLY: StoreReadOnly,
    sqlite3.SQLITE_CANTOPEN: StoreReadOnly,
    sqlite3.SQLITE_PERM: StoreReadOnly,
    sqlite3.SQLITE_IOERR: StoreUnavailable,
    sqlite3.SQLITE_CORRUPT: StoreUnavailable,
    sqlite3.SQLITE_NOTADB: StoreUnavailable,
    sqlite3.SQLITE_BUSY: StoreUnavailable,
}
#: Above that no copy of the whole file is made in memory.
_COPY_BYTES_MAX = 1 << 29
_FATAL = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def prepare(connection: Any) -> None:
    """Sets the pragmas on a new connection."""
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def orphaned(path: Path) -> bool:
    """Whether a log stands there and its database is empty or gone: what was acknowledged may be in the log alone."""
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0 and not (path.exists() and path.stat().st_size > 0)


def _read_only(path: Path) -> str:
    """The URI of a file that is only read; a path may hold any character."""
    if orphaned(path):
        # SQLite removes a log that stands beside an empty file, even when it may only read (measured).
        raise sqlite3.DatabaseError(ORPHANED)
    return f"{path.absolute().as_uri()}?mode=ro"


def readable(text: bytes) -> str:
    """A text of the file, as Pony reads it too: one that is no UTF-8 any more must not end the query (FLT-8)."""
    return text.decode("utf-8", "replace")


def make_private(path: Path) -> None:
    """Makes the database's file if there is none, readable by this user alone, its folder too; what stood open to
    others is shut. Bodies and hook ids are in there. Raises OSError, for a symbolic link too: none is followed.
    """
    folder = path.parent
    if folder.stat().st_uid == os.getuid() and folder.stat().st_mode & 0o077:
        folder.chmod(0o700)
    for name in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        if name != path and not name.exists() and not name.is_symlink():
            continue
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, "is no regular file", str(name))
            if found.st_uid == os.getuid() and found.st_mode & 0o077:
                os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)


def reader(path: Path) -> Any:
    """A connection that can only read, for one reader thread; closed by whoever closes the store."""
    connection = sqlite3.connect(_read_only(path), uri=True, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
    # As on Pony's own connections, so that a query finds the same rows wherever it runs.
    connection.execute("PRAGMA case_sensitive_like=ON")
    connection.text_factory = readable
    return connection


def _raised(error: BaseException | None) -> sqlite3.Error | None:
    """SQLite's own error in what Pony made of it."""
    while error is not None:
        if isinstance(error, sqlite3.Error):
            return error
        wrapped = getattr(error, "exceptions", None) or [(None, getattr(error, "original_exc", None))]
        error = wrapped[0][1] or error.__cause__
    return None


def _code(error: BaseException) -> int:
    """SQLite's primary result code, 0 when the error is not SQLite's."""
    return int(getattr(_raised(error), "sqlite_errorcode", 0)) & _PRIMARY


def named(error: BaseException) -> StoreError | None:
    """The store's own name for a SQLite error, or None when it is a programmer's error and must be seen as one.

    The result code decides, never the text: an error's text may quote what somebody wrote.
    """
    kind = _NAMES.get(_code(error))
    return None if kind is None else kind(str(_raised(error)))


def search_is_damaged(error: BaseException) -> bool:
    """Whether this error, which took a whole transaction with it, is one of the index of full-text search alone. FTS5
    says that it is damaged, or breaks its own constraints where its root is gone; one of ours ends a statement alone.
    """
    code = int(getattr(_raised(error), "sqlite_errorcode", 0))
    known = code == sqlite3.SQLITE_CORRUPT_VTAB or code & _PRIMARY == sqlite3.SQLITE_CONSTRAINT
    return known or isinstance(error, SearchDamaged)


def refuses_search(error: BaseException) -> bool:
    """Whether a statement on the index alone was refused for no reason outside of it: by its own error, or by one that
    would be a fault in the statement, such as a configuration of FTS5 that nobody can have written. Numbers that were
    damaged make FTS5 ask for more memory than there is.
    """
    if isinstance(error, MemoryError):
        return True
    code = int(getattr(_raised(error), "sqlite_errorcode", 0)) & _PRIMARY
    return code in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT) or search_is_damaged(error)


def ends_all(error: BaseException) -> bool:
    """Whether nobody knows what is on disk after this error, or the file is damaged: nothing more may be promised."""
    return _code(error) in _FATAL


def named_file_error(error: OSError) -> StoreError:
    """The store's own name for what the system says of the folder or the file."""
    text = f"{error.filename or 'the data folder'}: {error.strerror or error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(text)
    return StoreUnavailable(text) if error.errno == errno.EIO else StoreReadOnly(text)


def back_up(source: Path, target: Path) -> None:
    """Copies a database that may be in use, page by page, from a fresh connection, and seals the copy (FLT-8). `target`
    must not exist, or be empty.
    """
    reader = sqlite3.connect(_read_only(source), uri=True)
    writer = sqlite3.connect(target)
    try:
        reader.backup(writer)
        _seal(writer)
    finally:
        writer.close()
        reader.close()


def _seal(copy: sqlite3.Connection) -> None:
    """Puts a seal over all that is in a copy into it. The next server to open it takes the seal out again."""
    copy.text_factory = readable
    with copy:
        copy.execute(f"DROP TABLE IF EXISTS {seals.COPY_SEAL}")
        # Made first: by it the schema's own table changes too.
        copy.execute(f"CREATE TABLE {seals.COPY_SEAL} (sha256 TEXT NOT NULL)")
        copy.execute(f"INSERT INTO {seals.COPY_SEAL} VALUES (?)", (seals.content(copy.execute),))  # noqa: S608


def roll_back(path: Path) -> None:
    """Lets SQLite undo what a first start that was killed had begun. Only before the database is in WAL mode is there
    such a journal, and a look that may not write cannot undo it (FLT-2). Nothing was acknowledged from that file.
    """
    if path.with_name(f"{path.name}-journal").exists():
        connection = sqlite3.connect(path, timeout=BUSY_MS / 1000)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        finally:
            connection.close()


@cache
def _schema_made(steps: tuple[tuple[str, ...], ...]) -> frozenset[tuple[str, str, str]]:
    """What these migrations make of an empty database, as SQLite keeps it."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
        for step in steps:
            for statement in step:
                connection.execute(statement.format(**WORDS))
        return _schema_kept(connection)
    finally:
        connection.close()


def _schema_kept(connection: Any) -> frozenset[tuple[str, str, str]]:
    """The tables and indexes of a file, each with its statement; a copy's seal and SQLite's own apart."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return frozenset(
        (str(kind), str(name), re.sub(r"\s+", " ", str(sql)))
        for kind, name, sql in rows
        if name != seals.COPY_SEAL and not str(name).startswith("sqlite_")
    )


def schema_fault(connection: Any) -> str:
    """What is wrong with a file's schema: nothing, when it is empty, a newer program's, or as the migrations made it. A
    letter that changed in there is seen by no check of SQLite's, and changes what every row means (FLT-8).
    """
    kept = _schema_kept(connection)
    if not kept:
        return ""
    if not any(name == "schema_version" for _, name, _ in kept):
        return FOREIGN
    if not kept & _schema_made(()):
        return "the schema is not the one that was made, in: schema_version"
    found = connection.execute("SELECT version FROM schema_version").fetchall()
    if len(found) != 1 or type(found[0][0]) is not int or found[0][0] < 0:
        return "schema_version is not one number"
    version = found[0][0]
    if version > len(migrations.STEPS):
        return ""
    differing = sorted({name for _, name, _ in kept ^ _schema_made(migrations.STEPS[:version])})
    return f"the schema is not the one that was made, in: {', '.join(differing[:5])}" if differing else ""


def problems(path: Path) -> list[str]:
    """What is wrong with a file, by SQLite's own check and by the seals (`seals.py`); an empty list when nothing."""
    try:
        connection = sqlite3.connect(_read_only(path), uri=True)
        connection.text_factory = readable
        try:
            rows = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
            # Newer versions look at the search index as well. It can be made anew, and makes no file unusable.
            rows = [row for row in rows if "search_text" not in row]
            rows += [f"foreign key of {row[0]}" for row in connection.execute("PRAGMA foreign_key_check")]
            fault = schema_fault(connection)
            rows += [fault] if fault else seals.problems(connection.execute)
        finally:
            connection.close()
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        # The second is SQLite's own message, which quotes what is no text any more.
        return [str(error)]
    return [row for row in rows if row != "ok"]


def search_damage(path: Path) -> str:
    """Where the index of full-text search differs from its texts; empty when nowhere, or when the file is too large to
    look. FTS5 looks only where it could write, so it is given a copy in memory, and nobody waits for it meanwhile.
    """
    source = sqlite3.connect(_read_only(path), uri=True)
    copy = sqlite3.connect(":memory:", isolation_level=None)
    try:
        size = source.execute("PRAGMA page_count").fetchone()[0] * source.execute("PRAGMA page_size").fetchone()[0]
        if size <= _COPY_BYTES_MAX:
            source.backup(copy)
            copy.execute("INSERT INTO search_text(search_text) VALUES('integrity-check')")
    except sqlite3.DatabaseError as error:
        return str(error)
    finally:
        copy.close()
        source.close()
    return ""


def schema_of(path: Path) -> int:
    """The schema number of a file that no server has open."""
    connection = sqlite3.connect(_read_only(path), uri=True)
    try:
        return int(connection.execute("SELECT version FROM schema_version").fetchone()[0])
    finally:
        connection.close()
