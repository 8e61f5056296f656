"""What a command prints: its data on stdout, as one JSON document or as lines; everything else on stderr."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from relaybay.rules.unicode_ranges import DEFAULT_IGNORABLE

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_IGNORABLE = re.compile(f"[{DEFAULT_IGNORABLE}]")
_BLANK = "-"


def document(members: Mapping[str, Any]) -> None:
    """One JSON document, with its version."""
    # A lone surrogate cannot be encoded; escaped it can.
    print(json.dumps({"v": 1, **members}), flush=True)


def lines(texts: Iterable[str]) -> None:
    """Data for a person or a pipe."""
    for text in texts:
        print(text)


def note(text: str) -> None:
    """A word beside the data: what is next, a warning, a refusal."""
    print(text, file=sys.stderr, flush=True)


def shown(value: Any) -> str:
    """Text of others on one line, with nothing in it that a terminal would obey or a person would not see."""
    return "".join(_visible(char) for char in str(value))


def written(value: Any) -> str:
    """What its author wrote: the server gives every such text as one JSON string literal (TEXT-5)."""
    text = str(value or "")
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except ValueError:
        return text


def body(text: str, indent: str = "  ") -> list[str]:
    """A text of several lines, each indented so that none can pass for a line of ours."""
    return [indent + shown(line) for line in text.split("\n")]


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[tuple[str, str]]) -> list[str]:
    """Rows in aligned columns. `columns`: (member, heading); a missing member is a hyphen."""
    cells = [[heading for _, heading in columns]]
    cells += [[_cell(row.get(member)) for member, _ in columns] for row in rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(columns))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def _cell(value: Any) -> str:
    if value is None or value == "":
        return _BLANK
    if isinstance(value, bool):
        return "yes" if value else "no"
    return shown(value)


def _visible(char: str) -> str:
    if unicodedata.category(char) not in _HIDDEN and _IGNORABLE.match(char) is None:
        return char
    return f"\\u{{{ord(char):x}}}"
