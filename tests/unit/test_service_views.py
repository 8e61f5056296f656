"""What pages are told: the board's columns, the Inbox entry by entry, the feed by its filters (page 70)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from relaybay.service import inbox, saved_views, tasks, views, views_events, views_inbox
from relaybay.service.clock import rfc3339
from relaybay.store import events, sessions
from relaybay.store import tasks as stored
from tests.unit.linking_rig import SECOND
from tests.unit.mail_rig import OWNER, MailRig


@pytest.fixture
def rig(tmp_path: Path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


def page(rig: MailRig, work, **said) -> dict:
    found = rig.store.read(lambda tx: work(tx, rig.relay, **said))
    assert found.refusal is None, found.refusal
    return found.data


# -- the board -----------------------------------------------------------------------------------------------------


def test_a_column_lists_its_first_cards_until_all_are_asked_for(rig, monkeypatch) -> None:
    monkeypatch.setattr(views, "COLUMN_CARDS", 2)
    keys = [rig.task() for _ in range(3)]
    two = [rig.task(status="todo") for _ in range(2)]

    def column(status: str, **said: str) -> tuple:
        found = next(one for one in page(rig, views.board, **said)["columns"] if one["status"] == status)
        return [one["key"] for one in found["cards"]], found["count"], found["left_out"], found["expanded"]

    rig.now += SECOND
    rig.do(lambda tx: tasks.task_update(tx, rig.relay, OWNER, task=keys[0], change=tasks.Change(title="New")))
    assert column("inbox") == ([keys[2], keys[0]], 3, 1, False), "what was changed last, the newest first"
    assert column("inbox", q="sort:old") == ([keys[0], keys[1]], 3, 1, False)
    assert column("inbox", all_of="todo,inbox") == (keys[::-1], 3, 0, True)
    assert column("todo", all_of="todo,inbox") == (two[::-1], 2, 0, False), "it has no more than it shows"
    assert page(rig, views.board, all_of="todo,odd,inbox")["all_of"] == "inbox,todo"


def test_the_boards_counts_and_who_is_live(rig) -> None:
    rig.live("ann", activity="working")
    rig.row("guess", "hook", "guessed", activity="idle")
    rig.row("over", "hook", "exact", activity="ended")
    rig.row("past", "hook", "ended_exact", activity="ended")
    board = page(rig, views.board)
    assert board["sessions"] == {"all": 5, "live": 3, "working": 1}
    assert board["undelivered"] == 0
    around = rig.store.read(views.around)
    assert around == {"needs_you": 0, "for_review": 0, "undelivered": 0, "unread": 0, "at": rfc3339(rig.now)}
    rig.send(rig.by(rig.titled("ann")))
    assert page(rig, views.board)["undelivered"] == 1
    assert rig.store.read(views.around)["undelivered"] == 1
    rig.hand(rig.bob)
    assert (page(rig, views.board)["undelivered"], rig.store.read(views.around)["unread"]) == (0, 1)


def test_the_chosen_project_is_among_those_offered_however_quiet_it_is(rig, monkeypatch) -> None:
    monkeypatch.setattr(views, "PROJECTS_MAX", 1)
    rig.task()
    rig.store.write(lambda tx: stored.add_project(tx, "quiet", "Quiet", ""))
    for said, slug in (({}, "shop"), ({"project": "quiet"}, "quiet")):
        board = page(rig, views.board, **said)
        assert ([one["slug"] for one in board["projects"]], board["projects_left_out"]) == ([slug], 1)


def test_events_of_our_own_edges_are_left_out_and_names_are_one_line(rig) -> None:
    def event(**data):
        return (1, data.pop("type"), rig.now, data)

    found = views.happened([
        event(type="session.message", by="message_send"),
        event(type="session.message", by="client", **{"from": "a\nb", "to": None, "task": "c\nd"}),
        event(type="message.sent", to="<x>"),
    ], {})  # fmt: skip
    assert [(one["type"], one["data"]) for one in found] == [
        ("session.message", {"by": "client", "from": "a\\nb", "to": None, "task": "c\nd"}),
        ("message.sent", {"to": "\\u003cx\\u003e"}),
    ]


# -- the Inbox -----------------------------------------------------------------------------------------------------


def shown(rig: MailRig, **said: str) -> dict:
    return page(rig, views_inbox.inbox_page, **said)


def test_the_inbox_lists_around_its_focus_and_counts_what_it_looked_at(rig, monkeypatch) -> None:
    monkeypatch.setattr(views_inbox, "LISTED_MAX", 3)
    monkeypatch.setattr(views_inbox, "LISTED_BEFORE", 1)
    assert shown(rig)["next"] == "" and shown(rig, at="odd")["gone"] and shown(rig, at="odd")["next"] == ""
    for n in range(5):
        rig.now += SECOND
        rig.store.write(lambda tx, n=n: events.put_inbox(tx, "spool_fault", f"f{n}", None))
    rig.store.write(lambda tx: sessions.change(tx, rig.bob.id, asks="input", asks_since_us=rig.now + SECOND))
    ids = [
        one["id"] for at in (0, 3) for one in shown(rig, **({"at": shown(rig)["later"]["id"]} if at else {}))["entries"]
    ]
    found = shown(rig)
    every = [views_inbox.entry_id(one) for one in rig.store.read(inbox.inbox).data["entries"]]
    assert ids[:3] == every[:3] and len(set(every)) == 6
    assert all(re.fullmatch(r"fault-[0-9a-f]{12}", one) for one in every[:5]) and every[5] == f"asks-{rig.bob.ref}"
    assert (found["earlier"], found["later"]) == ({"count": 0, "id": ""}, {"count": 3, "id": every[3]})
    middle = shown(rig, at=every[3])
    assert (middle["earlier"], middle["later"]) == ({"count": 2, "id": every[1]}, {"count": 1, "id": every[5]})
    assert (middle["previous"], middle["next"], middle["number"]) == (every[2], every[4], 4)
    last = shown(rig, at=every[5])
    assert (last["earlier"], last["later"]) == ({"count": 3, "id": every[2]}, {"count": 0, "id": ""})
    assert found["checked"] == {"replies": 0, "chains": 0, "asking": 1, "faults": 5, "sessions": 1}
    assert shown(rig, at="odd")["next"] == every[0]


def test_a_chain_in_focus_has_its_message_as_long_as_there_is_one(rig) -> None:
    mid = rig.send(rig.by(rig.live("ann")))["message_id"]
    for ref in (mid, "m_none"):
        rig.store.write(lambda tx, r=ref: events.put_inbox(tx, "reply_too_deep", r, rig.bob.id))
        focus = shown(rig, at=ref)["focus"]
        assert ("message" in focus) == (ref == mid)
    assert shown(rig, at=mid)["focus"]["message"]["message_id"] == mid
    assert shown(rig)["checked"]["chains"] == 2


def test_a_reply_in_focus_has_the_owners_comment_before_it(rig) -> None:
    ann = rig.live("ann")
    task = rig.task(ann)
    asked = [rig.say(task, f"n{n}")["id"] for n in range(2)]
    first = rig.add(rig.by(ann), task)["id"]
    named = rig.add(rig.by(ann), task, in_reply_to=asked[0])["id"]
    deeper = rig.add(rig.by(ann), task, in_reply_to=first)["id"]
    later = rig.add(rig.by(ann), task)["id"]
    answers = {cid: shown(rig, at=cid)["focus"].get("answers") for cid in (first, named, deeper, later)}
    assert answers[later]["id"] == asked[1], "what the owner wrote, not what the agent did"
    assert answers[first]["id"] == asked[1] and answers[first]["named"] is False
    assert answers[named]["id"] == asked[0] and answers[named]["named"] is True
    assert answers[deeper] is None
    lonely = rig.task(ann)
    alone = rig.add(rig.by(ann), lonely)["id"]
    assert "answers" not in shown(rig, at=alone)["focus"]


def test_what_was_just_written_can_be_taken_back_from_the_inbox(rig) -> None:
    ann = rig.live("ann")
    task = rig.task(ann)
    said = rig.say(task, board=True)["id"]
    until = rfc3339(rig.comment(said).grace_until_us)
    assert shown(rig, undo=said)["undo"] == {"id": said, "task": task, "can_withdraw_until": until}
    reply = rig.add(rig.by(ann), task)["id"]
    typed = rig.say(task)["id"]
    for cid in ("", "c_none", reply, typed):
        assert shown(rig, undo=cid)["undo"] is None
    rig.now += 5 * SECOND
    assert shown(rig, undo=said)["undo"] is None


# -- the feed ------------------------------------------------------------------------------------------------------


def test_the_feed_by_type_task_and_session_and_by_what_they_are_not(rig) -> None:
    ann = rig.live("ann")
    keys = [rig.task(ann), rig.task()]
    rig.send(rig.by(ann), to="bob", task=keys[0])
    rig.do(lambda tx: saved_views.save(tx, rig.relay, page="events", name="v", q="type:task.*"))

    def feed(q: str = "", **said: str) -> list[str]:
        return [one["type"] for one in page(rig, views_events.events_page, q=q, **said)["events"]]

    every = feed()
    of_tasks = [one for one in every if one.startswith("task.")]
    assert feed("type:task.*") == feed(kind="task.*") == of_tasks != every
    assert feed(f"task:{keys[1]}") == feed(task=keys[1]) == ["task.created"]
    assert feed(f"task:{keys[0]},{keys[1]}").count("task.created") == 2
    assert feed("session:ann,bob") and set(feed("session:bob")) < set(feed("session:ann,bob")) | {"x"}
    assert feed(f"-task:{keys[1]}").count("task.created") == 1
    assert feed("sort:old") == every[::-1]
    assert [one["name"] for one in page(rig, views_events.events_page)["views"]] == ['"v"']
    assert feed(before="9" * 18) == every
    for said, answer in (
        ({"before": "9" * 19}, "cursor.invalid"),
        ({"task": "shop-9"}, "task.unknown.owner"),
        ({"before": "x"}, "cursor.invalid"),
    ):
        refused = rig.store.read(lambda tx, s=said: views_events.events_page(tx, rig.relay, **s)).refusal
        assert refused.answer == answer


def test_who_did_something_is_named_as_the_session_is_called_now(rig) -> None:
    def told(**data):
        [one] = views.happened([(1, "task.updated", rig.now, data)], {"S-1": "a\nb", "None": "odd", "client": "x"})
        return one["data"]

    assert told(by="S-1") == {"by": "S-1", "who": "a\\nb"}
    assert told(author="S-1", title="c") == {"author": "S-1", "title": "c"}, "an author's title is kept beside it"
    assert told(by="owner", author="S-1") == {"by": "owner", "author": "S-1"}
    assert told(by="S-2") == {"by": "S-2"}
    titles = rig.store.read(lambda tx: views.titles_of(sessions.every(tx)))
    assert titles[rig.bob.ref] == rig.bob.title


def test_a_filter_that_asks_for_what_was_dropped_has_a_column_of_it(rig) -> None:
    rig.task(status="dropped")
    rig.task(status="done")

    def columns(q: str, **more):
        return [
            (one["status"], one["count"], one["left_out"]) for one in page(rig, views.board, q=q, **more)["columns"]
        ]

    assert len(columns("")) == len(columns("-status:dropped")) == len(columns("status:done")) == 5
    assert columns("status:dropped,done")[4:] == [("done", 1, 0), ("dropped", 1, 0)]
    assert page(rig, views.board)["dropped"] == 1
    for _ in range(views.COLUMN_CARDS):
        rig.task(status="dropped")
    assert columns("status:dropped")[-1] == ("dropped", 11, 1)
    assert columns("status:dropped", all_of="dropped")[-1] == ("dropped", 11, 0)
