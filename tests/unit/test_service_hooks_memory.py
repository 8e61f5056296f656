"""The hot path and presence: what memory answers, that it comes to the same as the transaction, and what a restart
keeps (page 80: events are not stored one by one).
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relaybay.domain import Caller, ClientProcess, Outcome, Refusal
from relaybay.service import hooks, messages
from relaybay.store import sessions
from tests.unit.hook_events_rig import HookRig
from tests.unit.linking_rig import SECOND

CLIENT = ClientProcess(4242, "100", "pid:[1]", "host", "cli", "2.1.332")


@pytest.fixture
def rig(tmp_path: Path):
    made = HookRig(tmp_path)
    yield made
    made.relay.close()


# -- what memory answers ------------------------------------------------------------------------------------------


@pytest.mark.spec("PERF-1", "ANS-2", "ANS-3", "ANS-4")
@pytest.mark.parametrize("link", ["exact", "guessed"])
def test_a_hot_event_with_nothing_waiting_touches_no_store(rig, link: str) -> None:
    rig.linked(process=CLIENT) if link == "exact" else rig.start(process=CLIENT)
    units = rig.units
    for _ in range(3):
        rig.prompt(prompt_id=f"p{rig.now}", permission_mode="default")
        rig.tool()
        rig.hook("PostToolUse", process=ClientProcess(4242, "100", "pid:[1]", "host", "cli"))
        rig.hook("Notification")
        rig.tool(agent_id="a1", cwd="/elsewhere", session_title="x")
        rig.stop()
    assert rig.units == units


@pytest.mark.spec("PERF-1")
@pytest.mark.parametrize(
    "more",
    [
        {"cwd": "/elsewhere"},
        {"session_title": "ada"},
        {"transcript_path": "/t/2.jsonl"},
        {"process": ClientProcess(1, "1", "pid:[1]", "host")},
        {"send_message_to": "bob"},
        {"client": "codex"},
    ],
)
def test_an_event_that_tells_news_is_stored_at_once(rig, more) -> None:
    rig.linked(process=CLIENT, transcript_path="/t/1.jsonl")
    units = rig.units
    rig.tool(**more)
    assert rig.units == units + 1
    rig.kill()
    for name, value in more.items():
        if name not in ("send_message_to", "session_title", "process"):
            assert getattr(rig.holder(), name) == value


@pytest.mark.spec("PACK-5", "STOP-5", "80")
def test_an_event_behind_one_in_hand_waits_for_its_turn(rig) -> None:
    rig.linked()
    event = rig.event("PreToolUse", at_us=rig.now)
    rig.relay.presence.take_in_hand("h1")
    rig.relay.presence.take_in_hand("h1")
    rig.relay.presence.let_go("h1")
    assert hooks.from_memory(rig.relay, event) is None
    rig.relay.presence.let_go("h1")
    assert hooks.from_memory(rig.relay, event) is hooks.NOTHING


@pytest.mark.spec("80")
def test_memory_does_not_write_over_a_commit_that_came_between(rig) -> None:
    row = rig.linked()
    live = rig.relay.presence.by_hook("h1")
    stored = live.row
    rig.send(row)
    assert not rig.relay.presence.change(live, judged_by=stored, activity="working")
    rig.unlink_by_owner(row)
    assert rig.relay.presence.by_hook("h1") is None
    rig.relay.presence.change(live, activity="working", last_event_us=rig.now + 1)
    rig.store.write(lambda tx: sessions.change(tx, row.id, title="Ada", title_key="ada"))
    assert rig.now_of(row).activity == "unknown", "what was heard over the old link is not the row's any more"


@pytest.mark.spec("80")
def test_a_unit_that_is_undone_takes_nothing_from_memory(rig) -> None:
    row = rig.linked()
    rig.prompt()
    assert rig.relay.presence.dirty() == [row.id]

    def refused(tx) -> Outcome:
        rig.relay.presence.write_back(tx, sessions.need(tx, row.id))
        return Outcome(refusal=Refusal("x", "x"))

    def failing(tx) -> None:
        rig.relay.presence.write_back(tx, sessions.need(tx, row.id))
        raise RuntimeError

    rig.store.write(refused)
    with pytest.raises(RuntimeError):
        rig.store.write(failing)
    assert rig.relay.presence.dirty() == [row.id] and rig.now_of(row).activity == "working"
    rig.relay.flush(rig.relay.presence.dirty())
    assert rig.relay.presence.dirty() == [] and rig.need(row).activity == "working"


@pytest.mark.spec("80", "STOP-5")
def test_what_one_unit_wrote_back_the_next_of_its_group_does_not_write_again(rig) -> None:
    row = rig.linked()
    rig.prompt()
    started = threading.Event()
    gate = rig.store.submit(lambda tx: started.wait(5))

    def idle(tx) -> None:
        rig.relay.presence.write_back(tx, sessions.need(tx, row.id))
        sessions.change(tx, row.id, activity="idle")

    def reads(tx) -> str:
        return rig.relay.presence.write_back(tx, sessions.need(tx, row.id)).activity

    first, second = rig.store.submit(idle), rig.store.submit(reads)
    started.set()
    assert gate.result() and first.result() is None
    assert second.result() == "idle" and rig.now_of(row).activity == "idle"


# -- presence over time and restarts ------------------------------------------------------------------------------


@pytest.mark.spec("80")
def test_presence_is_written_at_most_every_15_s(rig) -> None:
    row = rig.linked()
    rig.relay.flush(rig.relay.presence.dirty())
    rig.prompt()
    begun = rig.relay.presence.by_row(row.id).written_us
    assert rig.relay.presence.due(begun + 15 * SECOND - 1) == []
    rig.send(row)
    assert rig.relay.presence.due(begun + 15 * SECOND) == [row.id], "other news of the row does not put it off"
    assert rig.relay.presence.due(begun - SECOND) == [row.id], "nor does a clock that was set back"


@pytest.mark.spec("80", "ACT-2", "STOP-1")
@pytest.mark.parametrize("how", ["reopen", "flush_and_kill", "kill"])
def test_what_a_restart_keeps(rig, how: str) -> None:
    row = rig.linked()
    rig.relay.flush(rig.relay.presence.dirty())
    stored = rig.need(row)
    rig.prompt(prompt_id="p1", permission_mode="plan")
    now = rig.holder()
    if how == "flush_and_kill":
        rig.relay.flush(rig.relay.presence.dirty())
    rig.reopen() if how == "reopen" else rig.kill()
    assert rig.holder() == (stored if how == "kill" else now)
    rig.prompt(prompt_kind="machine", prompt_id="p1")
    assert (rig.holder().turn_serial == now.turn_serial) is True
    rig.check()


@pytest.mark.spec("LINK-10", "INV-11", "80")
def test_an_id_that_went_to_another_row_stays_findable_in_whatever_order_rows_are_looked_up(rig) -> None:
    alice = rig.linked("h0")
    rig.accepted("other", "Alice", witnessed="h0")
    for number in range(1, 6):
        hook = f"h{number}"
        rig.start(hook)
        rig.accepted("other", "Alice", witnessed=hook)
        live = rig.relay.presence.by_hook(hook)
        assert live is not None and live.row.id == alice.id
        rig.check()


# -- the same by both ways ----------------------------------------------------------------------------------------

_NAMES = ["UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "StopFailure", "Notification", "SubagentStop"]
_EVENT = st.tuples(
    st.sampled_from([*_NAMES * 2, "SessionStart", "SessionEnd"]),
    st.sampled_from(["h1", "h1", "h2"]),
    st.fixed_dictionaries(
        {},
        optional={
            "agent_id": st.just("a1"),
            "prompt_id": st.sampled_from(["p1", "p2"]),
            "prompt_kind": st.sampled_from(["local", "machine"]),
            "stop_hook_active": st.booleans(),
            "cwd": st.sampled_from(["/home/ada/shop", "/home/ada/other"]),
            "session_title": st.sampled_from(["ada", "bob"]),
            "permission_mode": st.sampled_from(["default", "plan"]),
            "source": st.sampled_from(["startup", "resume", "compact"]),
            "process": st.just(CLIENT),
            "ago": st.integers(0, 3),
        },
    ),
)
_OTHER = st.sampled_from(["send", "comment", "board", "ack", "link", "replay", "not_written", "flush"])


def _step(rig: HookRig, step, said: list) -> None:
    if not isinstance(step, str):
        name, hook, fields = step
        fields = dict(fields)
        at_us = rig.now + SECOND - fields.pop("ago", 0) * 3 * SECOND
        answer = rig.hook(name, hook, at_us=at_us, **fields)
        said.append((answer.line, answer.done and (answer.done.at, answer.done.items, answer.done.turn_serial)))
        rig.last = answer if answer.done else rig.last
    elif step == "link":
        rig.call("mark", witnessed="h1")
    elif (row := rig.held("h1")) is None:
        return
    elif step == "send":
        rig.send(row)
    elif step in ("comment", "board"):
        rig.say(rig.task(row), board=step == "board")
    elif step == "ack":
        caller = Caller("", "", "", rig.witness("h1"))
        rig.store.write(lambda tx: messages.acknowledge(tx, rig.relay, caller))
    elif step == "replay":
        rig.replay(rig.event("Stop", at_us=rig.now + SECOND), rig.event("UserPromptSubmit", at_us=rig.now - SECOND))
    elif step == "flush":
        rig.relay.flush(rig.relay.presence.dirty())
    elif rig.last is not None:
        rig.not_written(rig.last)


@pytest.mark.spec("PERF-1", "INV-3", "INV-4", "INV-5", "INV-10")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(steps=st.lists(st.one_of(_EVENT, _EVENT, _EVENT, _OTHER), min_size=1, max_size=30))
def test_memory_and_transaction_come_to_the_same(steps) -> None:
    ends = []
    for fast in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            rig = HookRig(Path(folder))
            rig.from_memory, rig.last = fast, None
            said: list = []
            rig.start()
            rig.call("mark", witnessed="h1")
            for step in steps:
                _step(rig, step, said)
            before = [rig.relay.presence.current(row) for row in rig.rows()]
            rig.reopen()
            after = rig.rows()
            rig.relay.close()
            assert before == after, "an orderly end keeps everything"
            ends.append((said, before))
    assert ends[0] == ends[1]
