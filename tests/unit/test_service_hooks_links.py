"""Links that hook events end, bring back and move, on a real store (page 10: HL, MOVE)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relaybay.domain import ClientProcess
from tests.unit.hook_events_rig import CWD, HookRig
from tests.unit.linking_rig import SECOND

CLIENT = ClientProcess(4242, "100", "pid:[1]", "host", "cli", "2.1.332")


@pytest.fixture
def rig(tmp_path: Path):
    made = HookRig(tmp_path)
    yield made
    made.relay.close()


# -- ended and back -----------------------------------------------------------------------------------------------


@pytest.mark.spec("HL-2", "ACT-5", "MOVE-8")
def test_an_end_ends_the_link_and_frees_the_name(rig) -> None:
    row = rig.linked()
    assert row.name
    said = rig.hook("SessionEnd", reason="prompt_input_exit")
    after = rig.holder()
    assert "HL-2" in said.spec_ids
    assert (after.link_state, after.activity, after.name, after.ended_reason) == (
        "ended_exact",
        "ended",
        None,
        "prompt_input_exit",
    )
    assert json.loads(rig.events("session.ended")[-1])["reason"] == "prompt_input_exit"


@pytest.mark.spec("HL-1", "ACT-1", "MOVE-8")
@pytest.mark.parametrize("source", ["resume", "startup", "compact"])
def test_a_start_brings_an_ended_link_back(rig, source: str) -> None:
    row = rig.linked()
    mid = rig.send(row)
    rig.hook("SessionEnd")
    said = rig.start(source=source)
    after = rig.holder()
    assert "HL-1" in said.spec_ids and after.id == row.id
    assert (after.link_state, after.activity, after.ended_reason, after.ended_us) == ("exact", "idle", "", 0)
    assert after.name
    assert rig.prompt().done.items and rig.state(mid) == "delivered"


@pytest.mark.spec("HL-5", "ACT-2", "ACT-8")
@pytest.mark.parametrize(("name", "activity"), [("PreToolUse", "working"), ("Notification", "idle")])
def test_any_live_event_brings_it_back_too(rig, name: str, activity: str) -> None:
    rig.linked()
    rig.hook("SessionEnd")
    said = rig.hook(name)
    assert "HL-5" in said.spec_ids
    assert (rig.holder().link_state, rig.holder().activity) == ("exact", activity)


@pytest.mark.spec("HL-5", "HL-2", "MOVE-8")
def test_a_guess_comes_back_as_a_guess(rig) -> None:
    rig.start()
    rig.hook("SessionEnd")
    assert rig.holder().link_state == "ended_guessed"
    rig.tool()
    assert rig.holder().link_state == "guessed"


@pytest.mark.spec("HL-12", "ACT-6")
def test_a_replay_ends_a_link_and_never_revives_one(rig) -> None:
    rig.linked()
    rig.replay(rig.event("SessionEnd", at_us=rig.now + SECOND))
    assert (rig.holder().link_state, rig.holder().activity) == ("ended_exact", "ended")
    rig.replay(rig.event("SessionStart", source="resume"), rig.event("UserPromptSubmit"))
    assert (rig.holder().link_state, rig.holder().activity) == ("ended_exact", "ended")


@pytest.mark.spec("HL-12", "ACT-6")
def test_an_end_that_is_older_than_the_last_event_changes_nothing(rig) -> None:
    rig.linked()
    rig.prompt()
    rig.late("SessionEnd", ago=60)
    rig.replay(rig.event("SessionEnd", at_us=rig.now - 60 * SECOND))
    assert (rig.holder().link_state, rig.holder().activity) == ("exact", "working")


@pytest.mark.spec("HL-12", "ACT-6")
def test_a_spooled_time_ahead_of_ours_does_not_make_all_else_old(rig) -> None:
    rig.linked()
    rig.replay(rig.event("Stop", at_us=rig.now + 10**15))
    assert rig.holder().last_seen_us == rig.holder().last_event_us == rig.now
    rig.prompt()
    assert rig.holder().activity == "working"
    rig.hook("SessionEnd")
    assert rig.holder().link_state == "ended_exact"


@pytest.mark.spec("HL-2", "ACT-2")
def test_a_clock_that_was_set_back_does_not_make_events_old(rig) -> None:
    rig.linked()
    rig.stop()
    rig.now -= 3 * 24 * 3600 * SECOND
    rig.prompt()
    assert rig.holder().activity == "working"
    rig.hook("SessionEnd")
    assert rig.holder().link_state == "ended_exact"


# -- clear, fork, ids that were here ------------------------------------------------------------------------------


@pytest.mark.spec("HL-3", "MOVE-5", "MOVE-6", "MOVE-9", "DLV-49", "CMT-5")
@pytest.mark.parametrize("ended", [False, True])
def test_after_clear_the_row_of_that_process_gets_the_new_id(rig, ended: bool) -> None:
    row = rig.linked(process=CLIENT)
    mid, cid = rig.send(row), rig.say(rig.task(row))["id"]
    rig.prompt()
    assert rig.stop().done.at == "stop"
    if ended:
        rig.hook("SessionEnd", reason="clear", process=CLIENT)
        rig.now += 50 * SECOND
    said = rig.start("h2", "clear", process=CLIENT)
    after = rig.holder("h2")
    assert "HL-3" in said.spec_ids and after.id == row.id and rig.held("h1") is None
    assert (after.link_state, after.activity, after.turn_state) == ("exact", "idle", "none")
    assert after.name
    assert (after.title, after.cwd, rig.comment(cid).bound_id) == (row.title, row.cwd, row.id), "all else stays"
    assert (rig.state(mid), rig.comment(cid).state) == ("sent", "sent"), "another conversation stands behind the row"
    assert (rig.mail_of(mid).stop_blocks, rig.comment(cid).stop_blocks) == (1, 1)
    assert rig.mail_of(mid).reoffers == 0 and "message.offered_again" in rig.types()
    late = rig.hook("SessionEnd", reason="clear", process=CLIENT)
    assert "HL-7" in late.spec_ids and rig.holder("h2").link_state == "exact", "the end of a replaced id"


@pytest.mark.spec("HL-3", "ROW-2")
@pytest.mark.parametrize("why", ["late", "other_reason", "other_process", "no_process", "replayed"])
def test_no_pair_after_clear_otherwise(rig, why: str) -> None:
    row = rig.linked(process=CLIENT)
    rig.hook("SessionEnd", reason="logout" if why == "other_reason" else "clear", process=CLIENT)
    rig.now += (60 if why == "late" else 1) * SECOND
    process = {"other_process": ClientProcess(4242, "101", "pid:[1]", "host"), "no_process": ClientProcess()}
    event = rig.event("SessionStart", "h2", source="clear", process=process.get(why, CLIENT))
    if why == "replayed":
        rig.replay(event)
    else:
        rig.start("h2", "clear", process=event.process)
    assert rig.holder("h2").id != row.id and rig.need(row).link_state == "ended_exact"


@pytest.mark.spec("HL-3")
def test_of_two_live_rows_of_a_process_the_one_heard_last_is_cleared(rig) -> None:
    first = rig.linked("h1", process=CLIENT)
    second = rig.linked("h2", process=CLIENT)
    rig.start("h3", "clear", process=CLIENT)
    assert rig.holder("h3").id == second.id and rig.need(first).hook_id == "h1"


@pytest.mark.spec("HL-3", "HL-7")
def test_only_a_start_brings_a_replaced_id_back(rig) -> None:
    row = rig.linked(process=CLIENT)
    rig.start("h2", "clear", process=CLIENT)
    rig.row("Alice", cwd=CWD)
    assert rig.tool("h1").spec_ids == ("HL-7",) and rig.held("h1") is None
    rig.start("h1", "resume", process=CLIENT)
    back = rig.holder("h1")
    assert back.id != row.id and (back.kind, back.link_state) == ("hook", "guessed"), "never a folder guess"


@pytest.mark.spec("HL-4")
def test_a_fork_is_a_new_row(rig) -> None:
    rig.row("Alice", cwd=CWD)
    said = rig.start("h2", "fork")
    assert "HL-4" in said.spec_ids and (rig.holder("h2").kind, rig.holder("h2").link_state) == ("hook", "guessed")


@pytest.mark.spec("HL-7", "LINK-20", "MOVE-5", "DLV-49", "ROW-7")
def test_an_id_that_the_owner_took_off_is_a_new_session_and_guesses_nothing(rig) -> None:
    row = rig.linked()
    mid = rig.send(row)
    rig.prompt()
    rig.unlink_by_owner(row)
    assert rig.state(mid) == "sent" and rig.need(row).link_state == "none"
    rig.row("Alice", cwd=CWD)
    assert rig.hook("SessionEnd").spec_ids == ("ROW-7",)
    said = rig.tool()
    assert "HL-7" in said.spec_ids and rig.holder().id != row.id and rig.holder().kind == "hook"


@pytest.mark.spec("HL-11", "MOVE-2", "ROW-2")
def test_the_end_of_a_folder_guess_drops_it_and_mail_stays(rig) -> None:
    row = rig.row("Alice", cwd=CWD)
    mid = rig.send(row)
    rig.start()
    rig.tool()
    said = rig.hook("SessionEnd")
    after = rig.now_of(row)
    assert "HL-11" in said.spec_ids and (after.link_state, after.activity, after.hook_id) == ("none", "unknown", None)
    assert rig.state(mid) == "sent"
    rig.start("h2")
    assert rig.need(row).hook_id == "h2", "an agent's row without hooks, which has not ended, can be guessed again"
    rig.tool("h1")
    assert rig.holder("h1").kind == "hook"


# -- subagents ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("HL-6", "ANS-8", "ACT-6", "PACK-6", "PROOF-2", "WAIT-4")
@pytest.mark.parametrize("fast", [True, False])
def test_a_subagent_is_a_sign_of_life_and_reports_its_tool_use_ids(rig, fast: bool) -> None:
    row = rig.linked()
    rig.stop()
    rig.from_memory = fast
    mid = rig.send(row)
    entry = rig.wait()
    said = rig.hook(
        "PreToolUse", agent_id="a1", tool_name="mcp__relaybay__tasks_list", tool_use_id="toolu_9", session_title="x",
        cwd="/elsewhere", permission_mode="plan",
    )  # fmt: skip
    after = rig.now_of(row)
    assert said.done is None and rig.state(mid) == "sent" and entry.state == "waiting"
    assert (after.activity, after.last_seen_us, after.cwd, after.title) == ("idle", rig.now, CWD, row.title)
    assert after.permission_mode == "" and after.last_event_us < rig.now
    assert rig.relay.presence.witnessed("toolu_9", rig.now) == "h1"


@pytest.mark.spec("HL-6", "SPOOL-2")
def test_a_subagent_revives_nothing_and_a_replay_proves_nothing(rig) -> None:
    row = rig.linked()
    rig.hook("SessionEnd")
    rig.tool(agent_id="a1")
    assert rig.need(row).link_state == "ended_exact"
    event = rig.event("PreToolUse", tool_name="mcp__relaybay__tasks_list", tool_use_id="toolu_7")
    rig.replay(event)
    assert rig.relay.presence.witnessed("toolu_7", rig.now) is None
    assert rig.need(row).link_state == "ended_exact"
