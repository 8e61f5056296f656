"""What happens because time passed: clients that are gone, silent sessions, orphaned waits (page 10: HL-9, HL-10, 11)."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from relaybay.domain import ClientProcess
from relaybay.service import processes, sweep
from relaybay.store import events
from tests.unit.hook_events_rig import CWD, HookRig
from tests.unit.linking_rig import SECOND

HOUR = 3_600 * SECOND
DAY = 24 * HOUR

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc on this system")


@pytest.fixture
def rig(tmp_path: Path):
    made = HookRig(tmp_path)
    yield made
    made.relay.close()


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    if process.poll() is None:
        process.kill()
    process.wait()


def told(pid: int, started: str | None = None, **more: str) -> ClientProcess:
    where = {"pid_ns": processes.own_namespace(), "host": platform.node(), **more}
    return ClientProcess(pid, processes.started(pid) or "" if started is None else started, **where)


def look(rig: HookRig) -> int:
    gone = rig.store.read(sweep.gone_clients)
    return rig.store.write(lambda tx: sweep.end_gone(tx, rig.relay, gone))


def kill(child: subprocess.Popen[bytes]) -> None:
    """As a user's kill -9; nobody has asked for the child's end yet, so it stays as a zombie."""
    os.kill(child.pid, signal.SIGKILL)
    until = time.monotonic() + 5
    while processes.started(child.pid) is not None and time.monotonic() < until:
        time.sleep(0.01)


# -- the process --------------------------------------------------------------------------------------------------


@needs_proc
@pytest.mark.spec("HL-9", "ACT-5", "MOVE-8")
def test_a_killed_client_ends_its_session_and_a_zombie_is_gone(rig, child) -> None:
    row = rig.linked(process=told(child.pid))
    rig.prompt()
    mid = rig.send(row)
    entry = rig.wait()
    assert look(rig) == 0 and rig.holder().link_state == "exact"
    kill(child)
    assert "Z" in Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0]
    assert look(rig) == 1
    after = rig.holder()
    assert (after.link_state, after.activity, after.ended_reason, after.name) == (
        "ended_exact",
        "ended",
        "process_gone",
        None,
    )
    assert entry.state == "ended" and rig.state(mid) == "sent"
    assert look(rig) == 0, "once"
    child.wait()
    assert processes.gone(told(child.pid, "1")), "and gone for good"


@needs_proc
@pytest.mark.spec("HL-9")
def test_another_process_of_the_same_number_is_not_the_client(rig, child) -> None:
    rig.linked(process=told(child.pid, started="1"))
    assert look(rig) == 1 and rig.holder().ended_reason == "process_gone"


@needs_proc
@pytest.mark.spec("HL-9")
@pytest.mark.parametrize("where", [{"pid_ns": "pid:[1]"}, {"pid_ns": ""}, {"host": "elsewhere"}])
def test_a_process_of_another_place_is_not_judged(rig, child, where) -> None:
    rig.linked(process=told(child.pid, "1", **where))
    kill(child)
    assert look(rig) == 0 and rig.holder().link_state == "exact"


@needs_proc
@pytest.mark.spec("HL-9", "HL-5", "HL-10")
def test_an_event_after_all_mends_it_and_the_old_process_is_judged_no_more(rig, child) -> None:
    rig.linked(process=told(child.pid))
    kill(child)
    look(rig)
    said = rig.tool()
    assert "HL-5" in said.spec_ids and (rig.holder().link_state, rig.holder().process_pid) == ("exact", 0)
    assert look(rig) == 0
    rig.hook("SessionEnd", process=told(child.pid, "1"))
    rig.start(source="resume", process=told(os.getpid()))
    rig.tool(session_title="ada")
    assert rig.holder().process_pid == os.getpid() and look(rig) == 0


@needs_proc
@pytest.mark.spec("HL-11", "HL-9", "MOVE-2")
def test_a_folder_guess_whose_client_is_gone_is_dropped(rig, child) -> None:
    row = rig.row("Alice", cwd=CWD)
    rig.start(process=told(child.pid))
    kill(child)
    assert look(rig) == 1
    after = rig.need(row)
    assert (after.link_state, after.hook_id, after.activity, after.process_pid) == ("none", None, "unknown", 0)


@needs_proc
@pytest.mark.spec("HL-9", "HL-8")
def test_an_unseen_row_shows_the_end_and_stays_unseen(rig, child) -> None:
    rig.replay(rig.event("SessionStart", process=told(child.pid)))
    assert look(rig) == 0
    kill(child)
    assert look(rig) == 1
    assert (rig.holder().link_state, rig.holder().activity) == ("guessed_unseen", "ended")
    assert look(rig) == 0, "once"
    rig.tool()
    assert (rig.holder().link_state, rig.holder().activity) == ("guessed", "working")


@needs_proc
@pytest.mark.spec("HL-9")
def test_a_client_that_came_back_between_look_and_end_is_left(rig, child) -> None:
    rig.linked(process=told(child.pid))
    kill(child)
    gone = rig.store.read(sweep.gone_clients)
    rig.start(source="resume", process=told(os.getpid()))
    assert rig.store.write(lambda tx: sweep.end_gone(tx, rig.relay, gone)) == 0
    assert rig.holder().link_state == "exact"


@needs_proc
@pytest.mark.spec("WAIT-6", "HL-9")
def test_a_wait_whose_client_is_gone_ends(rig, child) -> None:
    rig.linked()
    rig.stop()
    elsewhere = rig.wait(process=told(child.pid, "1", pid_ns="pid:[1]"))
    kill(child)
    sweep.end_orphaned_waits(rig.relay)
    assert elsewhere.state == "waiting", "a number of another namespace means nothing here"
    entry = rig.wait(process=told(child.pid, "1"))
    sweep.end_orphaned_waits(rig.relay)
    assert entry.state == "ended"


@needs_proc
@pytest.mark.spec("HL-9")
def test_what_the_system_says_of_a_process() -> None:
    assert processes.started(os.getpid()) == told(os.getpid()).started != ""
    assert not processes.gone(told(os.getpid()))
    assert not processes.gone(ClientProcess())
    assert not processes.gone(told(os.getpid(), "")), "a start time that nobody told is not another one"
    assert processes.started(2**22 + 1) is None


# -- silence ------------------------------------------------------------------------------------------------------


def silent(rig: HookRig, hours: int = 24) -> int:
    return rig.store.write(lambda tx: sweep.end_silent(tx, rig.relay, hours))


@pytest.mark.spec("HL-10", "ACT-5")
def test_a_day_without_an_event_ends_a_session_without_a_process(rig) -> None:
    rig.linked()
    rig.now += DAY - HOUR
    rig.tool()
    assert rig.relay.presence.dirty(), "the last event stands in memory alone"
    rig.now += DAY
    assert silent(rig) == 0
    rig.now += 1
    assert silent(rig) == 1
    assert (rig.holder().link_state, rig.holder().ended_reason) == ("ended_exact", "silent")
    rig.tool()
    assert (rig.holder().link_state, rig.holder().activity, rig.holder().ended_reason) == ("exact", "working", "")


@pytest.mark.spec("HL-10")
def test_a_session_with_a_process_may_be_silent(rig) -> None:
    rig.linked(process=told(os.getpid()))
    rig.now += 3 * DAY
    assert silent(rig) == 0 and rig.holder().link_state == "exact"


@pytest.mark.spec("HL-10", "HL-11")
def test_a_silent_folder_guess_is_dropped(rig) -> None:
    row = rig.row("Alice", cwd=CWD)
    rig.start()
    rig.now += 2 * DAY
    assert silent(rig, hours=36) == 1 and rig.need(row).link_state == "none"


@pytest.mark.spec("HL-10", "HL-8", "LINK-1")
def test_an_id_that_a_call_put_on_its_row_has_its_day_too(rig) -> None:
    rig.accepted("other", "Alice", "h9")
    rig.now += HOUR
    assert silent(rig) == 0
    rig.now += DAY
    assert silent(rig) == 1
    assert (rig.holder("h9").link_state, rig.holder("h9").activity) == ("exact_unseen", "ended")
    assert silent(rig) == 0


@pytest.mark.spec("SPOOL-1", "PROOF-4")
def test_old_ids_are_forgotten(rig) -> None:
    event = rig.event("SessionStart", event_id="E1")
    assert rig.replay(event) == (1, 0)
    assert rig.replay(event) == (0, 1)
    rig.now += 8 * DAY
    rig.store.write(sweep.forget_old)
    assert rig.store.write(lambda tx: events.spool_event_is_new(tx, "E1"))
