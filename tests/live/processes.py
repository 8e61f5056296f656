"""Processes that a case started: found by parentage in ``/proc``, ended by their ids, never by a name.

The process of a case makes itself the reaper of its orphans. So a waiting hook of a killed client, or a tmux
server that became a daemon, is still a descendant of the case and goes with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Orphans of our descendants become our children, and we are told to end when our parent dies."""
    libc = ctypes.CDLL(None, use_errno=True)
    for option, value in ((PR_SET_CHILD_SUBREAPER, 1), (PR_SET_PDEATHSIG, signal.SIGTERM)):
        if libc.prctl(option, value, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def _parents() -> dict[int, int]:
    table: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                stat = (entry / "stat").read_text()
                # The name in brackets may hold blanks and brackets; the parent's id is second after it.
                table[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    return table


def descendants(root: int) -> list[int]:
    """All processes below ``root``, nearest first."""
    table = _parents()
    found: list[int] = []
    level = [root]
    while level:
        level = [pid for pid, parent in table.items() if parent in level]
        found += level
    return found


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def is_alive(pid: int) -> bool:
    """Running; a zombie counts as gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def end_process(pid: int, grace_seconds: float = 3.0) -> None:
    """SIGTERM, then SIGKILL after ``grace_seconds``."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + grace_seconds
    while time.monotonic() < deadline:
        if not is_alive(pid):
            return
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def end_descendants() -> list[str]:
    """End whatever is left below this process; gives the command lines of what had to be ended."""
    ended: list[str] = []
    for _ in range(5):
        left = [pid for pid in descendants(os.getpid()) if is_alive(pid)]
        if not left:
            break
        for pid in reversed(left):
            ended.append(command_line(pid)[:160])
            end_process(pid, 1.0)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    return ended
