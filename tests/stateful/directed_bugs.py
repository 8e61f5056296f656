"""Bugs that the random walks found, each under its name: what led to it, kept as a run of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.stateful.world import World

Run = Callable[[World], None]


def runs() -> Iterator[tuple[str, Run]]:
    """Named runs; each starts in an empty world."""
    yield from ()
