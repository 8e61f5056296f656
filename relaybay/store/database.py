"""The only module that opens a connection: bind, pragmas, the lock on the folder, the writer's thread and the readers.

Readers have connections that cannot write, and each read is one snapshot. Pony's queries run there too, on the same
connection and in the same snapshot. How writes are carried out is `writer.py`.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout
from pony.orm import Database, db_session

from relaybay.errors import SearchDamaged, StoreDamaged, StoreLocked, StoreNewer, StoreReadOnly, StoreUnavailable
from relaybay.specs import limit
from relaybay.store import entities, events, migrations, seals, search, sqlite
from relaybay.store.mark import Mark, file_of, kept, newest, promised
from relaybay.store.transaction import Tx
from relaybay.store.writer import Lane, Unit, Writer

T = TypeVar("T")
#: What code runs into that was given values which nothing can have written. Then the file is looked at.
_ODD = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
_LOOK_SECONDS = 60.0
log = logging.getLogger(__name__)


class Committed:
    """What one commit changed: rows touched and events emitted; told to `on_commit` in the writer thread."""

    def __init__(self) -> None:
        self.touched: set[int] = set()
        self.events: list[tuple[str, dict[str, Any]]] = []


class Store:
    """One database: SQLite file `path`. `clock` gives microseconds; `on_commit` hears of every commit.

    Raises StoreLocked when another server has the folder, StoreDamaged, StoreNewer, StoreReadOnly, StoreFull,
    StoreUnavailable.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], int],
        on_commit: Callable[[Committed, Tx], None] | None = None,
    ) -> None:
        # Absolute, or Pony would look for it beside its caller's file, and the lock would stand somewhere else.
        self.path = path.absolute()
        self.on_commit = on_commit
        self._clock = clock
        # Whichever thread opens or closes the store, it is the process that holds the folder.
        self._lock = FileLock(self.path.parent / "lock", mode=0o600, thread_local=False)
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._opened_lock = threading.Lock()
        self._take_folder()
        self._mark = Mark(self.path)
        self._looked = (float("-inf"), "")
        self._mending: Future[None] | None = None
        try:
            self.db: Database = entities.define()
            self.db.on_connect(provider="sqlite")(lambda _db, connection: sqlite.prepare(connection))
            self._bind()
        except BaseException:
            self._lock.release()
            raise
        self._readers = ThreadPoolExecutor(limit("reader_threads"), thread_name_prefix="reader")
        self._writer = Writer(self.db, clock, self._committed, self._close_readers)

    # -- opening ---------------------------------------------------------------------------------------------

    def _take_folder(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise StoreLocked(str(self.path.parent)) from None
        except OSError as error:
            raise sqlite.named_file_error(error) from error

    def _bind(self) -> None:
        try:
            self._look_first()
            self.db.bind(provider="sqlite", filename=str(self.path), create_db=True, timeout=sqlite.BUSY_MS / 1000)
            with db_session(immediate=True):
                self._migrate(Tx(self.db.get_connection(), self._clock()))
            self.db.generate_mapping(create_tables=False, check_tables=True)
        except OSError as error:
            raise sqlite.named_file_error(error) from error
        except UnicodeDecodeError as error:
            # What SQLite quotes of the schema in its message is no text any more.
            raise StoreUnavailable(f"the database is damaged: {error}") from error
        except Exception as error:
            named = sqlite.named(error)
            if named is None:
                raise
            raise named from error
        finally:
            # Pony's connections belong to threads, and this thread writes no more.
            if self.db.provider is not None:
                self.db.disconnect()

    def _look_first(self) -> None:
        """Before a connection that can write is opened, looks whether the file has what was acknowledged from it: what
        is found damaged is left as it is (FLT-8).
        """
        promise = promised(self.path)
        there = self.path.exists() and self.path.stat().st_size > 0
        if promise is not None and not there:
            raise StoreDamaged(str(file_of(self.path)))
        if sqlite.orphaned(self.path):
            raise StoreUnavailable(sqlite.ORPHANED)
        sqlite.make_private(self.path)
        if not there:
            return
        if promise is None:
            sqlite.roll_back(self.path)
        connection = sqlite.reader(self.path)
        try:
            fault = sqlite.schema_fault(connection)
            if fault:
                raise StoreUnavailable(fault)
            if promise is not None and not kept(connection, promise):
                raise StoreDamaged(str(file_of(self.path)))
            # An index is made anew, which writes: not into a file that is damaged elsewhere, too.
            found = sqlite.problems(self.path) if search.fails(Tx(connection, self._clock())) else []
            if found:
                raise StoreUnavailable(f"the database is damaged: {'; '.join(found[:3])}")
        finally:
            connection.close()

    def _migrate(self, tx: Tx) -> None:
        """Brings the schema up to date in the one transaction of `tx`: killed at any step, the file is as it was."""
        tx.run("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
        have = tx.value("SELECT version FROM schema_version")
        steps = migrations.STEPS
        if have is None:
            have = 0
            tx.run("INSERT INTO schema_version (version) VALUES (0)")
        if have > len(steps):
            raise StoreNewer(f"schema {have}, this program knows {len(steps)}")
        if 0 < have < len(steps):
            self._back_up_first(have)
        for number in range(have, len(steps)):
            for statement in steps[number]:
                tx.run(statement.format(**sqlite.WORDS))
            tx.run("UPDATE schema_version SET version = ?", number + 1)
        if 0 < have < migrations.SEALED:
            seals.fill(tx)
            events.fill(tx)
        # A copy that was put in the database's place: from here on it changes.
        tx.run(f"DROP TABLE IF EXISTS {seals.COPY_SEAL}")

    def _back_up_first(self, have: int) -> None:
        """Keeps the file, as the older program left it, beside the new one. It gets its name when it is whole."""
        kept = self.path.with_name(f"{self.path.stem}.schema-{have}{self.path.suffix}")
        aside = kept.with_name(f".{kept.name}")
        aside.unlink(missing_ok=True)
        aside.touch(mode=0o600)
        sqlite.back_up(self.path, aside)
        aside.replace(kept)
        log.info("the database as it was before the new schema is kept as %s", kept)

    # -- writing ---------------------------------------------------------------------------------------------

    def submit(self, work: Callable[[Tx], T], lane: Lane = "sql") -> Future[T]:
        """Queues one use case for the writer thread. The future is done when its commit is on disk.

        Cancelled before the writer took it up, the use case is left out; afterwards it can't be cancelled any more.
        """
        future: Future[T] = Future()
        self._writer.put(Unit(self._telling(work), lane, future))
        return future

    def _telling(self, work: Callable[[Tx], T]) -> Callable[[Tx], T]:
        """The same work. A fault in it that a damaged file explains is told as that, and is none of ours (FLT-8)."""

        def told(tx: Tx) -> T:
            try:
                return work(tx)
            except _ODD as error:
                damage = self._damage()
                if not damage:
                    raise
                raise StoreDamaged(damage) from error

        return told

    def _damage(self) -> str:
        """What is wrong with the file, empty when nothing is. A look takes a while: its answer is kept."""
        at, said = self._looked
        if time.monotonic() - at > _LOOK_SECONDS:
            said = "; ".join(sqlite.problems(self.path)[:3])
            self._looked = (time.monotonic(), said)
        return said

    def write(self, work: Callable[[Tx], T], lane: Lane = "sql") -> T:
        """As `submit`, and waits."""
        return self.submit(work, lane).result()

    def _committed(self, done: Sequence[Tx]) -> None:
        news = Committed()
        found = newest(self._connection()) if any(tx.events for tx in done) else None
        if found is not None:
            self._mark.write(found)
        for tx in done:
            news.touched |= tx.touched
            news.events += tx.events
        if self.on_commit is not None and (news.touched or news.events):
            self.on_commit(news, Tx(self._connection(), self._clock()))

    # -- reading ---------------------------------------------------------------------------------------------

    def _connection(self) -> sqlite3.Connection:
        """This thread's own for reading: Pony would open a write transaction even for a query in plain SQL."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = sqlite.reader(self.path)
            with self._opened_lock:
                self._opened.append(connection)
        return connection

    def _read(self, work: Callable[[Tx], T]) -> T:
        connection, pool = self._connection(), self.db.provider.pool
        # Pony takes a thread's connection out of its pool. With this one in there its queries see the same snapshot.
        pool.con, pool.pid = connection, os.getpid()
        try:
            connection.execute("BEGIN")
            with db_session:
                return self._telling(work)(Tx(connection, self._clock(), model=self.db))
        except Exception as error:
            # A damaged file is found by whoever reads it first, and must not look like a fault of ours (FLT-8).
            if sqlite.search_is_damaged(error):
                self._mend_search()
                raise SearchDamaged(f"the search index: {error}") from error
            named = sqlite.named(error)
            if named is None or isinstance(named, StoreReadOnly):
                raise  # A query that writes is a fault of ours.
            raise named from error
        finally:
            if pool.con is not connection:
                # After an error of the database Pony has closed it.
                self._local.connection = None
            elif connection.in_transaction:
                connection.execute("ROLLBACK")

    def _mend_search(self) -> None:
        """Has the index of full-text search made anew, once for all who meet the damage meanwhile."""
        with self._opened_lock:
            if self._mending is None or self._mending.done():
                log.warning("the search index is damaged and is made anew")
                self._mending = self.submit(search.rebuild)

    def submit_read(self, work: Callable[[Tx], T]) -> Future[T]:
        """Runs a query in one snapshot on a reader thread."""
        try:
            return self._readers.submit(self._read, work)
        except RuntimeError:
            future: Future[T] = Future()
            future.set_exception(StoreUnavailable("the store is closed"))
            return future

    def read(self, work: Callable[[Tx], T]) -> T:
        """As `submit_read`, and waits."""
        return self.submit_read(work).result()

    # -- closing ---------------------------------------------------------------------------------------------

    def _close_readers(self) -> None:
        """Before the writer's own connection goes: the last to close has to be able to put the log into the file."""
        for connection in self._opened:
            connection.close()

    def close(self) -> None:
        """Carries out what is queued, then lets the folder go. Safe to call twice."""
        self._readers.shutdown()
        self._writer.close()
        self._mark.close()
        self._lock.release()
