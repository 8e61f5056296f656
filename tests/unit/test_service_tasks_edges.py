"""Tasks at their edges: the largest that fits, what an answer and an event say of a change, and old marks that go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relaybay.service import card, listing, sweep, tasks
from relaybay.service.tasks import Change
from relaybay.specs import limit
from relaybay.store import tasks as stored
from tests.unit.linking_rig import SECOND
from tests.unit.mail_rig import OWNER, MailRig


@pytest.fixture
def rig(tmp_path: Path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


def update(rig: MailRig, task: str, caller=OWNER, **said):
    return lambda tx: tasks.task_update(tx, rig.relay, caller, task=task, change=Change(**said))


def row(rig: MailRig, task: str) -> stored.TaskRow:
    found = rig.store.read(lambda tx: stored.get(tx, task))
    assert found is not None
    return found


def listed(rig: MailRig, **said) -> dict:
    found = rig.store.read(lambda tx: tasks.tasks_list(tx, **said))
    assert found.refusal is None
    return found.data


def test_a_page_that_is_just_full_is_the_last(rig) -> None:
    keys = [rig.task() for _ in range(3)]
    full = listed(rig, limit=3)
    assert "before" not in full and "3" in full["text"]
    part = listed(rig, limit=2)
    assert part["before"] == keys[1] and "2" in part["text"]
    assert [one["key"] for one in listed(rig, limit=2, before=keys[1])["tasks"]] == [keys[0]]
    assert [one["key"] for one in listed(rig, limit=1, query="t")["tasks"]] == [keys[2]]


def test_a_page_has_fifty_entries_unless_another_number_is_asked_for(rig) -> None:
    keys = [rig.task() for _ in range(51)]
    assert len(listed(rig)["tasks"]) == 50 and listed(rig)["before"] == keys[1]


def test_what_is_refused_names_its_rule(rig) -> None:
    task = rig.task()
    assert rig.no(lambda tx: tasks.tasks_list(tx, project="none")) == ("project_unknown", "75")
    assert rig.no(update(rig, task, body="\ud800"))[1] == "SEND-15"
    create = lambda **said: lambda tx: tasks.task_create(tx, rig.relay, OWNER, **said)  # noqa: E731
    refusal = rig.store.write(create(project="No slug", title=" ")).refusal
    assert (refusal.answer, refusal.values["name"]) == ("http.argument_invalid", "title")
    assert rig.store.write(create(project="No slug", title="T")).refusal.answer == "project.unknown_no_slug"
    for caller, answer in ((OWNER, "task.unknown.owner"), (rig.by(rig.bob), "task.unknown")):
        assert rig.store.write(update(rig, "shop-9", caller, title="x")).refusal.answer == answer


def test_a_project_that_a_task_makes_is_called_by_its_slug(rig) -> None:
    rig.told(lambda tx: tasks.task_create(tx, rig.relay, OWNER, project="web", title="T"))
    made = rig.store.read(lambda tx: stored.project(tx, "web"))
    assert (made.title, made.root) == ("web", "")


def test_the_largest_task_fits_and_one_unit_more_does_not(rig) -> None:
    task = rig.task()
    room = listing.room() - listing.COMMENT_UNITS_MAX
    most = room - rig.store.read(lambda tx: listing.size(card.task_view(tx, row(rig, task), body=True)))
    assert rig.told(update(rig, task, body="x" * most))["body"] == f'"{"x" * most}"'
    refusal = rig.store.write(update(rig, task, body="x" * (most + 1))).refusal
    assert refusal.values["name"] == "body" and str(room) in refusal.values["why"]


def test_what_an_update_is_answered_and_what_pages_hear_of_it(rig) -> None:
    task = rig.task()
    said = rig.told(update(rig, task, title="New", body="Text", step_add="One"))
    assert "title, body, steps" in said["text"] and said["body"] == '"Text"'
    assert rig.last_event("task.updated") == {
        "task": task, "project": "shop", "changed": ["title", "body", "steps"], "by": "owner", "step": 1,
    }  # fmt: skip
    same = rig.told(update(rig, task, title="New"))
    assert same["body"] == '"Text"' and same["text"] != said["text"]
    moved = rig.told(update(rig, task, status="doing"))
    assert "inbox" in moved["text"] and "doing" in moved["text"]
    assert json.loads(rig.events("task.updated")[-1])["old_status"] == "inbox"
    shown = rig.told(lambda tx: tasks.task_get(tx, rig.relay, OWNER, task=task))
    assert task in shown["text"] and "doing" in shown["text"]


def test_another_change_over_the_same_tool_use_is_no_repeat(rig) -> None:
    task = rig.task()
    caller = rig.by(rig.bob)
    rig.told(update(rig, task, caller, title="A"))
    rig.told(update(rig, task, caller, title="B"))
    assert (row(rig, task).title, row(rig, task).author) == ("B", "unnamed")
    rig.told(update(rig, task, title="C"))
    rig.told(update(rig, task, caller, title="A"))
    assert row(rig, task).title == "C", "the first call again is its first answer again"


def test_a_message_that_is_read_and_a_comment_that_waits_again_say_so(rig) -> None:
    ann = rig.live("ann")
    task = rig.task(ann)
    mid = rig.send(rig.by(rig.bob), to="ann", task=task)["message_id"]
    cid = rig.say(task)["id"]
    rig.hand(ann)
    assert rig.comment(cid).delivered_title == "ann"
    rig.read_marks(rig.by(ann), mid)
    read = rig.last_event("message.read")
    assert (read["task"], read["verified"], read["read_how"]) == (task, True, "verified")
    rig.bind(task, rig.bob)
    waits = rig.comment(cid)
    assert (waits.state, waits.delivered_to, waits.delivered_title, waits.delivered_us) == ("sent", None, "", 0)


def test_old_marks_are_forgotten_after_twice_their_hour_and_a_week(rig) -> None:
    kept = 2 * limit("tool_use_minutes_max") * 60 * SECOND
    week = limit("spool_ids_days") * 24 * 3_600 * SECOND
    now = rig.now + week
    for table, times in (
        ("tool_use (tool_use_id, hook_id, tool, digest, answer, at_us) VALUES (?, '', '', '', '', ?)", kept),
        ("witnessed (tool_use_id, hook_id, at_us) VALUES (?, 'h', ?)", kept),
        ("spool_seen (event_id, at_us) VALUES (?, ?)", week),
    ):
        for name, at_us in (("kept", now - times), ("gone", now - times - 1)):
            rig.store.write(lambda tx, t=table, n=name, a=at_us: tx.run(f"INSERT INTO {t}", n, a))
    rig.now = now
    rig.store.write(sweep.forget_old)
    for table, key in (("tool_use", "tool_use_id"), ("witnessed", "tool_use_id"), ("spool_seen", "event_id")):
        found = rig.store.read(lambda tx, t=table, k=key: tx.rows(f"SELECT {k} FROM {t}"))
        assert found == [("kept",)], table
