"""A process that has everything imported and forks a child for each part of a run: `python -m tests.faults.zygote`.

A request is one line of JSON on stdin, its answer one line on stdout. A child that is to meet a fault is held until
`strace` has hold of it, so the fault meets the product's own calls and none of the interpreter's start. `strace` counts
the calls of each thread by itself.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

from tests.faults.plants import PLANTS
from tests.faults.script import PARTS

SECONDS_MAX = 60
#: prctl(2): lets a process that is no ancestor trace this one, where the system asks for that.
_PR_SET_PTRACER, _ANY = 0x59616D61, ctypes.c_ulong(-1)
_CALL = re.compile(r"^(\d+) +(\w+)\(")


def child(request: dict[str, Any], gate: int, complaints: Path) -> NoReturn:
    """Waits at the gate, plays its part, ends: 0, or 1 with a traceback in the file."""
    status = 1
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, _ANY, 0, 0, 0)
        with complaints.open("w") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        os.read(gate, 1)
        if request.get("plant"):
            PLANTS[request["plant"]]()
        PARTS[request["part"]](Path(request["folder"]), Path(request["history"]), request["seed"])
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        # Not `exit`: what the parent had put at its end is not the child's to do.
        sys.stderr.flush()
        os._exit(status)


def tracer(request: dict[str, Any], pid: int, log: Path) -> subprocess.Popen[str] | str:
    """`strace` with hold of the child, or why it has none."""
    inject = request.get("inject", "")
    calls = inject.partition(":")[0] if inject else ",".join(request["count"])
    # The calls are named in `trace=` too: with others there, `inject=` does nothing and says nothing.
    options = ["-f", "-p", str(pid), "-o", str(log), "-e", f"trace={calls}"]
    options += ["-e", f"inject={inject}"] if inject else []
    try:
        started = subprocess.Popen(["strace", *options], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    except FileNotFoundError:
        return "there is no strace"
    assert started.stderr is not None
    said = started.stderr.readline()
    if "attached" in said:
        return started
    said += started.stderr.read()
    started.wait()
    return f"strace has no hold of a process: {said.strip()}"


def wait_for(pid: int) -> int:
    """The child's exit code, negative for a signal; one that hangs is ended and said so by a code of its own."""
    until = time.monotonic() + SECONDS_MAX
    pause = 0.001
    while time.monotonic() < until:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return 124


def counted(log: Path) -> dict[str, int]:
    """How often the busiest thread made each call."""
    times: dict[str, Counter[str]] = {}
    for line in log.read_text(errors="replace").splitlines() if log.exists() else ():
        found = _CALL.match(line)
        if found:
            times.setdefault(found[2], Counter())[found[1]] += 1
    return {call: max(by_thread.values()) for call, by_thread in times.items()}


def carry_out(request: dict[str, Any]) -> dict[str, Any]:
    folder = Path(request["folder"])
    log, complaints = folder / "strace.log", folder / "complaints"
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(writing)
        child(request, reading, complaints)
    os.close(reading)
    traced = tracer(request, pid, log) if request.get("inject") or request.get("count") else None
    os.write(writing, b"g")
    os.close(writing)
    status = wait_for(pid)
    if isinstance(traced, str):
        return {"missing": traced}
    answer: dict[str, Any] = {"status": status, "complaints": complaints.read_text(errors="replace")}
    if traced is not None:
        assert traced.stderr is not None
        traced.stderr.read()
        traced.wait()
        answer["counted"] = counted(log)
        text = log.read_text(errors="replace") if log.exists() else ""
        # An error that was put in says so; a signal is seen by the call that it met and never came back from.
        answer["injected"] = text.count("(INJECTED)") + (status == -signal.SIGKILL and "killed by SIGKILL" in text)
        log.unlink(missing_ok=True)
    complaints.unlink()
    return answer


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(carry_out(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
