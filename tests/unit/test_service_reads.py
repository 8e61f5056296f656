"""Reads at their edges: the feed's cursor, the server's figures, and what filters offer and find."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaybay.service import feed, figures, filters, listing, sessions, tasks
from relaybay.service.clock import rfc3339
from tests.unit.linking_rig import SECOND
from tests.unit.mail_rig import MailRig


@pytest.fixture
def rig(tmp_path: Path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


def test_a_filtered_feed_that_is_just_full_goes_on_behind_what_it_left_out(rig) -> None:
    def since(cursor: str, limit: int) -> dict:
        return rig.told(lambda tx: feed.events_since(tx, cursor=cursor, types=["task.*"], limit=limit))

    begin = rig.told(feed.events_since)["cursor"]
    for _ in range(2):
        rig.task()
    rig.send(rig.by(rig.live("ann")))
    newest = rig.told(feed.events_since)["cursor"]
    full = since(begin, 2)
    assert (len(full["events"]), full["cursor"]) == (2, newest)
    one = since(begin, 1)
    assert len(one["events"]) == 1 and one["cursor"] == feed.cursor_of(one["events"][0]["id"]) != newest


def test_when_each_client_was_heard_last_by_the_server_or_by_its_rows(rig, monkeypatch) -> None:
    rig.row("one", client="cli", last_event_us=rig.now)
    rig.row("two", client="cli", last_event_us=rig.now - SECOND)
    rig.row("three", client="desktop", last_event_us=rig.now - 9 * SECOND)
    rig.row("silent", client="web")
    heard = {"desktop": rig.now + SECOND, "cli": rig.now - 5 * SECOND, "sdk": 7}
    assert rig.store.read(lambda tx: figures.last_heard(tx, rig.relay, heard)) == {
        "cli": rig.now, "desktop": rig.now + SECOND, "sdk": 7,
    }  # fmt: skip
    for problems, said in (([], "ok"), (["row 3 is gone", "and 4"], "row 3 is gone; and 4")):
        monkeypatch.setattr(figures.sqlite, "problems", lambda _path, found=problems: found)
        found = rig.told(lambda tx: figures.doctor(tx, rig.relay, heard={"sdk": 7 * SECOND}))
        assert found["integrity"] == said
        assert found["last_events"]["sdk"] == rfc3339(7 * SECOND)


def test_where_nothing_could_stand_nothing_is_offered(rig) -> None:
    refusal = rig.store.read(lambda tx: tasks.tasks_list(tx, q="project:none")).refusal
    assert refusal.values["offers"] == filters.offered(["shop"]) != ""
    assert filters.offered([]) == ""
    rig.task()
    refusal = rig.store.read(lambda tx: sessions.list_sessions(tx, rig.relay, q="task:shop-9")).refusal
    assert refusal.values["offers"] == filters.offered(["shop-1"])


def test_sessions_are_found_by_their_own_words_and_by_what_they_have_not_read(rig) -> None:
    def rows(q: str) -> list[str]:
        found = rig.store.read(lambda tx: sessions.list_sessions(tx, rig.relay, q=q))
        assert found.refusal is None, found.refusal
        return [one["title"] for one in found.data["sessions"]]

    ann = rig.live("ann", cwd="/srv/web")
    rig.live("cat", cwd="/srv/api", name="calm-otter")
    assert (rows("web"), rows("otter"), rows("x")) == (["ann"], ["cat"], [])
    assert rows("sort:old") == rows("sort:new")[::-1] == rows("")[::-1] == ["bob", "ann", "cat"]
    assert rows("is:unread") == rows("is:undelivered") == []
    rig.say(rig.task(ann))
    assert (rows("is:unread"), rows("is:undelivered")) == ([], ["ann"])
    rig.now += 6 * SECOND
    rig.hand(ann)
    assert (rows("is:unread"), rows("is:undelivered")) == (["ann"], [])


def test_an_offered_comment_says_how_many_newer_ones_its_own_task_has(rig) -> None:
    ann = rig.live("ann")
    first, second = rig.task(ann), rig.task(ann)
    said = [rig.say(task, f"n{n}")["id"] for n, task in enumerate((first, second, first))]
    text = rig.hand(ann).text
    parts = [part for part in text.split("\n\n") if part.startswith("[relaybay: the owner's comment")]
    assert [cid in part for cid, part in zip(said, parts, strict=True)] == [True, True, True]
    assert ["newer comments from the owner to you: 1" in part for part in parts] == [True, False, False]


def test_a_list_takes_what_its_room_holds_in_the_clients_units() -> None:
    assert listing.size({"a": "\u00e9\U0001f600"}) == len('{"a": ""}') + 1 + 2
    assert listing.room() - listing.room({"a": 1}) == len('{"a": 1}')
    assert listing.room() - listing.room("") == 2, "something that is empty takes room too"
    view = {"a": 1}
    each = listing.size(view) + 2
    for room, count in ((1, 1), (each, 1), (2 * each - 1, 1), (2 * each, 2), (3 * each - 1, 2), (3 * each, 3)):
        assert listing.cut([view] * 3, room) == ([view] * count, count < 3), room


def test_a_page_says_where_the_next_one_begins(rig) -> None:
    sent = [rig.send(rig.by(rig.live(f"s{n}")))["message_id"] for n in range(3)]
    page = rig.listed(rig.by(rig.bob), limit_=2)
    assert page["before"] == sent[1] and f" before {sent[1]}." in page["text"]
    last = rig.listed(rig.by(rig.bob), limit_=2, before=sent[1])
    assert "before" not in last and [one["message_id"] for one in last["messages"]] == [sent[0]]
