"""The event feed on a real store: no gaps, no cursor that was never given (page 40, page 75)."""

from __future__ import annotations

import base64
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaybay.service import feed, listing
from tests.unit.card_rig import CardRig


@pytest.fixture
def rig(tmp_path: Path):
    made = CardRig(tmp_path)
    yield made
    made.relay.close()


def since(rig, cursor: str = "", *types: str, limit: int = 50) -> dict:
    outcome = rig.store.read(lambda tx: feed.events_since(tx, cursor=cursor, types=types, limit=limit))
    assert outcome.refusal is None, outcome.refusal
    return outcome.data


def refused(rig, **more) -> tuple[str, str]:
    return rig.no(lambda tx: feed.events_since(tx, **more))


@pytest.mark.spec("40", "75")
def test_without_a_cursor_there_is_only_the_present_one(rig) -> None:
    empty = since(rig)
    assert empty["events"] == []
    rig.task()
    now = since(rig)
    assert now["events"] == [] and now["cursor"] != empty["cursor"]
    got = since(rig, empty["cursor"])
    assert [event["type"] for event in got["events"]] == ["task.created"]
    assert set(got["events"][0]) == {"id", "type", "at", "data"} and got["events"][0]["at"].endswith("Z")
    assert got["cursor"] == now["cursor"]
    assert since(rig, got["cursor"])["events"] == []


@pytest.mark.spec("40")
def test_pages_of_any_size_leave_nothing_out(rig) -> None:
    start = since(rig)["cursor"]
    for _ in range(11):
        rig.task()
    for size in (1, 2, 5, 11, 200):
        cursor, ids = start, []
        while page := since(rig, cursor, limit=size)["events"]:
            ids += [event["id"] for event in page]
            cursor = since(rig, cursor, limit=size)["cursor"]
        assert ids == sorted(set(ids)) and len(ids) == 11


@pytest.mark.spec("40")
def test_types_are_filtered_and_the_cursor_moves_past_what_was_left_out(rig) -> None:
    start = since(rig)["cursor"]
    task = rig.task(rig.live("a"))
    rig.say(task)
    assert [e["type"] for e in since(rig, start, "comment.added")["events"]] == ["comment.added"]
    assert [e["type"] for e in since(rig, start, "task.*")["events"]] == ["task.created", "task.bound"]
    both = since(rig, start, "task.created", "comment.*", limit=1)
    assert [e["type"] for e in both["events"]] == ["task.created"]
    assert [e["type"] for e in since(rig, both["cursor"], "task.created", "comment.*")["events"]] == ["comment.added"]
    nothing = since(rig, start, "project.*")
    assert nothing["events"] == [] and nothing["cursor"] == since(rig)["cursor"]
    for wrong in ("", "*", "Task.created", "task.", "task.%", "a b", "task.*.x"):
        assert refused(rig, types=(wrong,)) == ("argument_invalid", "75")


@pytest.mark.spec("75")
def test_a_cursor_that_was_never_given_is_refused(rig) -> None:
    rig.task()
    ahead = feed.cursor_of(10_000)
    spelled = base64.urlsafe_b64encode(b"e1:01").decode().rstrip("=")
    for wrong in ("x", "é", "e1:0", ahead, spelled, since(rig)["cursor"] + "=", "A" * 10_000):
        assert refused(rig, cursor=wrong) == ("cursor_invalid", "75")
    assert refused(rig, limit=0)[0] == refused(rig, limit=201)[0] == "argument_invalid"


@pytest.mark.spec("75")
@given(st.integers(0, 10**18 - 1))
def test_cursors_read_back(key: int) -> None:
    assert feed._key_of(feed.cursor_of(key)) == key


@pytest.mark.spec("75")
@given(st.text(max_size=40))
def test_no_text_is_a_cursor_by_accident(text: str) -> None:
    key = feed._key_of(text)
    assert key is None or feed.cursor_of(key) == text


@pytest.mark.spec("75")
def test_an_answer_is_bounded_and_the_rest_comes_next(rig) -> None:
    start = since(rig)["cursor"]
    rig.store.write(lambda tx: [tx.emit("session.test", title="x" * 900) for _ in range(100)])
    seen, cursor = 0, start
    while page := since(rig, cursor, limit=200):
        assert listing.size(page) <= 40_000
        if not page["events"]:
            break
        seen, cursor = seen + len(page["events"]), page["cursor"]
    assert seen == 100


@pytest.mark.spec("40")
def test_a_reader_beside_many_writers_misses_nothing(rig) -> None:
    cursor, ids = since(rig)["cursor"], []

    def write() -> None:
        for _ in range(40):
            rig.store.write(lambda tx: tx.emit("session.test"))

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    while any(w.is_alive() for w in writers) or since(rig, cursor)["events"]:
        page = since(rig, cursor)
        ids += [event["id"] for event in page["events"]]
        cursor = page["cursor"]
    assert ids == sorted(set(ids)) and len(ids) == 160
