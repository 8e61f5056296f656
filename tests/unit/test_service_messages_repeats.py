"""A call made twice: request ids (SEND-16) and tool-use ids (PROOF), on a real store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from relaybay.domain import Caller, Outcome
from relaybay.service import comments, messages, tasks
from relaybay.specs import limit
from relaybay.store import sessions as rows
from relaybay.store import tool_uses
from tests.unit.mail_rig import SECOND, MailRig


@pytest.fixture
def rig(tmp_path: Path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


@pytest.fixture
def alice(rig):
    return rig.live("alice")


# -- request ids ---------------------------------------------------------------------------------------------------


@pytest.mark.spec("SEND-16")
def test_the_same_request_with_the_same_content_is_sent_once(rig, alice) -> None:
    first = rig.send(rig.by(alice), "text", to="bob", request_id="r1")
    before = rig.dump()
    again = rig.send(rig.by(alice), "text", to="bob", request_id="r1")
    assert again["message_id"] == first["message_id"] and again["repeat"] is True
    assert rig.dump() == before, "nothing is counted or changed"
    # What the client made of line breaks is no other content (TEXT-1).
    rig.send(rig.by(alice), "a\nb", to="bob", request_id="r2")
    assert rig.send(rig.by(alice), "a\r\nb", to="bob", request_id="r2")["repeat"] is True


@pytest.mark.spec("SEND-16")
@pytest.mark.parametrize(
    "other",
    [{"body": "other"}, {"to": "carol"}, {"task": "shop-1"}, {"in_reply_to": "m_0"}],
    ids=lambda o: next(iter(o)),
)
def test_the_same_request_with_other_content_is_refused(rig, alice, other) -> None:
    rig.live("carol")
    rig.task()
    first = rig.send(rig.by(alice), "text", to="bob", request_id="r1")
    said = {"body": "text", "to": "bob", "request_id": "r1"} | other
    assert rig.no_send(rig.by(alice), **said) == ("request_id_reused", "SEND-16")
    assert first["message_id"] in rig.why(rig.by(alice), **said)


@pytest.mark.spec("SEND-16")
def test_a_repeat_is_found_before_everything_that_has_changed_since(rig, alice) -> None:
    first = rig.send(rig.by(alice), "text", to="bob", request_id="r1")
    for _ in range(9):
        rig.send(rig.by(alice))
    rig.store.write(lambda tx: rows.change(tx, rig.bob.id, title="robert", title_key="robert"))
    assert rig.no_send(rig.by(alice), to="robert") == ("rate_limited", "SEND-12")
    assert rig.send(rig.by(alice), "text", to="bob", request_id="r1")["message_id"] == first["message_id"]


@pytest.mark.spec("SEND-16")
def test_a_request_id_is_its_sender_s_and_a_refused_send_uses_none_up(rig, alice) -> None:
    first = rig.send(rig.by(alice), to="bob", request_id="r1")
    other = rig.send(rig.claim("somebody"), to="bob", request_id="r1")
    assert other["message_id"] != first["message_id"]
    assert rig.no_send(rig.by(alice), " ", to="bob", request_id="r2")[0] == "body_blank"
    assert "repeat" not in rig.send(rig.by(alice), "text", to="bob", request_id="r2")


@pytest.mark.spec("SEND-16", "MOVE-10", "LINK-6")
def test_request_ids_go_with_the_row_that_is_merged(rig) -> None:
    rig.row("unnamed", "hook", "exact", "hook-1", activity="idle")
    asked = rig.send(rig.vouched("hook-1"), "asked", to="bob", request_id="r1")
    said = {"to": "bob", "request_id": "r1"}
    # Judged after LINK, which this call would carry out, and then does not: it is a repeat.
    rig.row("named")
    assert rig.send(rig.vouched("hook-1", "named"), "asked", **said)["message_id"] == asked["message_id"]
    assert rig.titled("unnamed") is not None
    assert rig.no_send(rig.vouched("hook-1", "named"), "other", **said) == ("request_id_reused", "SEND-16")
    rig.send(rig.vouched("hook-1", "named"), "merges")
    assert rig.titled("unnamed") is None
    assert rig.send(rig.vouched("hook-1"), "asked", **said)["message_id"] == asked["message_id"]


@pytest.mark.spec("SEND-16", "MOVE-10", "LINK-6")
def test_of_a_request_id_that_both_rows_used_the_heir_s_counts(rig) -> None:
    rig.row("unnamed", "hook", "exact", "hook-1", activity="idle")
    rig.row("named")
    said = {"to": "bob", "request_id": "r1"}
    rig.send(rig.vouched("hook-1"), "of the merged", **said)
    kept = rig.send(rig.claim("named"), "of the heir", **said)
    for _ in range(2):
        assert rig.send(rig.vouched("hook-1", "named"), "of the heir", **said)["message_id"] == kept["message_id"]
        assert rig.no_send(rig.vouched("hook-1", "named"), "of the merged", **said)[0] == "request_id_reused"
        if rig.titled("unnamed"):
            rig.send(rig.vouched("hook-1", "named"), "merges")


# -- tool-use ids --------------------------------------------------------------------------------------------------


def used(rig: MailRig, tool_use_id: str):
    return rig.store.read(lambda tx: tool_uses.get(tx, tool_use_id))


@pytest.mark.spec("PROOF-1", "PROOF-5")
def test_a_claim_proves_what_it_says_and_blank_says_nothing(rig, alice) -> None:
    assert rig.send(rig.claim(hook=" hook-alice "))["sender_verified"]
    assert rig.identity(rig.claim("x", "  ")).proof.spec_id == "PROOF-5"
    assert rig.identity(rig.claim("x", "hook-x")).proof.spec_id == "PROOF-1"


@pytest.mark.spec("PROOF-2")
def test_a_reported_tool_use_id_needs_nothing_else(rig, alice) -> None:
    caller = rig.by(alice)
    assert rig.send(caller)["sender_verified"]
    assert used(rig, caller.tool_use_id)["tool"] == "message_send"
    same = replace(rig.by(alice), hook_session="hook-alice")
    assert rig.send(same)["sender_verified"], "the same id claimed beside it is no contradiction"


@pytest.mark.spec("PROOF-3", "INV-3")
def test_a_claim_that_contradicts_the_client_is_refused(rig, alice) -> None:
    for hook in ("hook-bob", "hook-of-nobody"):
        caller = replace(rig.by(alice), hook_session=hook)
        assert rig.no_send(caller) == ("hook_session_mismatch", "PROOF-3")
        assert rig.no_marks(replace(rig.by(alice), hook_session=hook)) == ("hook_session_mismatch", "PROOF-3")
        assert used(rig, caller.tool_use_id)["answer"] == "", "its tool-use id is used, and that is all it leaves"


@pytest.mark.spec("PROOF-4")
def test_a_tool_use_id_that_proves_nothing_is_no_error(rig, alice) -> None:
    unknown = Caller("", "", "", "toolu_unheard")
    assert rig.no_send(unknown) == ("sender_required", "SEND-1")
    assert rig.send(replace(unknown, tool_use_id="toolu_2", session="plain"))["sender_verified"] is False
    assert rig.send(replace(unknown, tool_use_id="toolu_3", hook_session="hook-alice"))["sender_verified"]
    old = rig.by(alice)
    rig.now += limit("tool_use_minutes_max") * 60 * SECOND + 1
    assert rig.no_send(old) == ("sender_required", "SEND-1")


@pytest.mark.spec("PROOF-4")
@pytest.mark.parametrize("other", ["body", "session", "session_title", "tool"])
def test_another_call_over_a_used_id_proves_nothing(rig, alice, other) -> None:
    caller = rig.by(alice)
    rig.send(caller, "text")
    if other == "tool":
        assert rig.no_marks(caller) == ("sender_required", "ACK-1")
    elif other == "body":
        assert rig.no_send(caller, "other text") == ("sender_required", "SEND-1")
    else:
        # Who it says it is belongs to the call: with another name it is another call.
        named = replace(caller, **{other: "alice"})
        assert rig.no_send(named, "text") == ("sender_not_proven", "SEND-2")


@pytest.mark.spec("PROOF-6", "SEND-16", "INV-7")
def test_a_call_that_comes_again_gets_its_first_receipt_in_its_present_state(rig, alice) -> None:
    caller = rig.by(alice)
    first = rig.send(caller, "text")
    before = rig.dump()
    rig.now += 3 * 3600 * SECOND  # Also after the time in which the id would still have been good.
    again = rig.send(caller, "text")
    assert again["message_id"] == first["message_id"] and again["repeat"] is True and rig.dump() == before
    rig.hand(rig.bob)
    assert rig.send(caller, "text")["state"] == "delivered"
    rig.store.write(lambda tx: rows.change(tx, alice.id, link_state="ended_exact"))
    assert rig.send(caller, "text")["message_id"] == first["message_id"], "whatever its session has become"


@pytest.mark.spec("PROOF-6", "SEND-16")
def test_a_repeat_keeps_the_warnings_of_its_first(rig, alice) -> None:
    row = rig.row("over", "agent", "ended_exact", "hook-over")
    rig.relay.presence.witness("toolu_w", "hook-of-nobody", rig.now)
    parent = rig.send(rig.by(alice), to="over")["message_id"]
    caller = Caller("over", "", "", "toolu_w")
    first = rig.send(caller, in_reply_to=parent)
    assert first["warned"] == rig.send(caller, in_reply_to=parent)["warned"] == ["ack_not_proven"]
    assert rig.need(row).link_state == "ended_exact"


@pytest.mark.spec("PROOF-6", "SEND-16")
@pytest.mark.parametrize("refused_by", ["identity", "recipient", "rate"])
def test_a_refused_call_that_comes_again_is_refused_again(rig, alice, refused_by) -> None:
    # Though it would be taken now: the client repeats a call whose answer it may have shown already.
    caller = rig.by(alice)
    if refused_by == "identity":
        caller = replace(caller, session="bob")
        expected = ("hook_session_taken", "SEND-3")
    elif refused_by == "recipient":
        expected = ("recipient_unknown", "RECV-1")
    else:
        for _ in range(10):
            rig.send(rig.by(alice), to="bob")
        expected = ("rate_limited", "SEND-12")
    to = {"to": "late" if refused_by == "recipient" else "bob"}
    assert rig.no_send(caller, **to) == expected
    rig.live("late")
    rig.now += 100 * SECOND
    rig.store.write(lambda tx: rows.change(tx, rig.bob.id, title="robert", title_key="robert"))
    words = rig.why(caller, **to)
    assert rig.no_send(caller, **to) == expected and rig.why(caller, **to) == words


@pytest.mark.spec("PROOF-6")
def test_marks_and_other_writes_that_come_again_get_their_first_answer(rig, alice) -> None:
    mid = rig.send(rig.by(alice))["message_id"]
    rig.hand(rig.bob)
    marking = rig.by(rig.bob)
    first = rig.read_marks(marking)
    assert first["acknowledged"] == [mid] and rig.read_marks(marking) == first
    assert len(rig.events("message.read")) == 1
    task = rig.task(rig.bob)
    commenting = rig.by(rig.bob)
    said = [
        rig.told(lambda tx: comments.comment_add(tx, rig.relay, commenting, task=task, body="Done.")) for _ in range(2)
    ]
    assert said[0]["id"] == said[1]["id"]
    updating = rig.by(rig.bob)
    change = tasks.Change(step_add="one step")
    for _ in range(2):
        rig.told(lambda tx: tasks.task_update(tx, rig.relay, updating, task=task, change=change))
    assert rig.store.read(lambda tx: tx.value("SELECT count(*) FROM step")) == 1


@pytest.mark.spec("PROOF-6", "INV-7")
def test_a_call_that_met_a_bug_uses_its_id_up_for_nothing(rig, alice, monkeypatch) -> None:
    caller = rig.by(alice)
    with monkeypatch.context() as patched:
        patched.setattr(messages.receipts, "receipt", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            rig.store.write(rig.sending(caller))
    assert used(rig, caller.tool_use_id) is None and rig.sends() == 0
    assert "repeat" not in rig.send(caller), "so its repeat is carried out"


@pytest.mark.spec("PROOF-2", "PROOF-6")
def test_a_read_uses_no_tool_use_id(rig, alice) -> None:
    caller = rig.by(alice)
    for _ in range(2):
        assert rig.listed(caller)["messages"] == []
    assert used(rig, caller.tool_use_id) is None
    assert rig.send(caller)["sender_verified"]


@pytest.mark.spec("PROOF-6", "SEND-16")
def test_twins_at_once_are_sent_once(rig, alice) -> None:
    # Two connections of one client, both queued before either is carried out.
    caller = rig.by(alice)
    futures = [rig.store.submit(rig.sending(caller)) for _ in range(8)]
    futures += [rig.store.submit(rig.sending(rig.by(alice), "r", to="bob", request_id="r1")) for _ in range(8)]
    outcomes: list[Outcome] = [future.result(5) for future in futures]
    assert all(outcome.ok for outcome in outcomes) and rig.sends() == 2
    assert sum("repeat" in outcome.data for outcome in outcomes) == 14
