"""Who has the data folder: what a server leaves in the lock file that it holds, and whether anybody holds it.

`run/server.json` says the same, but that folder can vanish under a running server, and another environment may look
at another one. The lock stands beside the database, so whoever is refused by it can be told by it, too.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relaybay.settings import Paths

_BYTES_MAX = 4096
_MARK = "relaybay"


@dataclass(frozen=True, slots=True)
class Holder:
    """What a lock file says of the server that wrote it. It can be older than the lock's present holder."""

    pid: int
    started: str
    url: str
    version: str
    run: str

    @property
    def lives(self) -> bool:
        """Whether it is still that very process, as far as this system tells."""
        try:
            os.kill(self.pid, 0)
        except OSError:
            return False
        return started(self.pid) == self.started


def started(pid: int) -> str:
    """When a process started, in the kernel's ticks; empty on a system without /proc."""
    from relaybay.client.event import start_of

    return start_of(str(pid).encode()).decode()


def folder_taken(paths: Paths) -> bool:
    """Whether a process holds the data folder's lock. Takes the lock for a moment when none does."""
    try:
        file = os.open(paths.lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def sign(paths: Paths, url: str, version: str) -> None:
    """Writes into the lock file, which this process holds, where its server is.

    A lock file with other content is left alone: where a file system has no locks, the content is the lock. That the
    note cannot be written is no reason to end a server.
    """
    said = {_MARK: 1, "pid": os.getpid(), "started": started(os.getpid()), "url": url, "version": version}
    said["run"] = str(paths.run)
    with contextlib.suppress(OSError):
        file = os.open(paths.lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            before = os.read(file, _BYTES_MAX)
            if before.strip() and _members(before) is None:
                return
            os.ftruncate(file, 0)
            os.pwrite(file, json.dumps(said).encode(), 0)
        finally:
            os.close(file)


def read(lock: Path) -> Holder | None:
    """What the lock file says; None when it says nothing of ours."""
    try:
        file = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if os.fstat(file).st_uid != os.geteuid():
                return None
            members = _members(os.read(file, _BYTES_MAX))
        finally:
            os.close(file)
    except OSError:
        return None
    if members is None:
        return None
    try:
        pid = int(members["pid"])
        texts = (str(members[name]) for name in ("started", "url", "version", "run"))
        return Holder(pid, *texts) if pid > 1 else None
    except (KeyError, TypeError, ValueError):
        return None


def _members(data: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) and _MARK in found else None
