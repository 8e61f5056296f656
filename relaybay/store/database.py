"""The only module that opens a connection: bind, pragmas, the writer thread with group commit, readers, the lock.

One thread writes. It takes what waits in its queue, up to a bound, carries the *sql* units out in one transaction, each
in a SAVEPOINT of its own, and commits once (group commit); an *orm* unit, which touches Pony entities, runs in a
transaction alone, since a savepoint does not undo Pony's identity map (measured: an undone entity was committed).
A caller gets its answer when the commit is on disk, not before.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from filelock import FileLock, Timeout
from pony.orm import Database, OrmError, commit, db_session, rollback

from relaybay.domain import Outcome
from relaybay.errors import StoreError, StoreLocked, StoreNewer, StoreReadOnly, StoreUnavailable
from relaybay.specs import limit
from relaybay.store import entities, sqlite
from relaybay.store.migrations import STEPS
from relaybay.store.transaction import Tx

T = TypeVar("T")
Lane = Literal["sql", "orm"]
log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Unit:
    work: Callable[[Tx], Any]
    lane: Lane
    future: Future[Any]


class Committed:
    """What one commit changed: rows touched and events emitted; told to `on_commit` in the writer thread."""

    def __init__(self) -> None:
        self.touched: set[int] = set()
        self.events: list[tuple[str, dict[str, Any]]] = []


class Store:
    """One database: SQLite file `path`. `clock` gives microseconds; `on_commit` hears of every commit.

    Raises StoreLocked when another server has the folder, StoreNewer, StoreReadOnly, StoreFull.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], int],
        on_commit: Callable[[Committed, Tx], None] | None = None,
    ) -> None:
        self.path = path
        self._clock = clock
        self.on_commit = on_commit
        self._lock = FileLock(path.parent / "lock", mode=0o600)
        self._units: queue.SimpleQueue[_Unit | None] = queue.SimpleQueue()
        self._local = threading.local()
        self._opened: list[Any] = []
        self._opened_lock = threading.Lock()
        self._closed = False
        self._failed: StoreError | None = None
        self._take_folder()
        try:
            self.db: Database = entities.define()
            self.db.on_connect(provider="sqlite")(lambda _db, connection: sqlite.prepare(connection))
            self._bind()
        except BaseException:
            self._lock.release()
            raise
        self._readers = ThreadPoolExecutor(limit("reader_threads"), thread_name_prefix="reader")
        self._writer = threading.Thread(target=self._write_loop, name="writer", daemon=True)
        self._writer.start()

    # -- opening ---------------------------------------------------------------------------------------------

    def _take_folder(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise StoreLocked(str(self.path.parent)) from None
        except OSError as error:
            raise StoreReadOnly(f"{self.path.parent}: {error.strerror}") from error

    def _bind(self) -> None:
        try:
            self.path.touch(mode=0o600)
            self.db.bind(provider="sqlite", filename=str(self.path), create_db=True, timeout=sqlite.BUSY_MS / 1000)
            with db_session(immediate=True):
                self._migrate(Tx(self.db.get_connection(), self._clock()))
            self.db.generate_mapping(create_tables=False, check_tables=True)
        except StoreError:
            raise
        except Exception as error:
            raise sqlite.named(error) or error from error

    def _migrate(self, tx: Tx) -> None:
        tx.run("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
        have = tx.value("SELECT version FROM schema_version")
        if have is None:
            have = 0
            tx.run("INSERT INTO schema_version (version) VALUES (0)")
        if have > len(STEPS):
            raise StoreNewer(f"schema {have}, this program knows {len(STEPS)}")
        for number in range(have, len(STEPS)):
            for statement in STEPS[number]:
                tx.run(statement.format(**sqlite.WORDS))
            tx.run("UPDATE schema_version SET version = ?", number + 1)

    # -- writing ---------------------------------------------------------------------------------------------

    def submit(self, work: Callable[[Tx], T], lane: Lane = "sql") -> Future[T]:
        """Queues one use case for the writer thread. The future is done when its commit is on disk."""
        future: Future[T] = Future()
        if self._closed or self._failed:
            future.set_exception(self._failed or StoreUnavailable("the store is closed"))
        else:
            self._units.put(_Unit(work, lane, future))
        return future

    def write(self, work: Callable[[Tx], T], lane: Lane = "sql") -> T:
        """As `submit`, and waits."""
        return self.submit(work, lane).result()

    def _write_loop(self) -> None:
        most = limit("group_commit_units_max")
        carried: _Unit | None = None
        while True:
            unit = carried or self._units.get()
            carried = None
            if unit is None:
                break
            group = [unit]
            while unit.lane == "sql" and len(group) < most:
                try:
                    following = self._units.get_nowait()
                except queue.Empty:
                    break
                if following is None or following.lane != "sql":
                    carried = following
                    if following is None:
                        self._units.put(None)
                    break
                group.append(following)
            self._carry_out(group)

    def _carry_out(self, group: list[_Unit]) -> None:
        done: list[tuple[_Unit, Any, BaseException | None, Tx]] = []
        try:
            with db_session(immediate=True):
                connection = self.db.get_connection()
                for unit in group:
                    tx = Tx(connection, self._clock())
                    try:
                        result = self._run_alone(unit, tx) if unit.lane == "orm" else self._run_saved(unit, tx)
                    except StoreError:
                        raise
                    except Exception as error:  # noqa: BLE001 - it is handed to the caller, whose unit it was.
                        done.append((unit, None, error, tx))
                    else:
                        done.append((unit, result, None, tx))
                commit()
        except Exception as error:  # noqa: BLE001 - the whole group failed; each caller hears of it.
            self._fail(group, error)
            return
        self._tell(done)

    def _run_saved(self, unit: _Unit, tx: Tx) -> Any:
        tx.run("SAVEPOINT unit")

        def undo() -> None:
            tx.run("ROLLBACK TO SAVEPOINT unit")

        try:
            result = unit.work(tx)
            tx.finish(undo, result)
        except Exception as error:
            named = sqlite.named(error)
            if named is not None:
                raise named from error
            undo()
            tx.run("RELEASE SAVEPOINT unit")
            tx.forget()
            raise
        tx.run("RELEASE SAVEPOINT unit")
        return result

    def _run_alone(self, unit: _Unit, tx: Tx) -> Any:
        try:
            result = unit.work(tx)
            if isinstance(result, Outcome) and result.refusal is not None:
                rollback()
            tx.finish(lambda: None, result)
        except Exception as error:
            rollback()
            tx.forget()
            raise sqlite.named(error) or error from error
        return result

    def _fail(self, group: list[_Unit], error: BaseException) -> None:
        cause: BaseException = error
        if isinstance(error, OrmError) and error.__cause__ is not None:
            cause = error.__cause__
        named = cause if isinstance(cause, StoreError) else sqlite.named(cause)
        if isinstance(named, StoreUnavailable):
            # After a failed write or fsync nobody knows what is on disk: stop, rather than promise (FLT-4).
            self._failed = named
        log.error("a commit failed: %s", error)
        for unit in group:
            unit.future.set_exception(named or error)

    def _tell(self, done: list[tuple[_Unit, Any, BaseException | None, Tx]]) -> None:
        news = Committed()
        for _unit, _result, _error, tx in done:
            news.touched |= tx.touched
            news.events += tx.events
        if self.on_commit is not None and (news.touched or news.events):
            try:
                self.on_commit(news, self._reading())
            except Exception:
                # What is kept in memory is then behind, never wrong on disk; the callers' answers still stand.
                log.exception("after a commit")
        for unit, result, error, tx in done:
            for action in tx.followers():
                action()
            if error is not None:
                unit.future.set_exception(error)
            else:
                unit.future.set_result(result)

    # -- reading ---------------------------------------------------------------------------------------------

    def _reading(self) -> Tx:
        # Pony opens a write transaction for raw SQL, so readers have connections of their own, which cannot write.
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = sqlite.reader(self.path)
            with self._opened_lock:
                self._opened.append(connection)
        return Tx(connection, self._clock())

    def _read(self, work: Callable[[Tx], T]) -> T:
        tx = self._reading()
        tx.run("BEGIN")
        try:
            return work(tx)
        finally:
            tx.run("ROLLBACK")

    def submit_read(self, work: Callable[[Tx], T]) -> Future[T]:
        """Runs a query in one snapshot on a reader thread."""
        if self._closed:
            future: Future[T] = Future()
            future.set_exception(StoreUnavailable("the store is closed"))
            return future
        return self._readers.submit(self._read, work)

    def read(self, work: Callable[[Tx], T]) -> T:
        """As `submit_read`, and waits."""
        return self.submit_read(work).result()

    # -- closing ---------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Carries out what is queued, then lets the folder go. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        self._units.put(None)
        self._writer.join()
        self._readers.shutdown()
        for connection in self._opened:
            connection.close()
        self.db.disconnect()
        self._lock.release()
