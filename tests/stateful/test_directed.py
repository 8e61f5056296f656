"""Directed runs that together ask every pair of every machine that somebody asks for (page 90, pair coverage)."""

from __future__ import annotations

import pytest

from tests.stateful import (
    directed_bugs,
    directed_comments,
    directed_contexts,
    directed_links,
    directed_mail,
    directed_waits,
)
from tests.stateful.machine import machinery
from tests.stateful.pairs import Pairs, asked, counting
from tests.stateful.world import World

RUNS = [
    run
    for module in (directed_links, directed_mail, directed_comments, directed_waits, directed_contexts, directed_bugs)
    for run in module.runs()
]


@pytest.mark.spec("INV-1", "INV-3", "INV-4", "INV-5", "INV-7", "INV-8", "INV-9", "INV-10", "INV-11", "INV-12")
@pytest.mark.spec("CTX-1", "CTX-2", "CTX-3", "CTX-5", "DLV-11", "DLV-12", "DLV-19", "CMT-16", "CMT-20")
def test_every_pair_is_asked_by_the_running_code(record_property) -> None:
    pairs = Pairs()
    with counting(pairs):
        for name, run in RUNS:
            world = World(machinery())
            try:
                run(world)
            except Exception as error:
                error.add_note(f"in the run {name!r}")
                raise
            finally:
                world.end()
    record_property("executed", " ".join(sorted(pairs.spec_ids)))
    record_property("count:pairs reached", len(pairs.pairs))
    record_property("count:pairs that a caller asks", len(asked()))
    assert not pairs.missing(), f"never asked, of {len(asked())}: {pairs.missing()}"
    assert not pairs.wrongly_marked(), "a row that the table marks never_asked was asked"
