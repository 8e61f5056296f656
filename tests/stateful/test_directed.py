"""Directed runs that together ask every pair of every machine that somebody asks for (page 90, pair coverage)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.stateful import (
    directed_bugs,
    directed_channels,
    directed_comments,
    directed_contexts,
    directed_controls,
    directed_links,
    directed_mail,
    directed_reviews,
    directed_switch,
    directed_waits,
)
from tests.stateful.channel_world import ChannelWorld
from tests.stateful.machine import channel_machinery, machinery
from tests.stateful.pairs import Pairs, asked, counting
from tests.stateful.world import World

RUNS = [
    run
    for module in (directed_links, directed_mail, directed_comments, directed_waits, directed_contexts, directed_bugs)
    for run in module.runs()
]
CHANNEL_RUNS = [
    run for module in (directed_channels, directed_controls, directed_reviews, directed_switch) for run in module.runs()
]


def _play(name: str, run: Any, world: World) -> None:
    try:
        run(world)
    except Exception as error:
        error.add_note(f"in the run {name!r}")
        raise
    finally:
        world.end()


@pytest.mark.spec("INV-1", "INV-3", "INV-4", "INV-5", "INV-7", "INV-8", "INV-9", "INV-10", "INV-11", "INV-12")
@pytest.mark.spec("INV-13", "INV-14", "INV-15", "INV-16", "INV-17", "INV-18", "INV-19", "INV-20", "CH-9", "SET-1")
@pytest.mark.spec("CTX-1", "CTX-2", "CTX-3", "CTX-5", "DLV-11", "DLV-12", "DLV-19", "CMT-16", "CMT-20")
def test_every_pair_is_asked_by_the_running_code(record_property) -> None:
    pairs = Pairs()
    with counting(pairs):
        for name, run in RUNS:
            _play(name, run, World(machinery()))
        for name, run in CHANNEL_RUNS:
            _play(name, run, ChannelWorld(channel_machinery()))
    record_property("executed", " ".join(sorted(pairs.spec_ids)))
    record_property("count:pairs reached", len(pairs.pairs))
    record_property("count:pairs that a caller asks", len(asked()))
    assert not pairs.missing(), f"never asked, of {len(asked())}: {pairs.missing()}"
    assert not pairs.wrongly_marked(), "a row that the table marks never_asked was asked"
