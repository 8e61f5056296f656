"""Bugs that the stateful tests found and that were mended, each with the shortest way that showed it."""

from __future__ import annotations

import pytest

from relaybay.settings import Messaging
from tests.stateful.channel_world import ON, ChannelWorld
from tests.stateful.machine import channel_machinery, machinery
from tests.stateful.world import World


@pytest.fixture
def world():
    made = World(machinery())
    yield made
    made.end()


@pytest.fixture
def channels():
    made = ChannelWorld(channel_machinery())
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


@pytest.mark.spec("INV-14", "INV-20", "DLV-24")
def test_what_went_back_to_sent_while_channels_were_off_is_judged_when_they_are_on_again(
    channels: ChannelWorld,
) -> None:
    channels.linked(0, 2)
    channels.mail(2, 0)
    channels.hook("PreToolUse", 0, tool_name="Bash")
    channels.policy("S-1", "hold")
    channels.restart(messaging=Messaging())
    channels.miss(0)
    assert [row["state"] for row in channels.deliveries()] == ["sent"]
    channels.restart(messaging=ON)
    assert [row["state"] for row in channels.deliveries()] == ["held"]
