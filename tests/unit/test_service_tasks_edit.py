"""A task edited as a form does it, and what a comment is before it is taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaybay.domain import Caller
from relaybay.service import comments, tasks, views_tasks
from relaybay.store import comments as stored
from relaybay.store import events
from relaybay.store import tasks as kept
from tests.unit.mail_rig import OWNER, MailRig


@pytest.fixture
def rig(tmp_path: Path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


def edit(rig: MailRig, key: str, title: str, body: str, caller: Caller = OWNER) -> dict:
    return rig.told(lambda tx: tasks.task_edit(tx, rig.relay, caller, task=key, title=title, body=body))


def changes(rig: MailRig, key: str) -> list[list[str]]:
    about = rig.store.read(lambda tx: events.about(tx, "task", key, 50))
    return [data["changed"] for _, type_, _, data in reversed(about) if type_ == "task.updated"]


@pytest.mark.spec("40")
def test_only_what_is_another_now_was_changed(rig) -> None:
    key = rig.task()
    edit(rig, key, "One", "text\r\nmore")
    edit(rig, key, "  One ", "text\nmore")
    edit(rig, key, "Two", "text\r\nmore")
    edit(rig, key, "Two", "text")
    assert changes(rig, key) == [["title", "body"], ["title"], ["body"]]
    row = rig.store.read(lambda tx: kept.get(tx, key))
    assert (row.title, row.body_md) == ("Two", "text")


@pytest.mark.spec("40")
def test_an_agents_text_stays_its_own_until_all_of_it_is_anothers(rig) -> None:
    caller = rig.by(rig.live("ann"))
    given = {"project": "shop", "title": "Hers", "body": "her words"}
    key = rig.told(lambda tx: tasks.task_create(tx, rig.relay, caller, **given))["key"]
    author = rig.store.read(lambda tx: kept.get(tx, key)).author
    assert author != "owner"
    edit(rig, key, "Mine", "her words")
    assert rig.store.read(lambda tx: kept.get(tx, key)).author == author
    edit(rig, key, "All mine", "my words")
    assert rig.store.read(lambda tx: kept.get(tx, key)).author == "owner"


def test_an_edit_is_refused_in_the_words_of_who_made_it(rig) -> None:
    def refused(**said):
        return rig.store.read(lambda tx: tasks.task_edit(tx, rig.relay, **{"title": "x", "body": "", **said})).refusal

    assert refused(task="shop-99", caller=OWNER).answer == "task.unknown.owner"
    assert refused(task="shop-99", caller=Caller(session="ann")).answer == "task.unknown"


@pytest.mark.spec("CMT-12")
def test_what_was_written_in_a_comment_is_as_its_form_had_it(rig) -> None:
    key = rig.task()

    def written(cid: str) -> dict:
        return rig.store.read(lambda tx: views_tasks.written_in_comment(tx, rig.relay, comment_id=cid)).data

    change = tasks.Change(step_add="Reproduce")
    rig.told(lambda tx: tasks.task_update(tx, rig.relay, OWNER, task=key, change=change))

    def add(body: str, **about) -> str:
        given = {"task": key, "body": body, "from_board": True, **about}
        return rig.told(lambda tx: comments.owner_comment(tx, rig.relay, **given))["id"]

    first = add("One\r\nand <two>")
    assert written(first) == {"body": "One\nand <two>", "in_reply_to": "", "step": "", "attachment": ""}
    second = add("Again", in_reply_to=first, step=1)
    assert written(second) == {"body": "Again", "in_reply_to": first, "step": "1", "attachment": ""}
    assert written("c_none") == {}
    assert rig.store.read(lambda tx: stored.get(tx, first)) is not None
