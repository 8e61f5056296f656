"""`Tx`: what a use case gets to read and write with, inside one transaction.

Plain SQL goes through Pony's own connection with `?` for values (each dialect's marker is put in here). After the
commit, and only then, what was asked for with `after` runs: waking waits, telling the board.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from relaybay.domain import Outcome
from relaybay.store.subjects import subjects_of

Row = tuple[Any, ...]


class Tx:
    """One unit's view of the store. `now` is the time at which the unit began (microseconds since the epoch)."""

    def __init__(self, connection: Any, now: int, marker: str = "?", model: Any = None) -> None:
        self._cursor = connection.cursor()
        self._model = model
        self._marker = marker
        self.now = now
        self.touched: set[int] = set()
        self.events: list[tuple[str, dict[str, Any]]] = []
        self._after: list[Callable[[], None]] = []
        self._traces: list[Callable[[Tx], None]] = []

    def _execute(self, sql: str, values: Sequence[Any]) -> None:
        if self._marker != "?":
            sql = sql.replace("?", self._marker)
        self._cursor.execute(sql, tuple(values))

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """All rows of a query."""
        self._execute(sql, values)
        return [tuple(row) for row in self._cursor.fetchall()]

    def row(self, sql: str, *values: Any) -> Row | None:
        """The first row of a query, or None."""
        self._execute(sql, values)
        found = self._cursor.fetchone()
        return None if found is None else tuple(found)

    def value(self, sql: str, *values: Any) -> Any:
        """The first column of the first row, or None."""
        found = self.row(sql, *values)
        return None if found is None else found[0]

    def dicts(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        """All rows of a query as dictionaries, by column name."""
        self._execute(sql, values)
        names = [column[0] for column in self._cursor.description]
        return [dict(zip(names, row, strict=True)) for row in self._cursor.fetchall()]

    def run(self, sql: str, *values: Any) -> int:
        """Carries out a statement; how many rows it met."""
        self._execute(sql, values)
        return int(self._cursor.rowcount)

    def insert(self, table: str, **values: Any) -> int:
        """Adds a row and gives its numeric key. Table and column names come from code, never from a caller."""
        names = ", ".join(values)
        marks = ", ".join(["?"] * len(values))
        self._execute(f"INSERT INTO {table} ({names}) VALUES ({marks}) RETURNING id", list(values.values()))  # noqa: S608
        return int(self._cursor.fetchone()[0])

    def update(self, table: str, key: int, **values: Any) -> None:
        """Sets columns of the row with this numeric key."""
        sets = ", ".join(f"{name} = ?" for name in values)
        self._execute(f"UPDATE {table} SET {sets} WHERE id = ?", [*values.values(), key])  # noqa: S608

    @property
    def model(self) -> Any:
        """Pony's entities (`tx.model.Project`), for reads and for units of the orm lane. The sql lane has none: there
        several units share one transaction, and Pony would keep for the next what was undone for the last.
        """
        assert self._model is not None, "Pony's entities belong to reads and to the orm lane"
        return self._model

    def emit(self, type_: str, **data: Any) -> None:
        """Adds an event to the feed. Events carry names, ids, marks and reasons, never a text or a hook id."""
        key = self.insert("event", type=type_, at_us=self.now, data=json.dumps(data, ensure_ascii=False))
        named = subjects_of(type_, data)
        if named:
            marks = ", ".join(["(?, ?)"] * len(named))
            values = [value for subject in named for value in (subject, key)]
            self._execute(f"INSERT INTO event_subject (subject, event_id) VALUES {marks}", values)  # noqa: S608
        self.events.append((type_, data))

    def touch(self, session_id: int | None) -> None:
        """Says that this row's mail, link or activity changed: what is kept in memory about it is looked up anew."""
        if session_id is not None:
            self.touched.add(session_id)

    def after(self, action: Callable[[], None]) -> None:
        """Runs `action` once the commit is on disk; never when it fails or the unit is undone."""
        self._after.append(action)

    def trace(self, write: Callable[[Tx], None]) -> None:
        """Something a refusal leaves behind all the same (SEND-13's Inbox entry, a used tool-use id)."""
        self._traces.append(write)

    def forget(self) -> None:
        """The unit was undone: so is everything that was to follow from it."""
        self.touched.clear()
        self.events.clear()
        self._after.clear()

    def finish(self, undo: Callable[[], None], result: Any) -> None:
        """Ends a unit: a refusal is undone whole, then leaves its traces (INV: a refused call changes nothing)."""
        traces, self._traces = self._traces, []
        if isinstance(result, Outcome) and result.refusal is not None:
            undo()
            self.forget()
        for write in traces:
            write(self)

    def followers(self) -> list[Callable[[], None]]:
        """What `after` collected."""
        return list(self._after)
