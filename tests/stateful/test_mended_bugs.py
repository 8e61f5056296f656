"""Bugs that the stateful tests found and that were mended, each with the shortest way that showed it."""

from __future__ import annotations

import pytest

from tests.stateful.machine import machinery
from tests.stateful.world import World


@pytest.fixture
def world():
    made = World(machinery())
    yield made
    made.end()


@pytest.mark.spec("STOP-9")
def test_a_lost_block_of_an_ended_turn_gives_nothing_back(world: World) -> None:
    world.linked(0, 2)
    world.mail(2, 0)
    world.hook("Stop", 0)
    assert world.hook("Stop", 0).done is None, "nothing is left: the turn is over"
    world.mail(2, 0)
    world.hook("Stop", 0)
    world.not_written(0)
    for _ in range(2):
        world.mail(2, 0)
        world.hook("Stop", 0)


@pytest.mark.spec("MOVE-9", "INV-5")
def test_an_unlinked_id_that_links_again_within_its_turn_keeps_its_budget(world: World) -> None:
    world.linked(0, 2)
    for _ in range(2):
        world.mail(2, 0)
        world.hook("Stop", 0)
    world.unlink("S-1")
    world.ack(world.caller("", witness=0))
    world.mail(2, 0)
    world.hook("Stop", 0)
