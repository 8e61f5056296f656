"""The test's side of `zygote.py`: parts of a run in children, with a fault if asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.conftest import missing
from tests.faults.history import ROOT

KILLED = -9


@dataclass(frozen=True)
class Played:
    """How a part ended: exit code (negative: the signal), what it complained of, whether the fault fired, and, where it
    was asked for, how often the busiest thread made each call.
    """

    status: int
    complaints: str
    injected: int
    counted: dict[str, int]

    @property
    def well(self) -> bool:
        return self.status == 0


class Forks:
    """`with Forks() as forks: forks.play("run", folder, history, seed, inject="fdatasync:signal=SIGKILL:when=3")`."""

    def __enter__(self) -> Self:
        pipe = subprocess.PIPE
        line = [sys.executable, "-m", "tests.faults.zygote"]
        self._process = subprocess.Popen(line, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=60)

    def play(self, part: str, folder: Path, history: Path, seed: int, **more: Any) -> Played:
        """One part (`script.PARTS`). `inject` is an expression of strace(1), `count` names of calls, `plant` a bug."""
        assert self._process.stdin is not None and self._process.stdout is not None
        request = {"part": part, "folder": str(folder), "history": str(history), "seed": seed, **more}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "missing" in answer:
            missing("strace", answer["missing"])
        return Played(answer["status"], answer["complaints"], answer.get("injected", 0), answer.get("counted", {}))
