"""What every page shows of one busy day, as values: read models have no other words than these."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.page_stage import PageStage
from tests.scenarios.transcript import check, read

FOLDER = Path(__file__).with_name("pages")
STORIES = sorted(path.stem for path in FOLDER.glob("*.txt"))


@pytest.mark.spec("TEXT-3", "TEXT-5", "INV-2", "INV-10")
@pytest.mark.parametrize("name", STORIES)
def test_every_page_shows_the_same_day(name, tmp_path, pytestconfig) -> None:
    stage = PageStage(tmp_path)
    try:
        check(FOLDER / f"{name}.txt", stage.play, rewrite=pytestconfig.getoption("--rewrite-scenarios"))
    finally:
        stage.relay.close()


@pytest.mark.spec("INV-3")
@pytest.mark.parametrize("name", STORIES)
def test_no_page_shows_a_hook_id(name) -> None:
    steps, _ = read((FOLDER / f"{name}.txt").read_text(encoding="utf-8"))
    shown = [step.answer for step in steps if step.words[0] != "rows"]
    assert shown and not any("hook-" in answer for answer in shown)
