"""Changes one cell of a table at a time, in memory, and tells by enumeration whether the changed table says the same.

A changed table keeps the shape that the reader demands (a move has a next state, values lie in their domains), so that
nothing but its meaning can give it away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from relaybay import specs
from relaybay.machines.base import literals
from tests.conformance import compare

Table = TypeVar("Table", specs.MachineSpec, specs.DecisionSpec)
OTHER = "another"
"""A word that no table has: put in where a table knows no second id, outcome, answer or effect."""


@dataclass(frozen=True)
class Mutant(Generic[Table]):
    """A table with one change, and what was changed, in words. `events` are those that a machine's change touches,
    `rows` the rows of a decision that are different now, as they were and as they are.
    """

    what: str
    table: Table
    events: tuple[str, ...] = ()
    rows: tuple[specs.DecisionRow, ...] = ()


def _next_of(value: str, known: Iterable[str]) -> str:
    """Another value of the same column, the one that stands behind it; of a column with one value a foreign word."""
    column = sorted(set(known) | {value})
    after = column[(column.index(value) + 1) % len(column)]
    return after if after != value else OTHER


def _with(rows: Sequence[Any], at: int, *instead: Any) -> tuple[Any, ...]:
    return (*rows[:at], *instead, *rows[at + 1 :])


def _swapped(rows: Sequence[Any], one: int, two: int) -> tuple[Any, ...]:
    order = list(rows)
    order[one], order[two] = order[two], order[one]
    return tuple(order)


# --- machines ---


def _kinds_and_targets(row: specs.MachineRow, states: Sequence[str]) -> Iterator[tuple[str, specs.MachineRow]]:
    if row.kind == "move":
        yield "kind", replace(row, kind="repeat", next="")
        yield "kind", replace(row, kind="refuse", next="")
        for state in states:
            if state != row.next:
                yield f"next {state}", replace(row, next=state)
    else:
        yield "kind", replace(row, kind="refuse" if row.kind == "repeat" else "repeat")
        for state in states:
            yield f"kind, next {state}", replace(row, kind="move", next=state)


def _guard(parts: Iterable[tuple[str, bool]]) -> str:
    return " and ".join(name if wanted else f"not {name}" for name, wanted in parts)


def _guards(row: specs.MachineRow, facts: Iterable[str]) -> Iterator[tuple[str, specs.MachineRow]]:
    """Each fact of the guard negated and left out, and each fact that it has not added both ways."""
    parts = literals(row.when)
    for at, (name, wanted) in enumerate(parts):
        yield f"guard: {name} negated", replace(row, when=_guard(_with(parts, at, (name, not wanted))))
        yield f"guard: {name} left out", replace(row, when=_guard(_with(parts, at)))
    for name in facts:
        if name not in dict(parts):
            for wanted in (True, False):
                yield f"guard: {name} = {wanted} added", replace(row, when=_guard((*parts, (name, wanted))))


def _states(row: specs.MachineRow, states: Sequence[str]) -> Iterator[tuple[str, specs.MachineRow]]:
    for state in states:
        if state not in row.states:
            yield f"state {state} added", replace(row, states=(*row.states, state))
        elif len(row.states) > 1:
            yield f"state {state} left out", replace(row, states=tuple(s for s in row.states if s != state))


def _effects(row: specs.MachineRow, known: Iterable[str]) -> Iterator[tuple[str, specs.MachineRow]]:
    effects = row.effects
    for at, effect in enumerate(effects):
        yield f"effect {effect} left out", replace(row, effects=_with(effects, at))
        yield f"effect {effect} changed", replace(row, effects=_with(effects, at, _next_of(effect, known)))
    for at in range(len(effects) - 1):
        yield f"effects {at}, {at + 1} swapped", replace(row, effects=_swapped(effects, at, at + 1))
    yield "effect added", replace(row, effects=(*effects, OTHER))


def _words(row: Any, column: str, rows: Iterable[Any], *, may_be_empty: bool) -> Iterator[tuple[str, Any]]:
    """The cell changed to another of its column, and emptied."""
    value = getattr(row, column)
    known = {getattr(r, column) for r in rows} - {""}
    yield f"{column} changed", replace(row, **{column: _next_of(value, known)})
    if value and may_be_empty:
        yield f"{column} emptied", replace(row, **{column: ""})


def machine_mutants(table: specs.MachineSpec) -> Iterator[Mutant[specs.MachineSpec]]:
    rows = table.rows
    all_effects = {effect for row in rows for effect in row.effects}
    for at, row in enumerate(rows):
        changed = [
            *_kinds_and_targets(row, table.states),
            *_guards(row, table.facts),
            *_states(row, table.states),
            *_effects(row, all_effects),
            *_words(row, "id", rows, may_be_empty=False),
            *_words(row, "answer", rows, may_be_empty=True),
        ]
        where = f"{table.name} row {at + 1} ({row.id}, {row.event})"
        for what, other in changed:
            yield Mutant(f"{where}: {what}", replace(table, rows=_with(rows, at, other)), (row.event,))
        yield Mutant(f"{where}: left out", replace(table, rows=_with(rows, at)), (row.event,))
        second = _next_of(row.event, table.events)
        moved = replace(table, rows=_with(rows, at, replace(row, event=second)))
        yield Mutant(f"{where}: event {second}", moved, (row.event, second))
        for below in range(at + 1, len(rows)):
            if rows[below].event == row.event and set(rows[below].states) & set(row.states):
                swapped = replace(table, rows=_swapped(rows, at, below))
                yield Mutant(f"{where}: swapped with row {below + 1}", swapped, (row.event,))
                break


def same_machine(table: specs.MachineSpec, mutant: Mutant[specs.MachineSpec]) -> bool:
    """Whether both tables say the same of every state and every combination of the facts that either of them names."""
    other = mutant.table
    for event in mutant.events:
        for state in table.states:
            names = dict.fromkeys(compare.used_facts(table, state, event) + compare.used_facts(other, state, event))
            for facts in compare.valuations(table, names):
                was = compare.meaning(compare.first_row(table, state, event, facts), state)
                if was != compare.meaning(compare.first_row(other, state, event, facts), state):
                    return False
    return True


# --- decisions ---


def _whens(row: specs.DecisionRow, inputs: dict[str, tuple[Any, ...]]) -> Iterator[tuple[str, specs.DecisionRow]]:
    """Each allowed value taken out, each other one let in, a single one exchanged for each; an input let go, or bound."""
    for name, domain in inputs.items():
        allowed = row.when.get(name, domain)
        outside = [value for value in domain if value not in allowed]
        others = {f"with {new}": (*allowed, new) for new in outside}
        if len(allowed) > 1:
            others |= {f"without {value}": tuple(v for v in allowed if v != value) for value in allowed}
        else:
            others |= {f"{new} for {allowed[0]}": (new,) for new in outside}
        for what, values in others.items():
            yield f"{name} {what}", replace(row, when=row.when | {name: values})
        if outside:
            yield f"{name} let go", replace(row, when={n: v for n, v in row.when.items() if n != name})


def decision_mutants(table: specs.DecisionSpec) -> Iterator[Mutant[specs.DecisionSpec]]:
    rows = table.rows
    for at, row in enumerate(rows):
        changed = [
            *_whens(row, table.inputs),
            *_words(row, "id", rows, may_be_empty=False),
            *_words(row, "outcome", rows, may_be_empty=False),
            *_words(row, "answer", rows, may_be_empty=True),
        ]
        where = f"{table.name} row {at + 1} ({row.id})"
        for what, other in changed:
            yield Mutant(f"{where}: {what}", replace(table, rows=_with(rows, at, other)), rows=(row, other))
        yield Mutant(f"{where}: left out", replace(table, rows=_with(rows, at)), rows=(row,))
        if at + 1 < len(rows):
            swapped = replace(table, rows=_swapped(rows, at, at + 1))
            yield Mutant(f"{where}: swapped with the next", swapped, rows=(row, rows[at + 1]))


def _says(table: specs.DecisionSpec, combination: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What the first row says; under the hit policy *unique* what each row says, for a second one is against it."""
    rows = compare.applying(table, combination)
    return sorted((r.id, r.outcome, r.answer) for r in (rows[:1] if table.hit == "first" else rows))


def touched(mutant: Mutant[specs.DecisionSpec], combinations: compare.Combinations) -> Iterator[dict[str, Any]]:
    """The combinations that a changed row met or meets; of every other one both tables say the same."""
    return (c for c in combinations if any(row.meets(c) for row in mutant.rows))


def same_decision(
    table: specs.DecisionSpec, mutant: Mutant[specs.DecisionSpec], combinations: compare.Combinations
) -> bool:
    """Whether both tables say the same of every combination."""
    return all(_says(table, c) == _says(mutant.table, c) for c in touched(mutant, combinations))
