"""What events carry, how it is packed and marked, and how marks are taken back (page 20: ANSWER; page 30: PACK, DLV)."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import pytest

from relaybay.domain import Caller
from relaybay.service import handover, hooks, messages
from relaybay.store import messages as stored
from relaybay.store import sessions
from tests.unit.hook_events_rig import CWD, TOOL, HookRig
from tests.unit.linking_rig import SECOND


@pytest.fixture
def rig(tmp_path: Path):
    made = HookRig(tmp_path)
    yield made
    made.relay.close()


# -- the start line -----------------------------------------------------------------------------------------------


@pytest.mark.spec("ANS-1", "INV-3", "INV-10")
def test_the_start_line_says_who_it_is_whom_it_can_reach_and_what_waits(rig) -> None:
    row = rig.linked()
    for number in range(7):
        rig.live(f"peer {number}", last_seen_us=number)
    mids = [rig.send(row), rig.send(row)]
    rig.say(rig.task(row))
    rig.say(rig.task(row), board=True)
    rig.prompt()
    line = rig.start(source="resume").line
    assert f'"shop" ({row.ref})' in line and f"@{row.name}" in line
    assert line.count('"peer') == 5
    assert "comments 1, messages 2" in line, "delivered ones too; a comment in its 5 s not yet"
    assert "\n" not in line and "h1" not in line.split() and all(mid not in line for mid in mids)


@pytest.mark.spec("ANS-1")
def test_a_client_without_tool_use_ids_is_told_its_own_hook_id(rig) -> None:
    said = rig.start("h-codex", client="codex")
    assert "hook_session=h-codex" in said.line
    assert "h-codex" not in rig.start("h2").line


@pytest.mark.spec("ANS-6", "ANS-1")
def test_a_guess_is_told_how_to_link(rig) -> None:
    line = rig.start().line
    assert "not linked to it yet" in line and "message_ack" in line
    rig.accepted("mark", witnessed="h1")
    assert "others reach it as @" in rig.start(source="resume").line


@pytest.mark.spec("ANS-5", "ANS-6", "ANS-7", "ANS-8", "PACK-6", "DLV-10", "DLV-18", "SPOOL-2", "INV-4")
def test_nothing_else_carries_anything(rig) -> None:
    row = rig.linked()
    mid, cid = rig.send(row), rig.say(rig.task(row))["id"]
    for name in ("SubagentStart", "SubagentStop", "Notification", "PreCompact", "PostCompact", "Unheard"):
        assert rig.hook(name) == hooks.NOTHING or rig.hook(name).done is None
    rig.tool(agent_id="a1")
    rig.replay(rig.event("UserPromptSubmit"), rig.event("Stop"), rig.event("PreToolUse", **TOOL))
    assert rig.hook("SessionEnd").done is None
    rig.replay(rig.event("UserPromptSubmit"))
    assert (rig.state(mid), rig.comment(cid).state) == ("sent", "sent")


# -- hand-over ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("ANS-2", "ANS-3", "DLV-1", "DLV-15", "CMT-3", "PACK-2")
@pytest.mark.parametrize(
    "name", ["UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"]
)
def test_prompts_and_tools_carry_what_is_sent_comments_first_oldest_first(rig, name: str) -> None:
    row = rig.linked()
    one = rig.send(row, "first")
    cid = rig.say(rig.task(row), "from the owner")["id"]
    two = rig.send(row, "second")
    done = rig.hook(name).done
    order = [done.text.index(key) for key in (cid, one, two)]
    assert order == sorted(order)
    assert {rig.state(one), rig.state(two), rig.comment(cid).state} == {"delivered"}
    mail = rig.mail_of(one)
    assert (mail.delivered_us, mail.delivered_by, mail.delivered_hook_id, mail.handover_id) == (
        rig.now,
        done.at,
        "h1",
        done.id,
    )
    assert rig.comment(cid).delivered_to == row.id
    data = json.loads(rig.events("message.delivered")[0])
    assert data["message_id"] == one and "first" not in json.dumps(data)
    assert rig.hook(name).done is None, "delivered is not handed over again, but by a Stop"
    rig.accepted("mark", witnessed="h1")
    caller = Caller("", "", "", rig.witness("h1"))
    rig.do(lambda tx: messages.acknowledge(tx, rig.relay, caller))
    assert rig.stop().done.items[0][0] == "comment" and len(rig.stop().done.items) == 1, "read ones never"


@pytest.mark.spec("ANS-4", "STOP-5", "PACK-2")
def test_a_stop_says_in_one_line_who_speaks_and_from_whom_each_item_is(rig) -> None:
    row = rig.linked()
    rig.prompt()
    rig.say(rig.task(row))
    rig.send(row)
    done = rig.stop().done
    assert "\n" not in done.reason and "relaybay" in done.reason and '"peer"' in done.reason and "owner" in done.reason
    assert done.text and done.at == "stop"


@pytest.mark.spec("PACK-4", "PACK-3", "INV-10")
def test_four_messages_an_answer_and_the_last_line_counts_the_rest(rig) -> None:
    row = rig.linked()
    mids = [rig.send(row, f"number {n}") for n in range(7)]
    done = rig.prompt().done
    assert [mid in done.text for mid in mids] == [True] * 4 + [False] * 3
    assert "3" in done.text.splitlines()[-1]
    done = rig.tool().done
    assert [mid in done.text for mid in mids] == [False] * 4 + [True] * 3
    assert not re.search(r"waits|waiting", done.text.splitlines()[-1])


@pytest.mark.spec("PACK-3", "PACK-1")
def test_a_large_item_waits_whole_and_is_not_overtaken(rig) -> None:
    row = rig.linked()
    mids = [rig.send(row, "x" * size) for size in (3_500, 3_500, 10)]
    first, second = rig.prompt().done, rig.tool().done
    assert mids[0] in first.text and mids[1] not in first.text and mids[2] not in first.text
    assert mids[1] in second.text and mids[2] in second.text


@pytest.mark.spec("PACK-4", "STOP-5", "DLV-3")
def test_a_stop_finds_what_may_block_behind_many_that_may_not(rig) -> None:
    row = rig.linked()

    def blocked(tx):
        for number in range(70):
            mail = stored.add(
                tx, recipient_id=row.id, recipient_title=row.title, recipient_name="", mid=f"m_old{number}",
                sender_id=None, sender_title="gone", sender_verified=0, body="x", digest="d",
            )  # fmt: skip
            stored.set_delivery(tx, mail, state="delivered", delivered_us=1, stop_blocks=1)

    rig.store.write(blocked)
    rig.prompt()
    mid = rig.send(row)
    assert rig.stop().done.items == (("message", rig.mail_of(mid).id),)


@pytest.mark.spec("CMT-3", "CMT-17", "CMT-12")
def test_a_comment_is_handed_over_when_its_5_s_are_over(rig) -> None:
    row = rig.linked()
    cid = rig.say(rig.task(row), board=True)["id"]
    for said in (rig.prompt(), rig.tool(), rig.stop()):
        assert said.done is None
    rig.now += SECOND
    assert rig.comment(cid).grace_until_us == rig.now + SECOND
    assert cid in rig.tool().done.text, "at the very end of them"


@pytest.mark.spec("DLV-3", "DLV-18", "CMT-4", "ANS-4")
def test_only_a_stop_shows_a_delivered_item_again(rig) -> None:
    row = rig.linked()
    mid, cid = rig.send(row), rig.say(rig.task(row))["id"]
    rig.prompt()
    given = rig.mail_of(mid)
    assert rig.tool().done is None
    done = rig.stop().done
    again = rig.mail_of(mid)
    assert mid in done.text and cid in done.text
    assert (again.delivered_us, again.handover_id, again.stop_blocks) == (given.delivered_us, given.handover_id, 1)
    assert rig.types().count("message.delivered") == 1


# -- taken back ---------------------------------------------------------------------------------------------------


@pytest.mark.spec("PACK-7", "DLV-17", "CMT-16")
@pytest.mark.parametrize("name", ["UserPromptSubmit", "PreToolUse", "Stop"])
def test_an_answer_that_was_not_written_takes_its_marks_back(rig, name: str) -> None:
    row = rig.linked()
    rig.prompt()
    mid, cid = rig.send(row), rig.say(rig.task(row))["id"]
    said = rig.hook(name)
    rig.not_written(said)
    mail, comment = rig.mail_of(mid), rig.comment(cid)
    assert (mail.state, mail.stop_blocks, mail.delivered_us, mail.reoffers) == ("sent", 0, 0, 0)
    assert (comment.state, comment.stop_blocks, comment.delivered_to) == ("sent", 0, None)
    assert "message.offered_again" in rig.types() and "comment.offered_again" in rig.types()
    assert len(rig.tool().done.items) == 2, "the next event hands them over, once"
    rig.not_written(said)
    assert (rig.state(mid), rig.comment(cid).state) == ("delivered", "delivered"), "of another hand-over"


@pytest.mark.spec("PACK-7", "DLV-19", "CMT-21", "DLV-13")
def test_taking_back_leaves_what_was_read_meanwhile(rig) -> None:
    row = rig.linked()
    mid = rig.send(row)
    said = rig.prompt()
    rig.do(lambda tx: messages.acknowledge(tx, rig.relay, Caller("", "", "", rig.witness("h1"))))
    rig.not_written(said)
    assert rig.state(mid) == "read"


@pytest.mark.spec("MOVE-5", "DLV-49", "DLV-52", "CMT-5")
def test_what_another_conversation_was_given_waits_again(rig) -> None:
    row = rig.linked()
    mid = rig.send(row)
    rig.prompt()
    read = rig.send(row)
    rig.tool()
    caller = Caller("", "", "", rig.witness("h1"))
    rig.do(lambda tx: messages.acknowledge(tx, rig.relay, caller, message_id=read))
    rig.unlink_by_owner(row)
    assert (rig.state(mid), rig.state(read)) == ("sent", "read")
    assert rig.mail_of(mid).delivered_hook_id == ""


# -- at once ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("PACK-5", "INV-5")
def test_two_hooks_of_one_session_at_once_never_deliver_twice(rig) -> None:
    row = rig.linked()
    mids = [rig.send(row, f"number {n}") for n in range(8)]
    events = [rig.event(name, **TOOL, at_us=rig.now + SECOND) for name in ("PreToolUse", "PostToolUse") * 4]
    given: list[str] = []
    together = threading.Barrier(len(events))

    def one(event) -> None:
        together.wait()
        said = rig.store.write(lambda tx: hooks.handle(tx, rig.relay, event))
        if said.done is not None:
            given.extend(mid for mid in mids if mid in said.done.text)

    threads = [threading.Thread(target=one, args=(event,)) for event in events]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(given) == sorted(mids)
    rig.check()


@pytest.mark.spec("PACK-2", "DLV-18", "CMT-17")
@pytest.mark.parametrize("at", ["prompt", "tool", "wake", "stop"])
def test_selection_asks_only_for_what_the_machines_allow(rig, at: str) -> None:
    row = rig.linked()
    rig.say(rig.task(row), board=True)
    for mid in [rig.send(row) for _ in range(3)]:
        rig.prompt()
        assert rig.state(mid) == "delivered"
    rig.now += 10 * SECOND

    def ask(tx):
        now = sessions.need(tx, row.id)
        return handover.hand_over(tx, now, at, handover.offers(tx, rig.relay, now, at))

    done = rig.store.write(ask)
    assert (len(done.items) if done else 0) == (4 if at == "stop" else 0)
    assert rig.holder().cwd == CWD
