"""Which pairs a changed machine answers otherwise: found by asking both machines under every combination of facts.

A change that no combination can tell from the code (a literal of a guard that an earlier row implies, say) is no change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from tests.mutation.recording import Pair


def other_answers(old: Any, new: Any, pairs: Iterable[tuple[str, str]]) -> set[Pair]:
    """Those of `pairs` that the two classes answer differently under some facts that can be."""
    return {
        (old.__name__, state, event)
        for state, event in pairs
        if any(
            _answer(old, state, event, facts) != _answer(new, state, event, facts)
            for facts in _combinations(old.__name__.lower(), _facts(old, state, event) | _facts(new, state, event))
        )
    }


def _facts(machine: Any, state: str, event: str) -> set[str]:
    """The facts that class and rows look at for one pair."""
    from relaybay.machines.base import literals

    guards = [guard for (at, asked, guard) in machine.ROWS if (at, asked) == (state, event)]
    if state in machine.states_map:
        transitions = machine.states_map[state].transitions
        guards += [str(c).lstrip("!") for t in transitions if event in t.event.split() for c in t.cond]
    return {name for guard in guards for name, _ in literals(guard)} & set(machine.FACTS)


def _combinations(name: str, facts: Iterable[str]) -> Iterator[dict[str, bool]]:
    """Every combination, less those that the table calls impossible: a caller never has these facts."""
    from relaybay import specs
    from relaybay.machines.base import literals

    impossible = [literals(rule) for rule in specs.machines()[name].impossible]
    names = sorted(facts)
    for values in product((False, True), repeat=len(names)):
        given = dict(zip(names, values, strict=True))
        if not any(all(given.get(n) is wanted for n, wanted in rule) for rule in impossible):
            yield given


def _answer(machine: Any, state: str, event: str, facts: Mapping[str, bool]) -> object:
    """The step, or the kind of error instead."""
    from relaybay.machines import base

    try:
        return base._step.__wrapped__(machine, state, event, frozenset(facts.items()))
    except Exception as error:
        return type(error)
