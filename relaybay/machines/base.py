"""The machines' common ground: the library's switches, stated once, and `step`, the one way to drive a machine.

Rules that hold for every machine in this folder:

* a machine is a `Machine` subclass with states and transitions, and no callback, listener, delay or invoke;
* beside it stands one literal `ROWS: dict[(state, event, guard), Row]` that says for every row, moves included,
  its spec id, kind, answer and effects. Rows are tried in the literal's order; the first whose guard holds wins;
* a guard is the name of a fact, its negation (`not fact`), or several joined by ` and `; the class carries the
  same text as `cond`. Facts are booleans that the caller has computed; a fact a guard needs and does not get is
  a programmer's error;
* `step` finds the row, sends the event to the class, and asserts that both agree: a pair assertion, in
  production too. Its result depends on its arguments only, so it is remembered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from statemachine import StateMachine
from statemachine.exceptions import TransitionNotAllowed

from relaybay.domain import Step, StepKind


@dataclass(frozen=True, slots=True)
class Row:
    """What a (state, event, guard) is: spec id, kind, answer id and effects, as the table has them."""

    spec_id: str
    kind: StepKind
    answer: str = ""
    effects: tuple[str, ...] = ()


class Machine(StateMachine):
    """The base class. Its switches make an unknown event or a failing guard an error instead of silence."""

    allow_event_without_transition = False
    catch_errors_as_events = False
    atomic_configuration_update = True

    FACTS: ClassVar[tuple[str, ...]] = ()
    ROWS: ClassVar[dict[tuple[str, str, str], Row]] = {}


def literals(guard: str) -> tuple[tuple[str, bool], ...]:
    """A guard's text as (fact, wanted) pairs; the empty guard has none."""
    if not guard:
        return ()
    pairs = []
    for part in guard.split(" and "):
        name = part.removeprefix("not ")
        pairs.append((name, name == part))
    return tuple(pairs)


def _holds(guard: str, facts: Mapping[str, bool]) -> bool:
    return all(facts[name] is wanted for name, wanted in literals(guard))


class _Facts:
    """The model handed to the library: the state it is in, and the facts as attributes."""

    def __init__(self, state: str, facts: Mapping[str, bool], names: tuple[str, ...]) -> None:
        self.state = state
        for name in names:
            # A fact the caller did not give is never asked for: `step` has looked at every guard of the
            # pair already and raised. The library resolves all names at construction, so each must exist.
            setattr(self, name, facts.get(name, False))


def _drive(machine: type[Machine], state: str, event: str, facts: Mapping[str, bool]) -> str | None:
    """The class's own next state, or None where it allows no transition."""
    if machine.states_map[state].final:
        return None
    model: Any = _Facts(state, facts, machine.FACTS)
    try:
        machine(model).send(event)
    except TransitionNotAllowed:
        return None
    return str(model.state)


def find_row(machine: type[Machine], state: str, event: str, facts: Mapping[str, bool]) -> tuple[str, Row]:
    """The first row of the literal that applies: (guard, row). No row is a programmer's error (an open pair)."""
    for (row_state, row_event, guard), row in machine.ROWS.items():
        if row_state == state and row_event == event and _holds(guard, facts):
            return guard, row
    raise AssertionError(f"{machine.__name__}: open pair ({state}, {event}) under {dict(facts)}")


@lru_cache(maxsize=20_000)
def _step(machine: type[Machine], state: str, event: str, facts: frozenset[tuple[str, bool]]) -> Step:
    given = dict(facts)
    unknown = set(given) - set(machine.FACTS)
    assert not unknown, f"{machine.__name__}: facts {sorted(unknown)} stand in no table"
    _guard, row = find_row(machine, state, event, given)
    moved = _drive(machine, state, event, given)
    if row.kind == "move":
        assert moved is not None, f"{row.spec_id}: the class allows no {event} in {state}"
    else:
        assert moved is None, f"{row.spec_id}: the class moves {state} to {moved} where the row is a {row.kind}"
    return Step(row.spec_id, row.kind, moved or state, row.answer, row.effects)


def step(machine: type[Machine], state: str, event: str, facts: Mapping[str, bool] | None = None) -> Step:
    """Puts one event to one machine in `state` and gives the Step. `facts` are the guards' booleans.

    An unknown state is refused here (the library would accept it and fail later).
    """
    assert state in machine.states_map, f"{machine.__name__} has no state {state!r}"
    return _step(machine, state, event, frozenset((facts or {}).items()))
