"""Who listens on a port that relaybay wants: another relaybay, a program of this user's by its name, or somebody."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_WAIT_S = 1.0
_ANSWER_BYTES_MAX = 4096
_LISTENS = "0A"
"""The state LISTEN in /proc/net/tcp (Linux, include/net/tcp_states.h)."""
RELAYBAY = "another relaybay"


def listener(host: str, port: int) -> str | None:
    """Who listens there, as a word for a person; None when nobody does."""
    try:
        socket.create_connection((host, port), _WAIT_S).close()
    except OSError:
        return None
    if _is_relaybay(host, port):
        return RELAYBAY
    found = _process(port)
    return "another program" if found is None else f"{found[1]} (pid {found[0]})"


def _is_relaybay(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=_WAIT_S)
    try:
        connection.request("GET", "/healthz")
        said = json.loads(connection.getresponse().read(_ANSWER_BYTES_MAX))
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()
    return isinstance(said, dict) and said.get("status") == "ok" and "version" in said


def _process(port: int) -> tuple[int, str] | None:
    """(pid, name) of the listening process, where this system and this user's rights tell it."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(port)}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # Another user's, or it has just ended.
            if any(str(file.readlink()) in wanted for file in (folder / "fd").iterdir()):
                return int(folder.name), (folder / "comm").read_text().strip()
    return None


def _inodes(port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path("/proc/net", table).read_text().splitlines()[1:]:
                fields = line.split()
                if int(fields[1].rpartition(":")[2], 16) == port and fields[3] == _LISTENS:
                    yield fields[9]
