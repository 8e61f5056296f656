"""The wake-up's wait on a real store: table WAIT (page 20), one look at a time. The connection is in tests/api."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaybay.domain import ClientProcess
from relaybay.machines.base import step
from relaybay.machines.wait import Wait
from relaybay.service import hooks, reach, wake
from relaybay.service import sessions as owner
from tests.unit.hook_events_rig import HookRig
from tests.unit.linking_rig import SECOND


@pytest.fixture
def rig(tmp_path: Path):
    made = HookRig(tmp_path)
    yield made
    made.relay.close()


@pytest.fixture
def idle(rig):
    row = rig.linked()
    rig.prompt()
    rig.stop()
    return row


# -- opening ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("WAIT-1", "WAIT-10")
def test_a_wait_opens_over_an_exact_live_link(rig, idle) -> None:
    entry = rig.wait()
    assert (entry.state, entry.session_id) == ("waiting", idle.id)
    assert rig.look(entry) == wake.Look("waiting")
    assert rig.relay.waits.of_row(idle.id, rig.now) is entry


@pytest.mark.spec("WAIT-9")
@pytest.mark.parametrize("link", ["none", "guessed", "folder", "unseen", "ended"])
def test_no_wait_opens_over_any_other(rig, link: str) -> None:
    if link == "folder":
        rig.row("Alice", cwd="/home/ada/shop")
    if link in ("guessed", "folder"):
        rig.start()
    elif link == "unseen":
        rig.row("Alice", "agent", "exact_unseen", "h1")
    elif link == "ended":
        rig.linked()
        rig.hook("SessionEnd")
    entry = rig.wait()
    assert entry.state == "ended" and rig.look(entry).outcome == "ended"
    assert rig.relay.waits.get(entry.wait_id) is None


@pytest.mark.spec("WAIT-3", "WAIT-13")
def test_a_newer_wait_supersedes_the_older_for_ever(rig, idle) -> None:
    older = rig.wait()
    newer = rig.wait()
    rig.send(idle)
    assert rig.look(older).outcome == "superseded"
    assert rig.look(newer).outcome == "fired"
    assert rig.relay.waits.poll(older, rig.now).answer == "wait.superseded"
    assert rig.relay.waits.poll(newer, rig.now).answer == "wait.ended"


@pytest.mark.spec("WAIT-1", "WAIT-3")
def test_the_same_first_poll_sent_twice_is_one_wait(rig, idle) -> None:
    entry = rig.wait(wait_id="w-same-one")
    assert rig.wait(wait_id="w-same-one") is entry and entry.state == "waiting"


@pytest.mark.spec("RECV-4", "WAIT-11", "WAIT-1")
def test_a_wait_counts_before_its_first_poll_and_between_polls_and_no_longer(rig, idle) -> None:
    entry = rig.store.write(lambda tx: wake.open_wait(tx, rig.relay, "h1", "w-new-one", ClientProcess()))

    def woken() -> str:
        return rig.store.read(lambda tx: reach.reach(tx, rig.relay, rig.need(idle)).reason_code)

    assert woken() == "being_woken" and entry.state == "waiting"
    number = rig.relay.waits.begin_poll(entry, lambda: None)
    rig.now += 60 * SECOND
    assert woken() == "being_woken"
    rig.relay.waits.end_poll(entry, number, rig.now)
    rig.now += 5 * SECOND
    assert rig.relay.waits.poll(entry, rig.now).kind == "repeat", "in time"
    rig.now += SECOND
    assert rig.relay.waits.poll(entry, rig.now).answer == "wait.ended", "too late"
    assert woken() == "idle" and entry.state == "ended"


# -- firing -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("WAIT-2", "DLV-1", "CMT-3", "INV-9")
def test_it_fires_with_comments_and_messages_and_marks_them(rig, idle) -> None:
    entry = rig.wait()
    mid, cid = rig.send(idle), rig.say(rig.task(idle))["id"]
    found = rig.look(entry)
    assert found.outcome == "fired" and found.done.text.index(cid) < found.done.text.index(mid)
    assert (rig.state(mid), rig.comment(cid).state, rig.mail_of(mid).delivered_by) == ("delivered", "delivered", "wake")
    assert rig.mail_of(mid).stop_blocks == 0, "a wake-up is no Stop block"
    again = rig.wait()
    assert rig.look(again).outcome == "waiting", "what was delivered never wakes"


@pytest.mark.spec("WAIT-2", "WAIT-10")
def test_what_was_there_before_fires_at_once(rig, idle) -> None:
    rig.send(idle)
    assert rig.look(rig.wait()).outcome == "fired"


@pytest.mark.spec("WAIT-2", "WAIT-6", "PACK-7")
def test_nothing_is_marked_over_a_dead_connection(rig, idle) -> None:
    entry = rig.wait()
    mid = rig.send(idle)
    assert rig.look(entry, lives=False).outcome == "ended"
    assert rig.state(mid) == "sent"


@pytest.mark.spec("WAIT-8", "DLV-17", "CMT-16")
def test_a_text_that_was_not_written_waits_again(rig, idle) -> None:
    entry = rig.wait()
    mid, cid = rig.send(idle), rig.say(rig.task(idle))["id"]
    found = rig.look(entry)
    rig.relay.waits.take(entry, "not_written")
    rig.not_written(found)
    assert (entry.state, rig.state(mid), rig.comment(cid).state) == ("ended", "sent", "sent")
    assert rig.look(rig.wait()).outcome == "fired"


@pytest.mark.spec("WAIT-10", "WAIT-2", "CMT-3", "CMT-12")
def test_a_comment_wakes_when_its_5_s_are_over(rig, idle) -> None:
    entry = rig.wait()
    cid = rig.say(rig.task(idle), board=True)["id"]
    found = rig.look(entry)
    assert found == wake.Look("waiting", again_us=rig.comment(cid).grace_until_us)
    rig.now = found.again_us
    assert rig.look(entry).outcome == "fired"


@pytest.mark.spec("WAIT-10", "WAIT-12", "WAIT-2", "STOP-5")
def test_a_blocked_stop_goes_on_and_the_wait_with_it(rig) -> None:
    row = rig.linked()
    rig.prompt()
    rig.send(row)
    entry = rig.wait()
    assert rig.stop().done is not None
    mid = rig.send(row)
    rig.now += 60 * SECOND
    assert rig.look(entry) == wake.Look("waiting"), "the turn goes on: no 2 s count here"
    assert rig.stop(stop_hook_active=True).done is not None
    assert rig.state(mid) == "delivered"
    last = rig.send(row)
    assert rig.look(entry).outcome == "waiting"
    rig.stop(stop_hook_active=True)
    assert entry.state == "waiting" and rig.look(entry).outcome == "fired" and rig.state(last) == "delivered"


@pytest.mark.spec("WAIT-2", "ACT-3", "PACK-7", "WAIT-12")
def test_a_block_that_was_not_written_makes_the_session_idle(rig) -> None:
    row = rig.linked()
    rig.prompt()
    rig.send(row)
    entry = rig.wait()
    said = rig.stop()
    assert rig.look(entry).outcome == "waiting"
    rig.not_written(said)
    assert rig.look(entry).outcome == "fired"


@pytest.mark.spec("WAIT-2")
@pytest.mark.parametrize("order", ["stop_first", "wait_first", "no_stop"])
def test_the_stop_and_its_wait_come_in_either_order_or_the_stop_never(rig, order: str) -> None:
    row = rig.linked()
    rig.prompt()
    if order == "stop_first":
        rig.stop()
    entry = rig.wait()
    mid = rig.send(row)
    rig.now = entry.opened_us + SECOND
    if order == "no_stop":
        assert rig.look(entry) == wake.Look("waiting", again_us=entry.opened_us + 2 * SECOND)
        assert rig.state(mid) == "sent"
        rig.now = entry.opened_us + 2 * SECOND
    elif order == "wait_first":
        rig.stop(stop_hook_active=True)
        assert rig.holder().activity == "idle"
    assert rig.look(entry).outcome == "fired"


# -- ending -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("WAIT-4")
@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    "name",
    ["UserPromptSubmit", "SessionStart", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "SessionEnd"],
)  # fmt: skip
def test_an_event_of_the_session_itself_ends_it(rig, idle, name: str, fast: bool) -> None:
    rig.from_memory = fast
    entry = rig.wait()
    kicks = []
    rig.relay.waits.begin_poll(entry, lambda: kicks.append(1))
    rig.hook(name)
    assert entry.state == "ended" and kicks


@pytest.mark.spec("WAIT-12")
@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("name", ["Notification", "SubagentStop", "PreCompact", "StopFailure", "Unheard"])
def test_any_other_event_leaves_it(rig, idle, name: str, fast: bool) -> None:
    rig.from_memory = fast
    entry = rig.wait()
    rig.hook(name)
    rig.tool(agent_id="a1")
    rig.replay(rig.event("UserPromptSubmit", at_us=rig.now + SECOND))
    assert entry.state == "waiting"


@pytest.mark.spec("WAIT-4", "LINK-20", "HL-3", "LINK-10")
@pytest.mark.parametrize("how", ["unlinked", "ended", "cleared", "moved", "replayed_end"])
def test_a_link_that_ends_or_moves_ends_it(rig, how: str) -> None:
    client = ClientProcess(4242, "1", "pid:[1]", "host")
    row = rig.linked(process=client)
    rig.stop()
    entry = rig.wait()
    if how == "unlinked":
        rig.unlink_by_owner(row)
    elif how == "ended":
        rig.do(lambda tx: owner.end(tx, rig.relay, row.ref))
    elif how == "cleared":
        rig.start("h2", "clear", process=client)
    elif how == "replayed_end":
        rig.replay(rig.event("SessionEnd", at_us=rig.now + SECOND))
    else:
        rig.start("h2")
        rig.accepted("other", row.ref, witnessed="h2")
    assert entry.state == "ended"


@pytest.mark.spec("WAIT-4")
def test_an_event_ends_no_wait_that_was_opened_after_it(rig, idle) -> None:
    """Both in one commit of the writer: the prompt's is the older wait alone."""
    older = rig.wait()
    prompt = rig.event("UserPromptSubmit", at_us=rig.now)

    def both(tx):
        hooks.handle(tx, rig.relay, prompt)
        return wake.open_wait(tx, rig.relay, "h1", "w-later-one", ClientProcess())

    newer = rig.store.write(both)
    assert older.state in ("ended", "superseded") and newer.state == "waiting"


@pytest.mark.spec("WAIT-5", "WAIT-7", "WAIT-13")
@pytest.mark.parametrize(("event", "state"), [("time_over", "timed_out"), ("server_stop", "ended")])
def test_what_is_over_stays_over(rig, idle, event: str, state: str) -> None:
    entry = rig.wait()
    if event == "server_stop":
        rig.relay.waits.end_all()
    else:
        rig.relay.waits.take(entry, event)
    mid = rig.send(idle)
    assert entry.state == state and rig.look(entry).outcome == "ended" and rig.state(mid) == "sent"
    assert rig.relay.waits.poll(entry, rig.now).answer == "wait.ended"
    assert step(Wait, state, "own_event").spec_id == "WAIT-13"


@pytest.mark.spec("WAIT-11", "WAIT-6")
def test_a_lost_connection_ends_the_wait_unless_a_newer_poll_is_open(rig, idle) -> None:
    entry = rig.wait()
    kicks = []
    first = rig.relay.waits.begin_poll(entry, lambda: kicks.append("first"))
    second = rig.relay.waits.begin_poll(entry, lambda: kicks.append("second"))
    assert kicks == ["first"], "the older poll is let go"
    rig.relay.waits.take(entry, "connection_lost", {"current_poll": entry.poll == first})
    rig.relay.waits.end_poll(entry, first, rig.now)
    assert entry.state == "waiting" and entry.poll_open
    rig.relay.waits.take(entry, "connection_lost", {"current_poll": entry.poll == second})
    assert entry.state == "ended"


@pytest.mark.spec("WAIT-13", "80")
def test_old_waits_are_forgotten_and_waiting_ones_are_not(rig, idle) -> None:
    old = rig.wait()
    rig.now += 3_600 * SECOND
    assert rig.relay.waits.get(old.wait_id) is old and old.state == "waiting"
    rig.wait()
    rig.now += 3_600 * SECOND
    rig.wait()
    assert rig.relay.waits.get(old.wait_id) is None
