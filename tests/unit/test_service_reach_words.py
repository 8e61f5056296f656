"""What stands on a card is said of comments, and what stands at a message of messages (RECV-6 to RECV-8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaybay.answers import word
from relaybay.service import projects, tasks, views_project_list
from relaybay.service.reach import Reach, said
from tests.ui.board_rig import OWNER
from tests.unit.linking_rig import Rig

VALUES = {"recipient": '"api"', "holder": 'S-3 "web"'}


@pytest.mark.parametrize("state", ["never_linked", "ended", "moved", "moved_on"])
def test_a_comment_has_a_sentence_of_its_own(state: str) -> None:
    found = Reach(state, f"recv.{state}", VALUES)
    assert said(found, "comment") == word(f"reach.comment_{state}", **VALUES).text
    assert said(found) == said(found, "message") == word(f"recv.{state}", **VALUES).text != said(found, "comment")


def test_a_list_of_projects_counts_what_each_has(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    try:
        owner = OWNER
        rig.store.write(lambda tx: projects.project_add(tx, rig.relay, owner, slug="empty"))
        rig.store.write(lambda tx: projects.project_add(tx, rig.relay, owner, slug="shop"))
        for status in ("todo", "todo", "done"):
            rig.store.write(
                lambda tx, status=status: tasks.task_create(
                    tx, rig.relay, owner, project="shop", title=status, status=status
                )
            )
        found = rig.store.read(lambda tx: views_project_list.project_list(tx, rig.relay)).data
        lines = {one["slug"]: one for one in found["projects"]}
        counts = ("tasks", "unanswered", "sessions")
        assert {name: lines["empty"][name] for name in counts} == {"tasks": {}, "unanswered": 0, "sessions": 0}
        assert lines["shop"]["tasks"] == {"todo": 2, "done": 1}
        assert (found["count"], found["left_out"]) == (2, 0)
    finally:
        rig.relay.close()
