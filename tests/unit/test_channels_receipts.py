"""What is given of a message and to whom: texts that did not get through, long ones, replies, receipts (CH-4, CH-9)."""

from __future__ import annotations

import json

import pytest

from relaybay.domain import Caller
from relaybay.service import message_lists, messages, publishing, receipts
from tests.unit.channel_rig import ChannelRig


@pytest.fixture
def rig(tmp_path):
    made = ChannelRig(tmp_path)
    yield made
    made.relay.close()


# -- CH-9 ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("CH-9", "DLV-22", "DLV-30", "RECV-9")
def test_a_text_that_did_not_get_through_is_given_to_nobody_but_its_proven_sender(rig) -> None:
    """Trap P14: held, refused, limited and rejected; whichever row a call names, and whoever asks for just that one."""
    one, two = rig.session("h1", mode="plan"), rig.session("h2")
    rig.session("h3")
    mids = {"held": rig.say("h1", two, "secret held")["message_id"]}
    mids["rejected"] = rig.say("h1", two, "secret rejected")["message_id"]
    rig.decide("reject", mids["rejected"], rig.review(mids["rejected"])["token"])
    rig.say("h1", two, "secret twice")
    mids["refused"] = rig.say("h1", two, "secret twice")["message_id"]
    rig.project("[messaging]\nsender_per_minute = 1\n")
    limited = rig.session("h5", cwd=str(rig.folder / "shop"))
    rig.say("h1", limited, "the first")
    mids["rate_limited"] = rig.say("h1", limited, "secret limited")["message_id"]
    row_of = dict.fromkeys(mids, two) | {"rate_limited": limited}
    for state, mid in mids.items():
        assert rig.at(mid, row_of[state]).state == state
        callers = [rig.caller("h2"), rig.caller("h5"), rig.caller("h3"), Caller(two.title), Caller(one.title)]
        for caller in (*callers, Caller(limited.title)):
            for box in ("in", "out", "all"):
                shown = rig.inbox(caller, box=box) + rig.inbox(caller, box=box, message_id=mid)
                assert "secret" not in json.dumps([item for item in shown if item["message_id"] == mid]), (state, box)
        listed = [item for item in rig.inbox("h2" if state != "rate_limited" else "h5") if item["message_id"] == mid]
        assert [(item["state"], item["withheld"], item["body"]) for item in listed] == [(state, True, '""')]
        own = [item for item in rig.inbox("h1", box="out") if item["message_id"] == mid]
        assert "secret" in own[0]["body"], "its proven sender has it"
    for at in ("prompt", "tool", "stop"):
        assert "secret" not in rig.carried("h2", at)


@pytest.mark.spec("CH-9", "DLV-30", "SEND-14")
def test_a_held_message_is_neither_acknowledged_nor_answered(rig) -> None:
    rig.session("h1", mode="plan")
    two = rig.session("h2")
    mid = rig.say("h1", two)["message_id"]
    said = rig.no(lambda tx: messages.acknowledge(tx, rig.relay, rig.caller("h2"), message_id=mid))
    assert said == ("message_held", "DLV-30")
    said = rig.no(lambda tx: messages.send(tx, rig.relay, rig.caller("h2"), body="What is it?", in_reply_to=mid))
    assert said[1] == "SEND-14"
    done = rig.do(lambda tx: messages.acknowledge(tx, rig.relay, rig.caller("h2")))
    assert (done["acknowledged"], rig.at(mid, two).state) == ([], "held")


@pytest.mark.spec("RECV-11")
def test_nobody_replies_to_a_script(rig) -> None:
    two = rig.session("h2")
    rig.policy(two, "accept")
    mid = rig.script(two.ref, label="@ci")["message_id"]
    text = rig.carried("h2")
    assert mid in text
    assert "script" in text
    said = rig.no(lambda tx: messages.send(tx, rig.relay, rig.caller("h2"), body="Thanks.", in_reply_to=mid))
    assert said[1] == "RECV-11"
    said = rig.no(lambda tx: messages.send(tx, rig.relay, rig.caller("h2"), body="Thanks.", to="@ci"))
    assert said[1] == "RECV-1", "a label is no address (trap C8)"


@pytest.mark.spec("CH-9")
def test_no_event_and_no_list_of_held_messages_carries_a_text(rig) -> None:
    """Trap K14: names, ids, audience, topic and states only; V6: and no hook id in anything that is told."""
    hooks = ["hook-secret-1", "hook-secret-2"]
    rig.session(hooks[0])
    two = rig.session(hooks[1])
    rig.subscribe(two, "ci.*")
    rig.broadcasts(two)
    text = "sesame"
    said = [rig.say(hooks[0], two, text), rig.script(two.ref, text)]
    said += [rig.publish(hooks[0], "ci.a", f"{text} 2"), rig.publish(hooks[0], broadcast=True, body=f"{text} 3")]
    rig.policy(two, "hold")
    rig.policy(two, "accept")
    rig.say(hooks[0], two, text)
    carried = rig.carried(hooks[1])
    rig.hook("SessionEnd", hooks[1], reason="logout")
    said += [rig.panel(two), *rig.inbox(hooks[0], box="out")]
    told = rig.store.read(lambda tx: tx.rows("SELECT type, data FROM event"))
    assert {"message.sent", "message.published", "message.held", "message.released", "message.refused"} <= {
        kind for kind, _ in told
    }
    assert text not in json.dumps(told)
    assert not any(hook in json.dumps([said, told, carried]) for hook in hooks)


@pytest.mark.spec("CH-4", "SEND-10")
def test_the_doors_of_bodies_stand_where_the_page_has_them(rig) -> None:
    """4,000 characters for a session's direct message, whatever its bytes; 32 KiB in bytes for the others (trap R13)."""
    rig.session("h1")
    two = rig.session("h2")
    rig.policy(two, "accept")
    assert rig.say("h1", two, "é" * 4000)["state"] == "sent"
    said = rig.no(lambda tx: messages.send(tx, rig.relay, rig.caller("h1"), body="x" * 4001, to=two.ref))
    assert said[1] == "SEND-10"
    edge = "€" * 10_922 + "ab"
    assert len(edge.encode()) == 32 << 10
    assert rig.script(two.ref, edge)["state"] == "sent"
    assert rig.publish("h1", "ci.a", edge)["recipients"] == []
    for work in (
        lambda tx: publishing.publish(tx, rig.relay, rig.caller("h1"), body=edge + "c", topic="ci.a"),
        lambda tx: publishing.publish_as_script(tx, rig.relay, label="ci", body=edge + "c", topic="ci.a"),
    ):
        assert rig.no(work) == ("body_too_long", "CH-4")
    assert rig.publish("h1", "ci.b", edge[:-1] + "\r\n")["recipients"] == [], "line breaks are made one kind first"


@pytest.mark.spec("CH-4", "DLV-1", "PACK-3")
def test_what_fits_no_answer_goes_out_as_its_beginning_and_a_call_gives_the_rest(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.policy(two, "accept")
    body = "".join(f"line {n}\n" for n in range(3_000)) + "the very end"
    mid = rig.script(two.ref, body)["message_id"]
    carried = rig.carried("h2")
    assert "messages_list" in carried
    assert "line 0\\nline 1" in carried
    assert "the very end" not in carried
    mail = rig.at(mid, two)
    assert (mail.state, mail.pointer, mail.fetched_us) == ("delivered", 1, 0)
    assert "beginning" in standing(rig, two, mid)
    for caller in (Caller(two.title), rig.caller("h1")):
        rig.inbox(caller, message_id=mid)
        assert rig.at(mid, two).fetched_us == 0, "only the proven recipient has fetched it"
    rig.do(lambda tx: message_lists.list_messages(tx, rig.relay, Caller(owner=True), message_id=mid))
    rig.inbox("h2")
    assert rig.at(mid, two).fetched_us == 0, "a page of the list is no fetching"
    shown = rig.inbox("h2", message_id=mid)
    assert json.loads(shown[0]["body"]) == body, "the whole literal"
    assert rig.at(mid, two).fetched_us == rig.now
    again = rig.script(two.ref, body, "other")["message_id"]
    assert again in rig.carried("h2")
    rig.do(lambda tx: messages.acknowledge(tx, rig.relay, rig.caller("h2"), message_id=again))
    rig.inbox("h2", message_id=again)
    assert rig.at(again, two).fetched_us == rig.now, "also when it was acknowledged by its beginning"
    assert "beginning" not in standing(rig, two, mid)


def standing(rig, row, mid) -> str:
    return rig.store.read(lambda tx: receipts.standing(tx, rig.relay, rig.at(mid, row)))[1]
