"""The feed as its page has it: what each key of the filter lets through, alone and with others, in either order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from relaybay.answers import word_refusal
from relaybay.domain import Outcome
from relaybay.service import views_events
from relaybay.service.views_events import PICKER_MAX
from relaybay.store import events
from tests.unit.mail_rig import SECOND, MailRig

pytestmark = pytest.mark.spec("40", "70")


@pytest.fixture
def rig(tmp_path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


def page(rig: MailRig, q: str = "", **given: Any) -> dict[str, Any]:
    outcome: Outcome = rig.store.read(lambda tx: views_events.events_page(tx, rig.relay, q=q, **given))
    assert outcome.refusal is None, outcome.refusal
    return json.loads(json.dumps(outcome.data))


def types(rig: MailRig, q: str = "", **given: Any) -> list[str]:
    return [event["type"] for event in page(rig, q, **given)["events"]]


def refused(rig: MailRig, q: str = "", **given: Any) -> tuple[str, str]:
    outcome: Outcome = rig.store.read(lambda tx: views_events.events_page(tx, rig.relay, q=q, **given))
    assert outcome.refusal is not None
    said = word_refusal(outcome.refusal)
    return said.code, said.text


@pytest.fixture
def told(rig):
    """Five things, a minute after each other: about ann, about bob and shop-1, about both, about neither, about ann."""
    rig.ann = rig.live("ann")
    rig.key = rig.task()
    rig.store.write(lambda tx: tx.run("DELETE FROM event"))
    for type_, data in (
        ("session.started", {"session": rig.ann.ref}),
        ("comment.added", {"task": rig.key, "author": rig.bob.ref}),
        ("message.sent", {"from_ref": rig.ann.ref, "to_ref": rig.bob.ref, "task": rig.key}),
        ("inbox.seen", {"kind": "x", "ref": "y"}),
        ("message.read", {"from_ref": rig.ann.ref}),
    ):
        rig.store.write(lambda tx, type_=type_, data=data: tx.emit(type_, **data))
        rig.now += 60 * SECOND
    return rig


ALL = ["message.read", "inbox.seen", "message.sent", "comment.added", "session.started"]


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("", ALL),
        ("sort:old", ALL[::-1]),
        ("type:message.*", ["message.read", "message.sent"]),
        ("type:message.sent", ["message.sent"]),
        ("type:message.sent,inbox.seen", ["inbox.seen", "message.sent"]),
        ("type:message.*,inbox.seen type:message.sent,comment.added", ["message.sent"]),
        ("type:mess", []),
        ("type:message.sen", []),
        ("-type:message.*", ["inbox.seen", "comment.added", "session.started"]),
        ("-type:message.sent", ["message.read", "inbox.seen", "comment.added", "session.started"]),
        ("type:message.* -type:message.read", ["message.sent"]),
        ("session:ann", ["message.read", "message.sent", "session.started"]),
        ("session:bob session:ann", ["message.sent"]),
        ("session:ann,bob", ["message.read", "message.sent", "comment.added", "session.started"]),
        ("-session:ann", ["inbox.seen", "comment.added"]),
        ("session:ann type:message.*", ["message.read", "message.sent"]),
        ("session:ann type:message.* sort:old", ["message.sent", "message.read"]),
        ("task:shop-1", ["message.sent", "comment.added"]),
        ("-task:shop-1", ["message.read", "inbox.seen", "session.started"]),
        ("task:SHOP-1 session:ann", ["message.sent"]),
        ("older:3m", ["comment.added", "session.started"]),
        ("-older:3m", ["message.read", "inbox.seen", "message.sent"]),
        ("older:3m sort:old", ["session.started", "comment.added"]),
        ("older:1h", []),
    ],
)
def test_each_key_narrows_and_terms_hold_together(told, q: str, expected: list[str]) -> None:
    assert types(told, q) == expected


def test_a_moment_parts_what_was_before_it_from_it_and_after(told) -> None:
    moment = page(told)["events"][2]["at"][:19] + "Z"
    assert types(told, f"before:{moment}") == ["comment.added", "session.started"]
    assert types(told, f"after:{moment}") == ["message.read", "inbox.seen", "message.sent"]


def test_a_name_that_several_have_means_any_of_them(told) -> None:
    twin = told.live("cleo")
    told.store.write(lambda tx: tx.run("UPDATE session SET title = 'ann', title_key = 'ann' WHERE id = ?", twin.id))
    told.store.write(lambda tx: tx.emit("session.renamed", session=twin.ref))
    assert types(told, "session:ann type:session.*") == ["session.renamed", "session.started"]
    assert types(told, f"session:{twin.ref} type:session.renamed") == ["session.renamed"]


@pytest.mark.parametrize("q", ["", "sort:old", "type:x.*", "-type:y.* sort:old", "-type:y.*"])
def test_pages_have_no_gap_in_either_order(rig, monkeypatch, q: str) -> None:
    monkeypatch.setattr(views_events, "PAGE_EVENTS", 2)
    rig.store.write(lambda tx: tx.run("DELETE FROM event"))
    rig.store.write(lambda tx: [tx.emit("x.y", n=n) for n in range(5)] and None)
    seen, before = [], ""
    for size in (2, 2, 1):
        data = page(rig, q, before=before)
        assert data["past"] == before
        numbers = [event["data"]["n"] for event in data["events"]]
        assert len(numbers) == size
        seen += numbers
        before = str(data["before"] or "")
    assert before == "" and seen == sorted(range(5), reverse="sort:old" not in q)
    rig.store.write(lambda tx: tx.run("DELETE FROM event WHERE id = (SELECT max(id) FROM event)"))
    second = page(rig, q, before=str(page(rig, q)["before"]))
    assert (len(second["events"]), second["before"]) == (2, None)


@pytest.mark.parametrize(
    ("given", "q"),
    [
        ({"kind": "message"}, "type:message.*"),
        ({"kind": "message."}, "type:message.*"),
        ({"kind": "message.*"}, "type:message.*"),
        ({"kind": "message.read"}, "type:message.read"),
        ({"kind": "mess"}, "type:message.read,message.sent"),
        ({"kind": "nothing"}, "type:nothing.*"),
        ({"session": "ann"}, "session:ANN"),
        ({"task": "SHOP-1"}, "task:shop-1"),
        ({"kind": "message", "q": "type:inbox.seen -type:message.read"}, "-type:message.read type:message.*"),
        ({"session": "ann", "task": "shop-1", "q": "type:message.*"}, "type:message.* task:shop-1 session:ANN"),
    ],
)
def test_what_old_addresses_say_is_part_of_the_filter(told, given: dict[str, str], q: str) -> None:
    q = q.replace("ANN", told.ann.ref)
    data = page(told, **given)
    assert data["q"] == q
    assert [event["id"] for event in data["events"]] == [event["id"] for event in page(told, q)["events"]]


def test_what_stands_beside_the_events(told) -> None:
    data = page(told, "type:message.*,inbox.seen -type:message.read")
    assert data["kinds"] == ["message.*", "inbox.seen"], "what the page has to hear of"
    assert data["stored"] == told.store.read(events.last) and data["types"] == sorted(ALL)
    assert (data["views"], data["sessions_left_out"]) == ([], 0)
    assert [one["title"] for one in data["sessions"]] == ["ann", "bob"]
    for number in range(PICKER_MAX - 1):
        told.row(f"r{number}")
    data = page(told)
    assert (len(data["sessions"]), data["sessions_left_out"]) == (PICKER_MAX, 1)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"q": "words"}, "argument_invalid"),
        ({"q": "type:<b>"}, "argument_invalid"),
        ({"q": "session:nobody"}, "argument_invalid"),
        ({"q": "task:shop-9"}, "argument_invalid"),
        ({"kind": "<b>"}, "argument_invalid"),
        ({"kind": "a b"}, "argument_invalid"),
        ({"session": "nobody"}, "recipient_unknown"),
        ({"task": "shop-9"}, "task_unknown"),
        ({"before": "x"}, "cursor_invalid"),
        ({"before": "-1"}, "cursor_invalid"),
    ],
)
def test_what_no_filter_can_be_is_refused(told, given: dict[str, str], code: str) -> None:
    assert refused(told, **given)[0] == code


def test_the_maps_edge_of_a_message_of_ours_is_left_out_in_either_order(rig) -> None:
    rig.store.write(lambda tx: tx.run("DELETE FROM event"))
    for by in ("message_send", "client"):
        rig.store.write(lambda tx, by=by: tx.emit("session.message", by=by))
    for q in ("", "sort:old", "-type:x.y"):
        assert [event["data"]["by"] for event in page(rig, q)["events"]] == ["client"], q
