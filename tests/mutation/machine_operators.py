"""How a machine is changed: the target and the guard of each transition, the guard of each row, the literals of guards.

A guard that class and rows share is changed in both at once, literal by literal: `step`, which holds the two against
each other, says nothing then.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from tests.mutation.edits import Change, Edit, Place
from tests.mutation.operators import short

_NOWHERE = ast.Constant("no such state")


class MachineWords:
    """What a file of `machines/` speaks of: the states and the facts of its machine's class."""

    def __init__(self, tree: ast.Module) -> None:
        self.states: list[str] = []
        self.facts: list[str] = []
        for machine in (n for n in tree.body if isinstance(n, ast.ClassDef)):
            for statement in machine.body:
                if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
                    continue
                name, value = statement.targets[0].id, statement.value
                if isinstance(value, ast.Call) and short(value.func) == "State":
                    self.states.append(name)
                if name == "FACTS" and isinstance(value, ast.Tuple):
                    self.facts += [str(e.value) for e in value.elts if isinstance(e, ast.Constant)]
        words = "|".join(sorted(map(re.escape, self.facts), key=len, reverse=True))
        self._literal = re.compile(rf"(not )?\b({words})\b") if words else None

    def guards(self, node: ast.Constant, place: Place) -> Iterator[Change] | None:
        """Each fact of a guard negated, each left out; None when the constant is no guard."""
        if not isinstance(node.value, str) or self._literal is None:
            return None
        rest = self._literal.sub("", node.value).replace(" and ", "")
        if rest or not node.value:
            return None
        return self._guards(node.value, place)

    def _guards(self, guard: str, place: Place) -> Iterator[Change]:
        assert self._literal is not None
        for found in self._literal.finditer(guard):
            before, after = guard[: found.start()], guard[found.end() :]
            other = found[2] if found[1] else f"not {found[2]}"
            yield Change(f"guard: {found[0]} → {other}", place.edit(ast.Constant(before + other + after)))
            if after.startswith(" and "):
                left = before + after.removeprefix(" and ")
            else:
                left = before.removesuffix(" and ") + after
            yield Change(f"guard: {found[0]} left out", place.edit(ast.Constant(left)))

    def transitions(self, call: ast.Call) -> Iterator[Change]:
        """`a.to(b, cond=g)` and `b.from_(a, …, cond=g)`: another target, the guard negated, the guard left out."""
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr not in ("to", "from_"):
            return
        target, edit = (call.args[0], Edit(call, "args", 0, None)) if function.attr == "to" else (function.value, None)
        if isinstance(target, ast.Name) and target.id in self.states:
            other = ast.Name(self._next(target.id), ast.Load())
            new = Edit(call, "args", 0, other) if edit is not None else Edit(function, "value", None, other)
            yield Change(f"target: {target.id} → {other.id}", new)
        for at, keyword in enumerate(call.keywords):
            if keyword.arg == "cond":
                # The library's own word for a guard that must not hold.
                yield Change(
                    f"cond {short(keyword.value)} negated",
                    Edit(call, "keywords", at, ast.keyword("unless", keyword.value)),
                )
                rest = [k for k in call.keywords if k is not keyword]
                yield Change(f"cond {short(keyword.value)} left out", Edit(call, "keywords", None, rest))

    def _next(self, state: str) -> str:
        return self.states[(self.states.index(state) + 1) % len(self.states)]


def rows(keys: Sequence[ast.expr | None]) -> Iterator[Change]:
    """Each row of `ROWS` left out, and its guard left out in the row alone."""
    for key in keys:
        if not isinstance(key, ast.Tuple) or len(key.elts) != 3:
            continue
        state, event, guard = key.elts
        yield Change(
            f"row ({short(state)}, {short(event)}, {short(guard)}) left out", Edit(key, "elts", 0, _NOWHERE), key
        )
        if not (isinstance(guard, ast.Constant) and guard.value == ""):
            yield Change(
                f"guard of row ({short(state)}, {short(event)}, {short(guard)}) left out",
                Edit(key, "elts", 2, ast.Constant("")),
                key,
            )
