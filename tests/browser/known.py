"""What is known not to hold yet, by page and check: it must fail, and once it holds its line must go."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

#: (path, or `*` for every page; check) → why.
NOT_YET: Final[dict[tuple[str, str], str]] = {
    ("*", "narrow"): "with a reader's own text spacing the navigation is a few pixels wider than a screen of 320 px",
    ("/", "weight"): "the first page shows every card of every column",
    ("/messages", "hostile"): "a list of session names is as wide as the longest name, on a phone too",
    ("/messages", "weight"): "fifty messages with all their marks make 2,000 nodes",
    ("/projects/<slug:str>", "weight"): "a project shows every card it has",
    ("/sessions", "weight"): "more than forty sessions make 1,600 nodes",
    ("/sessions/<ref:str>", "axe"): "links in the list of messages are lower than 24 px on a phone",
    ("/keys", "noscript"): "keys without a page of their own are buttons that only a script can work",
    ("/palette", "address"): "what was searched for is shown with its bidi controls in it",
}


def hold_against(path: str, faults: dict[str, list[str]], asked: Collection[str]) -> None:
    """Raises AssertionError for a fault that is not known, and for a known one that is gone.

    `faults` has what was found by check; `asked` are the checks that were made.
    """
    known = {check for at, check in NOT_YET if at in (path, "*") and check in asked}
    lines = [f"{check}: {text}" for check, found in faults.items() if check not in known for text in found[:12]]
    lines += [f"{check} holds now: remove its line" for check in sorted(known - set(faults))]
    assert not lines, "\n".join(lines)
