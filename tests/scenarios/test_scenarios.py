"""Each story, told again by the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.stage import Stage
from tests.scenarios.transcript import ShortIds, Step, check, read, write

FOLDER = Path(__file__).parent
STORIES = {
    "one_message": (
        "SEND-4", "SEND-6", "SEND-16", "RECV-1", "RECV-3", "RECV-5", "RECV-6", "LINK-2", "DLV-1", "DLV-3", "DLV-4",
        "ANS-1", "ANS-2", "ANS-3", "ANS-4", "ANS-6", "STOP-4", "STOP-5", "INV-2", "INV-3",
    ),
    "owner_comment": (
        "CMT-1", "CMT-3", "CMT-4", "CMT-6", "CMT-9", "CMT-10", "CMT-11", "CMT-12", "CMT-17", "CMT-24", "ANS-3", "ANS-4",
        "STOP-4", "STOP-5", "INV-2", "INV-3",
    ),
    "restarted_terminal": (
        "LINK-6", "LINK-10", "LINK-11", "SEND-2", "RECV-3", "MOVE-5", "DLV-49", "HL-7", "ROW-2", "INV-2", "INV-3",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.spec(*ids), id=name) for name, ids in STORIES.items()]
)
def test_the_program_tells_the_same_story(name, tmp_path, pytestconfig) -> None:
    stage = Stage(tmp_path)
    try:
        check(FOLDER / f"{name}.txt", stage.play, rewrite=pytestconfig.getoption("--rewrite-scenarios"))
    finally:
        stage.relay.close()


def test_every_story_is_played() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(STORIES)


@pytest.mark.spec("INV-3")
@pytest.mark.parametrize("name", STORIES)
def test_no_answer_shows_a_hook_id(name) -> None:
    steps, _ = read((FOLDER / f"{name}.txt").read_text(encoding="utf-8"))
    assert steps and not any("hook-" in step.answer for step in steps)


def test_a_transcript_is_written_as_it_was_read() -> None:
    text = '# Prose.\n\nhook a Stop x="1 2"\n----\n{}\n\n# More.\ncall a tool\n----\none\ntwo\n\n# The end.\n'
    steps, told = read(text)
    assert [(step.words, step.said, step.answer) for step in steps] == [
        (["hook", "a", "Stop"], {"x": "1 2"}, "{}"),
        (["call", "a", "tool"], {}, "one\ntwo"),
    ]
    assert write(steps, told) == text


def test_another_answer_is_noticed_and_written_on_demand(tmp_path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("wait 1s\n----\nold\n", encoding="utf-8")

    def play(step: Step) -> str:
        return "new"

    with pytest.raises(AssertionError, match=r"x\.txt tells another story"):
        check(path, play, rewrite=False)
    assert "old" in path.read_text(encoding="utf-8")
    check(path, play, rewrite=True)
    check(path, play, rewrite=False)


def test_ids_are_numbered_in_the_order_they_appear() -> None:
    ids = ShortIds()
    one, two, other = "m_" + "0" * 26, "m_" + "1" * 26, "c_" + "0" * 26
    assert ids.shorten(f"{two} {one} {other} {two}") == "m_1 m_2 c_1 m_1"
    assert ids.lengthen("m_2 m_9 c_1") == f"{one} m_9 {other}"
