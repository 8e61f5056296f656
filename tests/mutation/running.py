"""Running tests in a child: one after the other, until one fails, each within its time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.mutation import children
from tests.mutation.recording import TestMap

NOT_CAUGHT = ("survived", "no test")
SAME = "the same"


@dataclass(frozen=True)
class Verdict:
    """What came of one mutant. `how`: `failed`, `timed out`, `does not load`, `died`, `survived`, `no test`, or `the
    same` for a change that says what the code says.
    """

    how: str
    test: str = ""
    ran: tuple[str, ...] = ()
    cpu: float = 0.0

    @property
    def caught(self) -> bool:
        return self.how not in (*NOT_CAUGHT, SAME)


_UNKNOWN = TestMap(cpu=1.0, wall=1.0)


class Reports:
    """Hears in a child how tests end."""

    def __init__(self) -> None:
        self.failed = ""
        self.outcomes: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = report.nodeid
        self.outcomes.add(report.outcome)


def over(items: Sequence[pytest.Item], known: Mapping[str, TestMap], folder: Path) -> Verdict:
    """Runs tests until one fails. `known` tells how long each took before any change; `folder` is for their files."""
    reports = Reports()
    if items:
        items[0].config.pluginmanager.register(reports)
        use_own_folder(items[0].config, folder)
    for at, item in enumerate(items):
        before = known.get(item.nodeid, _UNKNOWN)
        children.bound(before.cpu, before.wall)
        following = items[at + 1] if at + 1 < len(items) else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if reports.failed:
            return Verdict("failed", reports.failed, tuple(one.nodeid for one in items[: at + 1]))
    ran = tuple(item.nodeid for item in items)
    return Verdict("survived" if ran else "no test", ran=ran)


def by_modules(tests: Sequence[str], first: int = 3) -> list[list[str]]:
    """The tests of the first few modules, then all others: loading a module of tests takes time, too."""
    modules = list(dict.fromkeys(name.partition("::")[0] for name in tests))[:first]
    early = [name for name in tests if name.partition("::")[0] in modules]
    rest = [name for name in tests if name.partition("::")[0] not in modules]
    return [part for part in (early, rest) if part]


def use_own_folder(config: pytest.Config, within: Path) -> None:
    """Puts `tmp_path` and every temporary file into a folder that no other child looks into."""
    folder = children.own_folder(within, os.getpid())
    folder.mkdir(exist_ok=True)
    tempfile.tempdir = str(folder)
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = folder


def quick_examples() -> None:
    """Hypothesis draws the same examples each time, and a counter-example is not made smaller: it only counts."""
    # Here, since pytest wants to load its plugins by itself, and Hypothesis has one.
    from hypothesis import Phase, settings

    quick = settings(
        settings.get_profile("quick"),
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        report_multiple_bugs=False,
    )
    settings.register_profile("mutation", quick)
    settings.load_profile("mutation")


def quick_disk() -> str | None:
    shared = Path("/dev/shm")
    return str(shared) if shared.is_dir() and os.access(shared, os.W_OK) else None
