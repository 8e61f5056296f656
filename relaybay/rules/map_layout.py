"""Where sessions stand on the Map (page 70): one circle, each group on an arc of its own, and the curves between them.

A place follows from a session's number and its group alone; nothing is remembered and nothing is drawn by lot, so the
same sessions always make the same picture. Who moves when a session is added:

* Nobody, while its arc has a free seat. An arc has a power of two of seats; a session's number says which seat it
  takes, and where two would share one the newer goes on to the next that is free. The newest session has the highest
  number and chooses last.
* When the arc is full, it gets twice the seats. Those who had a seat of their own keep their order, and are moved by
  less than the seat they had.
* A new group takes seats at the end of the circle. Seats of the circle come in steps (4, 6, 8, 12, 16, 24 …), and only
  when a step is used up does everybody draw closer together, in the order that they have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import cos, degrees, hypot, log2, pi, sin

SEAT_PX = 26.0
"""Room along the circle for one node with a label that points outwards."""
RADIUS_PX_MIN = 180.0
NODE_PX = 11.0
LABEL_PX, LABEL_TURNED_PX = 170.0, 235.0
"""Room that a label takes: a cut name above the word of its state, or both in one line."""
LABEL_LINES_PX = 56.0
FLAT_SEATS_MAX = 12
"""On a circle with more seats labels point outwards; lying flat they would meet."""
SEATS_MIN = 4
WIDTH_PX_MIN, WIDTH_PX_MAX = 1.5, 8.0
_PULL = 0.45
_STEEP = 0.35
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Seat:
    """A session's place. `angle` in radians, clockwise from the top; `x`, `y` and the label's place in pixels.

    `anchor` is the label's (`start`, `middle`, `end`), `turn` its angle in degrees: 0 where it lies flat.
    """

    x: float
    y: float
    angle: float
    label_x: float
    label_y: float
    anchor: str
    turn: float


@dataclass(frozen=True, slots=True)
class Arc:
    """A group's arc as an SVG path, and where its name stands."""

    path: str
    label_x: float
    label_y: float
    anchor: str


@dataclass(frozen=True, slots=True)
class Layout:
    """The whole picture: its size in pixels, whether labels lie flat, session number → seat, group → arc."""

    width: float
    height: float
    flat: bool
    seats: Mapping[int, Seat]
    arcs: Mapping[int, Arc]


def layout(sessions: Iterable[tuple[int, int]]) -> Layout:
    """Places for (session number, group number), whatever their order. Groups stand in the order of their numbers."""
    groups: dict[int, list[int]] = {}
    for number, group in sorted(sessions):
        groups.setdefault(group, []).append(number)
    between = 1 if len(groups) > 1 else 0
    offsets: dict[int, int] = {}
    taken = 0
    for group in sorted(groups):
        offsets[group] = taken
        taken += room(len(groups[group])) + between
    whole = circle(taken)
    radius = max(RADIUS_PX_MIN, whole * SEAT_PX / (2 * pi))
    flat = whole <= FLAT_SEATS_MAX
    width = 2 * (radius + (LABEL_PX if flat else LABEL_TURNED_PX))
    height = 2 * (radius + (LABEL_LINES_PX if flat else LABEL_TURNED_PX))
    seats = {
        number: _seat(2 * pi * (offsets[group] + at) / whole, radius, width, height, flat=flat)
        for group, numbers in groups.items()
        for number, at in places(numbers).items()
    }
    arcs = {
        group: _arc(offset, room(len(groups[group])), whole, radius, (width, height))
        for group, offset in offsets.items()
        if between
    }
    return Layout(_px(width), _px(height), flat, seats, arcs)


def room(count: int) -> int:
    """How many seats an arc has for so many sessions: the next power of two."""
    return 1 << max(count - 1, 0).bit_length()


def circle(taken: int) -> int:
    """How many seats the circle has when so many are taken: the next of 4, 6, 8, 12, 16, 24, 32 …"""
    power = room(max(taken, SEATS_MIN))
    smaller = power * 3 // 4
    return smaller if smaller >= max(taken, SEATS_MIN) else power


def places(numbers: Iterable[int]) -> dict[int, int]:
    """Session number → its seat on the arc, counted from the arc's begin.

    The low bits of a number, read backwards, are its seat: numbers that follow each other come to stand far apart, and
    an arc of twice the seats has everybody between the same neighbours.
    """
    ordered = sorted(numbers)
    seats = room(len(ordered))
    taken: dict[int, int] = {}
    for number in ordered:
        wanted = number % seats
        while wanted in taken:
            wanted = (wanted + 1) % seats
        taken[wanted] = number
    bits = seats.bit_length() - 1
    return {number: _backwards(slot, bits) for slot, number in taken.items()}


def _backwards(value: int, bits: int) -> int:
    found = 0
    for _ in range(bits):
        found = found << 1 | value & 1
        value >>= 1
    return found


def _px(value: float) -> float:
    """A tenth of a pixel is enough; and no zero with a sign."""
    return round(value, 1) + 0.0


def _seat(angle: float, radius: float, width: float, height: float, *, flat: bool) -> Seat:
    across, down = sin(angle), -cos(angle)
    away = radius + NODE_PX + 7
    x, y = width / 2 + radius * across, height / 2 + radius * down
    label_x, label_y = width / 2 + away * across, height / 2 + away * down
    if not flat:
        # On the left half the label is turned once more, so that nothing stands on its head.
        right = across >= -_TINY
        turn = degrees(angle) - 90 if right else degrees(angle) - 270
        return Seat(_px(x), _px(y), angle, _px(label_x), _px(label_y), "start" if right else "end", _px(turn))
    anchor = "middle" if abs(across) < _STEEP else ("start" if across > 0 else "end")
    if anchor == "middle":
        label_y += 12 * down - 6
    else:
        label_y -= 3
    return Seat(_px(x), _px(y), angle, _px(label_x), _px(label_y), anchor, 0.0)


def _arc(offset: int, seats: int, whole: int, radius: float, size: tuple[float, float]) -> Arc:
    width, height = size
    first, last = (2 * pi * at / whole for at in (offset - 0.4, offset + seats - 0.6))
    ends = [(_px(width / 2 + radius * sin(at)), _px(height / 2 - radius * cos(at))) for at in (first, last)]
    large = int(last - first > pi)
    path = f"M{ends[0][0]} {ends[0][1]}A{_px(radius)} {_px(radius)} 0 {large} 1 {ends[1][0]} {ends[1][1]}"
    middle, inner = (first + last) / 2, radius - NODE_PX - 14
    across = sin(middle)
    anchor = "middle" if abs(across) < _STEEP else ("end" if across > 0 else "start")
    return Arc(path, _px(width / 2 + inner * across), _px(height / 2 - inner * cos(middle) + 4), anchor)


def curve(start: Seat, end: Seat, size: tuple[float, float], bow: float) -> str:
    """The SVG path of an edge, drawn towards the middle and to its own right by `bow` of its length.

    So the two directions between two sessions are two lines, and what clients wrote themselves, with another `bow`, is
    a third. It ends where the node begins, for its arrow head to be seen.
    """
    along_x, along_y = end.x - start.x, end.y - start.y
    middle_x, middle_y = (start.x + end.x) / 2, (start.y + end.y) / 2
    pull_x = middle_x + (size[0] / 2 - middle_x) * _PULL - along_y * bow
    pull_y = middle_y + (size[1] / 2 - middle_y) * _PULL + along_x * bow
    first, last = _towards(start, pull_x, pull_y, NODE_PX), _towards(end, pull_x, pull_y, NODE_PX + 5)
    return f"M{first[0]} {first[1]}Q{_px(pull_x)} {_px(pull_y)} {last[0]} {last[1]}"


def _towards(seat: Seat, x: float, y: float, distance: float) -> tuple[float, float]:
    whole = hypot(x - seat.x, y - seat.y) or 1.0
    part = min(distance / whole, 1.0)
    return _px(seat.x + (x - seat.x) * part), _px(seat.y + (y - seat.y) * part)


def width(count: int) -> float:
    """How wide an edge of so many messages is, in pixels: a step for each doubling, bounded."""
    return _px(min(WIDTH_PX_MIN + 1.2 * log2(max(count, 1)), WIDTH_PX_MAX))
