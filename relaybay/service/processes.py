"""Whether an agent client's process still lives (HL-9, WAIT-6): the only place in `service/` that asks the system."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from relaybay.domain import ClientProcess

_STAT_STARTED = 19  # Field 22 of /proc/PID/stat, counted from behind the command's closing parenthesis.
_DEAD = ("Z", "X", "x")  # A zombie is gone: it waits for nothing but its parent's question.


def own_namespace() -> str:
    """The pid namespace of this server, or the empty string where there is no such thing."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def started(pid: int) -> str | None:
    """When a process started (clock ticks since boot, as text); None when it is gone, '' where nobody can tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None if Path("/proc/self/stat").exists() else _signalled(pid)
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    if fields and fields[0] in _DEAD:
        return None
    return fields[_STAT_STARTED] if len(fields) > _STAT_STARTED else ""


def _signalled(pid: int) -> str | None:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return None
    except OSError:
        return ""
    return ""


def gone(process: ClientProcess) -> bool:
    """Whether the process is surely gone: same host and pid namespace, and no process, or another, has its number.

    One of another namespace, or of an unknown one where there are namespaces, is not judged: its number means
    another process here.
    """
    if not process.known or process.host != platform.node() or process.pid_ns != own_namespace():
        return False
    now = started(process.pid)
    if now is None:
        return True
    return bool(now and process.started and now != process.started)
