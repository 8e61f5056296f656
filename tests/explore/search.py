"""Breadth-first search over a world of values: every state that can be reached, and the shortest way to a broken one."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

TELL_EVERY = 250_000
"""A long search says how far it is each time it has found so many more states."""


class BrokenError(Exception):
    """A promise that does not hold, named by its id."""


@dataclass(frozen=True)
class Found:
    """What a search went through."""

    states: int
    transitions: int
    depth: int
    seconds: float


class CounterExampleError(AssertionError):
    """The shortest trace to a state or a step that breaks a promise."""

    def __init__(self, why: str, trace: list[str]) -> None:
        self.why, self.trace = why, trace
        super().__init__("\n".join([why, *(f"  {n}. {line}" for n, line in enumerate(trace, 1))]))


@dataclass(frozen=True)
class Problem:
    """A world to go through. `events` lists what may happen in a state; `apply` gives the state after it, or None where
    the bounds leave no room; `canonical` renames what has no name of its own; `check` raises BrokenError.
    """

    start: Any
    events: Callable[[Any], Iterable[Any]]
    apply: Callable[[Any, Any], Any]
    canonical: Callable[[Any], Hashable]
    check: Callable[[Any], None]
    say: Callable[[Any, Any], str]


def search(problem: Problem, states_max: int) -> Found:
    """Goes through all of it. Raises CounterExampleError with the shortest trace, and when there are more states than that."""
    began = time.process_time()
    first = problem.canonical(problem.start)
    # Each state's parent, so that a trace can be told; the event is found again on the way back.
    parent: dict[Any, Any] = {first: None}
    level: deque[tuple[Any, int]] = deque([(first, 0)])
    transitions = depth = 0
    while level:
        state, depth = level.popleft()
        # Many events of one state come to the same: renaming is what costs.
        come_to = set()
        for event in problem.events(state):
            try:
                after = problem.apply(state, event)
                if after is None:
                    continue
                transitions += 1
                if after in come_to:
                    continue
                come_to.add(after)
                if after in parent:
                    continue
                key = problem.canonical(after)
                if key in parent:
                    continue
                problem.check(key)
            except (BrokenError, AssertionError) as error:
                raise CounterExampleError(str(error), _trace(problem, parent, state, event)) from error
            parent[key] = state
            assert len(parent) <= states_max, f"more than {states_max} states"
            level.append((key, depth + 1))
            if len(parent) % TELL_EVERY == 0:
                seconds = time.process_time() - began
                print(
                    f"  {len(parent)} states, {len(level)} to go on from, {seconds:.0f} s", file=sys.stderr, flush=True
                )
    return Found(len(parent), transitions, depth, time.process_time() - began)


def _trace(problem: Problem, parent: dict[Any, Any], state: Any, event: Any) -> list[str]:
    """The steps to a state, told with names that stay the same from the first to the last; then the event that broke it."""
    chain = [state]
    while parent[chain[-1]] is not None:
        chain.append(parent[chain[-1]])
    chain.reverse()
    now, told = problem.start, []
    for following in chain[1:]:
        for possible in problem.events(now):
            after = problem.apply(now, possible)
            if after is not None and problem.canonical(after) == following:
                told.append(problem.say(possible, after))
                now = after
                break
        else:
            raise AssertionError("a step of the trace cannot be found again")
    # The last event speaks in the canonical state's names; of the present one's events some one breaks it likewise.
    for possible in problem.events(now):
        try:
            after = problem.apply(now, possible)
            if after is not None:
                problem.check(problem.canonical(after))
        except (BrokenError, AssertionError):
            told.append(problem.say(possible, None))
            return told
    return [*told, problem.say(event, None)]
