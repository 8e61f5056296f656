"""`specs/ids.toml` and the tables have the same ids, and every mark on a test names one of them."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from relaybay import specs
from tests.conformance import ids

ROOT = Path(__file__).resolve().parents[2]
PAGE = re.compile(r"\d\d")
"""A rule that a page states without an id is cited by the page: `75`."""

CAMPAIGN = re.compile(r"PERF-\d+")
"""Figures: a test may cite them, and `bench/` reports them."""


def ids_in_tables() -> set[str]:
    rows = {row.id for table in specs.machines().values() for row in table.rows}
    return rows | {row.id for table in specs.decisions().values() for row in table.rows}


def test_every_id_in_a_table_is_listed() -> None:
    unknown = {i for i in ids_in_tables() if not PAGE.fullmatch(i)} - set(ids.read())
    assert not unknown, f"ids that no page has: {sorted(unknown)}"


def test_every_listed_id_has_its_row() -> None:
    rows = ids_in_tables()
    missing = [i.id for i in ids.read().values() if i.row and not i.later and i.id not in rows]
    assert not missing, f"no machine and no decision table has {missing}"


def test_no_exception_is_out_of_date() -> None:
    rows = ids_in_tables()
    stale = [i.id for i in ids.read().values() if not i.row and i.id in rows]
    assert not stale, f"these have a row now; take them out of no_row: {stale}"


def test_nothing_that_is_dropped_has_a_row_or_a_test() -> None:
    dropped = {i.id for i in ids.read().values() if i.dropped}
    assert dropped, "page 50 drops some"
    assert not dropped & ids_in_tables()
    cited = {path: marked_ids(ast.parse(path.read_text(encoding="utf-8"))) for path in (ROOT / "tests").rglob("*.py")}
    assert not {str(path.relative_to(ROOT)): marks & dropped for path, marks in cited.items() if marks & dropped}


def one_table(**keys: Any) -> dict[str, Any]:
    return {"table": [{"name": "X", "page": "50", "about": "an example", "ids": ["X-1", "X-2", "X-3"], **keys}]}


def test_a_dropped_id_keeps_its_number_and_is_listed_apart() -> None:
    found = ids.parse(one_table(dropped=["X-2"], dropped_why="nobody has it", later_ids=["X-3"], later_why="soon"))
    assert [(i.id, i.later, i.dropped) for i in found.values()] == [
        ("X-1", "", False),
        ("X-2", "dropped: nobody has it", True),
        ("X-3", "soon", False),
    ]


def test_in_a_table_that_comes_later_a_dropped_id_is_dropped_all_the_same() -> None:
    found = ids.parse(one_table(dropped=["X-2"], dropped_why="nobody has it", later=True, later_why="soon"))
    assert [i.later for i in found.values()] == ["soon", "dropped: nobody has it", "soon"]


WRONG: dict[str, dict[str, Any]] = {
    "dropped without a reason": {"dropped": ["X-2"]},
    "a reason and nothing dropped": {"dropped_why": "nobody has it"},
    "dropped and not in the table": {"dropped": ["X-9"], "dropped_why": "nobody has it"},
    "dropped and awaited": {"dropped": ["X-2"], "dropped_why": "no", "later_ids": ["X-2"], "later_why": "soon"},
    "dropped and proven otherwise": {
        "dropped": ["X-2"],
        "dropped_why": "no",
        "no_row": ["X-2"],
        "no_row_why": "all texts",
    },
    "of another table": {"ids": ["Y-1"]},
    "twice": {"ids": ["X-1", "X-1"]},
}


@pytest.mark.parametrize("keys", WRONG.values(), ids=list(WRONG))
def test_a_malformed_list_is_an_error(keys: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        ids.parse(one_table(**keys))


def test_answers_and_limits_cite_ids_that_exist() -> None:
    cited = {a.spec for a in specs.answers().values()} | {bound.spec for bound in specs.limits().values()}
    known = set(ids.read())
    unknown = {c for c in cited if c and not PAGE.fullmatch(c) and not CAMPAIGN.fullmatch(c)} - known
    assert not unknown, sorted(unknown)


def marked_ids(tree: ast.AST) -> set[str]:
    """The literal arguments of every `….mark.spec(…)` in a module."""
    return {
        argument.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.spec")
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


def test_every_mark_names_an_id_that_exists() -> None:
    known = set(ids.read()) | set(ids.invariants())
    wrong = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        cited = marked_ids(ast.parse(path.read_text(encoding="utf-8")))
        unknown = {c for c in cited if not PAGE.fullmatch(c) and not CAMPAIGN.fullmatch(c)} - known
        if unknown:
            wrong[str(path.relative_to(ROOT))] = sorted(unknown)
    assert not wrong, wrong
