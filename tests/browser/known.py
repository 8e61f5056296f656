"""What is known not to hold yet, by page and check: it must fail, and once it holds its line must go."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

#: (path, or `*` for every page; check) → why.
NOT_YET: Final[dict[tuple[str, str], str]] = {}


def hold_against(path: str, faults: dict[str, list[str]], asked: Collection[str]) -> None:
    """Raises AssertionError for a fault that is not known, and for a known one that is gone.

    `faults` has what was found by check; `asked` are the checks that were made.
    """
    known = {check for at, check in NOT_YET if at in (path, "*") and check in asked}
    lines = [f"{check}: {text}" for check, found in faults.items() if check not in known for text in found[:12]]
    lines += [f"{check} holds now: remove its line" for check in sorted(known - set(faults))]
    assert not lines, "\n".join(lines)
