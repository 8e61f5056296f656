"""Edits of JSON text that leave every byte alone which is not part of the edit.

A client's settings file belongs to the person: its order, its indentation, its line ends and its odd spacing
stay. So nothing is ever parsed and dumped again. An edit finds the place in the text, skipping whole values
with the standard library's own scanner, and splices there. What is added takes the look of its surroundings.

`json-source-edit` 1.0.0 was tried first: byte-exact, but what it adds is always one long line, it takes
neither an empty file nor a byte-order mark, and 10 MB (a well-used `.claude.json`) cost it 20 s.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from relaybay.setup.json_read import BOM, SCAN, WrongShapeError, get, parse, pointer, same
from relaybay.setup.values import JsonPath

_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class _Item:
    """A member of an object or an element of an array: where it, its value and its end stand in the text."""

    key: str | None
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class _Container:
    """An object or array in the text: from its opening bracket to the place of its closing one."""

    open: int
    close: int
    items: list[_Item]


@dataclass(frozen=True, slots=True)
class _Look:
    """How a document is written, as far as it matters for something added to it."""

    newline: str
    unit: str
    many_lines: bool
    colon: str
    comma: str


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _container(text: str, at: int) -> _Container:
    """The container whose opening bracket stands at `at`. The text is known to be valid JSON."""
    is_object = text[at] == "{"
    items: list[_Item] = []
    place = _skip(text, at + 1)
    while text[place] not in "}]":
        start, key = place, None
        if is_object:
            key, place = SCAN.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)
        _, end = SCAN.raw_decode(text, place)
        items.append(_Item(key, start, place, end))
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return _Container(at, place, items)


def _root(text: str) -> int:
    return _skip(text, len(BOM) if text.startswith(BOM) else 0)


def _index(container: _Container, part: str | int) -> int | None:
    if isinstance(part, int):
        return part if part < len(container.items) else None
    # Of two members with one name the later counts, for the clients as for Python.
    return next((n for n in range(len(container.items) - 1, -1, -1) if container.items[n].key == part), None)


def _open(text: str, path: JsonPath) -> _Container:
    """The container at a path that is known to lead to one."""
    container = _container(text, _root(text))
    for part in path:
        found = _index(container, part)
        assert found is not None, f"no {pointer(path)}"
        container = _container(text, container.items[found].value)
    return container


def _look(text: str) -> _Look:
    start = _root(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    if start >= len(text) or text[start] not in "{[":
        return _Look(newline, "  ", many_lines=True, colon=": ", comma=", ")
    after = _skip(text, start + 1)
    if text[after] in "}]":
        return _Look(newline, "  ", many_lines=True, colon=": ", comma=", ")
    lead = text[start + 1 : after]
    many = "\n" in text[start:].rstrip()
    unit = lead.rpartition("\n")[2] if "\n" in lead else ""
    tight = not many and re.search(r'"[ \t]*:[ \t]', text) is None
    return _Look(newline, unit or "  ", many, ":" if tight else ": ", "," if tight else ", ")


def _render(value: Any, look: _Look, indent: str | None) -> str:
    """A value as text: over several lines below `indent`, or on one line when that is None."""
    if indent is None:
        return json.dumps(value, ensure_ascii=False, separators=(look.comma, look.colon))
    return json.dumps(value, ensure_ascii=False, indent=look.unit).replace("\n", look.newline + indent)


def _line_indent(text: str, at: int) -> str:
    line = text[max(text.rfind("\n", 0, at) + 1, _root(text)) : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _insert(text: str, container: _Container, key: str | None, value: Any) -> str:
    """The text with one more item at the end of a container."""
    look = _look(text)
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + look.colon
    if container.items:
        last = container.items[-1]
        lead = _gap_before(text, last.start)
        if "\n" in lead:
            indent = lead.rpartition("\n")[2]
            added = "," + look.newline + indent + name + _render(value, look, indent)
        else:
            added = look.comma + name + _render(value, look, None)
        return text[: last.end] + added + text[last.end :]
    inner = text[container.open + 1 : container.close]
    if not look.many_lines:
        return text[: container.open + 1] + name + _render(value, look, None) + text[container.close :]
    own = _line_indent(text, container.open)
    child = own + look.unit
    added = look.newline + child + name + _render(value, look, child)
    rest = inner if "\n" in inner else look.newline + own
    return text[: container.open + 1] + added + rest + text[container.close :]


def _gap_before(text: str, at: int) -> str:
    """The white space that ends at a place."""
    start = at
    while start > 0 and text[start - 1] in " \t\r\n":
        start -= 1
    return text[start:at]


def filled(text: str) -> str:
    """The text with an empty object in place of nothing, so that something can be added to it."""
    body = text.removeprefix(BOM)
    return text if body.strip(" \t\r\n") else text[: len(text) - len(body)] + "{}\n"


def set_at(text: str, path: JsonPath, value: Any) -> tuple[str, tuple[str, ...]]:
    """Puts a value at a path of object members, making the objects that are missing.

    Returns:
        The text, and the JSON pointers of the objects that had to be made.

    Raises:
        WrongShapeError: something on the way is no object.
    """
    text = filled(text)
    document = parse(text)
    depth = 0
    while depth < len(path):
        here = get(document, path[:depth])
        if isinstance(path[depth], str) and not isinstance(here, dict):
            raise WrongShapeError(pointer(path[:depth]), "object")
        if isinstance(path[depth], int) and not isinstance(here, list):
            raise WrongShapeError(pointer(path[:depth]), "array")
        if isinstance(here, dict) and path[depth] not in here:
            break
        depth += 1
    if depth == len(path):
        return replace(text, path, value), ()
    for part in reversed(path[depth + 1 :]):
        value = {part: value}
    made = tuple(pointer(path[: end + 1]) for end in range(depth, len(path) - 1))
    return _insert(text, _open(text, path[:depth]), str(path[depth]), value), made


def append(text: str, path: JsonPath, value: Any) -> str:
    """Adds an element to the end of an array that exists.

    Raises:
        WrongShapeError: there is no array at the path.
    """
    if not isinstance(get(parse(text), path), list):
        raise WrongShapeError(pointer(path), "array")
    return _insert(text, _open(text, path), None, value)


def replace(text: str, path: JsonPath, value: Any) -> str:
    """Puts another value in the place of one that exists; the text stays when it is the same already."""
    if same(get(parse(text), path), value):
        return text
    container = _open(text, path[:-1])
    found = _index(container, path[-1])
    assert found is not None, f"no {pointer(path)}"
    item = container.items[found]
    look, lead = _look(text), _gap_before(text, item.start)
    old = text[item.value : item.end]
    many = "\n" in lead and ("\n" in old or old[0] not in "{[")
    rendered = _render(value, look, lead.rpartition("\n")[2] if many else None)
    return text[: item.value] + rendered + text[item.end :]


def remove(text: str, path: JsonPath) -> str:
    """Takes a member or an element out, with the comma and the white space that came with it."""
    container = _open(text, path[:-1])
    found = _index(container, path[-1])
    assert found is not None, f"no {pointer(path)}"
    item = container.items[found]
    if len(container.items) == 1:
        return text[: container.open + 1] + text[container.close :]
    if found == len(container.items) - 1:
        return text[: container.items[found - 1].end] + text[item.end :]
    return text[: item.start] + text[container.items[found + 1].start :]
