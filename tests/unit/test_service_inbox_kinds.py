"""Each kind of entry in the Inbox, with its session and after that is gone; and what a page hears of a fault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relaybay.service import inbox
from relaybay.service.clock import rfc3339
from relaybay.store import comments, events, sessions
from tests.unit.linking_rig import SECOND, START
from tests.unit.mail_rig import MailRig


@pytest.fixture
def rig(tmp_path: Path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


def entry(rig: MailRig, kind: str, ref: str, session_id: int | None) -> dict:
    """The only entry, as the Inbox shows it; it is seen afterwards."""
    rig.store.write(lambda tx: events.put_inbox(tx, kind, ref, session_id))
    (found,) = rig.store.read(inbox.inbox).data["entries"]
    rig.do(lambda tx: inbox.seen(tx, kind=kind, ref=ref))
    return json.loads(json.dumps(found))


def test_each_kind_names_its_session_as_long_as_there_is_one(rig) -> None:
    bob = {"ref": rig.bob.ref, "title": "bob"}
    for kind, session_id, text, session in (
        ("hook_fault", rig.bob.id, '"bob"', bob),
        ("hook_fault", None, "hook_fault", None),
        ("spool_fault", None, '"what None"', None),
        ("disk_odd", None, "disk_odd", None),
        ("disk_odd", rig.bob.id, "disk_odd", bob),
        ("reply_too_deep", rig.bob.id, '"bob"', bob),
    ):
        found = entry(rig, kind, f"what {session_id}", session_id)
        since, said = found.pop("since"), found.pop("text")
        assert since == rfc3339(rig.now) and text in said
        assert found == {
            "kind": kind, "ref": f"what {session_id}", "title": kind, "action": "seen", **({"session": session} if session else {}),
        }  # fmt: skip


def test_a_chain_that_was_stopped_is_told_of_with_its_message_and_task_though_its_session_is_gone(rig) -> None:
    task = rig.task()
    words = []
    for name, session_id in (("ann", rig.bob.id), ("eve", None)):
        row = rig.live(name)
        found = entry(rig, "reply_too_deep", rig.send(rig.by(row), to="bob", task=task)["message_id"], session_id)
        assert (found["title"], found["task"]) == (f'"{name}" → "bob"', task)
        assert ("session" in found) == (session_id is not None)
        words.append(found["text"])
        assert "task" not in entry(
            rig, "reply_too_deep", rig.send(rig.by(row), "2", to="bob")["message_id"], session_id
        )
    assert '"bob"' in words[0] and words[1] and '"bob"' not in words[1] and "reply_too_deep" not in words[1]


def test_a_reply_names_the_author_that_was(rig) -> None:
    ann = rig.live("ann")
    task = rig.task(ann)
    said = rig.add(rig.by(ann), task)
    rig.store.write(lambda tx: comments.change(tx, comments.get(tx, said["id"]), author_id=None))
    (found,) = rig.store.read(inbox.inbox).data["entries"]
    assert found["session"] == {"title": "ann"}


def test_a_fault_of_the_spool_is_heard_by_pages_and_stands_once(rig) -> None:
    for _ in range(2):
        rig.store.write(lambda tx: inbox.spool_fault(tx, "spool.bad"))
    assert rig.last_event("inbox.fault") == {"kind": "spool_fault"}
    (found,) = rig.store.read(inbox.inbox).data["entries"]
    assert (found["kind"], found["ref"], "session" in found) == ("spool_fault", "spool.bad", False)


def test_what_a_session_asks_for_is_seen_once_and_by_its_own_name(rig) -> None:
    rig.store.write(lambda tx: sessions.change(tx, rig.bob.id, asks="permission", asks_since_us=START - SECOND))
    (found,) = rig.store.read(inbox.inbox).data["entries"]
    assert (found["kind"], found["ref"], found["since"], found["title"]) == (
        "asks_permission", rig.bob.ref, rfc3339(START - SECOND), '"bob"',
    )  # fmt: skip
    for kind, ref in (("asks_input", rig.bob.ref), ("asks_permission", "S-99"), ("permission", rig.bob.ref)):
        assert rig.no(lambda tx, k=kind, r=ref: inbox.seen(tx, kind=k, ref=r))[0] == "argument_invalid"
    seen = rig.do(lambda tx: inbox.seen(tx, kind="asks_permission", ref=rig.bob.ref))
    assert seen.pop("text") and seen == {"kind": "asks_permission", "ref": rig.bob.ref}
    row = rig.need(rig.bob)
    assert (row.asks, row.asks_since_us, rig.store.read(inbox.count)) == ("", 0, 0)
