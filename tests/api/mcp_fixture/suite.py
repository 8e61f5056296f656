"""Runs the suite's server scenarios of one revision and reads what it found."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.api.mcp_fixture.install import find
from tests.conftest import missing

REVISIONS = ("2025-11-25", "2026-07-28")
SECONDS_MAX = 180
_FOLDER = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
_NOT_SCORED = re.compile(r"^ +\S ([a-z0-9-]+) \((?:extension|pending|added-after-release)\)$", re.MULTILINE)


@dataclass(frozen=True)
class Check:
    """One thing the suite looked at."""

    scenario: str
    id: str
    status: str
    message: str


@dataclass(frozen=True)
class Findings:
    """One run. `not_scored`: scenarios that are run beside those which make up conformance."""

    checks: list[Check]
    not_scored: frozenset[str]
    output: str

    @property
    def scored(self) -> frozenset[str]:
        """The scenarios that make up conformance."""
        return frozenset(check.scenario for check in self.checks) - self.not_scored

    def faults(self, *statuses: str) -> Iterator[Check]:
        """Checks that came out so."""
        return (check for check in self.checks if check.status in statuses)


def run(url: str, revision: str, folder: Path) -> Findings:
    """Runs every scenario that `revision` names against `url`; skips, or fails where it is required, without the suite."""
    installed = find()
    if installed is None:
        missing("mcp_suite", "not installed: python tests/api/mcp_fixture/install.py")
    words = [installed.node, installed.suite, "server", "--url", url, "--requirements", revision, "-o", folder]
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    checks = [check for path in sorted(folder.glob("*/checks.json")) for check in _checks(path)]
    if not checks or "=== SUMMARY ===" not in done.stdout:
        pytest.fail(f"the suite did not run to its end:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return Findings(checks, frozenset(_NOT_SCORED.findall(done.stdout)), done.stdout)


def _checks(path: Path) -> Iterator[Check]:
    found = _FOLDER.fullmatch(path.parent.name)
    assert found is not None, path.parent.name
    for one in json.loads(path.read_text()):
        yield Check(found[1], one["id"], one["status"], one.get("errorMessage", ""))
