"""Arguments that several use cases share: each refusal in its words, and each bound on both sides."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaybay.answers import word_refusal
from relaybay.domain import Refusal
from relaybay.service import arguments, attachments, comment_lists, feed
from relaybay.specs import limit
from tests.unit.card_rig import OWNER, CardRig


@pytest.fixture
def rig(tmp_path: Path):
    made = CardRig(tmp_path)
    yield made
    made.relay.close()


def said(refusal: Refusal | None) -> tuple[str, str, str]:
    assert refusal is not None
    worded = word_refusal(refusal)
    return worded.code, worded.spec_id, worded.text


@pytest.mark.spec("75")
def test_a_list_has_from_one_to_two_hundred_entries() -> None:
    assert arguments.check_limit(1) is arguments.check_limit(200) is None
    for wrong in (0, 201, -1):
        code, spec_id, text = said(arguments.check_limit(wrong))
        assert (code, spec_id) == ("argument_invalid", "75")
        assert "limit" in text and " 1 " in text and "200" in text


@pytest.mark.spec("40", "75")
def test_an_unknown_status_is_refused_with_all_that_are_known() -> None:
    assert all(arguments.check_status(known) is None for known in arguments.STATUSES)
    code, _, text = said(arguments.check_status("odd"))
    assert code == "argument_invalid"
    assert '"odd"' in text and "inbox, todo, doing, review, done, dropped" in text


@pytest.mark.spec("SEND-15")
def test_a_line_is_text_that_can_be_seen_and_fits() -> None:
    most = limit("name_chars_max")
    assert arguments.check_line("title", "x" * most) is None
    assert said(arguments.check_line("title", "x" * (most + 1)))[0] == "argument_invalid"
    assert arguments.check_line("step_add", "x" * (most + 1)) is None, "a step may be longer"
    assert "title" in said(arguments.check_line("title", " \n"))[2]
    for text in ("a\0b", "a\ud800b"):
        assert said(arguments.check_line("title", text))[:2] == ("body_not_text", "SEND-15")


@pytest.mark.spec("INV-3", "RECV-1")
def test_a_hook_id_that_is_meant_by_nobody_is_not_repeated(rig) -> None:
    row = rig.live("ann")
    rig.unlink(row)
    found = rig.store.read(lambda tx: arguments.one_session(tx, "hook-ann"))
    assert isinstance(found, Refusal) and found.values["session"] == '"…"'
    assert rig.store.read(lambda tx: arguments.one_session(tx, " ann ")).id == row.id


@pytest.mark.spec("40", "75")
def test_the_feed_says_which_argument_is_wrong_and_where_to_begin(rig) -> None:
    def since(**more):
        return rig.store.read(lambda tx: feed.events_since(tx, **more))

    for _ in range(3):
        rig.task()
    begin = since()
    assert begin.data["events"] == [] and begin.data["text"]
    assert "types" in said(since(types=["Odd!"]).refusal)[2]
    first = feed.cursor_of(0)
    assert first == "ZTE6MA"
    every = since(cursor=first).data
    count = len(every["events"])
    assert count > 1 and since(cursor=every["cursor"]).data["events"] == []
    exact = since(cursor=first, limit=count).data
    assert exact["cursor"] == every["cursor"], "nothing is left, so the cursor stands at the newest"
    less = since(cursor=first, limit=count - 1).data
    assert [e["id"] for e in since(cursor=less["cursor"]).data["events"]] == [every["events"][-1]["id"]]
    for cursor in ("x", "ZTE6MA==", "ZTE6MDA", feed.cursor_of(10**6), "é"):
        assert said(since(cursor=cursor).refusal)[0] == "cursor_invalid"


@pytest.mark.spec("40", "SEND-15", "FLT-8")
def test_a_file_is_refused_in_words(rig) -> None:
    task = rig.task()

    def attach(name: str = "a.txt", content: bytes = b"x"):
        return rig.store.write(
            lambda tx: attachments.attach(tx, task=task, name=name, media_type="text/plain", content=content)
        )

    most = limit("attachment_bytes_max")
    assert attach(name="a\ud800\0b").data["name"] == "ab", "what no engine can keep does not come so far"
    assert "file" in said(attach(name=" ").refusal)[2]
    assert "file" in said(attach(name="x" * (limit("name_chars_max") + 1)).refusal)[2]
    assert attach(name="x" * limit("name_chars_max")).ok
    large = attach(content=bytes(most + 1)).refusal
    assert said(large)[1] == "40" and large.values == {"size": most + 1, "most": most}
    made = attach()
    assert made.data["task"] == task
    for _ in range(limit("attachments_per_task_max") - 3):
        assert attach().ok
    assert said(attach().refusal)[1] == "40"
    number = str(made.data["id"])
    unknown = rig.store.read(lambda tx: attachments.fetch(tx, rig.relay, task=task, number="9" * 18))
    assert said(unknown.refusal)[1] == "40"
    rig.store.write(lambda tx: tx.run("UPDATE attachment_content SET content = ?", b"y"))
    damaged = rig.store.read(lambda tx: attachments.fetch(tx, rig.relay, task=task, number=number))
    assert said(damaged.refusal)[1] == "FLT-8" and damaged.refusal.values == {"name": '"a.txt"'}
    assert rig.store.write(lambda tx: attachments.detach(tx, task=task, number=number)).ok
    assert rig.last_event("task.updated") == {"task": task, "project": "shop", "changed": ["files"], "by": "owner"}
    assert rig.types()[-1] == "task.updated"


@pytest.mark.spec("75")
def test_a_cards_pages_end_where_they_should(rig) -> None:
    task = rig.task()
    ids = [rig.say(task, f"No. {n}")["id"] for n in range(3)]

    def page(**more):
        return rig.store.write(lambda tx: comment_lists.comments_list(tx, rig.relay, OWNER, task=task, **more))

    whole = page(limit=3).data
    assert "before" not in whole and [c["id"] for c in whole["comments"]] == ids[::-1]
    part = page(limit=2).data
    assert part["before"] == ids[1]
    assert [c["id"] for c in page(limit=2, before=part["before"]).data["comments"]] == [ids[0]]
    assert said(page(before="c_77").refusal)[1] == "75"
    nothing = rig.store.read(lambda tx: comment_lists.history(tx, task="shop-77"))
    assert said(nothing.refusal)[:2] == ("task_unknown", "75") and nothing.refusal.values == {"task": '"shop-77"'}
