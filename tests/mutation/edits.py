"""One change of one place of a syntax tree, and what it is called.

A change is told by words of the source, never by a line's number, so that a list of changes outlives other edits.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Edit:
    """Puts `new` where `parent.name` (or its entry `at`) stands."""

    parent: ast.AST
    name: str
    at: int | None
    new: Any

    def apply(self) -> None:
        """Changes the tree. A tree is changed once, in a process of its own."""
        if self.at is None:
            setattr(self.parent, self.name, self.new)
        else:
            getattr(self.parent, self.name)[self.at] = self.new


@dataclass(frozen=True)
class Place:
    """Where an expression stands: what holds it, and what is around it."""

    parent: ast.AST
    name: str
    at: int | None = None

    def edit(self, new: Any) -> Edit:
        return Edit(self.parent, self.name, self.at, new)


@dataclass(frozen=True)
class Change:
    """An edit and its words, `== → !=`; `on` is what it is shown at when that is not the node it was found on."""

    words: str
    edit: Edit
    on: ast.AST | None = None


@dataclass(frozen=True)
class Mutant:
    """One changed program.

    `file` from the root; `lines` those of the statement that holds the change; `where` the dotted name of the innermost
    function or class around it; `outer` name and first line of the outermost function when the change is in its body,
    else None, since the change is then seen only when the module is loaded anew; `text` the source line; `nth` tells
    equal changes of equal lines apart; `names` what the changed module-level statement binds.
    """

    file: str
    line: int
    lines: tuple[int, int]
    where: str
    outer: tuple[str, int] | None
    text: str
    words: str
    nth: int
    edit: Edit = field(repr=False)
    names: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What the list of argued survivors calls it by."""
        return (self.file, self.where, self.text, self.words, self.nth)

    def __str__(self) -> str:
        number = f" (no. {self.nth + 1})" if self.nth else ""
        return f"{self.file}:{self.line}: {self.words}{number}    {self.text}"


def places(node: ast.AST) -> Iterator[tuple[ast.AST, Place]]:
    """The direct children of a node, each with its place."""
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield value, Place(node, name)
        elif isinstance(value, list):
            for at, entry in enumerate(value):
                if isinstance(entry, ast.AST):
                    yield entry, Place(node, name, at)
