"""What the pages of tasks, projects, sessions and messages are told, and the palette: what each lists and leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaybay.domain import Refusal
from relaybay.service import (
    attachments,
    saved_views,
    tasks,
    views_messages,
    views_owner,
    views_palette,
    views_projects,
    views_search,
    views_sessions,
    views_tasks,
)
from relaybay.service.clock import rfc3339
from relaybay.store import comments as stored_comments
from relaybay.store import events, search
from relaybay.store import messages as stored
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


# -- a task --------------------------------------------------------------------------------------------------------


def test_the_form_of_a_task_is_about_what_is_there(rig) -> None:
    ann = rig.live("ann")
    task = rig.task(ann)
    for text in ("one", "two"):
        rig.do(lambda tx, t=text: tasks.task_update(tx, rig.relay, OWNER, task=task, change=tasks.Change(step_add=t)))
    file = rig.do(lambda tx: attachments.attach(tx, task=task, name="plan.pdf", media_type="", content=b"x"))["id"]
    rig.say(task, "first")
    cid = rig.say(task, " a\n b ")["id"]
    found = page(rig, views_tasks.task_page, task=task, reply=cid, step="2", file=str(file))["writing"]
    assert found == {
        "reply": {"id": cid, "author": {"kind": "owner"}, "opening": '"a b"'},
        "step": {"n": 2, "text": '"two"'},
        "file": {"id": file, "name": "plan.pdf"},
    }
    assert page(rig, views_tasks.task_page, task=task, reply="c_none", step="9", file="x")["writing"] == {}


def test_a_task_lists_its_last_comments_and_says_of_each_what_only_the_owner_sees(rig, monkeypatch) -> None:
    monkeypatch.setattr(views_tasks, "RECENT_COMMENTS", 2)
    ann = rig.live("ann")
    task = rig.task(ann)
    ids = [rig.say(task, f"n{n}")["id"] for n in range(2)]
    rig.hand(ann, "tool")
    ids.append(rig.say(task, "board", board=True)["id"])
    few, every = (
        page(rig, views_tasks.task_page, task=task),
        page(rig, views_tasks.task_page, task=task, all_of="comments"),
    )
    assert ([one["id"] for one in few["comments"]], few["comments_left_out"], few["all_of"]) == (ids[1:], 1, "")
    assert ([one["id"] for one in every["comments"]], every["all_of"]) == (ids, "comments")
    handed, fresh = few["comments"]
    assert handed["delivered_by"] == "tool" and "can_withdraw_until" not in handed
    assert fresh["can_withdraw_until"] == rfc3339(rig.comment(ids[2]).grace_until_us) and "delivered_by" not in fresh
    rig.now += 5 * SECOND
    assert "can_withdraw_until" not in page(rig, views_tasks.task_page, task=task)["comments"][-1]
    rig.store.write(lambda tx: stored_comments.change(tx, stored_comments.get(tx, ids[0]), delivered_by=""))
    assert "delivered_by" not in page(rig, views_tasks.task_page, task=task, all_of="comments")["comments"][0]


# -- projects and sessions -----------------------------------------------------------------------------------------


def test_a_project_lists_the_first_tasks_of_each_status_and_who_is_live(rig, monkeypatch) -> None:
    monkeypatch.setattr(views_projects, "STATUS_TASKS", 1)
    keys = [rig.task() for _ in range(2)]
    lone = rig.task(status="todo")
    project = rig.store.read(lambda tx: tx.value("SELECT id FROM project"))
    for title, link, activity in (
        ("a", "exact", "idle"), ("b", "guessed", "working"), ("c", "exact", "ended"), ("d", "ended_exact", "ended"),
    ):  # fmt: skip
        rig.row(title, "hook", link, activity=activity, project_id=project)

    def statuses(**said: str) -> dict[str, tuple]:
        return {
            one["status"]: ([t["key"] for t in one["tasks"]], one["left_out"], one["expanded"])
            for one in page(rig, views_projects.project_page, project="shop", **said)["statuses"]
        }

    every = page(rig, views_projects.project_page, project="shop")["statuses"]
    assert not any("session" in one for status in every for one in status["tasks"]), "none is bound"
    assert statuses() == {"inbox": ([keys[1]], 1, False), "todo": ([lone], 0, False)}
    assert statuses(all_of="todo,inbox") == {"inbox": (keys[::-1], 0, True), "todo": ([lone], 0, False)}
    found = page(rig, views_projects.project_page, project="shop", all_of="todo,odd,inbox")
    assert (found["all_of"], found["live"], len(found["sessions"])) == ("inbox,todo", 2, 4)


def test_sessions_stand_in_groups_with_room_for_the_first_ones(rig, monkeypatch) -> None:
    for name, value in (("LISTED_MAX", 3), ("GROUP_ROOM", 1), ("ENDED_MAX", 1)):
        monkeypatch.setattr(views_sessions, name, value)
    for n in range(2):
        rig.live(f"w{n}", activity="working")
        rig.row(f"e{n}", "hook", "ended_exact", activity="ended")
    for n in range(2):
        rig.store.write(lambda tx, n=n: events.put_inbox(tx, "hook_fault", f"f{n}", rig.bob.id))
    rig.store.write(lambda tx: events.put_inbox(tx, "spool_fault", "x", None))

    def groups(**said: str) -> dict[str, tuple]:
        return {
            one["group"]: ([row["title"] for row in one["sessions"]], one["left_out"], one["expanded"])
            for one in page(rig, views_sessions.session_list, **said)["groups"]
        }

    assert groups() == {
        "needs_you": (["bob"], 0, False), "working": (["w1", "w0"], 0, False), "idle": ([], 0, False),
        "unknown": ([], 0, False), "ended": (["e1"], 1, False),
    }  # fmt: skip
    whole = groups(all_of="ended,working")
    assert whole["ended"] == (["e1", "e0"], 0, True) and whole["working"] == (["w1", "w0"], 0, False)
    assert page(rig, views_sessions.session_list, all_of="ended,working")["all_of"] == "working,ended"
    (bob,) = page(rig, views_sessions.session_list)["groups"][0]["sessions"]
    assert bob["needs_you"] == 2


def test_a_session_whose_link_moved_names_its_holder_and_its_process_its_entry(rig) -> None:
    ann = rig.live("ann", process_entry="cli", client_version="2.1.332")
    for row in (
        rig.row("gone", "agent", "moved", moved_to=ann.id),
        rig.row("kept", "hook", "ended_exact", moved_to=ann.id),
    ):
        shown = page(rig, views_sessions.session_page, ref=row.ref)["session"]
        moved = {"ref": ann.ref, "title": "ann"} if row.title == "gone" else None
        assert shown.get("moved_to") == moved and shown["entrypoint"] is None and "client_version" not in shown
    shown = page(rig, views_sessions.session_page, ref=ann.ref)["session"]
    assert (shown["entrypoint"], shown["client_version"]) == ("cli", "2.1.332")


# -- messages ------------------------------------------------------------------------------------------------------


def test_messages_by_state_and_by_a_name_that_several_have(rig) -> None:
    ann = rig.live("ann")
    sent = rig.send(rig.by(ann))["message_id"]
    rig.now += 7 * SECOND
    read = rig.send(rig.by(ann), "two")["message_id"]
    columns = {"state": "read", "read_us": rig.now, "read_how": "verified", "delivered_us": rig.now}
    rig.store.write(lambda tx: stored.set_delivery(tx, stored.get(tx, read), **columns))
    rig.do(lambda tx: saved_views.save(tx, rig.relay, page="messages", name="v", q="is:unread"))

    def listed(**said: str) -> list[str]:
        return [one["message_id"] for one in page(rig, views_messages.message_list, **said)["messages"]]

    assert listed() == [read, sent] == listed(q="sort:old")[::-1]
    for state in views_messages.STATES:
        assert set(listed(state=state)) <= {read, sent}
    both = page(rig, views_messages.message_list)["messages"]
    assert [("delivered_by" in one) for one in both] == [False, False]
    assert [one["name"] for one in page(rig, views_messages.message_list)["views"]] == ['"v"']
    rig.row("ann")
    refused = rig.store.read(lambda tx: views_messages.message_list(tx, rig.relay, session="ann")).refusal
    assert (refused.answer, refused.spec_id) == ("session.ambiguous", "RECV-2")
    assert ann.ref in refused.values["candidates"]


def test_a_thread_that_is_just_full_leaves_nothing_out(rig, monkeypatch) -> None:
    ann = rig.live("ann")
    first = rig.send(rig.by(ann))["message_id"]
    rig.send(rig.by(rig.bob), in_reply_to=first)
    for most, left_out in ((1, True), (2, False), (3, False)):
        monkeypatch.setattr(views_messages, "THREAD_MAX", most)
        assert page(rig, views_messages.thread, message_id=first)["left_out"] is left_out


# -- the palette, and words ----------------------------------------------------------------------------------------


def test_the_palette_finds_by_each_word_as_it_stands(rig) -> None:
    rig.live("ann", name="calm-otter")
    keys = {title: rig.task(title=title) for title in ("100% done", "a_b", "wow!", "plain", "100x done", "acb")}
    view = rig.do(lambda tx: saved_views.save(tx, rig.relay, page="board", name="mine", q="is:unread"))["id"]

    def found(q: str, what: str) -> list[str]:
        return [one.get("key") or one["title"] for one in page(rig, views_palette.palette, q=q)[what]]

    for q, title in (("100%", "100% done"), ("a_b", "a_b"), ("wow!", "wow!"), ("PLAIN", "plain")):
        assert found(q, "tasks") == [keys[title]], q
    assert (found("otter", "sessions"), found("bob", "sessions"), found("x", "sessions")) == (["ann"], ["bob"], [])
    assert page(rig, views_palette.palette, q="board mine")["views"] == [
        {"id": view, "page": "board", "name": '"mine"', "query": "is:unread"}
    ]
    assert page(rig, views_palette.palette, q="yours")["views"] == []


def test_what_is_marked_and_what_the_owner_is_told(rig) -> None:
    on, off = search.MARK_ON, search.MARK_OFF
    marked = views_search.pieces(f"{on}a{off}b{on}c{off}d", "abcd")
    assert [(one["text"], one["hit"]) for one in marked] == [
        ('"a"', True),
        ('"b"', False),
        ('"c"', True),
        ('"d"', False),
    ]
    assert views_search.pieces(f"{on}a{off}", f"a{off}") == [{"text": '"a"', "hit": False}]
    mine = views_owner.for_owner(Refusal("task.unknown", "75", {"task": "x"}))
    assert mine.answer == "task.unknown.owner"
    assert views_owner.for_owner(Refusal("cursor.invalid", "75")).answer == "cursor.invalid"
