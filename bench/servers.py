"""Servers as processes of their own: relaybay on a throw-away folder, and the floors. All end with the `with`."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from bench import wire

ROOT = Path(__file__).parents[1]
READY_SECONDS = 20.0
STOP_SECONDS = 10.0


@dataclass(frozen=True)
class Relaybay:
    """A running server: where it is, and its keys."""

    home: Path
    port: int
    pid: int
    token: str
    hook_key: str

    def hook(self, body: dict[str, Any], tail: str = "") -> bytes:
        """One event as a request of the client's `http` hooks."""
        return wire.post(self.port, "/hooks/claude-code" + tail, body, self.hook_key, **wire.HOOK_HEADERS)

    def tool(self, tool: str, tool_use_id: str = "", era: str = wire.ERAS[0], **arguments: Any) -> bytes:
        """One call of a tool as a request."""
        return wire.tool_call(self.port, self.token, tool, tool_use_id, era, **arguments)


@contextmanager
def relaybay() -> Iterator[Relaybay]:
    """`relaybay up --foreground` on a free port."""
    with folder() as home:
        environment = {**environment_of(home)}
        command = [sys.executable, "-m", "relaybay", "up", "--foreground", "--port", "0", "--json"]
        with process(command, environment) as (started, line):
            port = int(str(line["url"]).rpartition(":")[2])
            keys = [(home / "run" / name).read_text(encoding="ascii").strip() for name in ("token", "hook.key")]
            yield Relaybay(home, port, started.pid, *keys)


@contextmanager
def floor(kind: str, database: Path | None = None) -> Iterator[int]:
    """A floor server of this kind (`floor_server.py`); its port."""
    command = [sys.executable, "-m", "bench.floor_server", kind, *([str(database)] if database else [])]
    with process(command, dict(os.environ)) as (_, line):
        yield int(line["port"])


@contextmanager
def folder() -> Iterator[Path]:
    """A throw-away folder, short enough for a Unix socket's path."""
    path = Path(tempfile.mkdtemp(prefix="rb-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def environment_of(home: Path) -> dict[str, str]:
    """This environment, with relaybay's folders in `home` and none of its other settings."""
    return {k: v for k, v in os.environ.items() if not k.startswith("RELAYBAY_")} | {"RELAYBAY_HOME": str(home)}


@contextmanager
def process(
    command: Sequence[str], environment: dict[str, str]
) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, Any]]]:
    """A process and the JSON line that it prints when it is ready. It is ended afterwards, by force if need be."""
    started = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert started.stdout is not None
        yield started, first_line(started.stdout)
    finally:
        started.terminate()
        try:
            started.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


def first_line(out: IO[bytes]) -> dict[str, Any]:
    """The JSON line of a server that is ready. Raises Unexpected when none comes."""
    if not select.select([out], [], [], READY_SECONDS)[0]:
        raise wire.Unexpected(f"no line within {READY_SECONDS:g} s")
    line = out.readline()
    found: dict[str, Any] = json.loads(line) if line else {}
    if "url" not in found and "port" not in found:
        raise wire.Unexpected(f"the server did not start: {line!r}")
    return found
