"""Bugs that the random walks found, each under its name: what led to it, kept as a run of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.stateful.world import World

Run = Callable[[World], None]


def runs() -> Iterator[tuple[str, Run]]:
    """Named runs; each starts in an empty world."""
    yield from (("an id's budget outlives two unseen rows", budget_over_unseen_rows),)


def budget_over_unseen_rows(w: World) -> None:
    """MOVE-9, LINK-1: the id of a turn that has spent its blocks is unlinked, put on one row by a claim, and by another
    claim on a second before any event of it; its budget has to come along.
    """
    w.linked(0, 2)
    for _ in range(2):
        w.mail(2, 0)
        w.hook("Stop", 0)
    w.unlink("S-1")
    w.create_task(w.caller("Alice", claims=0))
    w.create_task(w.caller("Zoe", claims=0))
    w.hook("Notification", 0)
    w.mail(2, 0)
    assert w.hook("Stop", 0).done is None
