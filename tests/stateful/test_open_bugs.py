"""Promises that the product does not keep yet, each with the shortest way to see it. A fixed one fails here: it moves to
`directed_bugs.py` then, and the looking away from it goes.
"""

from __future__ import annotations

import pytest

from tests.stateful.machine import machinery
from tests.stateful.world import World


@pytest.fixture
def world():
    made = World(machinery(), strict_turns=True)
    yield made
    made.end()


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="STOP-9: an allowed Stop does not end the turn that a lost block belongs to",
)
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


@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="INV-5: the budget of an id that comes back after an unlink begins anew"
)
def test_an_unlinked_id_that_links_again_within_its_turn_keeps_its_budget(world: World) -> None:
    world.linked(0, 2)
    for _ in range(2):
        world.mail(2, 0)
        world.hook("Stop", 0)
    world.unlink("S-1")
    world.ack(world.caller("", witness=0))
    world.mail(2, 0)
    world.hook("Stop", 0)
