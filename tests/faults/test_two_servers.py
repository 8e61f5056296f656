"""FLT-7: of two that start on one folder at once, one gets it; the other ends with a clear message and has changed nothing."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from relaybay.cli import exits
from relaybay.store import sqlite
from tests.faults import numbers
from tests.faults.campaign import Campaign
from tests.faults.history import ROOT
from tests.faults.real import RealServer

#: A whole server takes a second or two to start; in every run one race in ten is on whole servers.
WHOLE_SHARE = 0.1
SECONDS_MAX = 40


def races(folder: Path, times: int, seed: int, plant: str = "") -> list[dict[str, object]]:
    """What `race.py` tells of each race."""
    line = [sys.executable, "-m", "tests.faults.race", str(folder), str(times), str(seed), plant]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=30 + 2 * times, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(one) for one in done.stdout.splitlines()]


def judge(run: Campaign, told: list[dict[str, object]], database: Path) -> None:
    """Exactly one of two won each race, and only winners have written."""
    for one in told:
        run.points += 1
        assert sorted(one["said"]) == ["StoreLocked", "open"], f"a race came to {one}"  # type: ignore[call-overload]
        run.fired += 1
    with closing(sqlite3.connect(database)) as connection:
        written = connection.execute("SELECT count(*) FROM event WHERE type = 'raced'").fetchone()[0]
    assert written == len(told), f"{written} wrote, {len(told)} won"
    assert sqlite.problems(database) == []


@pytest.mark.spec("FLT-7")
def test_of_two_stores_one_gets_the_folder(campaign, folder) -> None:
    points = numbers.points("FLT-7")
    with campaign("FLT-7") as run:
        times = points if numbers.is_full() else max(1, round(points * (1 - WHOLE_SHARE)))
        told = races(folder, times, run.seed)
        judge(run, told, folder / "relaybay.db")
        run.counts["after a kill"] = sum(bool(one["stale"]) for one in told)


def contest(server: RealServer) -> tuple[subprocess.Popen[str], int, str]:
    """Two whole servers at once: the winner's process, the loser's exit code, and what the loser said."""
    both = [server.popen(), server.popen()]
    lines = [one.stdout.readline() if one.stdout else "" for one in both]
    try:
        winners = [one for one, line in zip(both, lines, strict=True) if '"url"' in line]
        losers = [one for one in both if one not in winners]
        assert len(winners) == 1, f"{len(winners)} servers of two came up\n{server.log}"
        code = losers[0].wait(SECONDS_MAX)
    except BaseException:
        for one in both:
            one.kill()
        raise
    assert losers[0].stdout is not None
    losers[0].stdout.close()
    return winners[0], code, server.log


@pytest.mark.spec("FLT-7")
def test_of_two_whole_servers_one_comes_up_and_the_other_says_why_not(campaign) -> None:
    points = numbers.points("FLT-7")
    with campaign("FLT-7") as run, RealServer() as server:
        wanted = points if numbers.is_full() else max(1, round(points * WHOLE_SHARE))
        for number in range(1, wanted + 1):
            (server.folder / "stderr").unlink(missing_ok=True)
            winner, code, said = contest(server)
            # From here on the rig ends it, whatever comes.
            server.process = winner
            run.points += 1
            run.fired += code == exits.LOCKED
            assert code == exits.LOCKED, f"the loser ended with {code}:\n{said}"
            assert str(server.home / "data") in said and "[data_folder_locked " in said, said
            assert "Traceback" not in said, said
            # What the next two find is a folder that a kill has left; the last one ends in peace.
            assert server.kill() if number < wanted else not server.stop()
        assert sqlite.problems(server.database) == []
        run.counts["whole servers"] = run.points
