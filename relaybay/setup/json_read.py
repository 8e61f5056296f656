"""Reading JSON text: its value, or the place where it is broken.

What belongs here: everything that looks at a document without changing it. Numbers come as text (`Number`).
"""

from __future__ import annotations

import json
import re
from typing import Any

from relaybay.setup.values import JsonPath

BOM = "\ufeff"

_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")


class NotJsonError(ValueError):
    """The text is no JSON document.

    Attributes:
        reason: what the parser says.
        line: where, counted from 1.
        column: where in that line, counted from 1.
        comments: it would be one without its comments and trailing commas.
    """

    def __init__(self, reason: str, line: int, column: int, *, comments: bool = False) -> None:
        super().__init__(f"{reason} (line {line}, column {column})")
        self.reason, self.line, self.column, self.comments = reason, line, column, comments


class WrongShapeError(ValueError):
    """The text is JSON, but a container on the way to the edit is of another kind.

    Attributes:
        pointer: JSON pointer of what is not as expected.
        wanted: `object` or `array`.
    """

    def __init__(self, pointer: str, wanted: str) -> None:
        super().__init__(f"{pointer or 'the document'} is no {wanted}")
        self.pointer, self.wanted = pointer, wanted


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


class Number(str):
    """A number as the file spells it: its value is never needed, and 5,000 digits are no reason to fail."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Equal to another number of the same spelling, and to no string."""
        return isinstance(other, Number) and str.__eq__(self, other)

    __hash__ = str.__hash__


SCAN = json.JSONDecoder(parse_constant=_no_constant, parse_int=Number, parse_float=Number)


def pointer(path: JsonPath) -> str:
    """A path as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def path_of(text: str) -> JsonPath:
    """The inverse of `pointer`, for pointers that name no array element."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:])


def decode(data: bytes) -> str:
    """The text of a file.

    Raises:
        NotJsonError: the bytes are not UTF-8.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8")
        line = good.count("\n") + 1
        column = len(good) - (good.rfind("\n") + 1) + 1
        raise NotJsonError("the file is not UTF-8", line, column) from None


def parse(text: str) -> Any:
    """The value of a document. A blank one counts as an empty object.

    Raises:
        NotJsonError: with the place, and whether comments are what is in the way.
    """
    body = text.removeprefix(BOM)
    if not body.strip(" \t\r\n"):
        return {}
    try:
        return SCAN.decode(body)
    except json.JSONDecodeError as error:
        comments = _is_json_with_comments(body)
        raise NotJsonError(error.msg, error.lineno, error.colno, comments=comments) from None
    except RecursionError:
        raise NotJsonError("the values are nested too deeply", 1, 1) from None
    except ValueError as error:  # NaN and Infinity, which only Python takes for JSON
        place = re.search(r"(?<![\w\"])(NaN|-?Infinity)(?![\w\"])", body)
        before = body[: place.start()] if place else ""
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        raise NotJsonError(str(error), line, column) from None


def _is_json_with_comments(text: str) -> bool:
    bare = _STRING_OR_COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    if bare == text and not _TRAILING_COMMA.search(text):
        return False
    try:
        SCAN.decode(_TRAILING_COMMA.sub(r"\1", bare))
    except (ValueError, RecursionError):
        return False
    return True


def get(value: Any, path: JsonPath) -> Any:
    """What stands at a path of a parsed document; None when nothing does."""
    for part in path:
        if isinstance(value, dict) and isinstance(part, str):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and 0 <= part < len(value):
            value = value[part]
        else:
            return None
    return value


def same(value: Any, wanted: Any) -> bool:
    """Whether a parsed value equals one that this program would write."""
    return bool(value == SCAN.decode(json.dumps(wanted)))
