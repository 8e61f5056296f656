"""Deaths at points: a scenario of `script.py` in a child that dies at the k-th call, what follows, and the checker over both."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults import checker, history
from tests.faults.campaign import Campaign
from tests.faults.forks import KILLED, Forks, Played

CALLS = ("pwrite64", "fdatasync", "fsync", "ftruncate", "unlink", "rename")
#: What there is when the part that dies begins: nothing; everybody; everybody and a log that is soon put into the file; what
#: a kill has left, so that it is the recovery that dies.
BASES = ("empty", "begun", "full_log", "killed")


@dataclass(frozen=True)
class Base:
    """A folder that points start from, the part that dies there, and the calls that it makes."""

    name: str
    folder: Path
    seed: int
    part: str
    points: list[tuple[str, int]]
    accepted: int
    marked: int


class Points:
    """Makes bases and runs points on copies of them."""

    def __init__(self, run: Campaign, forks: Forks, folder: Path, plant: str = "") -> None:
        self.run, self.forks, self.folder, self.plant = run, forks, folder, plant
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

    def play(self, part: str, folder: Path, seed: int, **more: Any) -> Played:
        """One part on a folder that has its history beside the database."""
        return self.forks.play(part, folder, folder / "history", seed, plant=self.plant, **more)

    def play_well(self, part: str, folder: Path, seed: int, **more: Any) -> dict[str, int]:
        done = self.play(part, folder, seed, **more)
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
            done = self.play("run", folder, seed, inject=f"fdatasync:signal=SIGKILL:when={k}")
            assert done.status == KILLED and done.injected, f"the kill before the kill did not fire: {done}"
        trial = self.copy(folder)
        before = accepted(folder / "history")
        marked = 0
        if (trial / "relaybay.db").exists():
            marked = checker.check(trial / "history", trial / "relaybay.db").marked_unanswered
        counted = self.play_well(part, trial, seed, count=CALLS)
        acknowledged = accepted(trial / "history", alone=True) - accepted(folder / "history", alone=True)
        shutil.rmtree(trial)
        points = [(call, k) for call in CALLS for k in range(1, counted.get(call, 0) + 1)]
        assert counted.get("pwrite64", 0) > 50, f"the calls were not counted: {counted}"
        # Whoever has an answer has a commit that was put through to the disk before (page 80, Store).
        synced = counted.get("fdatasync", 0) + counted.get("fsync", 0)
        assert synced >= acknowledged > 0, (
            f"sync: {acknowledged} changes were acknowledged one after the other, and {synced} times synced"
        )
        return Base(name, folder, seed, part, points, before, marked)

    def die(self, base: Base, call: str, k: int) -> Path | None:
        """One death and the life after it: the folder that is left. None when the scenario was over before that call."""
        folder = self.copy(base.folder)
        died = self.play(base.part, folder, base.seed, inject=f"{call}:signal=SIGKILL:when={k}")
        if died.well:
            shutil.rmtree(folder)
            return None
        where = f"{base.name}, seed {base.seed}, {call} {k}"
        assert died.status == KILLED and died.injected == 1, f"{where}: {died}"
        self.run.fired += 1
        after = self.play("recover", folder, base.seed + k)
        assert after.well, f"{where}: after the kill the store was not usable\n{after.complaints}"
        return folder

    def point(self, base: Base, call: str, k: int) -> bool:
        """One point of the campaign, held against the checker's rules; False when it was never reached."""
        folder = self.die(base, call, k)
        if folder is None:
            return False
        told = folder / "history"
        self.run.hold(told, folder / "relaybay.db")
        # What the base had is the base's, and every point has it.
        self.run.accepted += accepted(told) - base.accepted
        self.run.counts["marked without an answer"] -= base.marked
        self.run.points += 1
        shutil.rmtree(folder)
        return True


def accepted(told: Path, *, alone: bool = False) -> int:
    """How many things the history was told to be there; `alone`, without what shared its commit with others."""
    done = [one for one in history.read(told).of("send", "comment", "task") if one.result == "ok"]
    return len({line for one in done if not (alone and one.client.startswith("caller")) for line in one.told.values()})


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
