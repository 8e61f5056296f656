"""The Inbox on a real store (page 40): what stands there, since when, and what takes it off."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relaybay.service import comments, inbox, messages
from relaybay.service.clock import rfc3339
from relaybay.specs import limit
from relaybay.store import events
from tests.unit.card_rig import CardRig
from tests.unit.linking_rig import SECOND


@pytest.fixture
def rig(tmp_path: Path):
    made = CardRig(tmp_path)
    yield made
    made.relay.close()


def entries(rig) -> list[dict]:
    data = rig.store.read(inbox.inbox).data
    assert data["count"] == len(data["entries"]) == rig.store.read(inbox.count)
    return json.loads(json.dumps(data["entries"]))


def seen(rig, kind: str, ref: str) -> dict:
    return rig.do(lambda tx: inbox.seen(tx, kind=kind, ref=ref))


@pytest.mark.spec("CMT-10", "CMT-11")
def test_replies_stand_in_the_inbox_until_the_owner_answers(rig) -> None:
    assert entries(rig) == []
    bound = rig.live("a")
    task = rig.task(bound, title="Fix <it>")
    rig.say(task)
    first = rig.add(rig.by(bound), task, "All\ndone")
    when = rfc3339(rig.now)
    second = rig.add(rig.by(name="a"), task)
    one, two = entries(rig)
    assert one == {
        "kind": "reply",
        "ref": first["id"],
        "since": when,
        "title": '"Fix \\u003cit\\u003e"',
        "task": task,
        "session": {"ref": bound.ref, "title": "a"},
        "body": '"All\\ndone"',
        "text": f'"a" commented on task {task}.',
        "action": "replies_read",
    }
    assert two["ref"] == second["id"] and "name not verified" in two["text"]
    rig.do(lambda tx: comments.replies_read(tx, task=task))
    assert entries(rig) == []


@pytest.mark.spec("SEND-13", "CMT-11")
def test_a_chain_that_was_stopped_stands_there_once_until_seen(rig) -> None:
    a, b = rig.live("a"), rig.live("b")
    speakers, last = [a, b], ""
    for depth in range(limit("reply_depth_max") + 1):
        rig.now += 10 * SECOND
        caller, to = rig.by(speakers[depth % 2]), speakers[1 - depth % 2]
        more = {"in_reply_to": last} if last else {"to": to.ref}
        sent = rig.do(lambda tx, c=caller, m=more: messages.send(tx, rig.relay, c, body="on and on", **m))
        last = sent.get("id") or sent["message_id"]
    answering = speakers[(limit("reply_depth_max") + 1) % 2]
    for _ in range(2):
        caller = rig.by(answering)
        outcome = rig.store.write(
            lambda tx, c=caller: messages.send(tx, rig.relay, c, body="one more", in_reply_to=last)
        )
        assert outcome.refusal is not None and outcome.refusal.spec_id == "SEND-13"
    (entry,) = entries(rig)
    assert (entry["kind"], entry["ref"], entry["action"]) == ("reply_too_deep", last, "seen")
    assert entry["session"]["ref"] == answering.ref and "one more" not in json.dumps(entry)
    assert entry["title"] in ('"a" → "b"', '"b" → "a"')
    seen(rig, "reply_too_deep", last)
    assert entries(rig) == [] and rig.last_event("inbox.seen") == {"kind": "reply_too_deep", "ref": last}
    assert rig.no(lambda tx: inbox.seen(tx, kind="reply_too_deep", ref=last))[0] == "argument_invalid"
    assert rig.no(lambda tx: inbox.seen(tx, kind="reply", ref="c_none"))[0] == "argument_invalid"


@pytest.mark.spec("40")
def test_faults_stand_there_beside_the_rest_the_oldest_first(rig) -> None:
    bound = rig.live("a")
    task = rig.task(bound)

    def put(kind, ref, session_id=None):
        rig.now += SECOND
        rig.store.write(lambda tx: events.put_inbox(tx, kind, ref, session_id))

    put("spool_fault", "17 bad events")
    reply = rig.add(rig.by(bound), task)
    put("hook_fault", "no Stop hook", bound.id)
    put("disk_odd", "<slow>")
    found = entries(rig)
    assert [e["kind"] for e in found] == ["spool_fault", "reply", "hook_fault", "disk_odd"]
    assert found[1]["ref"] == reply["id"] and found == sorted(found, key=lambda e: e["since"])
    assert '"17 bad events"' in found[0]["text"] and '"a"' in found[2]["text"]
    assert "disk_odd" in found[3]["text"] and "<slow>" not in found[3]["text"]
    for entry in found:
        if entry["action"] == "seen":
            seen(rig, entry["kind"], entry["ref"])
    assert [e["kind"] for e in entries(rig)] == ["reply"]
    put("hook_fault", "no Stop hook", bound.id)
    assert len(entries(rig)) == 2
