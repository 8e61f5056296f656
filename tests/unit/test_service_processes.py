"""What the system says of a client's process, on systems that say it in one way or another (HL-9, WAIT-6)."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from relaybay.domain import ClientProcess
from relaybay.service import processes

#: As /proc has it: number, command in parentheses, state, and 18 fields up to the start time, then more.
FIELDS = ["7", "1", "1", "0", "-1", "0", "0", "0", "0", "0", "0", "0", "0", "0", "20", "0", "1", "0"]


@pytest.fixture
def proc(tmp_path: Path, monkeypatch) -> Path:
    """A /proc of the test's own, empty at first."""
    monkeypatch.setattr(processes, "Path", lambda text: tmp_path / text.lstrip("/"))
    (tmp_path / "proc" / "self" / "ns").mkdir(parents=True)
    return tmp_path / "proc"


def stat(proc: Path, pid: int, state: str = "S", command: str = "a) (b", rest: str = "4242 99") -> None:
    (proc / str(pid)).mkdir()
    text = " ".join([f"{pid} ({command})", state, *FIELDS, rest])
    (proc / str(pid) / "stat").write_bytes(text.encode())


def test_the_namespace_is_the_links_target_or_none(proc: Path) -> None:
    assert processes.own_namespace() == ""
    (proc / "self" / "ns" / "pid").symlink_to("pid:[4026531836]")
    assert processes.own_namespace() == "pid:[4026531836]"


def test_when_a_process_started(proc: Path) -> None:
    (proc / "self" / "stat").touch()
    stat(proc, 10)
    stat(proc, 11, command="clé")
    stat(proc, 12, rest="17")
    stat(proc, 13, rest="")
    for pid, state in ((14, "Z"), (15, "X"), (16, "x")):
        stat(proc, pid, state)
    (proc / "17").mkdir()
    (proc / "17" / "stat").mkdir()
    (proc / "18").mkdir()
    (proc / "18" / "stat").touch()
    found = [processes.started(pid) for pid in range(10, 20)]
    assert found == ["4242", "4242", "17", "", None, None, None, "", "", None]


@pytest.mark.parametrize(
    ("raised", "started"),
    [(None, ""), (ProcessLookupError, None), (OverflowError, None), (PermissionError, "")],
)
def test_without_a_proc_a_signal_that_does_nothing_asks(proc: Path, monkeypatch, raised, started: str | None) -> None:
    asked: list[tuple[int, int]] = []

    def kill(pid: int, signal: int) -> None:
        asked.append((pid, signal))
        if raised is not None:
            raise raised

    monkeypatch.setattr(processes.os, "kill", kill)
    assert processes.started(10) == started
    assert asked == [(10, 0)]


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        ({}, False),
        ({"started": "4243"}, True),
        ({"started": ""}, False),
        ({"pid": 11}, True),
        ({"pid": 13}, False),
        ({"pid": 11, "pid_ns": "pid:[2]"}, False),
        ({"pid": 11, "host": "elsewhere"}, False),
        ({"pid": 0}, False),
    ],
)
def test_a_process_is_gone_when_its_number_is_nobodys_or_anothers(proc: Path, change: dict, gone: bool) -> None:
    (proc / "self" / "stat").touch()
    (proc / "self" / "ns" / "pid").symlink_to("pid:[1]")
    stat(proc, 10)
    stat(proc, 13, rest="")
    known = {"pid": 10, "started": "4242", "pid_ns": "pid:[1]", "host": platform.node()}
    assert processes.gone(ClientProcess(**{**known, **change})) is gone
