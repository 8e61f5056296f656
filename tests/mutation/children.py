"""Child processes: one for each test or mutant, so that nothing of one is seen by the next.

A child inherits everything that is loaded, does its one thing, leaves its answer in a file and ends without clearing up.
"""

from __future__ import annotations

import os
import pickle
import resource
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEMORY_MAX = 6 * 1024**3
CPU_SECONDS_MIN, CPU_TIMES = 3.0, 5.0
WALL_SECONDS_MIN, WALL_TIMES = 12.0, 15.0
"""A test may take so many times what it took before any change, and at least so long: other work may stop it for a while."""

_STOPPED = (signal.SIGXCPU, signal.SIGALRM, signal.SIGKILL)


class ChildFailedError(Exception):
    """The tool itself failed in a child. Not a word about the mutant."""


@dataclass(frozen=True)
class Ended:
    """How a child ended: its answer when it left one, whether a limit ended it, and the processor seconds it took."""

    answer: Any
    timed_out: bool
    cpu: float


def own_folder(folder: Path, pid: int) -> Path:
    """Where a child keeps its files: removed when it has ended, however it did."""
    return folder / f"files-{pid}"


def bound(cpu: float, wall: float) -> None:
    """Lets the kernel end this process when the next test takes far longer than it did in the recording."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = used.ru_utime + used.ru_stime + max(CPU_SECONDS_MIN, cpu * CPU_TIMES)
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, resource.RLIM_INFINITY))
    signal.setitimer(signal.ITIMER_REAL, max(WALL_SECONDS_MIN, wall * WALL_TIMES))


def run(
    tasks: Iterable[Any],
    work: Callable[[Any], Any],
    done: Callable[[Any, Ended], None],
    *,
    jobs: int,
    folder: Path,
) -> None:
    """Runs `work(task)` for each task in a child of its own, `jobs` at a time; tells `done` of each in the parent.

    Raises ChildFailedError when `work` raises.
    """
    waiting = iter(tasks)
    running: dict[int, tuple[Any, Path]] = {}
    started = 0
    more = True
    try:
        while running or more:
            while more and len(running) < jobs:
                try:
                    task = next(waiting)
                except StopIteration:
                    more = False
                    break
                answer = folder / f"answer-{started}"
                started += 1
                running[_start(work, task, answer)] = (task, answer)
            if running:
                pid, status, usage = os.wait4(-1, 0)
                task, answer = running.pop(pid)
                # What its tests have started must not outlive it.
                _kill_group(pid)
                shutil.rmtree(own_folder(folder, pid), ignore_errors=True)
                done(task, _ended(answer, status, usage.ru_utime + usage.ru_stime))
    finally:
        for pid in running:
            _kill_group(pid)
            os.waitpid(pid, 0)


def _start(work: Callable[[Any], Any], task: Any, answer: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setsid()
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, resource.RLIM_INFINITY))
        try:
            said: Any = (True, work(task))
        except BaseException:
            said = (False, traceback.format_exc())
        signal.setitimer(signal.ITIMER_REAL, 0)
        aside = answer.with_suffix(".part")
        aside.write_bytes(pickle.dumps(said))
        aside.replace(answer)
        code = 0
    finally:
        os._exit(code)


def _ended(answer: Path, status: int, cpu: float) -> Ended:
    if not answer.exists():
        return Ended(None, os.WIFSIGNALED(status) and os.WTERMSIG(status) in _STOPPED, cpu)
    well, said = pickle.loads(answer.read_bytes())
    answer.unlink()
    if not well:
        sys.stderr.write(said)
        raise ChildFailedError(said.splitlines()[-1])
    return Ended(said, timed_out=False, cpu=cpu)


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
