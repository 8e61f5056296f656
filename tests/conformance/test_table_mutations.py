"""Every table, changed in one cell at a time: the comparisons with the code have to notice each change (page 90).

A change that no combination can tell from the table itself (two rows swapped that never both apply, say) is no change
of what the table says. Enumeration finds these; they are counted apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from relaybay import specs
from tests.conformance import compare, mutate

MACHINES, DECISIONS = specs.machines(), specs.decisions()

Look = Callable[[], None]


def machine_looks(mutant: mutate.Mutant[specs.MachineSpec]) -> list[Look]:
    """The comparisons of `test_machines.py`, each over what the change touches."""
    table, events = mutant.table, mutant.events
    return [
        lambda: compare.step_is_the_table(table, events),
        lambda: compare.no_open_pair_and_no_idle_row(table, events),
        lambda: compare.same_moves(table),
        lambda: compare.same_rows_in_order(table, events),
    ]


def decision_looks(mutant: mutate.Mutant[specs.DecisionSpec], combinations: compare.Combinations) -> list[Look]:
    """The comparisons of `test_decisions.py`, the first over what the change touches."""
    return [
        lambda: compare.function_is_the_table(mutant.table, mutate.touched(mutant, combinations)),
        lambda: compare.total_and_of_one_meaning(mutant.table, combinations),
    ]


def noticed(looks: Sequence[Look]) -> bool:
    """Whether a comparison finds a difference; a machine that lacks a fact of its guards (`KeyError`) is one."""
    for look in looks:
        try:
            look()
        except (AssertionError, KeyError):
            return True
    return False


def record(record_property, total: int, missed: Sequence[str], same: int) -> None:
    record_property("count:table mutants", total)
    record_property("count:table mutants caught", total - len(missed))
    record_property("count:table mutants that say the same as the table", same)
    assert total, "a table without a row that can be changed"
    assert not missed, f"{len(missed)} of {total} changes go unnoticed: {missed[:10]}"


@pytest.mark.parametrize("name", MACHINES)
def test_each_change_of_a_machines_table_is_noticed(name: str, record_property) -> None:
    table = MACHINES[name]
    mutants = list(mutate.machine_mutants(table))
    other = [m for m in mutants if not mutate.same_machine(table, m)]
    missed = [m.what for m in other if not noticed(machine_looks(m))]
    record(record_property, len(other), missed, len(mutants) - len(other))


@pytest.mark.parametrize("name", DECISIONS)
def test_each_change_of_a_decision_table_is_noticed(name: str, record_property) -> None:
    table = DECISIONS[name]
    combinations = table.combinations()
    mutants = list(mutate.decision_mutants(table))
    other = [m for m in mutants if not mutate.same_decision(table, m, combinations)]
    missed = [m.what for m in other if not noticed(decision_looks(m, combinations))]
    record(record_property, len(other), missed, len(mutants) - len(other))


def test_the_tables_themselves_pass_every_comparison() -> None:
    """Or else *noticed* would say nothing about a change."""
    for machine in MACHINES.values():
        assert not noticed(machine_looks(mutate.Mutant("unchanged", machine, machine.events)))
    for decision in DECISIONS.values():
        unchanged = mutate.Mutant("unchanged", decision, rows=decision.rows)
        assert not noticed(decision_looks(unchanged, decision.combinations()))


def test_each_column_of_each_row_is_changed() -> None:
    """A generator that stopped early would leave a small number of changes, and all of them noticed."""
    for machine in MACHINES.values():
        said = [m.what for m in mutate.machine_mutants(machine)]
        for at, row in enumerate(machine.rows):
            changes = [w.partition("): ")[2] for w in said if w.startswith(f"{machine.name} row {at + 1} (")]
            wanted = ["kind", "id changed", "answer changed", "effect", "left out", "event", "next"]
            wanted += [f"guard: {part.removeprefix('not ')} negated" for part in row.when.split(" and ") if part]
            assert all(any(word in change for change in changes) for word in wanted), (machine.name, at, changes)
    for decision in DECISIONS.values():
        said = [m.what for m in mutate.decision_mutants(decision)]
        for at, row in enumerate(decision.rows):
            changes = [w.partition("): ")[2] for w in said if w.startswith(f"{decision.name} row {at + 1} (")]
            wanted = ["id changed", "outcome changed", "answer changed", "left out", *(f"{n} " for n in row.when)]
            assert all(any(c.startswith(word) for c in changes) for word in wanted), (decision.name, at, changes)


def test_a_comparison_that_is_left_out_is_missed() -> None:
    """Which is how a hole in the comparisons would show: without a look at the code, changed words pass."""
    table = MACHINES["delivery"]
    mutants = [m for m in mutate.machine_mutants(table) if not mutate.same_machine(table, m)]
    blind = [m for m in mutants if not noticed([lambda m=m: compare.no_open_pair_and_no_idle_row(m.table, m.events)])]
    assert any("answer changed" in m.what for m in blind)
    assert any(": next " in m.what for m in blind)
