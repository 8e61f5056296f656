"""Which rows of which machine the running code asked: counted where `machines.base.step` looks a row up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from relaybay import specs
from relaybay.machines import base

Pair = tuple[str, str, str]


def table_of(machine: type[base.Machine]) -> str:
    """The table's name of a machine's class."""
    return machine.__name__.lower()


class Pairs:
    """(machine, state, event) and (machine, state, event, guard) → how often it was asked."""

    def __init__(self) -> None:
        self.pairs: Counter[Pair] = Counter()
        self.rows: Counter[tuple[str, str, str, str]] = Counter()
        self.spec_ids: set[str] = set()

    def missing(self) -> list[Pair]:
        """Pairs of the tables that were never asked and are not marked `never_asked` in every row."""
        return sorted(set(asked()) - set(self.pairs))

    def missing_rows(self) -> list[tuple[str, str, str, str]]:
        """The same for rows."""
        return sorted(set(rows_asked()) - set(self.rows))

    def wrongly_marked(self) -> list[tuple[str, str, str, str]]:
        """Rows that were asked, though the table says that no caller does."""
        return sorted(set(self.rows) - set(rows_asked()))


def asked() -> list[Pair]:
    """Every pair that some caller asks for, by the tables."""
    return sorted({(name, state, event) for name, state, event, _ in rows_asked()})


def rows_asked() -> list[tuple[str, str, str, str]]:
    """Every row, state by state, that some caller asks for, by the tables."""
    return [
        (name, state, row.event, row.when)
        for name, table in specs.machines().items()
        for row in table.rows
        if not row.never_asked
        for state in row.states
    ]


@contextmanager
def counting(into: Pairs) -> Iterator[Pairs]:
    """Counts every step that any code takes inside the block, in whatever thread. `step` itself stays as it is."""
    remembered = base._step

    def counted(machine: type[base.Machine], state: str, event: str, facts: frozenset[tuple[str, bool]]) -> Any:
        result = remembered(machine, state, event, facts)
        guard, row = base.find_row(machine, state, event, dict(facts))
        name = table_of(machine)
        into.pairs[name, state, event] += 1
        into.rows[name, state, event, guard] += 1
        into.spec_ids.add(row.spec_id)
        return result

    base._step = counted  # type: ignore[assignment]
    try:
        yield into
    finally:
        base._step = remembered
