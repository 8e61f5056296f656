"""Each directed run of `tests/stateful/` as a test of its own, so that a mutant meets the runs that ask what it changes.

Its name keeps it out of the whole suite, where `test_directed.py` goes through the same runs at once and counts them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stateful.machine import close_machinery, machinery
from tests.stateful.test_directed import RUNS
from tests.stateful.world import World


@pytest.fixture
def world() -> Iterator[World]:
    made = World(machinery())
    try:
        yield made
    finally:
        made.end()
        close_machinery()


@pytest.mark.parametrize("at", range(len(RUNS)), ids=[name for name, _ in RUNS])
def test_the_run_keeps_every_promise(world: World, at: int) -> None:
    RUNS[at][1](world)
