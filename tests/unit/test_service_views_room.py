"""How much of a long list a read model gives, which part of it, and what it says of the rest (page 70)."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from relaybay.domain import Outcome
from relaybay.service import saved_views, views, views_map, views_palette, views_projects, views_sessions, views_tasks
from relaybay.service import tasks as use_cases
from relaybay.service.views import asked_whole
from relaybay.service.views_messages import PICKER_MAX, message_list
from relaybay.service.views_project_list import LISTED_MAX, project_list
from tests.unit.mail_rig import OWNER, SECOND, MailRig

pytestmark = pytest.mark.spec("70")


@pytest.fixture
def rig(tmp_path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


def read(rig: MailRig, view: Any, **given: Any) -> dict[str, Any]:
    outcome: Outcome = rig.store.read(lambda tx: view(tx, rig.relay, **given))
    assert outcome.refusal is None, outcome.refusal
    return json.loads(json.dumps(outcome.data))


def touch(rig: MailRig, key: str) -> None:
    change = use_cases.Change(step_add="a step")
    rig.now += SECOND
    rig.told(lambda tx: use_cases.task_update(tx, rig.relay, OWNER, task=key, change=change))


def project(rig: MailRig, slug: str) -> None:
    rig.store.write(lambda tx: tx.insert("project", slug=slug, title="x", created_us=tx.now))


def test_parts_are_named_in_the_pages_own_order_and_unknown_ones_left_out() -> None:
    assert asked_whole("c,x,a", ("a", "b", "c")) == ["a", "c"]
    assert asked_whole("", ("a",)) == asked_whole("ab", ("a", "b")) == []


def test_a_column_has_what_was_changed_last_newest_first(rig, monkeypatch) -> None:
    monkeypatch.setattr(views, "COLUMN_CARDS", 2)
    keys = [rig.task() for _ in range(4)]
    touch(rig, keys[0])

    def column(**given: str) -> tuple[list[str], int, int, bool]:
        (one,) = [one for one in read(rig, views.board, **given)["columns"] if one["status"] == "inbox"]
        return [card["key"] for card in one["cards"]], one["count"], one["left_out"], one["expanded"]

    assert column() == ([keys[3], keys[0]], 4, 2, False)
    assert column(q="sort:old") == (keys[:2], 4, 2, False)
    assert column(q="sort:updated") == ([keys[0], keys[3]], 4, 2, False)
    assert column(all_of="todo,inbox") == (keys[::-1], 4, 0, True)
    assert column(all_of="todo")[2] == 2
    assert read(rig, views.board, all_of="todo,x,inbox")["all_of"] == "inbox,todo"
    monkeypatch.setattr(views, "ALL_MAX", 3)
    assert column(all_of="inbox") == ([keys[3], keys[2], keys[0]], 4, 1, True)
    monkeypatch.setattr(views, "COLUMN_CARDS", 4)
    assert column(all_of="inbox")[3] is False, "there is nothing to fold"


def test_the_board_offers_the_busiest_projects_and_the_chosen_one(rig, monkeypatch) -> None:
    monkeypatch.setattr(views, "PROJECTS_MAX", 2)
    for slug in ("a", "b"):
        project(rig, slug)
    rig.task()

    def offered(**given: str) -> tuple[list[str], int]:
        data = read(rig, views.board, **given)
        return [one["slug"] for one in data["projects"]], data["projects_left_out"]

    assert offered() == (["a", "shop"], 1)
    assert offered(project="b") == (["b", "shop"], 1)
    monkeypatch.setattr(views, "PROJECTS_MAX", 3)
    assert offered() == (["a", "b", "shop"], 0)


def test_groups_of_sessions_share_the_room(rig, monkeypatch) -> None:
    monkeypatch.setattr(views_sessions, "LISTED_MAX", 4)
    monkeypatch.setattr(views_sessions, "GROUP_ROOM", 2)
    monkeypatch.setattr(views_sessions, "ENDED_MAX", 3)
    monkeypatch.setattr(views_sessions, "ALL_MAX", 5)
    rig.store.write(lambda tx: tx.run("UPDATE session SET activity = 'ended'"))

    def shown(**given: str) -> dict[str, tuple[int, int, int, bool]]:
        return {
            one["group"]: (len(one["sessions"]), one["count"], one["left_out"], one["expanded"])
            for one in read(rig, views_sessions.session_list, **given)["groups"]
            if one["count"]
        }

    for number in range(5):
        rig.row(f"e{number}", activity="ended")
    assert shown() == {"ended": (3, 6, 3, False)}
    assert shown(all_of="ended") == {"ended": (5, 6, 1, True)}
    for number in range(3):
        rig.row(f"u{number}", activity="unknown")
    assert shown() == {"unknown": (3, 3, 0, False), "ended": (2, 6, 4, False)}
    for number in range(3):
        rig.row(f"i{number}", activity="idle")
    assert shown() == {"idle": (3, 3, 0, False), "unknown": (2, 3, 1, False), "ended": (2, 6, 4, False)}
    data = read(rig, views_sessions.session_list, all_of="ended,idle")
    assert (data["all_of"], data["left_out"], data["count"]) == ("idle,ended", 2, 12)
    assert shown(all_of="idle")["idle"] == (3, 3, 0, False), "there is nothing to fold"


def test_a_project_has_of_each_status_what_was_changed_last(rig, monkeypatch) -> None:
    monkeypatch.setattr(views_projects, "STATUS_TASKS", 2)
    keys = [rig.task() for _ in range(3)]
    touch(rig, keys[0])

    def status(**given: str) -> tuple[list[str], int, int, bool]:
        (one,) = read(rig, views_projects.project_page, project="shop", **given)["statuses"]
        return [task["key"] for task in one["tasks"]], one["count"], one["left_out"], one["expanded"]

    assert status() == ([keys[2], keys[0]], 3, 1, False)
    assert status(all_of="inbox") == (keys[::-1], 3, 0, True)
    monkeypatch.setattr(views_projects, "ALL_MAX", 1)
    assert status(all_of="inbox") == ([keys[0]], 3, 2, True)
    monkeypatch.setattr(views_projects, "STATUS_TASKS", 3)
    assert status(all_of="inbox")[3] is False
    assert read(rig, views_projects.project_page, project="shop", all_of="done,inbox")["all_of"] == "inbox,done"


def test_the_sessions_of_a_project_are_cut_those_that_ended_first(rig, monkeypatch) -> None:
    monkeypatch.setattr(views_projects, "SESSIONS_MAX", 2)
    rig.task()
    for title, activity in (("a", "idle"), ("b", "ended"), ("c", "working")):
        row = rig.live(title, activity=activity)
        rig.store.write(lambda tx, row=row: tx.run("UPDATE session SET project_id = 1 WHERE id = ?", row.id))
    data = read(rig, views_projects.project_page, project="shop")
    assert ({one["title"] for one in data["sessions"]}, data["sessions_left_out"], data["live"]) == ({"a", "c"}, 1, 2)
    monkeypatch.setattr(views_projects, "SESSIONS_MAX", 3)
    assert read(rig, views_projects.project_page, project="shop")["sessions_left_out"] == 0


def test_projects_are_cut(rig) -> None:
    # The rig has one of its own.
    for number in range(LISTED_MAX):
        project(rig, f"p{number:03}")
    few, whole = read(rig, project_list), read(rig, project_list, all_of="projects")
    assert (len(few["projects"]), few["count"], few["left_out"]) == (LISTED_MAX, LISTED_MAX + 1, 1)
    assert (len(whole["projects"]), whole["left_out"]) == (LISTED_MAX + 1, 0)


def test_a_task_has_its_newest_comments_oldest_first(rig, monkeypatch) -> None:
    monkeypatch.setattr(views_tasks, "RECENT_COMMENTS", 2)
    monkeypatch.setattr(views_tasks, "PAGE_COMMENTS", 3)
    key = rig.task()
    said = [rig.say(key, f"c{number}")["id"] for number in range(4)]

    def page(**given: str) -> tuple[list[str], int, str]:
        data = read(rig, views_tasks.task_page, task=key, **given)
        return [one["id"] for one in data["comments"]], data["comments_left_out"], data["all_of"]

    assert page() == (said[2:], 2, "")
    assert page(all_of="x") == (said[2:], 2, "")
    assert page(all_of="comments") == (said[1:], 1, "comments")


def test_the_map_has_what_waits_longest(rig, monkeypatch) -> None:
    for name, value in (("EDGES", 2), ("CURVES_MAX", 1), ("MATRIX_MAX", 3), ("ALL_MAX", 3)):
        monkeypatch.setattr(views_map, name, value)
    rows = [rig.live(f"s{number}") for number in range(5)]
    for sender, recipient in pairwise(rows):
        rig.now += SECOND
        rig.send(rig.by(sender), to=recipient.title)

    def page(**given: str) -> tuple[list[str], int, str]:
        data = read(rig, views_map.map_page, **given)
        return [one["from"]["title"] for one in data["edges"]], data["edges_left_out"], data["all_of"]

    assert page() == (["s0", "s1"], 2, "")
    assert page(all_of="edges") == (["s0", "s1", "s2"], 1, "edges")
    assert len(read(rig, views_map.map_page)["drawing"]["curves"]) == 1
    matrix = read(rig, views_map.map_page, form="matrix")["matrix"]
    assert ([one["title"] for one in matrix["heads"]], matrix["left_out"]) == (["s0", "s1", "s2"], 2)
    monkeypatch.setattr(views_map, "MATRIX_MAX", 5)
    assert read(rig, views_map.map_page, form="matrix")["matrix"]["left_out"] == 0


def test_sessions_to_choose_from_are_cut_and_the_way_back_is_known(rig) -> None:
    for number in range(PICKER_MAX):
        rig.row(f"r{number}")
    data = read(rig, message_list)
    assert (len(data["sessions"]), data["sessions_left_out"], data["past"]) == (PICKER_MAX, 1, "")


def test_the_palette_has_saved_filters_by_name_and_page(rig, monkeypatch) -> None:
    monkeypatch.setattr(views_palette, "FOUND_MAX", 2)
    for page, name in (("events", "late talk"), ("board", "late"), ("board", "mine"), ("messages", "later")):
        q = "sort:old"
        rig.told(lambda tx, page=page, name=name, q=q: saved_views.save(tx, rig.relay, page=page, name=name, q=q))

    def found(q: str) -> list[tuple[str, str]]:
        return [(one["page"], json.loads(one["name"])) for one in read(rig, views_palette.palette, q=q)["views"]]

    assert found("late") == [("board", "late"), ("messages", "later")]
    assert found("talk events") == [("events", "late talk")]
    assert found("board") == [("board", "late"), ("board", "mine")]
    (one,) = read(rig, views_palette.palette, q="mine")["views"]
    assert one == {"id": 3, "page": "board", "name": '"mine"', "query": "sort:old"}
