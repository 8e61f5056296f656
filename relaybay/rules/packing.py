"""What fits one hook answer (page 30, table PACK). Sizes are UTF-16 code units, as the client counts (PACK-1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["comment", "message", "work"]

_ORDER: dict[Kind, int] = {"comment": 0, "message": 1, "work": 2}
_MINUTE_US = 60_000_000


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that may be handed over: its id, kind, the size of its whole frame with everything the answer says
    about it, when it was written (microseconds), and whether it is passive (page 50) and so comes after all others.
    """

    id: str
    kind: Kind
    units: int
    at_us: int
    passive: bool = False

    @property
    def turn(self) -> tuple[int, bool, int, str]:
        """Its place in the queue (PACK-2): comments, messages, passive messages, work; the oldest first."""
        return (_ORDER[self.kind], self.passive, self.at_us, self.id)


@dataclass(frozen=True, slots=True)
class Packed:
    """What goes into the answer, in order, and how many of each kind still wait."""

    chosen: tuple[str, ...] = ()
    comments_waiting: int = 0
    messages_waiting: int = 0
    work_waiting: int = 0

    @property
    def waiting(self) -> int:
        """How many items still wait, of whatever kind."""
        return self.comments_waiting + self.messages_waiting + self.work_waiting


@dataclass(slots=True)
class _Box:
    """The answer while it is filled."""

    room: int
    messages_left: int
    chosen: list[str] = field(default_factory=list)
    left: dict[Kind, int] = field(default_factory=lambda: {"comment": 0, "message": 0, "work": 0})

    def offer(self, item: Item) -> None:
        """Takes the item whole, or counts it as waiting. What waits keeps its kind's later ones back (PACK-3)."""
        full = item.kind == "message" and not self.messages_left
        if self.left[item.kind] or full or item.units > self.room:
            self.left[item.kind] += 1
            return
        self.room -= item.units
        self.messages_left -= item.kind == "message"
        self.chosen.append(item.id)


def _fill(queue: Sequence[Item], room: int, messages_max: int) -> _Box:
    box = _Box(room, messages_max)
    for item in queue:
        box.offer(item)
    return box


def pack(
    items: Sequence[Item],
    room: int,
    *,
    max_messages: int,
    tail_room: int,
    comments_besides: int = 0,
    messages_besides: int = 0,
) -> Packed:
    """Chooses what one answer carries (PACK-1 to 4).

    `room` is what is left for the items in UTF-16 units, the opening taken off; `tail_room` the size of the last line
    that counts what waits, taken off only when there is something to count. The `…_besides` wait too and are not
    among `items`, as at a Stop, where only some may be shown.
    """
    queue = sorted(items, key=lambda item: item.turn)
    besides = comments_besides + messages_besides
    box = _fill(queue, room, max_messages)
    if besides or any(box.left.values()):
        box = _fill(queue, room - tail_room, max_messages)
    return Packed(
        chosen=tuple(box.chosen),
        comments_waiting=box.left["comment"] + comments_besides,
        messages_waiting=box.left["message"] + messages_besides,
        work_waiting=box.left["work"],
    )


def shows_age(waited_us: int, newer: int, *, waited_minutes_min: int) -> bool:
    """Whether a frame says how old it is: it waited long, or its author has written newer ones to this reader."""
    return newer > 0 or waited_us >= waited_minutes_min * _MINUTE_US
