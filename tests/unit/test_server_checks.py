"""Doctor from within the server: the same checks, with what the server knows of itself in place of asking it."""

from __future__ import annotations

import time

import pytest

from relaybay.cli import doctor
from relaybay.cli.shell import Shell
from relaybay.service.house import Told
from relaybay.setup import Check


@pytest.fixture
def shell(tmp_path) -> Shell:
    return Shell(env={"RELAYBAY_HOME": str(tmp_path), "HOME": str(tmp_path), "PATH": "/nonexistent"})


def found(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


@pytest.mark.spec("20", "70")
def test_the_server_need_not_be_asked(shell, monkeypatch) -> None:
    monkeypatch.setattr(doctor, "find_running", lambda _: pytest.fail("asked over a socket"))
    now = int(time.time() * 1e6)
    told = Told("http://127.0.0.1:9", now - 3_600_000_000)
    checks = found(doctor.server_checks(shell, told, {"claude-code": now}, "ok"))
    assert checks["server"].ok and "http://127.0.0.1:9" in checks["server"].detail
    assert checks["claude-code events"].ok and "last event 20" in checks["claude-code events"].detail
    # An hour at work without one MCP call.
    assert checks["mcp calls"].ok is None and checks["integrity"].ok
    assert {"config", "token", "hook program", "spool", "disk", "clock", "sqlite"} <= checks.keys()


def test_what_the_server_knows_decides(shell) -> None:
    now = int(time.time() * 1e6)
    old = {"claude-code": now - 10_000_000}
    young = Told("", now - 5_000_000, mcp_seen_us=0)
    checks = found(doctor.server_checks(shell, young, old, "row 3 is gone"))
    assert checks["mcp calls"].ok is True, "soon after a start it says nothing"
    assert checks["integrity"].ok is False and checks["integrity"].detail == "row 3 is gone"
    assert ":7717" in checks["server"].detail
    called = found(
        doctor.server_checks(shell, Told("", now - 3_600_000_000, mcp_seen_us=now), {"claude-code": now}, "ok")
    )
    assert called["mcp calls"].ok is True
    silent = found(doctor.server_checks(shell, Told("", now - 3_600_000_000), old | {"claude-code": now - 7_200_000_000}, "ok"))  # fmt: skip
    assert silent["mcp calls"].ok is True, "nobody was at work since the start"


def test_a_configuration_that_broke_meanwhile_is_one_line_more(shell, tmp_path) -> None:
    (tmp_path / "config.toml").write_text("nonsense = 1\n", encoding="utf-8")
    checks = found(doctor.server_checks(shell, Told(), {}, "ok"))
    assert checks["settings"].ok is False and "config.toml:1" in checks["settings"].detail
