"""The official MCP conformance suite, both revisions: on the product itself, and on a fixture behind the same bridge.

The suite calls tools, prompts and resources by names of its own. A product has none of them, so most scenarios can be
played on the fixture alone; what that proves is that our bridge, gate and server carry all of the protocol. On the
product every scenario that needs no such name must pass.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.mcp_fixture.door import Door
from tests.api.mcp_fixture.install import find
from tests.api.mcp_fixture.suite import REVISIONS, Findings, run
from tests.attacks.rig import ROOT, Product
from tests.conftest import missing

pytestmark = [pytest.mark.xdist_group("mcp_suite")]

SCORED = {"2025-11-25": 30, "2026-07-28": 37}

# Run beside the scored ones, and failed by the fixture: the optional extension for tasks of the protocol, which
# neither the SDK nor the product has.
NOT_OFFERED = {"2025-11-25": frozenset[str](), "2026-07-28": frozenset({
    "tasks-capability-negotiation",
    "tasks-dispatch-and-envelope",
    "tasks-lifecycle",
    "tasks-mrtr-composition",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-request-state-removal",
    "tasks-required-task-error",
    "tasks-wire-fields",
})}  # fmt: skip

# What the product must pass as it is.
FREE = {
    "2025-11-25": {
        "server-initialize",
        "ping",
        "tools-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "server-session-lifecycle",
        "server-sse-polling",
    },
    "2026-07-28": {
        "server-stateless",
        "tools-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "caching",
        "sep-2164-resource-not-found",
        "http-header-validation",
        "input-required-result-unsupported-methods",
        "input-required-result-validate-input",
    },
}

# Single checks of those scenarios that ask for what the product does not offer, each with its reason.
_DIAGNOSTIC = "needs one of the suite's diagnostic tools"
_NO_RESOURCES = "the product offers tools alone; the answer is that the method is unknown"
_NO_PROMPTS = "the product offers tools alone; the answer is that the method is unknown"
_STATELESS = "the product keeps no protocol session, so a restart is invisible; the suite only warns of that"
EXCEPTIONS = {
    "sep-2575-server-rejects-undeclared-capability": _DIAGNOSTIC,
    "sep-2575-missing-capability-http-400": _DIAGNOSTIC,
    "sep-2575-http-server-no-independent-requests-on-stream": _DIAGNOSTIC,
    "sep-2575-server-no-log-without-loglevel": _DIAGNOSTIC,
    "sep-2549-prompts-list-caching-hints": _NO_PROMPTS,
    "sep-2549-resources-list-caching-hints": _NO_RESOURCES,
    "sep-2549-resources-templates-list-caching-hints": _NO_RESOURCES,
    "sep-2164-error-code": _NO_RESOURCES,
    "sep-2164-data-uri": _NO_RESOURCES,
    "server-sse-multiple-streams-session": _STATELESS,
    "server-sse-polling-session": _STATELESS,
    "server-sse-priming-event": _STATELESS,
    "server-sse-retry-field": _STATELESS,
}


@pytest.fixture(scope="module")
def door_to_fixture() -> Iterator[Door]:
    if find() is None:
        missing("mcp_suite", "not installed: python tests/api/mcp_fixture/install.py")
    words = [sys.executable, "-m", "tests.api.mcp_fixture.server"]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        at = json.loads(process.stdout.readline())
        with Door(at["url"], at["token"]) as door:
            yield door
        process.terminate()


@pytest.fixture(scope="module")
def door_to_product() -> Iterator[Door]:
    if find() is None:
        missing("mcp_suite", "not installed: python tests/api/mcp_fixture/install.py")
    with Product() as product, Door(f"{product.url}/mcp", product.token) as door:
        yield door


def said(findings: Findings, *statuses: str) -> dict[str, str]:
    return {f"{one.scenario}: {one.id}": one.message for one in findings.faults(*statuses)}


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.spec("75")
def test_the_fixture_passes_every_scored_scenario(door_to_fixture: Door, tmp_path: Path, revision: str) -> None:
    findings = run(door_to_fixture.url, revision, tmp_path)
    assert len(findings.scored) == SCORED[revision], sorted(findings.scored)
    failed = [one for one in findings.faults("FAILURE", "WARNING") if one.scenario not in NOT_OFFERED[revision]]
    assert not failed, failed
    # An exception that is none any more is taken off the list.
    assert {one.scenario for one in findings.faults("FAILURE")} == NOT_OFFERED[revision]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.spec("75")
def test_the_product_passes_what_needs_no_fixture(door_to_product: Door, tmp_path: Path, revision: str) -> None:
    findings = run(door_to_product.url, revision, tmp_path)
    played = {check.scenario for check in findings.checks}
    assert FREE[revision] <= played, sorted(FREE[revision] - played)
    faults = [one for one in findings.faults("FAILURE", "WARNING") if one.scenario in FREE[revision]]
    assert not [one for one in faults if one.id not in EXCEPTIONS], faults
    # Whatever else is scored fails for want of its fixture, and for nothing else.
    for one in findings.faults("FAILURE"):
        if one.scenario in findings.scored - FREE[revision]:
            wants = ("Method not found", "There is no tool", "Prerequisite failed", "Expected InputRequiredResult")
            assert any(want in one.message for want in wants), one
    # None passes without a check that it was listed for.
    for scenario in FREE[revision] - {"server-sse-polling"}:
        assert [c for c in findings.checks if c.scenario == scenario and c.status != "FAILURE"], scenario
