"""JSON in and out, without the extensions that Python's own codec allows.

Read: no NaN, no Infinity, no number too big for a double, no member named twice (unless asked), no depth that
exhausts the stack. Written: no NaN or Infinity, and valid UTF-8 whatever the strings hold.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn


class NotJson(ValueError):  # noqa: N818 - says the condition, and is caught as such.
    """The bytes are not strict JSON; the text says why without quoting them."""


def _refuse_constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise NotJson("a number is too large")
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotJson("a member is named twice")
    return members


# Hook bodies come from clients we do not own and can be megabytes: they keep the fast path of the C scanner.
_ONCE = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_once)
_LAST = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def loads(data: bytes | str, *, unique_keys: bool = True) -> Any:
    """The value of one JSON text.

    Args:
        data: UTF-8 bytes (no byte order mark) or text.
        unique_keys: refuse an object that names a member twice; else the last one counts.

    Raises:
        NotJson: the text is not strict JSON.
    """
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        return (_ONCE if unique_keys else _LAST).decode(text)
    except NotJson:
        raise
    except UnicodeDecodeError as error:
        raise NotJson("it is not UTF-8") from error
    except RecursionError as error:
        raise NotJson("it is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg} at character {error.pos}") from error
    except ValueError as error:  # An integer of more digits than Python converts.
        raise NotJson("a number is too large") from error


def dumps(value: Any) -> bytes:
    """One JSON text in UTF-8, without blanks. NaN and Infinity raise ValueError: they are bugs of the caller."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form; escaped, it stays what the sender wrote.
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
