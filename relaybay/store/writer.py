"""The one thread that writes: takes what waits in its queue, carries it out, commits, answers.

The *sql* units that wait share one transaction and one commit, each in a SAVEPOINT of its own (group commit). An *orm*
unit, which touches Pony's entities, has a transaction alone, since a savepoint does not undo Pony's identity map
(measured: an undone entity was committed). A caller gets its answer when the commit is on disk, not before.
"""

from __future__ import annotations

import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal

from pony.orm import Database, commit, db_session, rollback

from relaybay.errors import SearchDamaged, StoreDamaged, StoreError, StoreUnavailable
from relaybay.specs import limit
from relaybay.store import search, sqlite
from relaybay.store.transaction import Tx

Lane = Literal["sql", "orm"]
log = logging.getLogger(__name__)


@dataclass(slots=True)
class Unit:
    """One use case and whoever waits for it."""

    work: Callable[[Tx], Any]
    lane: Lane
    future: Future[Any]


@dataclass(slots=True)
class _Done:
    """A unit after its turn: on disk with its result, or undone with the error that ended it."""

    unit: Unit
    tx: Tx
    result: Any = None
    error: BaseException | None = None


class Writer:
    """The thread and its queue. `on_commit` runs in it after each commit, `on_end` when it is over."""

    def __init__(
        self,
        db: Database,
        clock: Callable[[], int],
        on_commit: Callable[[Sequence[Tx]], None],
        on_end: Callable[[], None],
    ) -> None:
        self._db = db
        self._clock = clock
        self._on_commit = on_commit
        self._on_end = on_end
        self._units: queue.SimpleQueue[Unit | None] = queue.SimpleQueue()
        self._door = threading.Lock()
        self._closed = False
        self._failed: StoreError | None = None
        self._thread = threading.Thread(target=self._loop, name="writer", daemon=True)
        self._thread.start()

    def put(self, unit: Unit) -> None:
        """Queues a unit. Its future fails at once when the writer is closed or has failed."""
        with self._door:
            if not self._closed and not self._failed:
                self._units.put(unit)
                return
        unit.future.set_exception(self._failed or StoreUnavailable("the store is closed"))

    def close(self) -> None:
        """Carries out what is queued and ends. Safe to call twice."""
        with self._door:
            if not self._closed:
                self._closed = True
                self._units.put(None)
        self._thread.join()

    def _loop(self) -> None:
        carried: Unit | None = None
        closing = False
        try:
            while not closing or carried is not None:
                group, carried, closing = self._next_group(carried, closing=closing)
                # A caller that gave up while it stood in the queue is left out; from here on nobody can give up.
                group = [unit for unit in group if unit.future.set_running_or_notify_cancel()]
                if group:
                    self._carry_out(group)
        finally:
            self._on_end()
            self._db.disconnect()

    def _next_group(self, carried: Unit | None, *, closing: bool) -> tuple[list[Unit], Unit | None, bool]:
        """The units of the next transaction, one that waits for the transaction after, and whether that is all."""
        unit = carried or self._units.get()
        if unit is None:
            return [], None, True
        group = [unit]
        while not closing and unit.lane == "sql" and len(group) < limit("group_commit_units_max"):
            try:
                following = self._units.get_nowait()
            except queue.Empty:
                break
            if following is None:
                return group, None, True
            if following.lane != "sql":
                return group, following, False
            group.append(following)
        return group, None, closing

    def _carry_out(self, group: list[Unit]) -> None:
        done: list[_Done] = []
        if self._failed is not None:
            self._fail(group, self._failed)
            return
        try:
            with db_session(immediate=True):
                connection = self._db.get_connection()
                for unit in group:
                    tx = Tx(connection, self._clock(), model=self._db if unit.lane == "orm" else None)
                    done.append(self._one(unit, tx))
                commit()
        except Exception as error:  # noqa: BLE001 - the whole group failed; each caller hears of it.
            self._fail(group, error)
            return
        self._tell(done)

    def _one(self, unit: Unit, tx: Tx) -> _Done:
        """One unit of a group. What the store itself is in trouble with is raised, and ends the group."""
        try:
            result = self._run_alone(unit, tx) if unit.lane == "orm" else _run_saved(unit, tx)
        except StoreDamaged as error:
            # What this unit met in the file; the others of its group may not have.
            return _Done(unit, tx, error=error)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - it is handed to the caller, whose unit it was.
            return _Done(unit, tx, error=error)
        return _Done(unit, tx, result)

    def _run_alone(self, unit: Unit, tx: Tx) -> Any:
        def undo() -> None:
            rollback()
            # What a refusal leaves behind needs a transaction again; the connection is the same one.
            self._db.get_connection()

        try:
            result = unit.work(tx)
            tx.finish(undo, result)
            commit()
        except Exception as error:
            rollback()
            tx.forget()
            named = sqlite.named(error)
            if named is not None:
                raise named from error
            raise
        return result

    def _fail(self, group: list[Unit], error: Exception) -> None:
        named = error if isinstance(error, StoreError) else sqlite.named(error)
        cause = error.__cause__
        short = isinstance(cause, MemoryError) and self._search_fails()
        if sqlite.search_is_damaged(error) or isinstance(cause, SearchDamaged) or short:
            self._mend_search(error)
        elif sqlite.ends_all(error) and self._failed is None:
            # After a failed write or fsync nobody knows what is on disk: stop, rather than promise (FLT-4).
            self._failed = StoreUnavailable(f"the store has stopped after: {named}")
        log.error("a commit failed: %s", error)
        for unit in group:
            unit.future.set_exception(named or error)

    def _search_fails(self) -> bool:
        """Whether it is the index for which there was not enough memory, and not the machine that is short of it."""
        try:
            with db_session(immediate=True):
                return search.fails(Tx(self._db.get_connection(), self._clock()))
        except Exception:
            log.exception("a look at the search index failed")
            return False

    def _mend_search(self, found: Exception) -> None:
        """Makes the index of full-text search anew: it follows from the texts, and is no reason to take no more. Those
        whose commit went with it hear that nothing of theirs is stored.
        """
        log.warning("the search index is damaged and is made anew: %s", found)
        try:
            with db_session(immediate=True):
                search.rebuild(Tx(self._db.get_connection(), self._clock()))
                commit()
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing more may be promised.
            self._failed = StoreUnavailable(f"the search index is damaged and can't be made anew: {error}")

    def _tell(self, done: list[_Done]) -> None:
        try:
            self._on_commit([one.tx for one in done])
        except Exception:
            # What is kept in memory is then behind, never wrong on disk; the callers' answers still stand.
            log.exception("after a commit")
        for one in done:
            for action in one.tx.followers():
                try:
                    action()
                except Exception:
                    # The unit is on disk: its caller must hear so, and the writer has to live on.
                    log.exception("after a unit")
            if one.error is not None:
                one.unit.future.set_exception(one.error)
            else:
                one.unit.future.set_result(one.result)


def _run_saved(unit: Unit, tx: Tx) -> Any:
    """A unit in its savepoint: undone alone when it fails or is refused, whatever the others of its group do."""
    tx.run("SAVEPOINT unit")

    def undo() -> None:
        tx.run("ROLLBACK TO SAVEPOINT unit")

    try:
        result = unit.work(tx)
        tx.finish(undo, result)
        tx.run("RELEASE SAVEPOINT unit")
    except Exception as error:
        named = sqlite.named(error)
        if named is not None:
            raise named from error
        tx.forget()
        try:
            undo()
            tx.run("RELEASE SAVEPOINT unit")
        except sqlite3.Error as gone:
            # SQLite has ended the transaction by itself, and with it what the units before had done.
            raise StoreUnavailable(f"the transaction is gone: {error} ({gone})") from error
        raise
    return result
