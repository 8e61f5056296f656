"""Exports as the service gathers them: what a file of one is called, whom it names, and what is not there to export."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaybay.service import export
from tests.unit.card_rig import OWNER, CardRig


@pytest.fixture
def rig(tmp_path: Path):
    made = CardRig(tmp_path)
    yield made
    made.relay.close()


def of_task(rig: CardRig, task: str) -> dict[str, str]:
    return rig.store.read(lambda tx: export.task_export(tx, rig.relay, task=task)).data


def test_an_export_is_called_as_its_task_or_project_is(rig) -> None:
    task = rig.task(rig.live("a"))
    one = of_task(rig, task)
    all_ = rig.store.read(lambda tx: export.project_export(tx, rig.relay, project="shop")).data
    assert (one["name"], all_["name"], len(one), len(all_)) == ("shop-1.md", "shop.md", 2, 2)
    assert "\nauthor: owner\n" in one["markdown"] and task in all_["markdown"]


def test_a_task_without_an_author_is_nobodys(rig) -> None:
    task = rig.task(caller=OWNER)
    rig.store.write(lambda tx: tx.run("UPDATE task SET author = '' WHERE task_key = ?", task))
    assert "\nauthor: unnamed\n" in of_task(rig, task)["markdown"]


def test_what_is_not_there_is_refused_in_the_owners_words(rig) -> None:
    for work, code, named in (
        (lambda tx: export.task_export(tx, rig.relay, task="shop-9"), "task.unknown.owner", {"task": '"shop-9"'}),
        (lambda tx: export.project_export(tx, rig.relay, project="none"), "project.unknown", {"project": '"none"'}),
    ):
        assert rig.no(work)[1] == "75"
        refusal = rig.store.write(work).refusal
        assert (refusal.answer, refusal.values) == (code, named)
