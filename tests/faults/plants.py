"""Bugs that are planted in the memory of a child, to show that the campaigns notice them. The product has no switch for it."""

from __future__ import annotations

from collections.abc import Callable

PLANTS: dict[str, Callable[[], None]] = {}
