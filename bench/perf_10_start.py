"""PERF-10: `relaybay up`, from its start to the server's first answer; and `relaybay --version`.

`up` starts a server behind itself and comes back, so both its process and the server's are in the figure. The floor is
a bare Sanic app, from its start to its first answer; for `--version`, the same interpreter that does nothing.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import servers, wire
from bench.figures import Figure, Samples, at_most, ms, process, side_by_side
from bench.load import count

_GONE_SECONDS = 10.0


def _command() -> list[str]:
    """The installed command where there is one: it is what people type."""
    script = Path(sys.executable).with_name("relaybay")
    return [str(script)] if script.exists() else [sys.executable, "-m", "relaybay"]


def _up() -> float:
    """Microseconds to the first answer. Ends the server."""
    with servers.folder() as home:
        environment = servers.environment_of(home)
        began = time.perf_counter()
        done = subprocess.run(
            [*_command(), "up", "--port", "0", "--json"],
            env=environment,
            cwd=servers.ROOT,
            stdout=subprocess.PIPE,
            check=True,
        )
        line: dict[str, Any] = json.loads(done.stdout)
        port = int(str(line["url"]).rpartition(":")[2])
        with wire.connect(port) as connection:
            connection.sendall(f"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n".encode())
            answer = wire.receive(connection)
        took = (time.perf_counter() - began) * 1e6
        if wire.status(answer) != 200:
            raise wire.Unexpected(repr(answer))
        _end(int(line["pid"]))
    return took


def _end(pid: int) -> None:
    until = time.monotonic() + _GONE_SECONDS
    os.kill(pid, signal.SIGTERM)
    with suppress(ProcessLookupError):
        while time.monotonic() < until:
            os.kill(pid, 0)
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)


def _bare() -> float:
    began = time.perf_counter()
    with servers.floor("sanic") as port, wire.connect(port) as connection:
        wire.exchange(connection, wire.post(port, "/json", {}))
        return (time.perf_counter() - began) * 1e6


def run(full: bool) -> list[Figure]:
    ups: list[float] = []
    bares: list[float] = []
    for _ in range(count(12, full=50, is_full=full)):
        ups.append(_up())
        bares.append(_bare())
    up, bare = Samples.of(ups), Samples.of(bares)
    start = replace(
        at_most("PERF-10", "relaybay up, to the first answer", up, p50_ms=1_500),
        floor=f"bare Sanic app p50 {ms(bare.median)}",
        ratio=up.median / bare.median,
    )
    version, alone = side_by_side(
        process([*_command(), "--version"]), process([sys.executable, "-c", "pass"]), count(60, full=300, is_full=full)
    )
    said = replace(
        at_most("PERF-10", "relaybay --version", version, p50_ms=80),
        floor=f"interpreter alone p50 {ms(alone.median)}",
        ratio=version.median / alone.median,
    )
    return [start, said]
