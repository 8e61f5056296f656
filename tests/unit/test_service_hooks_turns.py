"""Turns, Stop blocks and activity on a real store (page 20: PROMPT, STOP; page 10: ACT)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.hook_events_rig import HookRig
from tests.unit.linking_rig import SECOND


@pytest.fixture(params=["memory", "transaction"])
def rig(tmp_path: Path, request):
    made = HookRig(tmp_path)
    made.from_memory = request.param == "memory"
    yield made
    made.relay.close()


# -- activity -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("ACT-1", "ACT-2", "ACT-3", "ACT-5", "ACT-8", "HL-0")
def test_activity_follows_the_events(rig) -> None:
    steps = [
        (("SessionStart", {"source": "startup"}), "idle"),
        (("UserPromptSubmit", {}), "working"),
        (("Notification", {}), "working"),
        (("SessionStart", {"source": "compact"}), "working"),
        (("Stop", {}), "idle"),
        (("PreToolUse", {}), "working"),
        (("StopFailure", {}), "idle"),
        (("PostToolUse", {}), "working"),
        (("SessionStart", {"source": "resume"}), "idle"),
        (("PostToolUseFailure", {}), "working"),
        (("NeverHeardOf", {"notification_type": "x"}), "working"),
        (("SessionEnd", {}), "ended"),
        (("Notification", {}), "idle"),
        (("PostToolBatch", {}), "working"),
    ]
    for (name, fields), activity in steps:
        rig.hook(name, **fields)
        assert rig.holder().activity == activity, name
        assert rig.holder().last_seen_us == rig.now
        assert rig.holder().link_state == ("ended_guessed" if name == "SessionEnd" else "guessed")


@pytest.mark.spec("ACT-8")
def test_anything_else_makes_an_unknown_activity_idle(rig) -> None:
    rig.row("Alice", "agent", "guessed", "h1")
    rig.hook("Notification")
    assert rig.holder().activity == "idle"


@pytest.mark.spec("ACT-6")
def test_an_older_event_changes_no_activity(rig) -> None:
    rig.linked()
    rig.stop()
    seen = rig.now
    rig.late("PostToolUse", ago=30)
    assert (rig.holder().activity, rig.holder().last_event_us) == ("idle", seen)
    rig.replay(rig.event("UserPromptSubmit", at_us=seen - SECOND))
    assert rig.holder().activity == "idle"
    rig.replay(rig.event("UserPromptSubmit", at_us=seen + 2 * SECOND))
    assert rig.holder().activity == "working", "a newer one that was spooled counts"


@pytest.mark.spec("ACT-3", "ACT-4", "STOP-5", "STOP-9", "PACK-7")
def test_a_blocked_stop_goes_on_working_and_an_answer_that_never_left_does_not(rig) -> None:
    row = rig.linked()
    rig.prompt()
    rig.send(row)
    said = rig.stop()
    assert said.done.at == "stop" and rig.holder().activity == "working"
    rig.not_written(said)
    assert (rig.holder().activity, rig.holder().turn_state) == ("idle", "none")


@pytest.mark.spec("STOP-9", "ACT-3")
@pytest.mark.parametrize("then", ["prompt", "end", "clear"])
def test_taking_a_block_back_leaves_a_later_turn_alone(rig, then: str) -> None:
    row = rig.linked()
    rig.prompt()
    mid = rig.send(row)
    said = rig.stop()
    if then == "prompt":
        rig.prompt()
        rig.send(row)
        assert rig.stop().done
    elif then == "end":
        rig.hook("SessionEnd")
    else:
        rig.unlink_by_owner(row)
    before = rig.now_of(row)
    rig.not_written(said)
    after = rig.now_of(row)
    assert (after.activity, after.turn_state) == (before.activity, before.turn_state if then != "end" else "none")
    assert rig.state(mid) == ("delivered" if then == "prompt" and rig.mail_of(mid).stop_blocks else "sent")


@pytest.mark.spec("STOP-9", "MOVE-9", "LINK-10")
def test_taking_a_block_back_leaves_another_conversation_of_the_row_alone(rig) -> None:
    row = rig.linked("h1")
    rig.prompt("h1")
    rig.send(row)
    said = rig.stop("h1")
    rig.linked("h2")
    rig.prompt("h2")
    rig.send(rig.holder("h2"))
    assert rig.stop("h2").done.turn_serial == said.done.turn_serial
    rig.accepted("other", row.ref, witnessed="h2")
    assert (rig.holder("h2").id, rig.holder("h2").turn_state) == (row.id, "one")
    rig.not_written(said)
    assert (rig.holder("h2").turn_state, rig.holder("h2").activity) == ("one", "working")


# -- whose prompt -------------------------------------------------------------------------------------------------


@pytest.mark.spec("PROMPT-1", "PROMPT-2", "STOP-1")
@pytest.mark.parametrize(
    "prompt",
    [
        {"prompt_kind": "local", "prompt_id": "p1"},
        {"prompt_kind": "local", "prompt_id": "p2"},
        {"prompt_kind": "local"},
        {"prompt_kind": "machine", "prompt_id": "p2"},
        {"prompt_kind": "machine"},
    ],
)
def test_a_prompt_that_opens_a_turn_gives_the_budget_back(rig, prompt) -> None:
    row = rig.linked()
    rig.prompt(prompt_id="p1")
    rig.send(row)
    assert rig.stop().done
    serial = rig.holder().turn_serial
    rig.prompt(**prompt)
    after = rig.holder()
    assert (after.turn_state, after.turn_serial, after.turn_prompt_id) == (
        "none",
        serial + 1,
        prompt.get("prompt_id", ""),
    )


@pytest.mark.spec("PROMPT-3", "STOP-8")
def test_a_wake_up_inside_the_turn_gives_nothing_back(rig) -> None:
    row = rig.linked()
    rig.prompt(prompt_id="p1")
    rig.send(row)
    assert rig.stop().done
    before = rig.holder()
    rig.prompt(prompt_kind="machine", prompt_id="p1")
    after = rig.holder()
    assert (after.turn_state, after.turn_serial) == ("one", before.turn_serial) and after.activity == "working"


@pytest.mark.spec("STOP-2", "PROMPT-1")
def test_a_replayed_or_a_subagents_prompt_and_stop_leave_the_turn(rig) -> None:
    row = rig.linked()
    rig.prompt(prompt_id="p1")
    rig.send(row)
    assert rig.stop().done
    before = rig.holder()
    rig.prompt(prompt_id="p2", agent_id="a1")
    rig.stop(agent_id="a1")
    rig.replay(
        rig.event("UserPromptSubmit", prompt_id="p3", at_us=rig.now + SECOND),
        rig.event("Stop", at_us=rig.now + SECOND),
    )
    after = rig.holder()
    assert (after.turn_state, after.turn_prompt_id, after.turn_serial) == ("one", "p1", before.turn_serial)


# -- the Stop budget ----------------------------------------------------------------------------------------------


@pytest.mark.spec("STOP-5", "STOP-6", "INV-5", "DLV-3")
def test_two_blocks_a_turn_and_no_third(rig) -> None:
    row = rig.linked()
    rig.prompt()
    first = rig.send(row, "one")
    assert [rig.stop().done.at, rig.state(first)] == ["stop", "delivered"]
    second = rig.send(row, "two")
    blocked = rig.stop(stop_hook_active=True)
    assert second in blocked.done.text and first not in blocked.done.text, "a message blocks once in its life"
    third = rig.send(row, "three")
    assert rig.stop(stop_hook_active=True).done is None
    assert (rig.state(third), rig.holder().turn_state, rig.holder().activity) == ("sent", "none", "idle")
    rig.prompt()
    assert rig.state(third) == "delivered"


@pytest.mark.spec("STOP-5", "CMT-4", "CMT-17", "INV-5")
def test_a_comment_blocks_twice_in_its_life_over_turns(rig) -> None:
    row = rig.linked()
    cid = rig.say(rig.task(row))["id"]
    counts = []
    for _ in range(4):
        rig.prompt()
        counts.append(rig.stop().done is not None)
        rig.stop(stop_hook_active=True)
    assert sum(counts) <= 2 and rig.comment(cid).stop_blocks == 2
    assert rig.comment(cid).state == "delivered", "and stays unread"


@pytest.mark.spec("STOP-3", "STOP-4")
def test_somebody_elses_continuation_is_allowed(rig) -> None:
    row = rig.linked()
    rig.prompt()
    mid = rig.send(row)
    said = rig.stop(stop_hook_active=True)
    assert said.done is None and "STOP-3" in said.spec_ids and rig.state(mid) == "sent"
    rig.prompt()
    rig.stop()
    assert rig.mail_of(mid).stop_blocks == 1, "delivered by the prompt, unread: it blocks once"
    rig.prompt()
    said = rig.stop()
    assert said.done is None and rig.holder().turn_state == "none"


@pytest.mark.spec("STOP-7", "ANS-6")
@pytest.mark.parametrize("link", ["guessed", "folder", "ended"])
def test_no_block_over_any_other_link(rig, link: str) -> None:
    if link == "folder":
        row = rig.row("Alice", cwd="/home/ada/shop")
    rig.start()
    row = rig.holder()
    mid = rig.send(row)
    for said in (rig.prompt(), rig.tool(), rig.stop()):
        assert said.done is None and said.line == ""
    assert rig.state(mid) == "sent"


@pytest.mark.spec("STOP-9", "DLV-17", "DLV-19", "CMT-16")
def test_a_second_block_that_never_left_gives_one_back(rig) -> None:
    row = rig.linked()
    cid = rig.say(rig.task(row))["id"]
    rig.prompt()
    assert rig.comment(cid).state == "delivered"
    first = rig.stop()
    assert (rig.comment(cid).stop_blocks, rig.holder().turn_state) == (1, "one")
    mid = rig.send(row)
    second = rig.stop(stop_hook_active=True)
    assert {key for key, _ in second.done.items} == {"comment", "message"}
    rig.not_written(second)
    assert (rig.comment(cid).state, rig.comment(cid).stop_blocks) == ("delivered", 1), "delivered by the prompt"
    assert (rig.state(mid), rig.mail_of(mid).stop_blocks, rig.holder().turn_state) == ("sent", 0, "one")
    rig.not_written(first)
    assert rig.holder().turn_state == "none"
    assert rig.comment(cid).stop_blocks == 0


@pytest.mark.spec("MOVE-9", "STOP-1")
def test_the_budget_goes_with_the_hook_id(rig) -> None:
    row = rig.linked()
    rig.prompt()
    rig.send(row)
    assert rig.stop().done and rig.holder().turn_state == "one"
    rig.hook("SessionEnd")
    rig.start(source="resume")
    assert rig.holder().turn_state == "one", "the same conversation"
    rig.unlink_by_owner(row)
    rig.tool()
    assert rig.holder().turn_state == "one", "the same id on another row: the client's turn is the same"
