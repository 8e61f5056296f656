"""Lists stop at a size, not only at a count: the client replaces a result that is too long by a preview (page 75)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from relaybay.rules.text import units
from relaybay.specs import limit

#: What stands around a list in one result: its `text`, `before`, counts and warnings.
_AROUND = 3_000
#: The largest comment as JSON: its literal fits one hook answer, and JSON doubles that literal's backslashes.
COMMENT_UNITS_MAX = 17_000


def size(view: Any) -> int:
    """UTF-16 units of a value as JSON."""
    return units(json.dumps(view, ensure_ascii=False))


def room(besides: Any = None) -> int:
    """What a list may take when `besides` stands in the same result."""
    return limit("list_utf16_max") - _AROUND - (size(besides) if besides is not None else 0)


def cut(views: Iterable[dict[str, Any]], units_max: int) -> tuple[list[dict[str, Any]], bool]:
    """As many of `views` as fit, in order, and whether some were left out. The first always stands: use
    cases that store a thing see to it that one alone fits.
    """
    kept: list[dict[str, Any]] = []
    used = 0
    for view in views:
        used += size(view) + 2
        if used > units_max and kept:
            return kept, True
        kept.append(view)
    return kept, False
