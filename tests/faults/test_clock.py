"""FLT-5: the clock jumps by days, goes back an hour, stands still, says 1970, 2038 or 2106.

Nothing is lost or given twice, what a session gets is in order, timers that look at the clock neither hang nor run in
circles, and no answer speaks of minus three days. The scenario and its weathers are `weather.py`.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from relaybay.service import clock
from tests.api.hooks_rig import HookServer
from tests.faults import numbers
from tests.faults.actors import Owner, Send, Session
from tests.faults.real import RealServer
from tests.faults.weather import DAY, HOUR, SECOND, TODAY, WEATHERS, YEAR_2038, Clock, Weathered

#: Of the runs, those that hold a wake-up's poll of a server, which takes a second each; and those on the whole program.
WAIT_SHARE, SERVER_SHARE = 0.08, 0.02


@pytest.mark.spec("FLT-5", "SEND-12", "CMT-3")
def test_no_clock_loses_doubles_or_turns_around_anything(campaign, folder) -> None:
    with campaign("FLT-5") as run:
        for number in range(max(len(WEATHERS), round(numbers.points("FLT-5") * (1 - WAIT_SHARE - SERVER_SHARE)))):
            told = run.new_history()
            place = folder / f"w{number}"
            place.mkdir()
            seed = run.chance.randrange(2**31)
            weathered = Weathered(place, told, seed, number)
            with naming(weathered.weather.__name__, seed):
                weathered.run()
                run.hold(told, place / "relaybay.db", clock_steady=False)
            run.points += 1
            run.fired += 1
            run.accepted += sum(actor.accepted for actor in (*weathered.script.sessions, weathered.script.owner))
            shutil.rmtree(place)


@contextmanager
def naming(weather: str, seed: int) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        error.add_note(f"under the weather {weather}, seed {seed}")
        raise


# -- waits --------------------------------------------------------------------------------------------------------

LOOKS_A_SECOND_MAX = 25
POLL_SECONDS = 1.0


def frozen(at_us: int) -> Callable[[], int]:
    return lambda: at_us


def jumping(steps: list[int]) -> Callable[[], int]:
    """Goes on as time does, and by one of these more with each look."""
    looks = iter(steps * 1_000)
    ahead = 0

    def now() -> int:
        nonlocal ahead
        ahead += next(looks)
        return time.time_ns() // 1_000 + ahead

    return now


TIMES = {
    "stands still": lambda: frozen(TODAY),
    "stands still within the five seconds": lambda: frozen(TODAY),
    "goes back": lambda: jumping([0, 0, -HOUR, 0]),
    "days ahead and back": lambda: jumping([0, 3 * DAY, -3 * DAY]),
    "1970": lambda: frozen(4 * SECOND),
    "2038": lambda: Clock(YEAR_2038 - SECOND, 50_000),
}


@pytest.mark.spec("FLT-5", "WAIT-2", "WAIT-10")
def test_a_wait_under_a_clock_that_stands_still_or_jumps_does_not_run_in_circles(campaign) -> None:
    with campaign("FLT-5") as run:
        names = list(TIMES)
        for number in range(max(len(names), round(numbers.points("FLT-5") * WAIT_SHARE))):
            name = names[number % len(names)]
            with naming(name, run.seed):
                looks = waits(TIMES[name](), comment="five" in name)
                run.counts["looks of a wait"] += looks
                assert looks <= LOOKS_A_SECOND_MAX * POLL_SECONDS, f"{looks} looks in {POLL_SECONDS} s"
            run.points += 1
            run.fired += 1


def waits(now: Callable[[], int], *, comment: bool) -> int:
    """Holds one poll of a session that has nothing, or a comment that may not be given yet; how often it was looked at."""
    folder = Path(tempfile.mkdtemp(prefix="rb"))
    rig = HookServer(folder)
    rig.start()
    try:
        row = rig.idle("h1")
        units_before = 0
        with mock.patch.object(clock, "system", now):
            if comment:
                rig.comment(row, board=True)
            units_before = rig.units
            connection = rig.begin("/hooks/claude-code/wait?wait_id=wait-0001&timeout_s=1", rig.body("Stop"))
            answer = rig.answer(connection)
            assert answer.status in (204, 409), answer
            return rig.units - units_before
    finally:
        rig.server.stop()
        rig.relay.close()
        shutil.rmtree(folder)


# -- the whole program --------------------------------------------------------------------------------------------

CPU_SECONDS_MAX = 1.0
IDLE_SECONDS = 2.0


def set_clock(file: Path, at_us: int) -> None:
    fresh = file.with_suffix(".new")
    fresh.write_text(str(at_us))
    fresh.replace(file)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.spec("FLT-5")
def test_the_real_server_lives_through_any_clock(campaign) -> None:
    with campaign("FLT-5") as run, RealServer() as server:
        told = run.new_history()
        file = server.folder / "clock"
        server.env |= {"RELAYBAY_CLOCK": str(file), "RELAYBAY_TEST": "1"}
        chance = random.Random(run.seed)
        set_clock(file, TODAY)
        server.start()
        owner, sessions = Owner(server, told, "owner"), [Session(server, told, name) for name in ("alice", "bob")]
        for session in sessions:
            session.appears()
        for number in range(max(1, round(numbers.points("FLT-5") * SERVER_SHARE))):
            for at_us in (TODAY - 3 * DAY, 4 * SECOND, -DAY, YEAR_2038 + chance.randrange(DAY), TODAY - HOUR, TODAY):
                set_clock(file, at_us)
                one_of_each(server, owner, sessions, f"p{number}-{at_us}")
            begun = cpu_seconds(server.running.pid)
            time.sleep(IDLE_SECONDS)
            spent = cpu_seconds(server.running.pid) - begun
            assert spent < CPU_SECONDS_MAX, f"{spent:.2f} s of the processor while the clock stood still"
            run.counts["milliseconds of the processor while the clock stood still"] += int(spent * 1_000)
            run.points += 1
            run.fired += 1
        server.stop()
        assert "Traceback" not in server.log, server.log
        run.hold(told, server.database, clock_steady=False)
        run.accepted = owner.accepted + sum(session.accepted for session in sessions)


def one_of_each(server: RealServer, owner: Owner, sessions: list[Session], tag: str) -> None:
    """A message, a comment, hooks, and every page of the board: nothing may fail."""
    one, other = sessions
    assert one.sends(Send(other.name, tag, 60, f"r-{tag}")), "a message was not taken"
    task = owner.makes_task("shop", tag)
    assert task is not None
    assert owner.comments(task, tag)
    other.hook("PostToolUse", tool_name="Bash", tool_use_id=tag)
    other.hook("Stop")
    for path in ("/api/v1/status", "/api/v1/sessions", "/api/v1/messages", f"/api/v1/tasks/{task}", "/api/v1/doctor"):
        answer = server.door._owner.get(path)
        assert answer.status == 200, (path, answer)
