"""Projects: what a second `project add` changes, whom it places anew, and what pages hear (page 40)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relaybay.domain import Caller
from relaybay.service import projects
from relaybay.store import tasks
from tests.unit.card_rig import OWNER, CardRig


@pytest.fixture
def rig(tmp_path: Path):
    made = CardRig(tmp_path)
    yield made
    made.relay.close()


def add(rig: CardRig, caller: Caller = OWNER, **said: str) -> dict:
    return rig.do(lambda tx: projects.project_add(tx, rig.relay, caller, **said))


def test_a_project_is_added_changed_or_left_as_it_was(rig) -> None:
    added = add(rig, slug="web", title=" ", root="/srv/web")
    assert (added["slug"], added["title"], added["root"]) == ("web", '"web"', '"/srv/web"')
    assert rig.last_event("project.added") == {"project": "web", "by": "owner"}
    same = add(rig, slug="web")
    assert rig.events("project.changed") == [] and (same["title"], same["root"]) == ('"web"', '"/srv/web"')
    changed = add(rig, slug="web", title="The web")
    assert [json.loads(data) for data in rig.events("project.changed")] == [{"project": "web", "by": "owner"}]
    assert (changed["title"], changed["root"]) == ('"The web"', '"/srv/web"')
    assert len({one["text"] for one in (added, same, changed)}) == 3
    listed = rig.store.read(projects.projects_list).data
    assert [one["slug"] for one in listed["projects"]] and "2" in listed["text"]


def test_sessions_are_placed_anew_when_a_folder_is_given_and_only_then(rig) -> None:
    inside, outside, nowhere = (
        rig.live(name, cwd=cwd) for name, cwd in (("a", "/srv/web/x"), ("b", "/etc"), ("c", ""))
    )

    def project(row) -> int | None:
        return rig.need(row).project_id

    add(rig, slug="web", root="/srv/web")
    web = rig.store.read(lambda tx: tasks.project(tx, "web")).id
    assert [project(row) for row in (inside, outside, nowhere)] == [web, None, None]
    add(rig, slug="web", root="/etc")
    assert project(outside) == web
    add(rig, slug="api")
    add(rig, slug="api", root="/srv/web")
    assert project(inside) != web


def test_who_adds_a_project_is_held_against_the_tables(rig) -> None:
    refused = rig.no(lambda tx: projects.project_add(tx, rig.relay, Caller("S-99"), slug="web"))
    assert refused[0] == "name_invalid"
    add(rig, Caller("Alice"), slug="web")
    assert rig.last_event("project.added")["by"] == rig.titled("Alice").ref
