"""Comments at the edges: what a card, a list and a task's history show, and calls that come another way than usual."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relaybay.answers import word
from relaybay.domain import Caller
from relaybay.service import attachments, binding, card, comment_lists, comments, export, tasks
from relaybay.service.clock import rfc3339
from relaybay.store import comments as stored
from tests.unit.card_rig import OWNER, CardRig
from tests.unit.linking_rig import SECOND


@pytest.fixture
def rig(tmp_path: Path):
    made = CardRig(tmp_path)
    yield made
    made.relay.close()


def change(rig: CardRig, cid: str, **columns) -> None:
    rig.store.write(lambda tx: stored.change(tx, stored.get(tx, cid), **columns))


def test_the_owners_comment_that_came_as_an_agents_call_has_no_seconds(rig) -> None:
    bound = rig.live("a")
    said = rig.add(OWNER, rig.task(bound))
    assert said["author"] == {"kind": "owner"}
    assert rig.no(lambda tx: comments.withdraw(tx, comment_id=said["id"])) == ("too_late", "CMT-19")
    assert rig.hand(bound) is not None


def test_the_owner_acknowledges_nothing(rig) -> None:
    said = rig.say(rig.task(rig.live("a")))
    assert rig.no_ack(OWNER, said["id"]) == ("not_bound", "CMT-24")


def test_an_agents_comment_begins_unanswered_whether_a_session_is_bound_or_not(rig) -> None:
    bound = rig.live("a")
    for task in (rig.task(bound), rig.task()):
        assert rig.add(rig.by(bound), task)["state"] == "unanswered"


def test_a_reply_to_an_agents_comment_marks_nothing_and_says_so(rig) -> None:
    bound = rig.live("a")
    task = rig.task(bound)
    rig.say(task)
    rig.list(rig.by(bound), task)
    first = rig.add(rig.by(bound, hook=""), task)
    texts = [first["text"]]
    parents = (first["id"], rig.say(task)["id"])
    texts += [rig.add(rig.by(bound), task, in_reply_to=parent)["text"] for parent in parents]
    other = rig.live("other")
    texts.append(rig.add(rig.by(other), task, in_reply_to=rig.say(task)["id"])["text"])
    counts = [text.partition("read: ")[2].partition(".")[0] for text in texts]
    assert counts == ["1", "0", "1", "0"], texts


def test_how_a_text_begins_is_one_line() -> None:
    assert card.opening(" a\n\tb  c ") == '"a b c"'
    assert card.opening("x" * 141) == f'"{"x" * 140}"'


def test_a_comment_may_be_about_a_file_and_keeps_its_name_when_that_is_gone(rig) -> None:
    bound = rig.live("a")
    task, other = rig.task(bound), rig.task()

    def attach(key: str) -> dict:
        return rig.do(lambda tx: attachments.attach(tx, task=key, name="<p>.pdf", media_type="", content=b"x"))

    file, foreign = attach(task)["id"], attach(other)["id"]
    said = rig.say(task, attachment=str(file))
    assert said["attachment"] == {"id": file, "name": "\\u003cp\\u003e.pdf"}
    assert "attachment" not in rig.say(task)
    assert '"\\u003cp\\u003e.pdf"' in rig.hand(bound).text
    for number in (str(foreign), "99", "x"):
        refused = rig.no(
            lambda tx, n=number: comments.owner_comment(
                tx, rig.relay, task=task, body="x", attachment=n, from_board=False
            )
        )
        assert refused[1] == "40"
    rig.do(lambda tx: attachments.detach(tx, task=task, number=str(file)))
    assert rig.view(said["id"])["attachment"] == {"name": "\\u003cp\\u003e.pdf"}


def test_a_step_counts_from_one_to_the_last(rig) -> None:
    task = rig.task()
    for text in ("one", "two"):
        rig.do(lambda tx, t=text: tasks.task_update(tx, rig.relay, OWNER, task=task, change=tasks.Change(step_add=t)))
    for step in (0, 1, 2):
        assert rig.view(rig.say(task, step=step)["id"]).get("step", 0) == step
    for step in (-1, 3):
        refused = rig.no(
            lambda tx, s=step: comments.owner_comment(tx, rig.relay, task=task, body="x", step=s, from_board=True)
        )
        assert refused == ("step_unknown", "75")


def test_a_page_whose_comments_are_all_held_back_goes_on_behind_them(rig) -> None:
    bound = rig.live("a")
    task = rig.task(bound)
    old = [rig.say(task, f"n{n}")["id"] for n in range(2)]
    rig.say(task, "held back", board=True)
    page = rig.list(rig.by(bound), task, limit=1)
    assert page["comments"] == []
    found: list[str] = []
    while "before" in page:
        page = rig.list(rig.by(bound), task, limit=1, before=page["before"])
        found += [one["id"] for one in page["comments"]]
    assert found == old[::-1]


def test_a_card_says_why_a_comment_waits_again_and_what_was_lost(rig) -> None:
    bound = rig.live("a")
    cid = rig.say(rig.task(bound))["id"]
    fresh = rig.view(cid)
    assert not {"delivered_at", "in_context_at", "read_at"} & set(fresh)
    change(rig, cid, reoffers=1)
    again = rig.view(cid)
    assert fresh["reason"] in again["reason"] != fresh["reason"] and "again" in again["reason"]
    rig.hand(bound)
    seen_us = rig.now + SECOND
    change(rig, cid, in_context_us=seen_us)
    view = rig.view(cid)
    assert (view["delivered_at"], view["in_context_at"]) == (rfc3339(rig.now), rfc3339(seen_us))
    assert view["delivered_to"] == {"ref": bound.ref, "title": "a"}
    change(rig, cid, in_context_us=0, reason_code="not_in_context")
    lost = rig.view(cid)
    assert lost["reason_code"] == "not_in_context" and lost["reason"] not in (view["reason"], fresh["reason"], "")


def test_a_tasks_history_tells_of_each_hand_over_when_and_to_whom(rig) -> None:
    bound = rig.live("a")
    task = rig.task(bound)
    cid, other = rig.say(task)["id"], rig.say(task)["id"]
    rig.hand(bound)
    handed = rig.now
    rig.unlink(bound)
    rig.bind(task, rig.live("b"))
    rig.ack(rig.by(rig.titled("b")), cid)
    found = rig.store.read(lambda tx: comment_lists.history(tx, task=task)).data["history"]
    assert set(found) == {cid, other}
    told = [(one["type"], one.get("session"), one.get("title")) for one in found[cid]]
    assert told[:2] == [("comment.delivered", bound.ref, "a"), ("comment.offered_again", bound.ref, "a")]
    assert told[-1][0] == "comment.read"
    assert found[cid][0]["at"] == rfc3339(handed)
    assert all(set(one) <= {"type", "at", "session", "title"} for one in found[cid])


def test_a_name_that_can_be_nobodys_unbinds_nothing(rig) -> None:
    bound = rig.live("a")
    task = rig.task(bound)
    unbind = lambda caller: lambda tx: binding.task_unbind(tx, rig.relay, caller, task=task)  # noqa: E731
    assert rig.no(unbind(rig.by(name="S-99")))[0] == "name_invalid"
    unbound = rig.do(unbind(rig.by(name="a")))
    assert "session" not in unbound and unbound["body"] == '""'
    assert json.loads(rig.events("task.unbound")[-1])["by"] == bound.ref


def test_an_export_has_who_wrote_and_every_mark_of_a_comment(rig) -> None:
    bound = rig.live("a")
    task = rig.task(bound)
    mine = rig.say(task, "Do it.")["id"]
    rig.hand(bound, "tool")
    change(rig, mine, in_context_us=rig.now)
    rig.ack(rig.by(bound), mine)
    theirs = rig.add(rig.by(bound), task, "Done.")["id"]
    gone = rig.add(rig.by(bound), task, "Gone.")["id"]
    change(rig, gone, author_id=None)
    document = rig.store.read(lambda tx: export.task_export(tx, rig.relay, task=task)).data["markdown"]
    parts = {part.partition("\n")[0]: part.splitlines()[2:] for part in document.split("\n### ")[1:]}
    at, handed, read = (rfc3339(getattr(rig.comment(mine), n)) for n in ("created_us", "delivered_us", "read_us"))
    assert parts[mine][:6] == [
        "- author: owner",
        "- state: read",
        f"- sent: {at}",
        f"- delivered: {handed} to `a` ({bound.ref}), by tool",
        f"- in context: {handed}",
        f"- read: {read}, verified",
    ]
    assert (parts[theirs][0], parts[gone][0]) == (f"- author: `a` ({bound.ref})", "- author: `a`")
    change(rig, mine, delivered_to=None, delivered_by="", read_how="own_message")
    document = rig.store.read(lambda tx: export.task_export(tx, rig.relay, task=task)).data["markdown"]
    assert f"- delivered: {handed} to `a`\n" in document and f"- read: {read}, own message\n" in document
    unnamed = rig.task(caller=Caller())
    assert rig.do(lambda tx: tasks.task_get(tx, rig.relay, OWNER, task=unnamed))["author"] == {"kind": "unnamed"}
    document = rig.store.read(lambda tx: export.task_export(tx, rig.relay, task=unnamed)).data["markdown"]
    assert "\nauthor: unnamed\n" in document


def test_what_a_reply_is_answered_and_what_pages_hear_of_it(rig) -> None:
    bound = rig.live("a")
    task = rig.task(bound)
    given = [rig.say(task, f"n{n}")["id"] for n in range(2)]
    rig.list(rig.by(bound), task)
    rig.say(task, "not given")
    rig.say(task, "held back", board=True)
    view = rig.add(rig.by(bound), task)
    stored_as = (
        "Comment {} on task {} is stored and stands in the owner's Inbox. Comments of the owner that it marked as"
    )
    assert view["text"] == f"{stored_as.format(view['id'], task)} read: 2. " + word("comment.not_given", count=1).text
    assert [rig.comment(cid).state for cid in given] == ["read", "read"]
    added = rig.last_event("comment.added")
    assert added == {
        "comment_id": view["id"], "task": task, "author": bound.ref, "title": "a", "verified": True,
    }  # fmt: skip
    nameless = rig.add(Caller(), task, "Who am I?")
    assert nameless["text"].startswith(f"{stored_as.format(nameless['id'], task)} read: ")
    assert nameless["text"].endswith(f" {word('comment.author_not_verified').text}")
    assert rig.last_event("comment.added")["verified"] is False
    read = rig.do(lambda tx: comments.replies_read(tx, task=task))
    assert read.pop("text") and read == {"task": task, "read": 2}
    assert rig.last_event("comment.read") == {"comment_id": nameless["id"], "task": task, "by": "owner"}
