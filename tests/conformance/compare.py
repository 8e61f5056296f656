"""The comparisons of a table with the code beside it. Each takes the table, so that a changed one can be put to it, too.

A comparison that finds a difference raises `AssertionError`, or the `KeyError` of a machine that was not given a fact
that its guards name. `test_machines.py` and `test_decisions.py` put the tables themselves to them,
`test_table_mutations.py` puts every table to them that differs in one cell.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any, get_args, get_origin, get_type_hints

from relaybay import specs
from relaybay.machines.base import Machine, literals, step


@cache
def load(path: str) -> Any:
    """The class or function that a table names, as `module:name`."""
    module, name = path.split(":")
    return getattr(import_module(module), name)


# --- machines ---


def used_facts(table: specs.MachineSpec, state: str, event: str) -> list[str]:
    names: dict[str, None] = {}
    for row in table.rows_of(state, event):
        names.update({name: None for name, _ in literals(row.when)})
    return list(names)


def valuations(table: specs.MachineSpec, names: Collection[str]) -> Iterator[dict[str, bool]]:
    """Every combination of these facts, less those that the table calls impossible."""
    for values in product((False, True), repeat=len(names)):
        facts = dict(zip(names, values, strict=True))
        for rule in table.impossible:
            pairs = literals(rule)
            if all(name in facts for name, _ in pairs) and all(facts[n] is w for n, w in pairs):
                break
        else:
            yield facts


def first_row(table: specs.MachineSpec, state: str, event: str, facts: dict[str, bool]) -> specs.MachineRow | None:
    for row in table.rows_of(state, event):
        if all(facts[name] is wanted for name, wanted in literals(row.when)):
            return row
    return None


def meaning(row: specs.MachineRow | None, state: str) -> tuple[Any, ...] | None:
    """All that a row says about a state, as `step` gives it."""
    if row is None:
        return None
    return row.id, row.kind, row.answer, row.effects, row.next if row.kind == "move" else state


def same_states_and_facts(table: specs.MachineSpec) -> None:
    machine = load(table.path)
    assert {s.id for s in machine.states} == set(table.states), table.name
    assert machine.initial_state.id == table.initial, table.name
    assert set(machine.FACTS) == set(table.facts), table.name
    assert {e.id for e in machine.events} <= set(table.events), table.name


@cache
def moves_in_class(machine: type[Machine]) -> frozenset[tuple[str, str, str, str]]:
    return frozenset(
        (s.id, t.event, " ".join(str(c) for c in t.cond), t.target.id) for s in machine.states for t in s.transitions
    )


def same_moves(table: specs.MachineSpec) -> None:
    in_table = {(s, r.event, r.when, r.next) for r in table.rows if r.kind == "move" for s in r.states}
    different = moves_in_class(load(table.path)) ^ in_table
    assert not different, f"{table.name}: only in the class or only in the table: {sorted(different)}"


@cache
def rows_in_literal(machine: type[Machine]) -> dict[tuple[str, str], list[tuple[Any, ...]]]:
    found: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    for (state, event, guard), row in machine.ROWS.items():
        cells = (guard, row.spec_id, row.kind, row.answer, tuple(row.effects))
        found.setdefault((state, event), []).append(cells)
    return found


def same_rows_in_order(table: specs.MachineSpec, events: Collection[str] = ()) -> None:
    """`events` narrows the comparison; all of them when it is empty. So in the next two."""
    in_literal = rows_in_literal(load(table.path))
    for pair in product(table.states, events or table.events):
        in_table = [(r.when, r.id, r.kind, r.answer, r.effects) for r in table.rows_of(*pair)]
        assert in_literal.get(pair, []) == in_table, (table.name, pair)
    assert all(s in table.states and e in table.events for s, e in in_literal), table.name


def no_open_pair_and_no_idle_row(table: specs.MachineSpec, events: Collection[str] = ()) -> None:
    reached = set()
    for state, event in product(table.states, events or table.events):
        for facts in valuations(table, used_facts(table, state, event)):
            row = first_row(table, state, event, facts)
            assert row is not None, f"{table.name}: open pair ({state}, {event}) under {facts}"
            reached.add((row.id, row.event, row.when, row.kind))
    wanted = {(r.id, r.event, r.when, r.kind) for r in table.rows if not events or r.event in events}
    assert reached == wanted, f"{table.name}: rows that nothing reaches: {sorted(wanted - reached)}"


def step_is_the_table(
    table: specs.MachineSpec, events: Collection[str] = (), executed: Callable[[str], object] = str
) -> None:
    """Runs the machine under every valuation; `executed` is told each id that the code returned."""
    machine = load(table.path)
    for state, event in product(table.states, events or table.events):
        for facts in valuations(table, used_facts(table, state, event)):
            wanted = meaning(first_row(table, state, event, facts), state)
            result = step(machine, state, event, facts)
            found = (result.spec_id, result.kind, result.answer, result.effects, result.state)
            assert found == wanted, (table.name, state, event, facts)
            executed(result.spec_id)


# --- decisions ---


def applying(table: specs.DecisionSpec, combination: dict[str, Any]) -> list[specs.DecisionRow]:
    return [row for row in table.rows if row.meets(combination)]


Combinations = Iterable[dict[str, Any]]


def total_and_of_one_meaning(table: specs.DecisionSpec, combinations: Combinations) -> None:
    reached: set[int] = set()
    for combination in combinations:
        rows = applying(table, combination)
        assert rows, f"{table.name}: no row meets {combination}"
        if table.hit == "unique":
            assert len(rows) == 1, f"{table.name}: {[r.id for r in rows]} all meet {combination}"
        reached.add(table.rows.index(rows[0]))
    missing = [table.rows[i].id for i in range(len(table.rows)) if i not in reached]
    assert not missing, f"{table.name}: rows never reached: {missing}"


def same_domains(table: specs.DecisionSpec) -> None:
    hints = get_type_hints(load(table.facts))
    assert list(hints) == list(table.inputs), table.name
    for field, hint in hints.items():
        domain = {True, False} if hint is bool else set(get_args(hint))
        assert get_origin(hint) is not None or hint is bool, (table.name, field)
        assert domain == set(table.inputs[field]), (table.name, field)


def function_is_the_table(
    table: specs.DecisionSpec, combinations: Combinations, executed: Callable[[str], object] = str
) -> None:
    """Calls the function on every combination; `executed` is told each id that it returned."""
    function, facts = load(table.function), load(table.facts)
    for combination in combinations:
        rows = applying(table, combination)
        assert rows, f"{table.name}: no row meets {combination}"
        verdict = function(facts(**combination))
        wanted = (rows[0].id, rows[0].outcome, rows[0].answer)
        assert (verdict.spec_id, verdict.outcome, verdict.answer) == wanted, (table.name, combination)
        executed(verdict.spec_id)
