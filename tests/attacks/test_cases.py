"""`CASES.toml` is whole: every case has its entry, every test that it names exists, and every numbered test is named."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

from tests.attacks.rig import ROOT

NUMBERS = range(1, 63)
HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = tomllib.loads((HERE / "CASES.toml").read_text(encoding="utf-8"))["case"]


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def numbers(name: str) -> set[int]:
    """The cases that a test's name speaks of: `case_7_…`, `case_1_and_2_…`, `case_8_to_10_…`."""
    found = re.match(r"test_case_(\d+)(?:_(and|to)_(\d+))?_", name)
    if found is None:
        return set()
    first, last = int(found[1]), int(found[3] or found[1])
    return set(range(first, last + 1)) if found[2] == "to" else {first, last}


def test_every_case_has_one_entry_that_says_how_it_stands() -> None:
    assert [case["number"] for case in CASES] == list(NUMBERS)
    for case in CASES:
        assert set(case) <= {"number", "title", "tests", "not_here"}, case
        assert case["title"].strip()
        assert case.get("tests") or case.get("not_here", "").strip(), case


def test_every_test_that_is_named_exists() -> None:
    for case in CASES:
        for name in case.get("tests", []):
            path, _, function = name.partition("::")
            assert function in functions(ROOT / path), f"case {case['number']}: {name}"


def test_every_numbered_test_is_named_by_its_cases() -> None:
    named = {case["number"]: set(case.get("tests", [])) for case in CASES}
    seen = 0
    for path in sorted(HERE.glob("test_*.py")):
        for function in functions(path):
            for number in numbers(function):
                seen += 1
                assert f"{path.relative_to(ROOT)}::{function}" in named[number], (number, function)
    assert seen >= len(NUMBERS) - 5
