"""Decision tables are total and of one meaning, and the hand-written function equals the table on every combination."""

from __future__ import annotations

from importlib import import_module
from typing import get_args, get_origin, get_type_hints

import pytest

from relaybay import specs

DECISIONS = specs.decisions()


def load(path: str):
    module, name = path.split(":")
    return getattr(import_module(module), name)


def applying(table: specs.DecisionSpec, combination: dict) -> list[specs.DecisionRow]:
    return [row for row in table.rows if row.meets(combination)]


@pytest.mark.parametrize("name", DECISIONS)
def test_every_combination_meets_a_row_and_every_row_is_reached(name: str) -> None:
    table = DECISIONS[name]
    reached: set[int] = set()
    for combination in table.combinations():
        rows = applying(table, combination)
        assert rows, f"no row meets {combination}"
        if table.hit == "unique":
            assert len(rows) == 1, f"{[r.id for r in rows]} all meet {combination}"
        reached.add(table.rows.index(rows[0]))
    missing = [table.rows[i].id for i in range(len(table.rows)) if i not in reached]
    assert not missing, f"rows never reached: {missing}"


@pytest.mark.parametrize("name", DECISIONS)
def test_the_functions_facts_have_the_tables_domains(name: str) -> None:
    table = DECISIONS[name]
    hints = get_type_hints(load(table.facts))
    assert list(hints) == list(table.inputs)
    for field, hint in hints.items():
        domain = {True, False} if hint is bool else set(get_args(hint))
        assert get_origin(hint) is not None or hint is bool
        assert domain == set(table.inputs[field]), field


@pytest.mark.parametrize("name", DECISIONS)
def test_the_function_is_the_table_on_every_combination(name: str, executed) -> None:
    table = DECISIONS[name]
    function, facts = load(table.function), load(table.facts)
    for combination in table.combinations():
        row = applying(table, combination)[0]
        verdict = function(facts(**combination))
        assert (verdict.spec_id, verdict.outcome, verdict.answer) == (row.id, row.outcome, row.answer), combination
        executed(verdict.spec_id)
