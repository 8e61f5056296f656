"""A hook id is shown nowhere and is nobody's name, however it is spelled and whoever had the name before (page 10)."""

from __future__ import annotations

import json

import pytest

from relaybay.api.claude_code import event_of
from relaybay.domain import Caller, HookEvent
from relaybay.service import hooks, messages, naming
from relaybay.service import sessions as owner
from tests.unit.linking_rig import Rig

HOOK = "0a1f5c7e-9b7d-4b0e-8c1d-77aa55cc1234"
ALIKE = [
    HOOK.upper(),
    HOOK[:8] + "\u200b" + HOOK[8:],
    HOOK.replace("-", "\uff0d"),
    f"  {HOOK} ",
    "".join(chr(ord(c) - 0x30 + 0xFF10) if c.isdigit() else c for c in HOOK),
]


@pytest.fixture
def rig(tmp_path):
    made = Rig(tmp_path)
    yield made
    made.relay.close()


def shown(rig: Rig) -> str:
    """Everything a list, a message, a comment or an event could show."""
    columns = {
        "session": "title, desktop_id, name",
        "alias": "text",
        "message": "sender_title, sender_name",
        "delivery": "recipient_title, recipient_name",
        "event": "data",
    }
    return json.dumps(
        [rig.store.read(lambda tx, t=t, c=c: tx.rows(f"SELECT {c} FROM {t}")) for t, c in columns.items()]
    )


@pytest.mark.spec("ROW-3", "SEND-4", "INV-3")
@pytest.mark.parametrize("spelled", ALIKE)
def test_no_spelling_of_a_known_hook_id_becomes_a_name(rig, spelled):
    rig.row("alpha", "hook", "exact", HOOK)
    before = rig.dump()
    sent = rig.store.write(lambda tx: messages.send(tx, rig.relay, Caller(session=spelled), to="alpha", body="hello"))
    assert sent.refusal is not None
    assert sent.refusal.answer in ("name.hook_id", "send.sender_not_proven")
    renamed = rig.store.write(lambda tx: owner.rename(tx, rig.relay, "S-1", spelled))
    assert renamed.refusal is not None and renamed.refusal.answer == "name.hook_id"
    assert rig.dump() == before


@pytest.mark.spec("ROW-5")
@pytest.mark.parametrize("spelled", [HOOK, *ALIKE])
def test_a_client_that_names_its_session_by_a_hook_id_gives_no_title(rig, spelled):
    rig.row("alpha", "hook", "exact", HOOK)
    event = HookEvent(hook_id="other", name="SessionStart", at_us=rig.now, cwd="/srv/beta", session_title=spelled)
    rig.store.write(lambda tx: hooks.handle(tx, rig.relay, event))
    assert {row.title for row in rig.rows()} == {"alpha", "beta"}


@pytest.mark.spec("ROW-2", "INV-3")
def test_a_name_that_turns_out_to_be_a_hook_id_is_nobodys_any_more(rig):
    rig.row("reader")
    sent = rig.store.write(lambda tx: messages.send(tx, rig.relay, Caller(session=HOOK), to="reader", body="hello"))
    assert sent.ok
    rig.store.write(
        lambda tx: hooks.handle(
            tx, rig.relay, HookEvent(hook_id=HOOK, name="SessionStart", at_us=rig.now, cwd="/srv/x")
        )
    )
    assert {row.title for row in rig.rows()} == {"reader", "session", "x"}
    told = rig.store.read(lambda tx: tx.rows("SELECT sender_title FROM message"))
    assert told == [("session",)]
    assert rig.store.read(lambda tx: naming.resolve(tx, HOOK)) == []


@pytest.mark.spec("ROW-3", "LINK-1")
def test_a_call_cannot_name_its_new_row_by_the_hook_id_it_brings(rig):
    found = rig.refused("other", HOOK, HOOK)
    assert found.answer == "name.hook_id"


@pytest.mark.spec("ANS-8", "HL-6")
@pytest.mark.parametrize("agent_id", [5, ["x"], {"a": 1}, "a\nb", "\ud800", "x" * 5_000, True])
def test_any_agent_id_at_all_makes_an_event_a_subagents(agent_id):
    body = {"session_id": "h", "hook_event_name": "PostToolUse", "agent_id": agent_id}
    event = event_of(body, at_us=1)
    assert isinstance(event, HookEvent) and event.agent_id


@pytest.mark.parametrize("agent_id", [None, ""])
def test_no_agent_id_makes_it_the_sessions_own(agent_id):
    event = event_of({"session_id": "h", "hook_event_name": "PostToolUse", "agent_id": agent_id}, at_us=1)
    assert isinstance(event, HookEvent) and not event.agent_id


@pytest.mark.spec("PROOF-2")
def test_a_tool_use_id_proves_over_a_restart_of_the_server(tmp_path):
    first = Rig(tmp_path)
    first.row("alpha", "hook", "exact", HOOK)
    use = HookEvent(
        hook_id=HOOK, name="PreToolUse", at_us=first.now, tool_name="mcp__relaybay__message_ack", tool_use_id="toolu_1"
    )
    hooks.witness(first.relay, use)
    first.relay.close()
    second = Rig(tmp_path)
    try:
        done = second.store.write(lambda tx: messages.acknowledge(tx, second.relay, Caller(tool_use_id="toolu_1")))
        assert done.ok
    finally:
        second.relay.close()
