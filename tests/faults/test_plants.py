"""Bugs that are planted on purpose: each campaign has to notice those that it is there for, and by the rule that names them.

A plant is found where its campaign fails in the checker. `when` says what it takes: a plain run of the scenario, a kill at
one of its points, a race. That a campaign passes without a plant is what the campaign's own test shows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import checker
from tests.faults.campaign import Campaign
from tests.faults.crowd import Client, many_kills
from tests.faults.forks import Forks
from tests.faults.plants import PLANTS
from tests.faults.points import Points, spread
from tests.faults.real import RealServer
from tests.faults.test_two_servers import judge, races

POINTS_MAX = 60
#: Plants that show without a kill, by the rule that has to find them.
PLAIN = {
    "request_ids_not_looked_at": {"one_id"},
    "mark_taken_back_in_silence": {"receipts"},
    "refusal_not_undone": {"refused"},
    "body_stripped": {"body"},
    "spool_not_remembered": {"replay"},
    "newest_first": {"order"},
}
#: Plants that show only when the process dies at the right moment.
KILLED = {
    "acknowledged_before_the_commit": {"lost", "one_id"},
    "request_ids_in_memory": {"one_id", "twice"},
    "delivered_mark_later": {"marks", "shown_twice"},
    "event_after_the_commit": {"events", "receipts"},
}
#: Plants against the disk, which no kill of a process shows: the calls are counted.
UNSYNCED = ("no_sync", "sync_only_at_checkpoints")
ELSEWHERE = ("lock_not_taken",)


@pytest.fixture
def caught(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Counts a plant, and that it was found; called when it was."""
    record_property("count:planted bugs", 1)

    def found(by: str) -> None:
        print(f"found by {by}")
        record_property("count:planted bugs caught", 1)

    return found


def quiet(campaign: str, folder: Path) -> Campaign:
    """A run whose figures are nobody's: they would be those of a broken product."""
    return Campaign(campaign, lambda _name, _value: None, folder)


def test_every_plant_has_its_test() -> None:
    assert set(PLANTS) == {*PLAIN, *KILLED, *UNSYNCED, *ELSEWHERE}


@pytest.mark.spec("FLT-2")
@pytest.mark.parametrize("plant", PLAIN)
def test_a_bug_that_shows_in_any_run_is_found(plant, folder, caught) -> None:
    run = quiet("FLT-2", folder)
    with Forks() as forks:
        points = Points(run, forks, folder, plant)
        for _ in range(5):
            there, told = points.new_folder(), run.new_history()
            done = forks.play("run", there, told.path, run.chance.randrange(2**31), plant=plant)
            assert done.well, done.complaints
            verdict = checker.check(told.path, there / "relaybay.db")
            if verdict.rules & PLAIN[plant]:
                break
    assert verdict.rules & PLAIN[plant], f"not found: {verdict.words}"
    caught(" and ".join(sorted(verdict.rules)))


@pytest.mark.spec("FLT-2")
@pytest.mark.parametrize("plant", KILLED)
def test_a_bug_that_shows_at_the_right_kill_is_found(plant, folder, caught) -> None:
    run = quiet("FLT-2", folder)
    with Forks() as forks:
        points = Points(run, forks, folder, plant)
        base = points.base("begun")
        # A kill at a sync takes nothing back that was written before; at a write, what was not yet written.
        drawn = spread([point for point in base.points if point[0] == "pwrite64"], POINTS_MAX, run.chance)
        run.chance.shuffle(drawn)
        for call, k in drawn:
            there = points.die(base, call, k)
            if there is None:
                continue
            verdict = checker.check(there / "history", there / "relaybay.db")
            if verdict.rules & KILLED[plant]:
                break
    assert verdict.rules & KILLED[plant], f"not found in {POINTS_MAX} points: {verdict.words}"
    caught(" and ".join(sorted(verdict.rules)))


@pytest.mark.spec("FLT-2")
@pytest.mark.parametrize("plant", UNSYNCED)
def test_a_commit_that_is_not_synced_is_found(plant, folder, caught) -> None:
    with Forks() as forks, pytest.raises(AssertionError, match="sync: ") as found:
        Points(quiet("FLT-2", folder), forks, folder, plant).base("begun")
    caught(str(found.value))


@pytest.mark.spec("FLT-7")
def test_a_lock_that_is_not_taken_is_found(folder, caught) -> None:
    told = races(folder, 5, 1, "lock_not_taken")
    with pytest.raises(AssertionError, match="a race came to") as found:
        judge(quiet("FLT-7", folder), told, folder / "relaybay.db")
    caught(str(found.value))


@pytest.mark.spec("FLT-2")
def test_a_fault_that_is_never_injected_is_found(folder, caught, monkeypatch) -> None:
    """The measured trap: `strace` with another call in `trace=` injects nothing, and every run passes."""
    play = Forks.play

    def nothing_injected(self, part, there, told, seed, *, inject="", **more):
        return play(self, part, there, told, seed, **more, **({"count": ["getppid"]} if inject else {}))

    monkeypatch.setattr(Forks, "play", nothing_injected)
    run = quiet("FLT-2", folder)
    with Forks() as forks:
        points = Points(run, forks, folder)
        base = points.base("begun")
        assert not points.point(base, "pwrite64", 5), "a point that never came counts as none"
    run.points = 1
    with pytest.raises(AssertionError, match="no injection fired") as found:
        run.judge()
    caught(str(found.value))


@pytest.mark.spec("FLT-1")
def test_a_real_server_that_acknowledges_before_the_commit_is_found(folder, caught) -> None:
    run = quiet("FLT-1", folder)
    with RealServer("acknowledged_before_the_commit") as server:
        told = run.new_history()

        def strike(_number: int, _clients: list[Client]) -> bool:
            time.sleep(run.chance.uniform(0.1, 0.4))
            return server.kill()

        many_kills(run, server, told, strike, 3)
        server.stop()
        verdict = checker.check(told.path, server.database)
    assert verdict.rules & {"lost", "one_id"}, f"not found: {verdict.words}"
    caught(" and ".join(sorted(verdict.rules)))
