"""Bugs against the disk for the campaign FLT-4, planted in the zygote of `starved.py` as those of `plants.py` are in its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relaybay.errors import StoreFull
from relaybay.store import sqlite, writer


def full_disk_answered_as_done() -> None:
    """A commit that found no room is told to its callers as one that did."""
    one, fail = writer.Writer._one, writer.Writer._fail
    results: dict[int, Any] = {}

    def remembered(self: writer.Writer, unit: Any, tx: Any) -> Any:
        done = one(self, unit, tx)
        results[id(unit)] = done.result
        return done

    def told(self: writer.Writer, group: list[Any], error: Exception) -> None:
        if not isinstance(sqlite.named(error), StoreFull) or not all(results.get(id(unit)) for unit in group):
            fail(self, group, error)
            return
        for unit in group:
            unit.future.set_result(results[id(unit)])

    writer.Writer._one = remembered  # type: ignore[method-assign]
    writer.Writer._fail = told  # type: ignore[method-assign]


def goes_on_after_a_failed_sync() -> None:
    """A failed write or sync is one call's trouble, and the next commit is promised again."""
    sqlite.ends_all = lambda _error: False


DISK_PLANTS: dict[str, Callable[[], None]] = {
    plant.__name__: plant for plant in (full_disk_answered_as_done, goes_on_after_a_failed_sync)
}
