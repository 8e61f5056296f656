"""Puts a mutant into a process in which everything is loaded already.

A change in a function's body becomes the code of the function that stands. A changed machine is made anew, class and
rows, and takes the place of the old class wherever one is held. What was remembered of the unchanged code is forgotten.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

from tests.mutation.edits import Mutant
from tests.mutation.mutants import ROOT, compiled
from tests.mutation.recording import Pair
from tests.mutation.same import other_answers

Functions = dict[tuple[str, str, int], list[FunctionType]]
_REMEMBERS = ("relaybay.rules", "relaybay.machines", "relaybay.service", "tests.")


def kept_values() -> Callable[[], None]:
    """Remembers what the core's own tables and caches hold. Called, the result puts it back."""
    before = [
        (value, dict(value) if isinstance(value, dict) else list(value))
        for name, module in list(sys.modules.items())
        if name.startswith(_REMEMBERS[:3])
        for key, value in vars(module).items()
        if isinstance(value, dict | list | set) and not key.startswith("__")
    ]

    def put_back() -> None:
        for value, held in before:
            value.clear()
            if isinstance(value, list):
                value.extend(held)
            else:
                value.update(held)

    return put_back


class Loaded:
    """What is loaded, looked up once, in the process that all children come from.

    `functions`: (file from the root, qualified name, first line) → the objects that have it. `memories`: what `functools`
    remembers for the core and for the tests. `holders`: a machine's class → the containers that hold it.
    """

    def __init__(self) -> None:
        from relaybay.machines.base import Machine

        self.functions: Functions = defaultdict(list)
        self.memories: list[functools._lru_cache_wrapper[Any]] = []
        cut = len(str(ROOT)) + 1
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(str(ROOT)):
                code = one.__code__
                self.functions[code.co_filename[cut:], code.co_qualname, code.co_firstlineno].append(one)
            elif isinstance(one, functools._lru_cache_wrapper) and str(one.__module__).startswith(_REMEMBERS):
                self.memories.append(one)
        self.holders = {machine: gc.get_referrers(machine) for machine in Machine.__subclasses__()}
        # A child that tidies up would touch, and so copy, everything that it shares with its parent.
        gc.collect()
        gc.freeze()

    def forget(self) -> None:
        for memory in self.memories:
            memory.cache_clear()


def module_of(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def body(mutant: Mutant, loaded: Loaded) -> None:
    """Gives the function around the change its changed code."""
    assert mutant.outer is not None
    name, line = mutant.outer
    code = next(c for c in _codes(compiled(mutant)) if (c.co_qualname, c.co_firstlineno) == (name, line))
    for function in loaded.functions[mutant.file, name, line]:
        function.__code__ = code
    loaded.forget()


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def machine(mutant: Mutant, loaded: Loaded) -> frozenset[Pair]:
    """Makes the module's machine anew and puts it everywhere. Gives the pairs that have another answer now, whatever the
    facts: none when the change says the same as the code.

    Whatever the changed module raises while it is loaded goes through.
    """
    from relaybay.machines.base import Machine

    old_module = sys.modules[module_of(mutant.file)]
    space: dict[str, Any] = {"__name__": old_module.__name__, "__file__": old_module.__file__}
    exec(compiled(mutant), space)
    changed: set[Pair] = set()
    for name, new in space.items():
        old = vars(old_module).get(name)
        if isinstance(old, type) and issubclass(old, Machine) and old is not Machine:
            changed |= other_answers(old, new, _other_pairs(old, new))
            _replace(old, new, loaded.holders[old])
    vars(old_module).update(space)
    loaded.forget()
    return frozenset(changed)


def _other_pairs(old: Any, new: Any) -> set[tuple[str, str]]:
    """The pairs that are written otherwise; all when that is not where the classes differ."""
    before, after = _by_pair(old), _by_pair(new)
    every = before.keys() | after.keys()
    return {pair for pair in every if before.get(pair) != after.get(pair)} or every


def _by_pair(machine: Any) -> dict[tuple[str, str], list[object]]:
    """What class and rows say of each pair, in order."""
    said: dict[tuple[str, str], list[object]] = defaultdict(list)
    for (state, event, guard), row in machine.ROWS.items():
        said[state, event].append((guard, row))
    for state in machine.states:
        for transition in state.transitions:
            conditions = [(str(c), c.expected_value) for c in transition.cond]
            for event in transition.event.split():
                said[state.id, event].append((transition.target.id, conditions))
    return said


def _replace(old: type, new: type, holders: list[Any]) -> None:
    for holder in holders:
        if isinstance(holder, dict):
            for key, value in list(holder.items()):
                if value is old:
                    holder[key] = new
        elif isinstance(holder, list):
            holder[:] = [new if value is old else value for value in holder]
        elif isinstance(holder, CellType) and holder.cell_contents is old:
            holder.cell_contents = new
