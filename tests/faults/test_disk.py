"""FLT-4: the disk is full, or a call to it fails, at each k.

Full (ENOSPC): the call is refused as 507, what was accepted is there, and the server goes on by itself once there is room.
A failed write or sync (EIO): nobody knows what is on the disk, so the store promises nothing more until it is opened
anew, and what it had accepted before is there then.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest

from tests.conftest import missing
from tests.faults import history, numbers
from tests.faults.actors import Owner
from tests.faults.campaign import Campaign
from tests.faults.doors import NoAnswerError
from tests.faults.forks import Forks
from tests.faults.history import ROOT
from tests.faults.real import RealServer
from tests.faults.starved import SEEN

#: One in ten points is on the whole server.
SERVER_SHARE = 0.1


class StarvedForks(Forks):
    """A zygote that knows the parts of `starved.py` too."""

    def __enter__(self) -> Self:
        pipe = subprocess.PIPE
        line = [sys.executable, "-m", "tests.faults.starved"]
        self._process = subprocess.Popen(line, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
        return self


@dataclass(frozen=True)
class Kind:
    """A fault: which call, what it answers, and for how many of a thread's calls; 0: for ever. `bases` as in FLT-2."""

    call: str
    error: str
    times: int
    must: str
    """`recover`: goes on without a restart. `stop`: promises nothing more. `either`: some of these calls do not matter."""
    share: float


KINDS = {
    "full": Kind("pwrite64", "ENOSPC", 12, "recover", 0.4),
    "write failed": Kind("pwrite64", "EIO", 0, "either", 0.2),
    "one write failed": Kind("pwrite64", "EIO", 1, "either", 0.15),
    "sync failed": Kind("fdatasync", "EIO", 1, "either", 0.25),
}


def accepted(told: Path) -> int:
    """How many changes the history was told to be done."""
    return sum(one.result == "ok" for one in history.read(told).of("send", "ack", "comment", "task", "bind", "update"))


class Starving:
    """Runs points of one kind, each on a folder of its own."""

    def __init__(self, run: Campaign, forks: Forks, folder: Path) -> None:
        self.run, self.forks, self.folder = run, forks, folder
        self.number = 0

    def new_folder(self) -> tuple[Path, Any]:
        self.number += 1
        folder = self.folder / f"s{self.number}"
        folder.mkdir()
        told = self.run.new_history()
        return folder, told

    def most(self, kind: Kind, seed: int) -> int:
        """How often the busiest thread makes the call in a run without a fault."""
        folder, told = self.new_folder()
        done = self.forks.play("starve", folder, told.path, seed, count=[kind.call])
        assert done.well, done.complaints
        assert json.loads((folder / SEEN).read_text())["refused"] == {}
        shutil.rmtree(folder)
        return done.counted[kind.call]

    def point(self, kind: Kind, seed: int, k: int) -> dict[str, Any]:
        """One run with the fault from the k-th call on, and the start that follows it."""
        folder, told = self.new_folder()
        when = f"{k}+" if not kind.times else f"{k}..{k + kind.times - 1}"
        where = f"{kind.call} {kind.error} at {when}, seed {seed}"
        starved = self.forks.play(
            "starve", folder, told.path, seed, inject=f"{kind.call}:error={kind.error}:when={when}"
        )
        assert starved.well, f"{where}: {starved.complaints}"
        assert starved.injected, f"{where}: the fault was never injected"
        seen: dict[str, Any] = json.loads((folder / SEEN).read_text())
        after = self.forks.play("recover", folder, told.path, seed + k)
        assert after.well, f"{where}: the store was not usable afterwards\n{after.complaints}"
        self.run.hold(told, folder / "relaybay.db")
        self.run.accepted += accepted(told.path)
        self.run.points += 1
        self.run.fired += 1
        self.run.counts["calls that failed"] += starved.injected
        shutil.rmtree(folder)
        assert kind.must != "recover" or not seen["stopped"], f"{where}: a full disk has stopped the store: {seen}"
        return seen


@pytest.mark.spec("FLT-4", "INV-1")
@pytest.mark.parametrize("name", KINDS)
def test_a_disk_that_refuses_calls_loses_nothing_that_was_accepted(name, campaign, folder) -> None:
    kind = KINDS[name]
    with campaign("FLT-4") as run, StarvedForks() as forks:
        points = Starving(run, forks, folder)
        wanted = max(2, round(numbers.points("FLT-4") * kind.share * (1 - SERVER_SHARE)))
        seed = run.chance.randrange(2**31)
        most = points.most(kind, seed)
        for number in range(wanted):
            # Evenly over the run, leaving out the last calls, which a run that draws otherwise may not reach.
            k = 1 + int((number + run.chance.random()) * max(1, most * 0.85 - 1) / wanted)
            seen = points.point(kind, seed, k)
            for what in ("stopped", "recovered"):
                run.counts[what] += bool(seen[what])
            run.counts["refused"] += sum(seen["refused"].values()) + sum(seen["opening"].values())
        told = run.counts["stopped"] if kind.must == "either" else run.counts["refused"]
        assert told, f"no fault of {run.points} was noticed: {run.counts}"


@pytest.mark.spec("FLT-4")
def test_a_small_disk_is_filled_and_freed(campaign, folder) -> None:
    """A file system of four megabytes, for real: no call is made to fail."""
    with campaign("FLT-4") as run:
        told = run.new_history()
        mount = folder / "small"
        mount.mkdir()
        kept = folder / "kept"
        kept.mkdir()
        script = f"mount -t tmpfs -o size=4m tmpfs {mount}\nhead -c 1500000 /dev/zero > {mount}/ballast"
        seen = json.loads(small_disk(script, mount, told.path, kept, run.chance.randrange(2**31)))
        assert seen["recovered"] and seen["refused"]["StoreFull"] and seen["while full"], seen
        run.points += 1
        run.fired += 1
        run.counts["refused"] += seen["refused"]["StoreFull"]
        run.hold(told, kept / "relaybay.db")
        run.accepted = accepted(told.path)


def small_disk(script: str, mount: Path, told: Path, kept: Path, seed: int) -> str:
    """Plays `fill_disk` behind a mount that ends with it, and keeps the files it left; what it saw."""
    code = (
        "import sys; from pathlib import Path; from tests.faults.starved import fill_disk;"
        f" fill_disk(Path({str(mount)!r}), Path({str(told)!r}), {seed})"
    )
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    unshare = shutil.which("unshare")
    line = [unshare or "", *user, "--mount", "sh", "-c"]
    if (
        unshare is None
        or subprocess.run([*line, "mount -t tmpfs tmpfs /mnt"], capture_output=True, check=False).returncode
    ):
        missing("mount", "no mount namespace can be made here")
    whole = f'set -e\n{script}\n"$@"\ncp {mount}/relaybay.db* {mount}/{SEEN} {kept}'
    done = subprocess.run(
        [*line, whole, "sh", sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return (kept / SEEN).read_text()


# -- the real server ----------------------------------------------------------------------------------------------


@contextmanager
def failing(server: RealServer, fault: str) -> Iterator[Path]:
    """From here to the end of the block calls of the server to its disk fail: `pwrite64:error=ENOSPC`."""
    log = server.folder / "strace.log"
    line = ["strace", "-f", "-p", str(server.running.pid), "-o", str(log)]
    line += ["-e", f"trace={fault.partition(':')[0]}", "-e", f"inject={fault}"]
    try:
        tracer = subprocess.Popen(line, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    except FileNotFoundError:
        missing("strace", "there is no strace")
    assert tracer.stderr is not None
    said = tracer.stderr.readline()
    if "attached" not in said:
        missing("strace", f"strace has no hold of the server: {said + tracer.stderr.read()}")
    try:
        yield log
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.stderr.read()
        tracer.stderr.close()
        tracer.wait()


def status_of(ask: Callable[[], Any]) -> tuple[int, str]:
    """What the server answered to the owner: 201 and nothing, or the status and code of a refusal."""
    try:
        done = ask()
    except NoAnswerError as error:
        found = re.findall(r"^status (\d+): .*'code': '(\w+)'", str(error))
        return (int(found[0][0]), found[0][1]) if found else (0, str(error))
    return (201, "") if done is not None else (422, "refused")


FULL, STOPPED = (507, "store_full"), (503, "store_unavailable")


def every_surface(server: RealServer, owner: Owner, task: str, tag: str) -> tuple[int, str]:
    """Asks the owner's REST call, a tool and a hook. The first two have to say the same; a hook always fails open."""
    over_rest = status_of(lambda: owner.comments(task, tag))
    if over_rest[0] != 201:
        answer = server.tool("task_create", "", {"project": "shop", "title": tag, "body": "", "status": "todo"})
        assert answer["code"] == over_rest[1], answer
        event = {"session_id": f"h-{tag}", "hook_event_name": "SessionStart", "cwd": "/srv/shop", "source": "startup"}
        assert server.hook(event) == {}, "a hook stands in an agent's way"
    return over_rest


def full_and_freed(server: RealServer, owner: Owner, task: str, tag: str) -> None:
    """No byte more for as long as the block lasts; then the same server goes on."""
    with failing(server, "pwrite64:error=ENOSPC") as log:
        for number in range(3):
            assert every_surface(server, owner, task, f"{tag}-full-{number}") == FULL
    assert "(INJECTED)" in log.read_text(errors="replace"), "the fault was never injected"
    assert every_surface(server, owner, task, f"{tag}-freed") == (201, "")


def failed_for_good(server: RealServer, owner: Owner, task: str, tag: str, fault: str) -> None:
    """One call of the disk fails: nothing more is promised until the server is started again."""
    with failing(server, fault) as log:
        assert every_surface(server, owner, task, f"{tag}-failing") == STOPPED
    assert "(INJECTED)" in log.read_text(errors="replace"), "the fault was never injected"
    for number in range(2):
        assert every_surface(server, owner, task, f"{tag}-well-again-{number}") == STOPPED
    assert server.door._owner.get(f"/api/v1/tasks/{task}").status == 200, "what is on the disk can still be read"
    server.running.send_signal(signal.SIGTERM)
    assert not server.died(), "it was killed"
    server.start()
    assert every_surface(server, owner, task, f"{tag}-anew") == (201, "")


@pytest.mark.spec("FLT-4", "INV-1")
def test_the_real_server_says_507_goes_on_after_it_and_stops_after_a_failed_sync(campaign) -> None:
    with campaign("FLT-4") as run, RealServer() as server:
        told = run.new_history()
        server.start()
        owner = Owner(server, told, "owner")
        task = owner.makes_task("shop", "the first")
        assert task is not None
        for number in range(max(3, round(numbers.points("FLT-4") * SERVER_SHARE))):
            kind = number % 3
            if kind == 0:
                full_and_freed(server, owner, task, f"p{number}")
            else:
                fault = "fdatasync:error=EIO" if kind == 1 else "pwrite64:error=EIO"
                failed_for_good(server, owner, task, f"p{number}", fault)
            run.points += 1
            run.fired += 1
        server.stop()
        assert "Traceback" not in server.log, server.log
        run.hold(told, server.database)
        run.accepted = owner.accepted
        run.counts["of them on the real server"] = run.points
