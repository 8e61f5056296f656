"""Hook events at the edges: what is done from memory alone, and what an event that leaves something out leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaybay.domain import ClientProcess
from relaybay.service import context_proof, wake
from relaybay.specs import limit
from relaybay.store import sessions
from tests.unit.context_rig import ContextRig
from tests.unit.hook_events_rig import CWD, HookRig
from tests.unit.linking_rig import SECOND


@pytest.fixture
def rig(tmp_path: Path):
    made = ContextRig(tmp_path)
    yield made
    made.relay.close()


@pytest.mark.parametrize("from_memory", [True, False])
def test_a_stop_with_nothing_waiting_blocks_nothing_and_has_its_wait_looked_at(rig, from_memory: bool) -> None:
    row = rig.linked()
    rig.prompt()
    entry = rig.wait()
    looks: list[str] = []
    rig.relay.waits.begin_poll(entry, lambda: looks.append(entry.state))
    rig.from_memory = from_memory
    units = rig.units
    said = rig.stop()
    assert (rig.units == units) is from_memory
    assert said.done is None and (rig.holder().turn_state, rig.holder().activity) == ("none", "idle")
    assert set(looks) == {"waiting"} and entry.state == "waiting"
    looks.clear()
    rig.hook("Notification", notification_type="auth_success")
    assert not looks or not from_memory, "no other event that memory answers is worth a look"
    rig.tool()
    assert (looks[-1], entry.state) == ("ended", "ended")
    # Both blocks of the turn are still there.
    rig.prompt()
    for n in range(2):
        rig.send(row, f"n{n}")
        assert rig.stop(stop_hook_active=bool(n)).done is not None


def test_a_prompt_answered_from_memory_is_the_one_that_an_interruption_is_held_against(rig) -> None:
    row = rig.session()
    rig.prompt(transcript_path=str(rig.script.path))
    prompted = rig.now
    rig.now += 5 * SECOND
    rig.tool(transcript_path=str(rig.script.path))
    rig.script.interrupted(prompted + 2 * SECOND)
    rig.send(row)
    assert context_proof.look_for_interruptions(rig.relay) == 1, "after the prompt, though older than the last event"


@pytest.mark.parametrize("from_memory", [True, False])
def test_what_an_event_leaves_out_is_not_taken_away(rig, from_memory: bool) -> None:
    row = rig.session()
    rig.from_memory = from_memory
    rig.hook("Notification", cwd="", transcript_path="")
    after = rig.need(row)
    assert (after.cwd, after.transcript_path) == (CWD, str(rig.script.path))


def test_a_subagents_event_is_answered_by_its_own_row(rig) -> None:
    row = rig.linked()
    rig.send(row)
    rig.from_memory = False
    before = rig.need(row)
    said = rig.tool(agent_id="a1", cwd="/elsewhere")
    assert said.done is None and said.spec_ids[-1] == "ANS-8"
    after = rig.need(row)
    assert (after.last_seen_us, after.cwd, after.activity) == (rig.now, CWD, before.activity)


def test_only_the_end_of_a_clients_own_message_is_an_edge(rig) -> None:
    rig.linked()
    rig.row("bob", "hook", "exact", "hook-bob")

    def count() -> int:
        return len(rig.events("session.message"))

    before = count()
    for name in ("PreToolUse", "PostToolUseFailure", "Notification", "Stop"):
        rig.hook(name, tool_name="SendMessage", send_message_to="bob")
        assert count() == before, name
    rig.hook("PostToolUse", tool_name="SendMessage", send_message_to="")
    assert count() == before
    rig.hook("PostToolUse", tool_name="SendMessage", send_message_to="bob")
    assert count() == before + 1


def test_only_a_stop_has_a_reason_and_each_hand_over_names_its_conversation(rig) -> None:
    row = rig.linked()
    rig.prompt()
    for name, at in (("PreToolUse", "tool"), ("UserPromptSubmit", "prompt"), ("Stop", "stop")):
        mid = rig.send(row)
        done = rig.hook(name).done
        assert done is not None
        assert (done.at, done.hook_id, bool(done.reason)) == (at, "h1", at == "stop")
        mail = rig.mail_of(mid)
        assert (mail.delivered_by, mail.delivered_hook_id, mail.handover_id) == (at, "h1", done.id)


def test_a_cleared_session_is_known_by_its_clients_process_and_by_nothing_else(rig) -> None:
    row = rig.linked()
    rig.start("h2", "clear")
    assert rig.holder("h2").id != row.id and rig.need(row).hook_id == "h1", "neither event told a process"
    client = ClientProcess(4242, "100", "pid:[1]", "host", "cli", "2.1.332")
    other = rig.linked("h3", process=client)
    rig.start("h4", "startup", process=client)
    assert rig.holder("h4").id != other.id, "a start that clears nothing"


def test_a_name_that_is_the_rows_own_already_changes_nothing(rig) -> None:
    rig.start()
    title = rig.holder().title
    rig.hook("UserPromptSubmit", session_title=f" {title.upper()} ")
    assert rig.holder().title == title and rig.events("session.renamed") == []
    rig.hook("UserPromptSubmit", session_title=rig.holder().ref)
    assert rig.holder().title == title and rig.events("session.renamed") == []


@pytest.mark.parametrize("from_memory", [True, False])
def test_the_client_is_the_one_that_spoke_last_except_of_a_row_that_was_only_guessed(rig, from_memory: bool) -> None:
    row = rig.linked()
    rig.from_memory = from_memory
    for client in ("codex", "claude-code", "claude-code"):
        rig.hook("PreToolUse", client=client)
        assert rig.need(row).client == client
    guessed = rig.row("Desk", "desktop", "guessed", "h2", client="other", cwd=CWD)
    rig.hook("PreToolUse", "h2", client="codex")
    assert rig.need(guessed).client == "other"


def test_a_prompt_of_no_told_kind_opens_a_turn(rig) -> None:
    rig.linked()
    rig.prompt(prompt_id="p-1")
    before = rig.holder().turn_serial
    rig.hook("UserPromptSubmit", prompt_kind="", prompt_id="p-1")
    assert (rig.holder().turn_serial, rig.holder().turn_prompt_id) == (before + 1, "p-1")
    rig.hook("UserPromptSubmit", prompt_kind="machine", prompt_id="p-1")
    assert rig.holder().turn_serial == before + 1, "one more event of the open turn"


@pytest.mark.parametrize("ahead", [0, 100 * SECOND])
def test_the_last_event_is_the_latest_unless_that_lies_ahead_of_the_clock(rig, ahead: int) -> None:
    row = rig.linked()
    rig.from_memory = False
    rig.now += SECOND
    last = rig.now + SECOND + ahead
    rig.relay.presence.change(rig.relay.presence.by_hook("h1"), last_event_us=last)
    rig.late("Notification", ago=3)
    assert rig.need(row).last_event_us == (rig.now if not ahead else rig.now - 3 * SECOND)


# -- waits ---------------------------------------------------------------------------------------------------------

GRACE = limit("stop_event_grace_seconds") * SECOND


@pytest.mark.parametrize("columns", [{"hook_id": "h9"}, {"link_state": "ended_exact"}, None], ids=["id", "link", "row"])
def test_a_wait_whose_row_is_no_longer_its_own_ends_with_its_next_look(rig, columns) -> None:
    row = rig.linked()
    rig.send(row)
    entry = rig.wait()

    def change(tx) -> None:
        if columns is None:
            sessions.remove(tx, row.id)
        else:
            sessions.change(tx, row.id, **columns)

    rig.store.write(change)
    found = rig.store.write(lambda tx: wake.look(tx, rig.relay, entry, connection_lives=True))
    assert (found.outcome, found.done, entry.state) == ("ended", None, "ended")


def test_a_stop_that_came_with_the_wait_keeps_it_waiting_and_an_earlier_one_does_not(rig) -> None:
    row = rig.linked()
    rig.prompt()
    entry = rig.wait()
    live = rig.relay.presence.by_row(row.id)
    rig.now = entry.opened_us
    assert HookRig.look(rig, entry).again_us == entry.opened_us + GRACE
    rig.now = entry.opened_us + GRACE
    assert HookRig.look(rig, entry).again_us == 0, "nothing is there to wait for"
    rig.send(row)
    rig.now = entry.opened_us + GRACE
    live.stopped_us = entry.opened_us - GRACE
    assert HookRig.look(rig, entry).outcome == "waiting"
    live.stopped_us -= 1
    assert HookRig.look(rig, entry).outcome == "fired"
