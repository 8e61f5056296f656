"""Class ≡ table in both directions; no open pair; every row runs through `step`."""

from __future__ import annotations

import pytest

from relaybay import specs
from tests.conformance import compare

MACHINES = specs.machines()


@pytest.mark.parametrize("name", MACHINES)
def test_the_class_has_the_tables_states_and_facts(name: str) -> None:
    compare.same_states_and_facts(MACHINES[name])


@pytest.mark.parametrize("name", MACHINES)
def test_the_class_has_the_tables_moves_and_no_other(name: str) -> None:
    compare.same_moves(MACHINES[name])


@pytest.mark.parametrize("name", MACHINES)
def test_the_literal_has_the_tables_rows_in_the_tables_order(name: str) -> None:
    compare.same_rows_in_order(MACHINES[name])


@pytest.mark.parametrize("name", MACHINES)
def test_no_pair_is_open_and_every_row_is_reached(name: str) -> None:
    compare.no_open_pair_and_no_idle_row(MACHINES[name])


@pytest.mark.parametrize("name", MACHINES)
def test_step_is_the_table_under_every_valuation(name: str, executed) -> None:
    compare.step_is_the_table(MACHINES[name], executed=executed)
