"""Bugs planted in memory: a machine whose class and rows say something else, both alike, so that `step` notices nothing."""

from __future__ import annotations

from typing import Any

from statemachine import State
from statemachine.statemachine import StateMachine

from relaybay.machines.base import Machine, Row

Key = tuple[str, str, str]


def targets(machine: type[Machine]) -> dict[Key, str]:
    """Where each move of a class leads."""
    return {
        (state.id, event, " ".join(str(c) for c in transition.cond)): transition.target.id
        for state in machine.states
        for transition in state.transitions
        for event in transition.event.split()
    }


def planted(machine: type[Machine], old: Key, guard: str, row: Row, target: str = "") -> type[Machine]:
    """A machine as this one, but for one row: its guard, what it is and, for a move, where it leads."""
    moves = targets(machine)
    rows: dict[Key, Row] = {}
    for key, was in machine.ROWS.items():
        if key == old:
            rows[old[0], old[1], guard] = row
        else:
            rows[key] = was
    leads = {key: moves[key] for key, was in rows.items() if was.kind == "move" and key in moves}
    if row.kind == "move":
        leads[old[0], old[1], guard] = target
    final = {state.id for state in machine.final_states} - {state for state, _, _ in leads}
    states = {s.id: State(s.id, initial=s is machine.initial_state, final=s.id in final) for s in machine.states}
    events: dict[str, Any] = {}
    for (state, event, cond), to in leads.items():
        one = states[state].to(states[to], cond=cond or None)
        events[event] = events[event] | one if event in events else one
    body = {**states, **events, "FACTS": machine.FACTS, "ROWS": rows, "__doc__": machine.__doc__}
    made: type[Machine] = type(StateMachine)(machine.__name__, (Machine,), body)
    return made
