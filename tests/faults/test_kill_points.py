"""FLT-2: the process dies at every k-th call that changes the disk, and what it had acknowledged is there afterwards.

The scenario (`script.py`) runs on the product's own use cases and store. A point is a call of the system and a number k:
the k-th such call of a thread never returns. The store is then opened again, every call without an answer is repeated
with its request id, the scenario goes on, and the checker reads the one history of both processes.
"""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.conftest import missing
from tests.faults import numbers
from tests.faults.crowd import Client, many_kills
from tests.faults.forks import Forks
from tests.faults.points import BASES, Points, spread
from tests.faults.real import RealServer

REDRAWN_SHARE_MAX = 0.1


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


@pytest.mark.spec("FLT-2", "FLT-11")
def test_a_first_start_that_dies_at_any_sync_can_be_made_again(campaign, folder) -> None:
    """The file is made with a journal that is rolled back, and only then has a log: what is left of that must not stand in
    the way for ever.
    """
    with campaign("FLT-2") as run, Forks() as forks:
        points = Points(run, forks, folder)
        base = points.base("empty")
        for call, most in (("fdatasync", 6), ("unlink", 2)):
            for k in range(1, most + 1):
                assert points.point(base, call, k)


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
