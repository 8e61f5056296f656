"""What a screen reader is given of the main pages, as golden files.

`RELAYBAY_GOLDEN=write pytest tests/browser/test_spoken.py` writes them anew; read the difference before you commit it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.conftest import Seeded
from tests.browser.opened import Opened

GOLDEN = Path(__file__).parent / "golden"
PAGES = {"board": "/", "inbox": "/inbox", "sessions": "/sessions", "messages": "/messages", "map": "/map"}
_CHANGING = (
    (re.compile(r"\b(\d+ (s|min|h|d) ago|just now)"), "AGE"),
    (re.compile(r"\b\d+ (s|min|h|d)\b"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z?"), "MOMENT"),
    (re.compile(r"\b\d\d:\d\d(:\d\d)?\b"), "CLOCK"),
    (re.compile(r"\b[mc]_[0-9A-Z]{26}"), "ID"),
    (re.compile(r"@?\b[a-z]+-[a-z]+-[a-z]+\b(?!\.)"), "NAME"),
)


def settled(text: str) -> str:
    """The snapshot without what differs between two runs."""
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    return text + "\n"


@pytest.mark.parametrize("name", PAGES)
def test_what_is_spoken(own: Seeded, open_in: Callable[..., Opened], name: str) -> None:
    # A world of its own: sentences change with how long things have waited.
    page = open_in(own.world).page(PAGES[name])
    main = page.locator("main table").first if name == "map" else page.locator("main")
    now, path = settled(main.aria_snapshot()), GOLDEN / f"{name}.yml"
    if os.environ.get("RELAYBAY_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(now, encoding="utf-8")
    assert now == path.read_text(encoding="utf-8")
