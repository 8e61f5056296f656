"""`specs/ids.toml` and the tables have the same ids, and every mark on a test names one of them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

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
