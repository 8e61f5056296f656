"""`POST /hooks/claude-code/wait` over real HTTP: 200, 204, 409, connections that drop, the end of the server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.api.hooks_rig import HOOK, HookServer
from tests.api.hooks_rig import rig as _rig
from tests.api.wire import Wire

rig = _rig
ROOT = Path(__file__).parents[2]


def waiting(rig: HookServer, wait_id: str = "wait-0001") -> bool:
    entry = rig.relay.waits.get(wait_id)
    return entry is not None and entry.state == "waiting"


# -- answers ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("WAIT-1", "WAIT-2", "DLV-1", "PACK-1", "PERF-6")
def test_a_message_wakes_an_idle_session_with_text_once(rig: HookServer) -> None:
    row = rig.idle()
    poll = rig.wait()
    begun = time.monotonic()
    mid = rig.send(row)
    response = rig.answer(poll)
    assert (response.status, response.header("content-type")) == (200, "text/plain; charset=utf-8")
    assert mid in response.body.decode() and "h1" not in response.body.decode().split()
    # Woken, not polled: the poll itself would last 50 s. How fast it is stands in bench (PERF-6).
    assert time.monotonic() - begun < 20 and rig.mail(mid).delivered_by == "wake"
    again = rig.answer(rig.wait(timeout_s=1))
    assert (again.status, again.code) == (409, "wait_ended"), "a fired wait is over"
    assert rig.answer(rig.wait(wait_id="wait-0002", timeout_s=0.3)).status == 204, "delivered does not wake"


@pytest.mark.spec("WAIT-11", "WAIT-3")
def test_a_poll_whose_time_is_over_is_204_and_its_wait_goes_on(rig: HookServer) -> None:
    row = rig.idle()
    begun = time.monotonic()
    response = rig.answer(rig.wait(timeout_s=0.3))
    assert (response.status, response.body) == (204, b"") and 0.25 < time.monotonic() - begun < 10
    assert waiting(rig)
    poll = rig.wait(timeout_s=20)
    rig.send(row)
    assert rig.answer(poll).status == 200


@pytest.mark.spec("WAIT-11")
def test_a_poll_after_the_grace_finds_the_wait_ended(rig: HookServer) -> None:
    rig.idle()
    assert rig.answer(rig.wait(timeout_s=0.1)).status == 204
    rig.ahead_us = 6_000_000
    response = rig.answer(rig.wait(timeout_s=1))
    assert (response.status, response.code) == (409, "wait_ended")


@pytest.mark.spec("WAIT-3", "WAIT-13")
def test_a_newer_wait_answers_the_older_409(rig: HookServer) -> None:
    rig.idle()
    older = rig.wait()
    newer = rig.wait(wait_id="wait-0002")
    response = rig.answer(older)
    assert (response.status, response.code) == (409, "wait_superseded")
    assert waiting(rig, "wait-0002")
    newer.close()


@pytest.mark.spec("WAIT-11")
def test_a_second_poll_of_the_same_wait_lets_the_first_go(rig: HookServer) -> None:
    row = rig.idle()
    first = rig.wait()
    second = rig.begin(f"{HOOK}/wait?wait_id=wait-0001&timeout_s=20", rig.body("Stop"))
    assert rig.answer(first).status == 204 and waiting(rig)
    rig.send(row)
    assert rig.answer(second).status == 200


@pytest.mark.spec("WAIT-4", "WAIT-12")
@pytest.mark.parametrize("name", ["UserPromptSubmit", "PreToolUse", "SessionStart", "SessionEnd"])
def test_an_event_of_the_session_answers_409(rig: HookServer, name: str) -> None:
    rig.idle()
    poll = rig.wait()
    rig.hook("PreToolUse", agent_id="a1")
    rig.hook("Notification")
    assert waiting(rig)
    rig.hook(name)
    response = rig.answer(poll)
    assert (response.status, response.code) == (409, "wait_ended")


@pytest.mark.spec("WAIT-9")
def test_no_link_no_wait(rig: HookServer) -> None:
    rig.hook("SessionStart")
    for hook in ("h1", "unheard"):
        response = rig.wire.post(f"{HOOK}/wait?wait_id=wait-of-{hook}", rig.body("Stop", hook))
        assert (response.status, response.code) == (409, "wait_ended")


@pytest.mark.spec("WAIT-13", "WAIT-1")
def test_the_id_of_another_sessions_wait_opens_nothing(rig: HookServer) -> None:
    rig.idle("h1")
    other = rig.idle("h2")
    poll = rig.wait("h1")
    response = rig.wire.post(f"{HOOK}/wait?wait_id=wait-0001", rig.body("Stop", "h2"))
    assert (response.status, response.code) == (409, "wait_ended")
    rig.send(other)
    assert waiting(rig)
    poll.close()


@pytest.mark.spec("75")
@pytest.mark.parametrize("query", ["", "wait_id=short", "wait_id=wait-0001&timeout_s=51", "wait_id=wait-0001&x=1"])
def test_a_malformed_query_is_refused(rig: HookServer, query: str) -> None:
    assert rig.wire.post(f"{HOOK}/wait?{query}", rig.body("Stop")).status == 422
    assert rig.wire.request(
        "POST", f"{HOOK}/wait?wait_id=wait-0001", {"Content-Type": "application/json"}, b"[]"
    ).code == "body_not_object"  # fmt: skip


# -- idle or not --------------------------------------------------------------------------------------------------


@pytest.mark.spec("WAIT-10", "WAIT-2", "WAIT-12", "STOP-5")
def test_it_waits_while_a_blocked_stop_goes_on_and_fires_after_the_next(rig: HookServer) -> None:
    row = rig.linked()
    rig.hook("UserPromptSubmit")
    rig.send(row)
    poll = rig.wait()
    assert rig.hook("Stop")["decision"] == "block"
    mid = rig.send(row)
    time.sleep(2.3)
    assert waiting(rig) and rig.mail(mid).state == "sent", "no 2 s count here: the Stop came"
    rig.hook("Stop", stop_hook_active=True)
    last = rig.send(row)
    rig.hook("Stop", stop_hook_active=True)
    assert last in rig.answer(poll).body.decode()


@pytest.mark.spec("WAIT-2", "WAIT-10")
def test_without_a_stop_event_the_session_is_idle_after_2_s(rig: HookServer) -> None:
    row = rig.linked()
    rig.hook("UserPromptSubmit")
    begun = time.monotonic()
    poll = rig.wait()
    rig.send(row)
    assert rig.answer(poll).status == 200
    assert 1.8 < time.monotonic() - begun < 20


@pytest.mark.spec("WAIT-10", "CMT-3")
def test_a_comment_wakes_by_itself_when_its_5_s_are_over(rig: HookServer) -> None:
    row = rig.idle()
    poll = rig.wait()
    begun = time.monotonic()
    cid = rig.comment(row, board=True)
    assert cid in rig.answer(poll).body.decode()
    assert 4.8 < time.monotonic() - begun < 20


@pytest.mark.spec("WAIT-5", "WAIT-13")
def test_25_minutes_are_the_end(rig: HookServer) -> None:
    row = rig.idle()
    assert rig.answer(rig.wait(timeout_s=0.1)).status == 204
    entry = rig.relay.waits.get("wait-0001")
    assert entry is not None
    rig.ahead_us = 25 * 60 * 1_000_000
    entry.regrace_until_us = rig.relay.clock() + 5_000_000
    response = rig.answer(rig.wait(timeout_s=1))
    assert (response.status, response.code) == (409, "wait_ended") and entry.state == "timed_out"
    assert rig.mail(rig.send(row)).state == "sent"


# -- connections that drop ----------------------------------------------------------------------------------------


@pytest.mark.spec("WAIT-6", "RECV-5")
def test_a_connection_that_drops_ends_the_wait_and_marks_nothing(rig: HookServer) -> None:
    row = rig.idle()
    rig.wait().close()
    rig.until(lambda: not waiting(rig))
    assert rig.mail(rig.send(row)).state == "sent"
    response = rig.answer(rig.wait(timeout_s=1))
    assert response.status == 409


@pytest.mark.spec("WAIT-6", "PACK-7")
def test_a_connection_that_drops_before_it_fires_marks_nothing(rig: HookServer) -> None:
    row = rig.idle()
    poll = rig.wait()
    units = rig.units
    with rig.writer_held():
        sent = rig.submit_send(row)
        rig.relay.waits.look_again((row.id,))
        rig.until(lambda: rig.units == units + 3)
        poll.close()
        rig.until(lambda: not waiting(rig))
    assert rig.mail(sent()).state == "sent"
    assert "message.delivered" not in _types(rig)


@pytest.mark.spec("WAIT-8", "DLV-17", "PACK-7")
def test_a_connection_that_drops_while_it_fires_leaves_the_item_waiting(rig: HookServer) -> None:
    row = rig.idle()
    before = rig.units
    poll = rig.wait()
    # The wait is opened and has looked once; what comes now is the look that the send brings about.
    rig.until(lambda: rig.units >= before + 2)
    rig.relay.store.write(lambda _: None)
    time.sleep(0.2)
    entry = rig.relay.waits.get("wait-0001")
    assert entry is not None
    units, commit = rig.units, threading.Event()
    with rig.writer_held():
        sent = rig.submit_send(row)
        rig.relay.waits.look_again((row.id,))
        rig.until(lambda: rig.units == units + 3)
        # Of the same commit as the look: it has fired, and is not on disk yet.
        rig.relay.store.submit(lambda _: commit.wait(10))
    rig.until(lambda: entry.state == "fired")
    poll.close()
    rig.until(lambda: not entry.poll_open)
    commit.set()
    rig.until(lambda: entry.state == "ended")
    rig.until(lambda: "message.offered_again" in _types(rig))
    assert rig.mail(sent()).state == "sent"
    assert sent() in rig.answer(rig.wait(wait_id="wait-0002")).body.decode()


@pytest.mark.spec("WAIT-8", "DLV-17", "CMT-16")
def test_a_text_that_could_not_be_written_waits_again(rig: HookServer, monkeypatch: pytest.MonkeyPatch) -> None:
    row = rig.idle()
    poll = rig.wait()

    async def broken(*_: object) -> bool:
        return False

    monkeypatch.setattr("relaybay.api.wait.write", broken)
    mid = rig.send(row)
    rig.until(lambda: "message.offered_again" in _types(rig))
    monkeypatch.undo()
    poll.close()
    assert rig.mail(mid).state == "sent"
    assert mid in rig.answer(rig.wait(wait_id="wait-0002")).body.decode()


def _types(rig: HookServer) -> list[str]:
    return [row[0] for row in rig.relay.store.read(lambda tx: tx.rows("SELECT type FROM event"))]


# -- the end of the server ----------------------------------------------------------------------------------------


@pytest.mark.spec("WAIT-7", "70")
def test_sigterm_with_an_open_wait_answers_409_and_ends_within_5_s(tmp_path: Path) -> None:
    home = Path("/tmp") / f"rb-{os.getpid()}-{time.time_ns() % 10**6}"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.api.served_hooks", str(home)], cwd=ROOT, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        wire = Wire(Path(ready["socket"]))
        rig = HookServer.__new__(HookServer)
        rig.wire = wire
        poll = rig.begin(f"{HOOK}/wait?wait_id=wait-0001&timeout_s=50", rig.body("Stop"))
        assert json.loads(process.stdout.readline()) == {"waiting": 1}
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        response = rig.answer(poll)
        assert (response.status, response.code) == (409, "wait_ended")
        assert process.wait(10) == 0 and time.monotonic() - begun < 5
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()
