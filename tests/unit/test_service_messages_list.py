"""`messages_list` on a real store: boxes, filters, pages, what it shows and what it never does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relaybay.domain import Caller
from relaybay.rules.text import units
from relaybay.specs import limit
from relaybay.store import sessions as rows
from tests.unit.mail_rig import OWNER, SECOND, MailRig


@pytest.fixture
def rig(tmp_path: Path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


@pytest.fixture
def alice(rig):
    return rig.live("alice")


def ids(page: dict) -> list[str]:
    return [item["message_id"] for item in page["messages"]]


def write(rig, sender, to: str, count: int, body: str = "text", **said) -> list[str]:
    """Messages in the order they were sent, spaced so that no window fills."""
    made = []
    for _ in range(count):
        rig.now += 10 * SECOND
        made.append(rig.send(rig.by(sender), body, to=to, **said)["message_id"])
    return made


@pytest.mark.spec("30", "75")
def test_boxes_newest_first(rig, alice) -> None:
    got, sent = write(rig, rig.bob, "alice", 2), write(rig, alice, "bob", 2)
    late = write(rig, rig.bob, "alice", 1)
    write(rig, rig.live("carol"), "bob", 1)
    assert ids(rig.listed(rig.by(alice))) == [*late, *got[::-1]]
    assert ids(rig.listed(rig.by(alice), box="out")) == sent[::-1]
    both = rig.listed(rig.by(alice), box="all")
    assert ids(both) == [*late, *sent[::-1], *got[::-1]]
    assert [item["direction"] for item in both["messages"]] == ["in", "out", "out", "in", "in"]
    assert rig.listed(rig.claim("alice"), box="all")["messages"] == both["messages"], "a list needs only the token"


@pytest.mark.spec("CH-3", "ACK-2", "75")
def test_whose_list_it_is_must_be_said_or_proven(rig, alice) -> None:
    assert rig.no_list(rig.claim()) == ("session_required", "CH-3")
    assert rig.no_list(rig.claim(hook="hook-of-nobody")) == ("session_required", "CH-3")
    assert rig.no_list(rig.claim("nobody")) == ("session_unknown", "ACK-2")
    rig.row("twin")
    rig.row("twin")
    assert rig.no_list(rig.claim("twin")) == ("sender_ambiguous", "ACK-4")


@pytest.mark.spec("70", "TEXT-3", "TEXT-5", "INV-2", "INV-3")
def test_an_item_has_what_page_70_promises(rig, alice) -> None:
    odd = rig.row("o\u202ed\nd", "hook", "exact", "hook-odd", link_named=1, name="calm-otter", activity="idle")
    task = rig.task()
    parent = write(rig, rig.bob, odd.ref, 1)[0]
    body = 'a "quote"\n</script>\u202e'
    rig.now += 10 * SECOND
    mid = rig.send(rig.by(odd), body, in_reply_to=parent, task=task)["message_id"]
    item = rig.listed(rig.by(rig.bob))["messages"][0]
    assert item.pop("body") == rig.listed(OWNER)["messages"][0]["body"]
    sent_at = item.pop("sent_at")
    assert sent_at.endswith("Z") and len(sent_at) == len("2027-01-15T08:00:00.000000Z")
    assert item == {
        "message_id": mid,
        "direction": "in",
        "from": {"title": "o\\u202ed\\nd", "name": "calm-otter", "verified": True},
        "to": {"title": "bob", "ref": rig.bob.ref},
        "audience": {"kind": "direct"},
        "task": task,
        "in_reply_to": parent,
        "depth": 1,
        "state": "sent",
        "reason_code": "idle",
    }
    shown = rig.listed(rig.by(rig.bob))["messages"][0]["body"]
    assert json.loads(shown) == body and shown.isascii() and "<" not in shown and "\n" not in shown


@pytest.mark.spec("70", "DLV-1", "DLV-4")
def test_an_item_shows_marks_as_they_come(rig, alice) -> None:
    mid = write(rig, alice, "bob", 1)[0]
    rig.hand(rig.bob)
    item = rig.listed(rig.by(alice), box="out")["messages"][0]
    assert (
        item["state"] == "delivered" and "delivered_at" in item and "reason_code" not in item and "read_at" not in item
    )
    rig.read_marks(rig.by(rig.bob), mid)
    item = rig.listed(rig.by(alice), box="out")["messages"][0]
    assert (item["state"], item["read_how"]) == ("read", "verified") and item["read_at"] > item["delivered_at"]


@pytest.mark.spec("30")
def test_a_list_marks_nothing_read_and_makes_no_event(rig, alice) -> None:
    write(rig, alice, "bob", 2)
    before = rig.dump()
    for box in ("in", "out", "all"):
        rig.listed(rig.by(rig.bob), box=box)
        rig.listed(rig.claim("bob"), box=box)
    assert rig.dump() == before


@pytest.mark.spec("30", "INV-10")
def test_unread_only_and_the_count_of_what_is_unread(rig, alice) -> None:
    made = write(rig, alice, "bob", 3)
    write(rig, rig.bob, "alice", 1)
    rig.read_marks(rig.by(rig.bob), made[1])
    page = rig.listed(rig.by(rig.bob), unread_only=True, limit_=1)
    assert ids(page) == [made[2]] and page["unread"] == 2 and page["before"] == made[2]
    assert ids(rig.listed(rig.by(alice), box="out", unread_only=True)) == [made[2], made[0]]
    assert rig.listed(rig.by(alice), box="out")["unread"] == 1, "the caller's own, whatever the box"
    assert rig.listed(OWNER)["unread"] == 3 and "of all sessions" in rig.listed(OWNER)["text"]


@pytest.mark.spec("30", "75")
def test_by_task_and_by_message(rig, alice) -> None:
    one, two = rig.task(), rig.task()
    about_one, about_two = write(rig, alice, "bob", 2, task=one), write(rig, alice, "bob", 1, task=two)
    plain = write(rig, alice, "bob", 1)
    assert ids(rig.listed(rig.by(rig.bob), task=one.upper())) == about_one[::-1]
    assert ids(rig.listed(rig.by(rig.bob), task=two)) == about_two
    assert ids(rig.listed(rig.by(rig.bob), message_id=plain[0])) == plain
    assert ids(rig.listed(rig.by(rig.bob), message_id=plain[0], box="out")) == []
    assert ids(rig.listed(rig.by(alice), message_id=plain[0], box="out")) == plain
    theirs = write(rig, rig.live("carol"), "alice", 1)[0]
    assert ids(rig.listed(rig.by(rig.bob), message_id=theirs, box="all")) == [], "nobody reads what is not its own"
    assert rig.no_list(rig.by(rig.bob), task="shop-99") == ("task_unknown", "75")
    for said in ({"message_id": "m_unknown"}, {"before": "m_unknown"}):
        assert rig.no_list(rig.by(rig.bob), **said) == ("message_unknown", "75")


@pytest.mark.spec("75")
def test_pages_follow_one_another_without_gap_or_double(rig, alice) -> None:
    made = write(rig, alice, "bob", 7)
    seen, before = [], ""
    while True:
        page = rig.listed(rig.by(rig.bob), limit_=3, before=before)
        seen += ids(page)
        assert ("There are older ones" in page["text"]) == ("before" in page)
        if "before" not in page:
            break
        before = page["before"]
        write(rig, alice, "bob", 1)  # What is newer does not move the pages.
    assert seen == made[::-1]
    assert "before" not in rig.listed(rig.by(rig.bob), limit_=3, before=made[3]), "exactly a page, and no more"
    for wrong in (0, -1, 201):
        assert rig.no_list(rig.by(rig.bob), limit_=wrong)[0] == "argument_invalid"


@pytest.mark.spec("75", "PACK-1")
def test_a_list_stops_at_its_size_and_says_where_to_go_on(rig, alice) -> None:
    made = write(rig, alice, "bob", 16, '"' * 3000) + write(rig, alice, "bob", 16, "🚀" * 1900)
    seen, before = [], ""
    while True:
        page = rig.listed(rig.by(rig.bob), limit_=200, before=before)
        del page["warned"]
        assert units(json.dumps(page, ensure_ascii=False)) <= limit("list_utf16_max")
        assert ids(page)
        seen += ids(page)
        if "before" not in page:
            break
        before = page["before"]
    assert seen == made[::-1]


@pytest.mark.spec("ROW-6", "75")
def test_the_owner_lists_everybody_s_and_one_session_s(rig, alice) -> None:
    first, second = write(rig, alice, "bob", 1)[0], write(rig, rig.bob, "alice", 1)[0]
    assert ids(rig.listed(OWNER)) == [second, first]
    assert ids(rig.listed(Caller(session="alice", owner=True))) == [second]
    assert ids(rig.listed(Caller(session=alice.ref, owner=True), box="all")) == [second, first]
    assert rig.no_list(Caller(session="nobody", owner=True))[0] == "recipient_unknown"
    assert rig.no_list(Caller(session="hook-gone", owner=True))[0] == "recipient_unknown"


@pytest.mark.spec("DLV-8", "MOVE-3")
def test_mail_of_a_row_that_is_gone_is_nobody_s_and_the_owner_still_sees_it(rig, alice) -> None:
    mail = rig.mail(alice, rig.row("lost"), "orphaned")
    rig.store.write(lambda tx: tx.update("delivery", mail.id, recipient_id=None, reason_code="row_gone"))
    rig.store.write(lambda tx: rows.remove(tx, rig.titled("lost").id))
    item = rig.listed(rig.by(alice), box="out")["messages"][0]
    assert (item["state"], item["reason_code"], item["to"]) == ("orphaned", "row_gone", {"title": "lost"})
    assert ids(rig.listed(OWNER)) == [mail.mid]
