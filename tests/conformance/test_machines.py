"""Class ≡ table in both directions; no open pair; every row runs through `step`."""

from __future__ import annotations

from importlib import import_module
from itertools import product

import pytest

from relaybay import specs
from relaybay.machines.base import Machine, literals, step

MACHINES = specs.machines()


def load(path: str) -> type[Machine]:
    module, name = path.split(":")
    return getattr(import_module(module), name)


def used_facts(table: specs.MachineSpec, state: str, event: str) -> list[str]:
    names: dict[str, None] = {}
    for row in table.rows_of(state, event):
        names.update({name: None for name, _ in literals(row.when)})
    return list(names)


def valuations(table: specs.MachineSpec, state: str, event: str):
    """Every combination of the facts that this pair's guards name, less those the table calls impossible."""
    names = used_facts(table, state, event)
    for values in product((False, True), repeat=len(names)):
        facts = dict(zip(names, values, strict=True))
        for rule in table.impossible:
            pairs = literals(rule)
            if all(name in facts for name, _ in pairs) and all(facts[n] is w for n, w in pairs):
                break
        else:
            yield facts


def first_row(table: specs.MachineSpec, state: str, event: str, facts: dict[str, bool]):
    for row in table.rows_of(state, event):
        if all(facts[name] is wanted for name, wanted in literals(row.when)):
            return row
    return None


@pytest.mark.parametrize("name", MACHINES)
def test_the_class_has_the_tables_states_and_facts(name: str) -> None:
    table, machine = MACHINES[name], load(MACHINES[name].path)
    assert {s.id for s in machine.states} == set(table.states)
    assert machine.initial_state.id == table.initial
    assert set(machine.FACTS) == set(table.facts)
    assert {e.id for e in machine.events} <= set(table.events)


@pytest.mark.parametrize("name", MACHINES)
def test_the_class_has_the_tables_moves_and_no_other(name: str) -> None:
    table, machine = MACHINES[name], load(MACHINES[name].path)
    in_class = {
        (s.id, t.event, " ".join(str(c) for c in t.cond), t.target.id) for s in machine.states for t in s.transitions
    }
    in_table = {(s, r.event, r.when, r.next) for r in table.rows if r.kind == "move" for s in r.states}
    assert in_class == in_table


@pytest.mark.parametrize("name", MACHINES)
def test_the_literal_has_the_tables_rows_in_the_tables_order(name: str) -> None:
    table, machine = MACHINES[name], load(MACHINES[name].path)
    for state, event in product(table.states, table.events):
        in_code = [
            (guard, row.spec_id, row.kind, row.answer, tuple(row.effects))
            for (s, e, guard), row in machine.ROWS.items()
            if (s, e) == (state, event)
        ]
        in_table = [(r.when, r.id, r.kind, r.answer, r.effects) for r in table.rows_of(state, event)]
        assert in_code == in_table, (state, event)
    assert all(s in table.states and e in table.events for s, e, _ in machine.ROWS)


@pytest.mark.parametrize("name", MACHINES)
def test_no_pair_is_open_and_every_row_is_reached(name: str) -> None:
    table = MACHINES[name]
    reached = set()
    for state, event in product(table.states, table.events):
        for facts in valuations(table, state, event):
            row = first_row(table, state, event, facts)
            assert row is not None, f"open pair ({state}, {event}) under {facts}"
            reached.add((row.id, row.event, row.when, row.kind))
    assert reached == {(r.id, r.event, r.when, r.kind) for r in table.rows}


@pytest.mark.parametrize("name", MACHINES)
def test_step_is_the_table_under_every_valuation(name: str, executed) -> None:
    table, machine = MACHINES[name], load(MACHINES[name].path)
    for state, event in product(table.states, table.events):
        for facts in valuations(table, state, event):
            row = first_row(table, state, event, facts)
            result = step(machine, state, event, facts)
            assert (result.spec_id, result.kind, result.answer, result.effects) == (
                row.id,
                row.kind,
                row.answer,
                row.effects,
            )
            assert result.state == (row.next if row.kind == "move" else state)
            executed(result.spec_id)
