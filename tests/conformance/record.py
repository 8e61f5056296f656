"""Records which spec ids the tests executed: pytest hooks, taken up by `tests/conftest.py`, on with `--spec-record`.

A test executes an id when it passes and either the code under test returned the id (fixture `executed`) or the test is
marked `@pytest.mark.spec(id)`. Workers of pytest-xdist send both with their reports, so the one process that started the
run writes the one file, and only a run that is asked to writes any.

The file belongs to one state of the tree: a digest over everything that can change an outcome. A second run over the same
tree adds to it; over another tree it starts anew, so that no line of the report speaks of code that is gone.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / ".relaybay-executed.json"
TREES = ("relaybay", "specs", "tests", "pyproject.toml")
"""What a test's outcome depends on. Documents are not in it: they are checked, never executed."""

MARKED, EXECUTED, COUNT = "spec", "executed", "count:"
"""Names of user properties; `record_property("count:states explored", 1234)` puts a figure into the report."""


@dataclass
class TestRecord:
    """What one test proved: the ids it is marked with, those the code returned, the figures it counted."""

    __test__ = False  # By its name pytest would collect it.

    passed: bool = True
    marked: set[str] = field(default_factory=set)
    executed: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def ids(self) -> set[str]:
        return self.marked | self.executed if self.passed else set()

    def to_json(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "marked": sorted(self.marked),
            "executed": sorted(self.executed),
            "counts": self.counts,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TestRecord:
        return cls(data["passed"], set(data["marked"]), set(data["executed"]), dict(data["counts"]))


@dataclass
class Record:
    """All tests recorded over one state of the tree. `whole`: one run had every test in it and was green."""

    tree: str
    whole: bool = False
    tests: dict[str, TestRecord] = field(default_factory=dict)


def tree_digest(root: Path = ROOT) -> str:
    """SHA-256 over the names and contents of `TREES`, caches apart."""
    digest = hashlib.sha256()
    for name in TREES:
        top = root / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
                content = path.read_bytes()
                digest.update(f"{path.relative_to(root)}\0{len(content)}\0".encode())
                digest.update(content)
    return digest.hexdigest()


def load(path: Path, tree: str) -> Record:
    """The record of this tree; an empty one when the file is absent, of another tree or not readable as a record."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["tree"] != tree:
            return Record(tree)
        return Record(tree, data["whole"], {name: TestRecord.from_json(t) for name, t in data["tests"].items()})
    except (OSError, ValueError, KeyError, TypeError):
        return Record(tree)


def save(record: Record, path: Path) -> None:
    """Replaces the file at once: two runs that end together leave one of the two, never half of each."""
    data = {
        "tree": record.tree,
        "whole": record.whole,
        "tests": {name: test.to_json() for name, test in sorted(record.tests.items())},
    }
    handle, aside = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        json.dump(data, out, indent=1)
        out.write("\n")
    Path(aside).replace(path)


class Recorder:
    """Gathers reports in the process that started the run. The tree is the one that the run started with."""

    def __init__(self) -> None:
        self.tree = tree_digest()
        self.tests: dict[str, TestRecord] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One phase of one test. The last phase carries all properties; a skipped test proves nothing."""
        # With --dist loadgroup the group stands behind the name; without it does not, and it is the same test.
        test = self.tests.setdefault(report.nodeid.rsplit("@", 1)[0], TestRecord())
        test.passed = test.passed and report.outcome == "passed"
        for name, value in report.user_properties:
            if name == MARKED:
                test.marked |= set(str(value).split())
            elif name == EXECUTED:
                test.executed |= set(str(value).split())
            elif name.startswith(COUNT):
                test.counts[name.removeprefix(COUNT)] = int(value)  # type: ignore[call-overload]


_RECORDER = pytest.StashKey[Recorder]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--spec-record",
        nargs="?",
        const=str(RECORD),
        metavar="FILE",
        help=f"write the executed spec ids to FILE (default {RECORD.name})",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        marked = [str(spec_id) for mark in item.iter_markers("spec") for spec_id in mark.args]
        if marked:
            item.user_properties.append((MARKED, " ".join(marked)))
        if item.get_closest_marker("live"):
            # Each live test drives a real client on a terminal: one after the other, on one worker.
            item.add_marker(pytest.mark.xdist_group("live"))


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--spec-record") and not hasattr(config, "workerinput"):
        config.stash[_RECORDER] = recorder = Recorder()
        config.pluginmanager.register(recorder, "spec-record")


def everything_asked_for(config: pytest.Config) -> bool:
    """Whether the run was given no path, no -k, no -m and nothing else that leaves tests out."""
    option = config.option
    narrowed = option.keyword or option.markexpr or getattr(option, "lf", False) or getattr(option, "stepwise", False)
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not narrowed


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    recorder = session.config.stash.get(_RECORDER, None)
    if recorder is None:
        return
    file = Path(session.config.getoption("--spec-record"))
    record = load(file, recorder.tree)
    record.tests.update(recorder.tests)
    record.whole = record.whole or (exitstatus == pytest.ExitCode.OK and everything_asked_for(session.config))
    save(record, file)
