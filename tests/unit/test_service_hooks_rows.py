"""Rows that hook events make, and what the events tell of them, on a real store (page 10: ROW, HL-8)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relaybay.domain import ClientProcess
from relaybay.service import hooks
from relaybay.service import sessions as owner
from tests.unit.hook_events_rig import CWD, HookRig

CLIENT = ClientProcess(4242, "100", "pid:[1]", "host", "cli", "2.1.332")


@pytest.fixture
def rig(tmp_path: Path):
    made = HookRig(tmp_path)
    yield made
    made.relay.close()


# -- how rows come to be -----------------------------------------------------------------------------------------


@pytest.mark.spec("ROW-1", "ANS-1", "LINK-15")
def test_the_one_agent_row_of_the_folder_is_guessed(rig) -> None:
    row = rig.row("Alice", cwd=CWD)
    said = rig.start()
    assert "ROW-1" in said.spec_ids and rig.need(row).link_state == "guessed"
    assert len(rig.rows()) == 1
    assert 'if you are "Alice", pass session="Alice"' in said.line
    assert "h1" not in said.line


@pytest.mark.spec("ROW-1", "ROW-2")
@pytest.mark.parametrize("other", ["two", "unlinked", "ended", "linked", "elsewhere", "hook"])
def test_no_row_is_guessed_otherwise(rig, other: str) -> None:
    if other == "two":
        rig.row("Alice", cwd=CWD)
        rig.row("Bob", cwd=CWD)
    elif other == "unlinked":
        rig.row("Alice", cwd=CWD, unlinked=1)
    elif other == "ended":
        rig.row("Alice", cwd=CWD, activity="ended")
    elif other == "linked":
        rig.row("Alice", "agent", "exact", cwd=CWD)
    elif other == "elsewhere":
        rig.row("Alice", cwd="/somewhere/else")
    else:
        rig.row("Alice", "hook", cwd=CWD)
    before = len(rig.rows())
    said = rig.start()
    row = rig.holder()
    assert "ROW-2" in said.spec_ids and len(rig.rows()) == before + 1
    assert (row.kind, row.title, row.link_state, row.activity, row.cwd) == ("hook", "shop", "guessed", "idle", CWD)


@pytest.mark.spec("ROW-2")
def test_titles_of_one_folder_are_numbered(rig) -> None:
    for hook in ("h1", "h2", "h3"):
        rig.tool(hook)
    assert [rig.holder(h).title for h in ("h1", "h2", "h3")] == ["shop", "shop 2", "shop 3"]


@pytest.mark.spec("ROW-7")
def test_an_end_or_a_subagent_makes_no_row(rig) -> None:
    rig.row("Alice", cwd=CWD)
    for said in (rig.hook("SessionEnd"), rig.tool(agent_id="a1"), rig.hook("SubagentStart", agent_id="a1")):
        assert said.spec_ids == ("ROW-7",) and said.done is None
    assert [row.link_state for row in rig.rows()] == ["none"]


@pytest.mark.spec("ROW-2", "HL-8", "ACT-6", "SPOOL-2")
def test_a_replay_makes_an_unseen_row_and_the_first_live_event_shows_it(rig) -> None:
    assert rig.replay(rig.event("SessionStart", source="startup"), rig.event("UserPromptSubmit")) == (2, 0)
    row = rig.holder()
    assert (row.link_state, row.activity, row.name) == ("guessed_unseen", "unknown", None)
    said = rig.tool()
    assert "HL-8" in said.spec_ids
    row = rig.holder()
    assert (row.link_state, row.activity) == ("guessed", "working")


@pytest.mark.spec("ROW-1", "SPOOL-2")
def test_a_replay_guesses_no_folder(rig) -> None:
    row = rig.row("Alice", cwd=CWD)
    rig.replay(rig.event("SessionStart"))
    assert rig.need(row).link_state == "none" and rig.holder().kind == "hook"


@pytest.mark.spec("ROW-5")
def test_the_clients_own_name_is_the_title_and_later_an_alias(rig) -> None:
    rig.start(session_title="alice")
    assert rig.holder().title == "alice"
    rig.prompt(session_title="ada")
    row = rig.holder()
    assert row.title == "alice" and rig.titled("ada").id == row.id
    rig.start("h2", session_title="ALICE")
    assert rig.holder("h2").title == "ALICE 2"
    rig.prompt("h2", session_title="ada")
    assert rig.titled("ada").id == row.id, "an alias that another row has is not taken"
    rig.prompt("h2", session_title="S-99")
    assert not [e for e in rig.events("session.renamed") if "S-99" in e]


@pytest.mark.spec("ROW-5", "HL-11")
def test_a_folder_guess_gets_no_name_of_the_clients_not_even_at_its_end(rig) -> None:
    row = rig.row("Alice", cwd=CWD)
    rig.start(session_title="ada", process=CLIENT)
    rig.hook("SessionEnd", session_title="ada", process=CLIENT)
    assert rig.titled("ada") is None
    after = rig.need(row)
    assert (after.link_state, after.activity, after.process_pid) == ("none", "unknown", 0)


# -- what else an event tells -------------------------------------------------------------------------------------


@pytest.mark.spec("ROW-2", "HL-12")
def test_folder_client_process_and_transcript_are_noted_and_late_events_are_not_listened_to(rig) -> None:
    rig.linked(process=CLIENT, transcript_path="/t/1.jsonl")
    rig.prompt(cwd="/home/ada/shop/web", permission_mode="plan")
    row = rig.holder()
    assert (row.cwd, row.permission_mode, row.process, row.client) == (
        "/home/ada/shop/web",
        "plan",
        CLIENT,
        "claude-code",
    )
    other = ClientProcess(99, "1", "pid:[1]", "host")
    rig.late("PostToolUse", ago=60, cwd="/old", permission_mode="default", process=other, transcript_path="/t/0.jsonl")
    late = rig.holder()
    assert (late.cwd, late.permission_mode, late.process, late.transcript_path) == (
        row.cwd,
        "plan",
        CLIENT,
        "/t/1.jsonl",
    )
    rig.replay(rig.event("SessionStart", source="resume", process=other, cwd="/home/ada/shop/web"))
    assert rig.holder().process.pid == 99, "a start that was spooled tells of the client that lives now"


@pytest.mark.spec("30")
def test_the_clients_own_send_message_is_an_edge_and_makes_no_row(rig) -> None:
    row = rig.linked()
    bob = rig.row("bob", "hook", "exact", "hook-bob")
    before = len(rig.rows())

    def edges(**more):
        rig.hook("PostToolUse", tool_name="SendMessage", **more)
        return [e for e in map(json.loads, rig.events("session.message")) if e["by"] == "client"]

    assert edges(send_message_to="bob")[-1] == {
        "by": "client",
        "from": row.title,
        "from_ref": row.ref,
        "to": "bob",
        "to_ref": bob.ref,
        "task": None,
    }
    assert edges(send_message_to="nobody\nhere")[-1]["to"] == "nobody here"
    assert edges(send_message_to="hook-bob")[-1]["to_ref"] == bob.ref, "found by hook id, and shown by title"
    count = len(edges())
    rig.do(lambda tx: owner.unlink(tx, rig.relay, bob.ref))
    assert len(edges(send_message_to="hook-bob")) == count, "an id that no row holds any more is not shown"
    assert len(edges(send_message_to="bob", agent_id="a1")) == count
    rig.hook("PreToolUse", tool_name="SendMessage")
    assert len(rig.rows()) == before
    assert hooks.NOTHING.done is None
