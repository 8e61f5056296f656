"""PERF-4: what one event costs through the command hook, the whole process, against the interpreter alone.

    python -m bench.hook_client [--rounds N] [--python PATH]

The floor is `python -I -S -c pass` with the same interpreter, measured beside it in the same rounds, in shuffled order.
A small server answers at a Unix socket in another process. Prints a table; ends with 1 when the target is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from relaybay.client import FILES

SOURCE = Path(__file__).parents[1] / "relaybay" / "client"
RATIO_MAX = 1.5  # PERF-4
FLOOR = "interpreter alone"
ANSWERED = "hook, server answers"
ANSWER = json.dumps({"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "x" * 900}}).encode()
EVENT = json.dumps(
    {
        "session_id": "0a1f0000-0000-4000-8000-000000000000",
        "hook_event_name": "PostToolUse",
        "cwd": "/home/somebody/projects/shop",
        "tool_name": "Bash",
        "tool_use_id": "toolu_01",
        "tool_input": {"command": "make test"},
        "tool_response": {"stdout": "ok " * 250},
    }
).encode()


@contextlib.contextmanager
def answering(path: Path) -> Iterator[None]:
    """A process that answers every request at the socket at once."""
    door = socket.socket(socket.AF_UNIX)
    door.bind(str(path))
    door.listen(64)
    pid = os.fork()
    if not pid:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(ANSWER)
        while True:
            peer, _ = door.accept()
            data = b""
            while not data.endswith(EVENT):
                data += peer.recv(1 << 16)
            peer.sendall(head + ANSWER)
            peer.close()
    door.close()
    try:
        yield
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)


def once(line: list[str], expected: bytes) -> float:
    """Milliseconds from start to end of one process."""
    began = time.perf_counter()
    done = subprocess.run(line, input=EVENT, stdout=subprocess.PIPE, env={}, check=True)
    took = (time.perf_counter() - began) * 1000
    if done.stdout != expected:
        raise SystemExit(f"{line} printed {done.stdout!r}")
    return took


def base_python() -> str:
    """The interpreter that an agent's client starts the hook with: none of a virtual environment."""
    return str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())


def measure(rounds: int, python: str) -> dict[str, list[float]]:
    """Milliseconds of each way in so many shuffled rounds; `FLOOR` is among them."""
    home = Path(tempfile.mkdtemp(prefix="rb-"))
    try:
        (home / "run").mkdir(mode=0o700)
        (home / "bin").mkdir()
        for name in FILES:
            shutil.copy(SOURCE / name, home / "bin" / name)
        bare = [python, "-I", "-S"]
        hook = [*bare, str(home / "bin" / "hook.py"), "--home"]
        ways = {
            FLOOR: ([*bare, "-c", "pass"], b""),
            ANSWERED: ([*hook, str(home)], ANSWER),
            "hook, server away": ([*hook, str(home / "away")], b""),
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        with answering(home / "run" / "relaybay.sock"):
            for number in range(rounds + 3):
                for name in random.sample(list(ways), len(ways)):
                    took = once(*ways[name])
                    if number >= 3:  # The first rounds fill caches, the compiled files among them.
                        times[name].append(took)
    finally:
        shutil.rmtree(home)
    return times


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=200)
    options.add_argument("--python", default=base_python())
    given = options.parse_args()
    times = measure(given.rounds, given.python)
    floor = statistics.median(times[FLOOR])
    print(f"{given.python}, {given.rounds} rounds, {len(EVENT)} bytes in, {len(ANSWER)} bytes out")
    print(f"{'way':24}{'p50 ms':>9}{'p95 ms':>9}{'min ms':>9}{'x floor':>9}")
    for name, all_of in times.items():
        p50, p95 = statistics.median(all_of), statistics.quantiles(all_of, n=20)[-1]
        print(f"{name:24}{p50:9.2f}{p95:9.2f}{min(all_of):9.2f}{p50 / floor:9.2f}")
    ratio = statistics.median(times[ANSWERED]) / floor
    print(f"PERF-4: {ratio:.2f} times the floor, target {RATIO_MAX}: {'met' if ratio <= RATIO_MAX else 'MISSED'}")
    return 0 if ratio <= RATIO_MAX else 1


if __name__ == "__main__":
    sys.exit(main())
