"""The real server in a process of its own, to be killed and started again on one folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.faults.doors import HttpDoor, NoAnswerError
from tests.faults.history import ROOT

ANSWER_SECONDS_MAX = 30


def command(plant: str = "") -> list[str]:
    """The program as it is installed, or with a bug planted in its memory (`planted.py`)."""
    program = ["tests.faults.planted", plant] if plant else ["relaybay"]
    return [sys.executable, "-m", *program, "up", "--foreground", "--port", "0", "--json"]


class RealServer:
    """One home and the server on it. It is also the door of its clients: while no server is up, a call gets no answer."""

    def __init__(self, plant: str = "") -> None:
        # Short, because a socket's path is limited; in memory, as the fixture `folder` explains.
        where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="rbf", dir=where))
        self.home = self.folder / "h"
        self.plant = plant
        self.env = {**os.environ, "HOME": str(self.folder), "RELAYBAY_HOME": str(self.home)}
        self.up = threading.Event()
        self.start_seconds: list[float] = []
        self._door: HttpDoor | None = None
        self.process: subprocess.Popen[str] | None = None

    @property
    def database(self) -> Path:
        return self.home / "data" / "relaybay.db"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing of ours goes on running. The folder of a run that failed is kept, to be looked at."""
        if self.process is not None and self.process.poll() is None:
            self.kill()
        if error is None:
            shutil.rmtree(self.folder)
        else:
            print(f"the folder is kept: {self.folder}\n{self.log[-4000:]}")

    # -- its life --------------------------------------------------------------------------------------------

    def popen(self) -> subprocess.Popen[str]:
        """A server's process; whether it gets the folder is told by its first line."""
        with (self.folder / "stderr").open("ab") as log:
            return subprocess.Popen(
                command(self.plant),
                cwd=ROOT,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    @property
    def running(self) -> subprocess.Popen[str]:
        assert self.process is not None, "no server was started"
        return self.process

    def start(self) -> None:
        begun = time.monotonic()
        self.process = self.popen()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the server did not start\n{self.log}"
        self.start_seconds.append(time.monotonic() - begun)
        self._door = HttpDoor(self.home / "run", int(json.loads(line)["url"].rpartition(":")[2]))
        self.up.set()

    def kill(self) -> bool:
        """`kill -9` of this one process; whether that is what it died of."""
        self.up.clear()
        self.running.kill()
        return self.died()

    def died(self, seconds_max: float = ANSWER_SECONDS_MAX) -> bool:
        """Waits until it is gone; whether it was killed."""
        code = self.running.wait(seconds_max)
        self.up.clear()
        self._door = None
        assert self.running.stdout is not None
        self.running.stdout.close()
        return code == -signal.SIGKILL

    def stop(self) -> None:
        """Ends it as a service manager would."""
        self.running.send_signal(signal.SIGTERM)
        assert not self.died() and self.running.returncode == 0, self.log

    @property
    def log(self) -> str:
        return (self.folder / "stderr").read_text(errors="replace")

    # -- what its clients call -------------------------------------------------------------------------------

    @property
    def door(self) -> HttpDoor:
        door = self._door
        if door is None:
            raise NoAnswerError("no server is up", asked=False)
        return door

    def hook(self, body: dict[str, Any]) -> dict[str, Any]:
        return self.door.hook(body)

    def tool(self, name: str, tool_use_id: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self.door.tool(name, tool_use_id, arguments)

    def owner(self, does: str, **said: Any) -> dict[str, Any]:
        return self.door.owner(does, **said)
