"""FLT-2: the process dies at every k-th call that changes the disk, and what it had acknowledged is there afterwards.

The scenario (`script.py`) runs on the product's own use cases and store. A point is a call of the system and a number k:
the k-th such call of a thread never returns. The store is then opened again, every call without an answer is repeated
with its request id, the scenario goes on, and the checker reads the one history of both processes.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import missing
from tests.faults import history, numbers
from tests.faults.campaign import Campaign
from tests.faults.crowd import Client, many_kills
from tests.faults.forks import KILLED, Forks
from tests.faults.real import RealServer

CALLS = ("pwrite64", "fdatasync", "fsync", "ftruncate", "unlink", "rename")
#: What there is when the part that dies begins: nothing; everybody; everybody and a log that is soon put into the file; what
#: a kill has left, so that it is the recovery that dies.
BASES = ("empty", "begun", "full_log", "killed")
REDRAWN_SHARE_MAX = 0.1


@dataclass(frozen=True)
class Base:
    """A folder that points start from, the part that dies there, and the calls that it makes."""

    name: str
    folder: Path
    seed: int
    part: str
    points: list[tuple[str, int]]
    accepted: int


class Points:
    """Makes bases and runs points on copies of them."""

    def __init__(self, run: Campaign, forks: Forks, folder: Path) -> None:
        self.run, self.forks, self.folder = run, forks, folder
        self.made = 0

    def new_folder(self) -> Path:
        self.made += 1
        folder = self.folder / f"f{self.made}"
        folder.mkdir()
        return folder

    def copy(self, source: Path) -> Path:
        """The files that a process left; the log's index is made anew by whoever opens it."""
        target = self.new_folder()
        for file in source.iterdir():
            if not file.name.endswith("-shm"):
                shutil.copy2(file, target)
        return target

    def play_well(self, part: str, folder: Path, seed: int, **more: object) -> dict[str, int]:
        done = self.forks.play(part, folder, folder / "history", seed, **more)
        assert done.well, f"{part} ended with {done.status}\n{done.complaints}"
        return done.counted

    def base(self, name: str) -> Base:
        seed = self.run.chance.randrange(2**31)
        folder = self.new_folder()
        told = self.run.new_history()
        shutil.copy2(told.path, folder / "history")
        part = "recover" if name == "killed" else "run"
        if name in ("begun", "full_log"):
            self.play_well("begin" if name == "begun" else "fill", folder, seed)
        if name == "killed":
            k = self.run.chance.randrange(20, 50)
            done = self.forks.play("run", folder, folder / "history", seed, inject=f"fdatasync:signal=SIGKILL:when={k}")
            assert done.status == KILLED and done.injected, f"the kill before the kill did not fire: {done}"
        trial = self.copy(folder)
        counted = self.play_well(part, trial, seed, count=CALLS)
        shutil.rmtree(trial)
        points = [(call, k) for call in CALLS for k in range(1, counted.get(call, 0) + 1)]
        assert counted["pwrite64"] > 50 and counted["fdatasync"] > 5, f"the calls were not counted: {counted}"
        return Base(name, folder, seed, part, points, accepted(folder / "history"))

    def point(self, base: Base, call: str, k: int) -> bool:
        """One death and what follows; False when the scenario was over before the k-th call."""
        folder = self.copy(base.folder)
        told = folder / "history"
        died = self.forks.play(base.part, folder, told, base.seed, inject=f"{call}:signal=SIGKILL:when={k}")
        if died.well:
            shutil.rmtree(folder)
            return False
        where = f"{base.name}, seed {base.seed}, {call} {k}"
        assert died.status == KILLED and died.injected == 1, f"{where}: {died}"
        self.run.fired += 1
        after = self.forks.play("recover", folder, told, base.seed + k)
        assert after.well, f"{where}: after the kill the store was not usable\n{after.complaints}"
        self.run.hold(told, folder / "relaybay.db")
        self.run.accepted += accepted(told) - base.accepted
        self.run.points += 1
        shutil.rmtree(folder)
        return True


def accepted(told: Path) -> int:
    """How many changes the history was told to be done."""
    return sum(one.result == "ok" for one in history.read(told).of("send", "ack", "comment", "task", "bind", "update"))


def spread(points: list[tuple[str, int]], most: int, chance: random.Random) -> list[tuple[str, int]]:
    """All points, or `most` of them: half from the many writes and half from the few other calls, evenly."""
    if len(points) <= most:
        return points
    writes = [p for p in points if p[0] == "pwrite64"]
    others = [p for p in points if p[0] != "pwrite64"]
    few = min(len(others), most // 2)
    return [*_evenly(writes, most - few, chance), *_evenly(others, few, chance)]


def _evenly(points: list[tuple[str, int]], most: int, chance: random.Random) -> list[tuple[str, int]]:
    if most == 0:
        return []
    step = len(points) / most
    first = chance.random() * step
    return [points[min(int(first + i * step), len(points) - 1)] for i in range(most)]


@pytest.mark.spec("FLT-2", "INV-1")
@pytest.mark.parametrize("name", BASES)
def test_a_kill_at_any_write_or_sync_loses_nothing(name, campaign, folder) -> None:
    wanted = max(1, numbers.points("FLT-2") // len(BASES))
    with campaign("FLT-2") as run, Forks() as forks:
        points = Points(run, forks, folder)
        redrawn = 0
        while run.points < wanted:
            base = points.base(name)
            for call, k in spread(base.points, wanted - run.points, run.chance):
                # Callers that race for one commit need a call more or less from run to run: then an earlier one.
                while not points.point(base, call, k):
                    redrawn += 1
                    k = run.chance.randrange(1, k) if k > 1 else 1  # noqa: PLW2901
                    assert redrawn <= max(3, wanted * REDRAWN_SHARE_MAX), "too many points are never reached"
            shutil.rmtree(base.folder)
        run.counts["redrawn"] = redrawn


# -- the real server ----------------------------------------------------------------------------------------------

#: One in this many points of the campaign is on the whole server, whose start alone takes a second.
SERVER_SHARE = 1 / 50
SERVER_CLIENTS = 4
K_MAX = {"pwrite64": 300, "fdatasync": 40}
STRUCK_SECONDS_MAX = 60


def struck(server: RealServer, call: str, k: int) -> bool:
    """Waits until the k-th such call of a thread of the running server has ended it."""
    line = [
        "strace",
        "-f",
        "-p",
        str(server.running.pid),
        "-o",
        str(server.folder / "strace.log"),
        "-e",
        f"trace={call}",
    ]
    line += ["-e", f"inject={call}:signal=SIGKILL:when={k}"]
    try:
        tracer = subprocess.Popen(line, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    except FileNotFoundError:
        missing("strace", "there is no strace")
    assert tracer.stderr is not None
    said = tracer.stderr.readline()
    if "attached" not in said:
        missing("strace", f"strace has no hold of the server: {said + tracer.stderr.read()}")
    try:
        by_kill = server.died(STRUCK_SECONDS_MAX)
    finally:
        tracer.stderr.close()
        tracer.terminate()
        tracer.wait()
    return by_kill and "killed by SIGKILL" in (server.folder / "strace.log").read_text(errors="replace")


@pytest.mark.spec("FLT-2", "INV-1")
def test_a_kill_at_a_write_or_sync_of_the_real_server_loses_nothing(campaign) -> None:
    with campaign("FLT-2") as run, RealServer() as server:
        told = run.new_history()

        def strike(_number: int, _clients: list[Client]) -> bool:
            call = run.chance.choice(list(K_MAX))
            return struck(server, call, run.chance.randrange(1, K_MAX[call]))

        wanted = max(1, round(numbers.points("FLT-2") * SERVER_SHARE))
        many_kills(run, server, told, strike, wanted, SERVER_CLIENTS)
        server.stop()
        assert "Traceback" not in server.log, server.log
        run.hold(told, server.database)
        run.counts["of them on the real server"] = run.points
