"""Which tests can come to the core at all: those whose module imports it, through however many others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.mutation.mutants import FOLDERS, ROOT


def reaches_the_core(file: str) -> bool:
    """Whether a module of the tests imports, directly or through others, a module of the core."""
    seen, waiting = {file}, [file]
    while waiting:
        for found in _imported(waiting.pop()):
            if found.startswith(FOLDERS):
                return True
            if found not in seen:
                seen.add(found)
                waiting.append(found)
    return False


@cache
def _imported(file: str) -> tuple[str, ...]:
    """The files of the project that a file imports, wherever in it; and the `conftest.py` beside it."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    names = {name for node in ast.walk(tree) for name in _names(node)}
    found = [path for name in names for path in _files(name)]
    beside = Path(file).with_name("conftest.py")
    if (ROOT / beside).is_file():
        found.append(str(beside))
    return tuple(found)


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module is not None:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _files(name: str) -> Iterator[str]:
    if name.split(".", maxsplit=1)[0] not in ("relaybay", "tests"):
        return
    path = name.replace(".", "/")
    yield from (found for found in (f"{path}.py", f"{path}/__init__.py") if (ROOT / found).is_file())
