"""How an expression is changed: comparisons, boolean operators, conditions, constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.edits import Change, Edit, Place

_COMPARED: dict[type[ast.cmpop], tuple[str, type[ast.cmpop], str]] = {
    ast.Eq: ("==", ast.NotEq, "!="),
    ast.NotEq: ("!=", ast.Eq, "=="),
    ast.Lt: ("<", ast.LtE, "<="),
    ast.LtE: ("<=", ast.Lt, "<"),
    ast.Gt: (">", ast.GtE, ">="),
    ast.GtE: (">=", ast.Gt, ">"),
    ast.Is: ("is", ast.IsNot, "is not"),
    ast.IsNot: ("is not", ast.Is, "is"),
    ast.In: ("in", ast.NotIn, "not in"),
    ast.NotIn: ("not in", ast.In, "in"),
}
_KINDS = {"move": "repeat", "repeat": "refuse", "refuse": "repeat"}
"""A row's kind becomes another kind; any other word becomes one that nobody knows."""
MARK = "~x"
_FLAGS: dict[float, tuple[int, ...]] = {0: (1,), 1: (0,)}


def comparisons(node: ast.Compare) -> Iterator[Change]:
    for at, op in enumerate(node.ops):
        old, new, word = _COMPARED[type(op)]
        yield Change(f"{old} → {word}", Edit(node, "ops", at, new()))


def booleans(node: ast.BoolOp) -> Iterator[Change]:
    other: ast.boolop = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    words = "and → or" if isinstance(node.op, ast.And) else "or → and"
    yield Change(words, Edit(node, "op", None, other))


def without_not(node: ast.UnaryOp, place: Place) -> Iterator[Change]:
    if isinstance(node.op, ast.Not):
        yield Change("not dropped", place.edit(node.operand))


def negated(node: ast.expr, place: Place) -> Iterator[Change]:
    """A condition that is no comparison and no `not`: its negation."""
    if not isinstance(node, ast.Compare | ast.BoolOp | ast.Constant | ast.UnaryOp):
        yield Change(f"{short(node)} negated", place.edit(ast.UnaryOp(ast.Not(), node)))


def constants(node: ast.Constant, place: Place) -> Iterator[Change]:
    value = node.value
    if isinstance(value, bool):
        yield Change(f"{value} → {not value}", place.edit(ast.Constant(not value)))
    elif isinstance(value, int | float):
        # Of a flag or a first place the other one; of every other number both neighbours.
        for other in _FLAGS.get(value, (value + 1, value - 1)):
            yield Change(f"{value} → {other}", place.edit(ast.Constant(other)))
    elif isinstance(value, str):
        other_word = _KINDS.get(value, value + MARK)
        yield Change(f"{quoted(value)} → {quoted(other_word)}", place.edit(ast.Constant(other_word)))


def short(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


def quoted(text: str, most: int = 60) -> str:
    """A text for one line of a report, with its end, where the change is."""
    shown = repr(text)
    return shown if len(shown) <= most else f"{shown[: most - 12]}…{shown[-10:]}"
