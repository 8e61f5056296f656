"""Which test executes which lines of the core, which rows of machines it asks, and how long it takes.

Recorded by a trace function in a process for each test, so that nothing is missed because an earlier test has already
filled a cache. The map is kept for a second run over the same tree. Outcomes of mutants are never kept.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from tests.mutation.mutants import FOLDERS, ROOT

_TREES = ("relaybay", "specs", "tests", "pyproject.toml")
CALLS_TRACED_MAX = 400
"""A function that shows no new line in so many calls is not looked at any more: traced loops would take minutes."""

Pair = tuple[str, str, str]


@dataclass
class TestMap:
    """What one test does: lines by file, (machine, state, event) asked, seconds, and whether it can be used at all."""

    __test__ = False

    lines: dict[str, frozenset[int]] = field(default_factory=dict)
    pairs: frozenset[Pair] = frozenset()
    cpu: float = 0.0
    wall: float = 0.0
    outcome: str = "passed"


@dataclass
class Map:
    """All tests, and the lines that run while modules are loaded and tests are collected; `files` are the digests of the
    modules of tests.
    """

    loading: dict[str, frozenset[int]]
    tests: dict[str, TestMap]
    files: dict[str, str] = field(default_factory=dict)


class Tracer:
    """Counts lines of the core while it is on, in every thread that starts meanwhile."""

    def __init__(self) -> None:
        self._folders = tuple(str(ROOT / folder) + "/" for folder in FOLDERS)
        self._cut = len(str(ROOT)) + 1
        self.lines: dict[str, set[int]] = {}
        self._left: dict[CodeType, set[int] | None] = {}
        self._calls: dict[CodeType, int] = {}

    def on(self) -> None:
        threading.settrace(self._call)
        sys.settrace(self._call)

    def off(self) -> dict[str, frozenset[int]]:
        sys.settrace(None)
        threading.settrace(None)
        return {file: frozenset(lines) for file, lines in self.lines.items()}

    def _call(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        left = self._left.get(code, ...)
        if left is ...:
            left = self._first(code)
        if not left:
            return None
        self._calls[code] += 1
        if self._calls[code] > CALLS_TRACED_MAX:
            self._left[code] = None
            return None
        return self._line

    def _first(self, code: CodeType) -> set[int] | None:
        wanted = code.co_filename.startswith(self._folders)
        left = {line for _, _, line in code.co_lines() if line} if wanted else None
        self._left[code] = left
        self._calls[code] = 0
        return left

    def _line(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        left = self._left[code]
        if event == "line" and left and frame.f_lineno in left:
            left.discard(frame.f_lineno)
            self._calls[code] = 0
            self.lines.setdefault(code.co_filename[self._cut :], set()).add(frame.f_lineno)
        return self._line if left else None


def digest() -> str:
    """SHA-256 over all that every test depends on: the tree without the modules of tests, and without this folder, which
    runs nothing of it.
    """
    found = hashlib.sha256()
    for name in _TREES:
        top = ROOT / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            inside = path.relative_to(ROOT)
            shared = not (inside.parts[0] == "tests" and inside.name.startswith("test_"))
            if path.is_file() and shared and "__pycache__" not in path.parts and "mutation" not in path.parts:
                content = path.read_bytes()
                found.update(f"{inside}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


def digest_of(file: str) -> str:
    """The same over one module of tests."""
    return hashlib.sha256((ROOT / file).read_bytes()).hexdigest()


def asked_pairs() -> set[Pair]:
    """Counts from now on which pairs any code asks a machine, in this process."""
    from relaybay.machines import base

    asked: set[Pair] = set()
    real = base.find_row

    def find_row(machine: type[base.Machine], state: str, event: str, facts: Any) -> Any:
        asked.add((machine.__name__, state, event))
        return real(machine, state, event, facts)

    base.find_row = find_row
    return asked
