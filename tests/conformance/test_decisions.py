"""Decision tables are total and of one meaning, and the hand-written function equals the table on every combination."""

from __future__ import annotations

import pytest

from relaybay import specs
from tests.conformance import compare

DECISIONS = specs.decisions()


@pytest.mark.parametrize("name", DECISIONS)
def test_every_combination_meets_a_row_and_every_row_is_reached(name: str) -> None:
    compare.total_and_of_one_meaning(DECISIONS[name], DECISIONS[name].combinations())


@pytest.mark.parametrize("name", DECISIONS)
def test_the_functions_facts_have_the_tables_domains(name: str) -> None:
    compare.same_domains(DECISIONS[name])


@pytest.mark.parametrize("name", DECISIONS)
def test_the_function_is_the_table_on_every_combination(name: str, executed) -> None:
    compare.function_is_the_table(DECISIONS[name], DECISIONS[name].combinations(), executed)
