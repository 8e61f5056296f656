"""Each live test runs once for each client version; what can't run says why, and fails where it is required."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import missing
from tests.live.install_client import VERSIONS, find, given_binaries, version_of
from tests.live.rig import Report, explain, run_case, what_is_missing

RunCase = Callable[[str], Report]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "client_version" in metafunc.fixturenames:
        given = [version for binary in given_binaries() if (version := version_of(binary))]
        metafunc.parametrize("client_version", list(dict.fromkeys([*VERSIONS, *given])), scope="session")


@pytest.fixture
def client(client_version: str) -> Path:
    """The client's binary of the version that the test runs for."""
    reason = what_is_missing()
    if reason:
        missing("live", reason)
    binary = find(client_version)
    if binary is None:
        missing("live", f"client {client_version} is not installed: python tests/live/install_client.py")
    return binary


@pytest.fixture
def live(client: Path, record_property: Callable[[str, object], None]) -> RunCase:
    """Runs a case by its name; a failed case fails the test with the whole story."""

    def run(case: str) -> Report:
        report = run_case(case, client)
        for name, value in report.figures.items():
            record_property(name, value)
        if not report.ok:
            pytest.fail(explain(report), pytrace=False)
        return report

    return run
