"""Every mutant of a file.

What is left alone, because it says nothing that a run could show: docstrings, annotations and aliases of types,
decorators, `__all__`, `__slots__`, protocols, what only a type checker reads, texts of the log and of exceptions. Of an
assertion only comparisons are changed: it states the impossible, and its parts are there for the reader.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import CodeType

from tests.mutation import operators
from tests.mutation.edits import Change, Mutant, Place, places
from tests.mutation.machine_operators import MachineWords, rows
from tests.mutation.operators import short

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("relaybay/rules", "relaybay/machines", "relaybay/service")
_TYPES = {"Literal", "dict", "tuple", "list", "set", "Callable", "Mapping", "Sequence", "type"}
_NO_BEHAVIOUR = {"__all__", "__slots__"}
_CONDITIONS = {(ast.If, "test"), (ast.While, "test"), (ast.IfExp, "test"), (ast.comprehension, "ifs")}
_LISTED_MAX = 16

Function = ast.FunctionDef | ast.AsyncFunctionDef


def files() -> list[str]:
    """The files of the core, from the root."""
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return [str(path.relative_to(ROOT)) for path in found]


@cache
def tree_of(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text(encoding="utf-8"), str(ROOT / file))


@cache
def of_file(file: str) -> tuple[Mutant, ...]:
    """The mutants of one file, in the order of its lines. They share one tree, which a child process changes once."""
    finder = _Finder(file, tree_of(file), (ROOT / file).read_text(encoding="utf-8").splitlines())
    finder.children(finder.tree, _Around())
    seen: Counter[tuple[str, str, str, str, int]] = Counter()
    numbered = []
    for mutant in finder.found:
        numbered.append(replace(mutant, nth=seen[mutant.key]))
        seen[mutant.key] += 1
    return tuple(numbered)


def compiled(mutant: Mutant) -> CodeType:
    """The changed module. Changes the tree that all mutants of the file share: once in a process."""
    mutant.edit.apply()
    tree = ast.fix_missing_locations(tree_of(mutant.file))
    return compile(tree, str(ROOT / mutant.file), "exec", dont_inherit=True)


@dataclass(frozen=True)
class _Around:
    """What stands around a node."""

    where: tuple[str, ...] = ()
    outer: tuple[str, int] | None = None
    lines: tuple[int, int] = (0, 0)
    names: tuple[str, ...] = ()
    texts: bool = True
    only_comparisons: bool = False


@dataclass
class _Finder:
    file: str
    tree: ast.Module
    source: Sequence[str]
    found: list[Mutant] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.machine = MachineWords(self.tree) if self.file.startswith("relaybay/machines/") else None

    def children(self, node: ast.AST, around: _Around) -> None:
        for child, place in places(node):
            self.visit(child, place, around)

    def visit(self, node: ast.AST, place: Place, around: _Around) -> None:
        if _says_nothing(node, place):
            return
        if isinstance(node, ast.stmt):
            around = _in_statement(node, around)
        if isinstance(node, Function):
            self._function(node, around)
            return
        if isinstance(node, ast.ClassDef):
            inside = replace(around, where=(*around.where, node.name), names=around.names or (node.name,))
            for statement in node.body:
                self.visit(statement, Place(node, "body"), inside)
            return
        for change in self._changes(node, place, around):
            self._add(node, change, around)
        self.children(node, around)

    def _function(self, node: Function, around: _Around) -> None:
        """Defaults belong to what is around the function; the body is seen wherever the function's code is put."""
        for default, place in places(node.args):
            if place.name in ("defaults", "kw_defaults"):
                self.visit(default, place, around)
        where = (*around.where, node.name)
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        inside = replace(around, where=where, outer=around.outer or (".".join(where), first))
        for statement in node.body:
            self.visit(statement, Place(node, "body"), inside)

    def _changes(self, node: ast.AST, place: Place, around: _Around) -> Iterator[Change]:
        if isinstance(node, ast.Compare):
            yield from operators.comparisons(node)
        if around.only_comparisons:
            return
        if (type(place.parent), place.name) in _CONDITIONS and isinstance(node, ast.expr):
            yield from operators.negated(node, place)
        if isinstance(node, ast.BoolOp):
            yield from operators.booleans(node)
        if isinstance(node, ast.UnaryOp):
            yield from operators.without_not(node, place)
        if isinstance(node, ast.Constant) and (around.texts or not isinstance(node.value, str)):
            yield from self._constant(node, place)
        if self.machine is not None and isinstance(node, ast.Call):
            yield from self.machine.transitions(node)
        if self.machine is not None and isinstance(node, ast.Dict):
            yield from rows(node.keys)

    def _constant(self, node: ast.Constant, place: Place) -> Iterator[Change]:
        parent = place.parent
        if isinstance(parent, ast.JoinedStr) and not any(c.isalnum() for c in str(node.value)):
            # The punctuation between the parts of one text.
            return
        if isinstance(parent, ast.Tuple | ast.List) and len(parent.elts) > _LISTED_MAX and place.at:
            # A list of plain data: its first entry stands for all.
            return
        if (
            self.machine is not None
            and isinstance(parent, ast.Tuple)
            and _is_row_key(parent)
            and (place.at in (0, 1) or node.value == "")
        ):
            # A changed state or event is the row left out, which is a change of its own.
            return
        guards = self.machine.guards(node, place) if self.machine is not None else None
        yield from guards if guards is not None else operators.constants(node, place)

    def _add(self, node: ast.AST, change: Change, around: _Around) -> None:
        line = getattr(change.on or node, "lineno", around.lines[0])
        self.found.append(
            Mutant(
                file=self.file,
                line=line,
                lines=around.lines,
                where=".".join(around.where),
                outer=around.outer,
                text=self.source[line - 1].strip(),
                words=change.words,
                nth=0,
                edit=change.edit,
                names=around.names,
            )
        )


def _is_row_key(node: ast.Tuple) -> bool:
    """Whether a tuple has the shape (state, event, guard)."""
    return len(node.elts) == 3 and isinstance(node.elts[0], ast.Constant) and isinstance(node.elts[1], ast.Constant)


def _in_statement(node: ast.stmt, around: _Around) -> _Around:
    body = getattr(node, "body", None)
    # Of a compound statement only the head: what stands below has statements of its own.
    last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
    around = replace(around, lines=(node.lineno, last))
    if not around.where:
        around = replace(around, names=tuple(_bound(node)))
    if isinstance(node, ast.Raise):
        around = replace(around, texts=False)
    return replace(around, only_comparisons=isinstance(node, ast.Assert))


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module binds: of a function its own, since its defaults belong to the module."""
    if isinstance(node, Function):
        yield node.name
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    for target in targets:
        for each in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(each, ast.Name):
                yield each.id


def _says_nothing(node: ast.AST, place: Place) -> bool:
    if place.name in ("annotation", "returns", "decorator_list", "format_spec", "msg"):
        return True
    if isinstance(node, ast.Expr):
        value = node.value
        logged = isinstance(value, ast.Call) and short(value.func).startswith("log.")
        return logged or (isinstance(value, ast.Constant) and isinstance(value.value, str))
    if isinstance(node, ast.ClassDef):
        return any(short(base).startswith("Protocol") for base in node.bases)
    if isinstance(node, ast.If):
        return short(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.Assign):
        if isinstance(node.value, ast.Subscript) and isinstance(place.parent, ast.Module):
            return short(node.value.value) in _TYPES
        return any(short(target) in _NO_BEHAVIOUR for target in node.targets)
    if isinstance(node, ast.Constant) and isinstance(place.parent, ast.Call):
        called = short(place.parent.func)
        return called in ("cast", "TypeVar") and place.name == "args" and place.at == 0
    return False
