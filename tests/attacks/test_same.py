"""That "nothing changed" is no empty word: the digest that the cases are judged by sees whatever may change."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.attacks.conftest import VICTIM, World

pytestmark = [pytest.mark.xdist_group("attacks-same"), pytest.mark.spec("INV-7")]

CHANGES: dict[str, Callable[[World], object]] = {
    "a row": lambda w: w.owner.post("/api/v1/tasks", {"project": "shop", "title": "One more"}),
    "a field of a row": lambda w: w.owner.post(f"/api/v1/tasks/{w.task}", {"title": "Paint the gate"}),
    "a mark": lambda w: w.tool("message_ack", session="bob", message_id=w.message),
    "a tool-use id that was seen": lambda w: w.hook(
        "PreToolUse", VICTIM, tool_name="mcp__relaybay__tasks_list", tool_use_id="toolu_1"
    ),
    "activity, which only memory knows at first": lambda w: w.hook("PreToolUse", VICTIM, tool_name="Bash"),
    "a session that idles": lambda w: w.hook("Stop", VICTIM),
    "a key": lambda w: w.command("token", "rotate"),
}


def quiet(world: World) -> str:
    """The digest, once what the last change left in memory is on disk."""
    until = time.monotonic() + 30
    before = ""
    while (now := world.digest()) != before:
        assert time.monotonic() < until, "looking changes something"
        before = now
        time.sleep(0.3)
    return before


@pytest.mark.parametrize("change", CHANGES)
def test_the_digest_sees(world: World, change: str) -> None:
    before = quiet(world)
    CHANGES[change](world)
    assert world.digest() != before


def test_a_presence_that_is_not_written_yet_is_seen_by_what_is_remembered(world: World) -> None:
    """The rows alone would be blind to it for up to 15 s: an attack on a session's activity would pass."""
    for _ in range(3):  # What is due may be written just now, and then not again for 15 s.
        world.hook("PreToolUse", VICTIM, tool_name="Bash")
        rows, remembered = world.rows(), world.remembered()
        world.hook("Stop", VICTIM)
        assert world.remembered() != remembered
        if world.rows() == rows:
            return
    pytest.fail("each event is written at once")


def test_reading_all_that_can_be_read_changes_nothing(world: World) -> None:
    world.stop()
    world.start()  # What memory was ahead is written now, so that nothing is still on its way.
    before = world.digest()
    reading, _ = world.browser()
    for one in world.operations:
        if one.method == "GET" and one.path != "/api/v1/stream":
            world.tcp.get(one.path, reading)
    assert world.digest() == before
