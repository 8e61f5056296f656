"""What a run left in the store, as plain rows, and what a rule has to say against it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Violation:
    """A promise that was broken: the rule's name (`checker.py`) and the case in words."""

    rule: str
    words: str


@dataclass(frozen=True)
class Event:
    """One row of the feed."""

    id: int
    type: str
    at_us: int
    data: dict[str, Any]


@dataclass
class Left:
    """The rows by table, in the order of their keys; `deliveries` have their message's public id as `mid`."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    deliveries: list[dict[str, Any]] = field(default_factory=list)
    comments: list[dict[str, Any]] = field(default_factory=list)
    tasks: list[dict[str, Any]] = field(default_factory=list)
    projects: list[dict[str, Any]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    spooled: Counter[str] = field(default_factory=Counter)
    sequences: dict[str, int] = field(default_factory=dict)

    def about(self, kind: str, member: str) -> dict[str, list[Event]]:
        """Events of a kind (`message`, `comment`) by the public id that they name under `member`."""
        found: dict[str, list[Event]] = {}
        for event in self.events:
            if event.type.startswith(f"{kind}."):
                found.setdefault(event.data[member], []).append(event)
        return found
