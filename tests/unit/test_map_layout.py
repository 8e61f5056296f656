"""Where sessions stand on the Map: the same for the same sessions, and nobody moves for a newcomer without need."""

from __future__ import annotations

from math import cos, dist, isclose, pi, sin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaybay.rules import map_layout
from relaybay.rules.map_layout import circle, curve, layout, places, room, width

SESSIONS = st.dictionaries(st.integers(1, 500), st.integers(0, 4), min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("count", "seats"), [(0, 1), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (8, 8), (9, 16), (60, 64)]
)
def test_an_arc_has_a_power_of_two_of_seats(count, seats) -> None:
    assert room(count) == seats


@pytest.mark.parametrize(
    ("taken", "seats"),
    [(0, 4), (1, 4), (4, 4), (5, 6), (6, 6), (7, 8), (8, 8), (9, 12), (12, 12), (13, 16), (17, 24), (25, 32), (49, 64)],
)
def test_the_circle_grows_by_steps(taken, seats) -> None:
    assert circle(taken) == seats


def test_numbers_that_follow_each_other_stand_far_apart() -> None:
    assert places([0, 1, 2, 3, 4, 5, 6, 7]) == {0: 0, 4: 1, 2: 2, 6: 3, 1: 4, 5: 5, 3: 6, 7: 7}
    assert places([1, 2]) == {2: 0, 1: 1}
    assert places([7]) == {7: 0}


def test_of_two_that_would_share_a_seat_the_newer_goes_on() -> None:
    # 1, 5 and 9 want the second of four seats; the third and fourth are the next ones, and read backwards.
    assert places([9, 5, 1]) == {1: 2, 5: 1, 9: 3}
    assert places([3, 7]) == {3: 1, 7: 0}


@given(st.sets(st.integers(1, 10_000), min_size=1, max_size=64))
def test_everybody_has_a_seat_of_their_own(numbers) -> None:
    found = places(numbers)
    assert found.keys() == numbers
    assert len(set(found.values())) == len(numbers)
    assert all(0 <= seat < room(len(numbers)) for seat in found.values())


@given(st.sets(st.integers(1, 1_000), min_size=1, max_size=63), st.integers(1, 500))
def test_the_newest_session_moves_nobody_while_a_seat_is_free(numbers, more) -> None:
    newest = max(numbers) + more
    after = places([*numbers, newest])
    if room(len(numbers)) == room(len(numbers) + 1):
        assert {number: after[number] for number in numbers} == places(numbers)


@given(st.integers(1, 200), st.integers(0, 5))
def test_an_arc_of_twice_the_seats_keeps_the_order(first, power) -> None:
    numbers = range(first, first + (1 << power))
    before, after = places(numbers), places([*numbers, first + (1 << power)])
    assert sorted(numbers, key=before.__getitem__) == sorted(numbers, key=after.__getitem__)
    for number in numbers:
        # In parts of the arc: less than the seat that it had.
        assert abs(after[number] / (2 << power) - before[number] / (1 << power)) < 1 / (1 << power)


@given(SESSIONS, st.randoms())
def test_the_same_sessions_make_the_same_picture_in_whatever_order(sessions, draw) -> None:
    pairs = list(sessions.items())
    draw.shuffle(pairs)
    assert layout(pairs) == layout(sorted(sessions.items()))


@given(SESSIONS)
def test_nobody_stands_on_another_or_outside(sessions) -> None:
    plan = layout(sessions.items())
    assert plan.seats.keys() == sessions.keys()
    spots = [(seat.x, seat.y) for seat in plan.seats.values()]
    for at, spot in enumerate(spots):
        assert 0 < spot[0] < plan.width and 0 < spot[1] < plan.height
        assert all(dist(spot, other) > 2 * map_layout.NODE_PX for other in spots[at + 1 :])
    assert plan.arcs.keys() == (set(sessions.values()) if len(set(sessions.values())) > 1 else set())


@given(SESSIONS)
def test_a_group_stands_together(sessions) -> None:
    plan = layout(sessions.items())
    around = [sessions[number] for number in sorted(sessions, key=lambda n: plan.seats[n].angle)]
    assert around == sorted(around), "groups in the order of their numbers, each in one piece"


@given(SESSIONS, st.integers(0, 4))
def test_a_newcomer_whose_arc_has_room_moves_nobody_at_all(sessions, group) -> None:
    groups = list(sessions.values())
    count = groups.count(group)
    if count == 0 or room(count) != room(count + 1):
        return
    before, after = layout(sessions.items()), layout([*sessions.items(), (max(sessions) + 1, group)])
    assert {number: after.seats[number] for number in sessions} == before.seats
    assert (after.width, after.height, after.arcs) == (before.width, before.height, before.arcs)


def test_a_new_group_takes_the_end_of_the_circle() -> None:
    # Two and two seats with one between and one behind: six of six, and eight hold a third group of one as well.
    before = layout([(1, 0), (2, 0), (3, 1), (4, 1), (5, 2)])
    after = layout([(1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (6, 3)])
    assert circle(2 + 1 + 2 + 1 + 1 + 1) == 8 and circle(2 + 1 + 2 + 1 + 1 + 1 + 2) == 12
    assert after.seats[5].angle > after.seats[3].angle
    assert after.seats[6].angle > max(after.seats[number].angle for number in before.seats)
    roomy = layout([(1, 0), (2, 0), (3, 0), (4, 0), (5, 1)])
    with_third = layout([(1, 0), (2, 0), (3, 0), (4, 0), (5, 1), (6, 2)])
    assert circle(4 + 1 + 1 + 1) == 8 and circle(4 + 1 + 1 + 1 + 1 + 1) == 12
    assert [roomy.seats[n].angle * 8 for n in range(1, 5)] == pytest.approx(
        [with_third.seats[n].angle * 12 for n in range(1, 5)]
    )


def test_places_on_the_circle_are_where_the_angle_says() -> None:
    plan = layout([(1, 0), (2, 0), (3, 0), (4, 0)])
    assert (plan.width, plan.height, plan.flat) == (700.0, 472.0, True)
    assert {n: (s.x, s.y, s.anchor) for n, s in plan.seats.items()} == {
        4: (350.0, 56.0, "middle"), 2: (530.0, 236.0, "start"), 1: (350.0, 416.0, "middle"), 3: (170.0, 236.0, "end"),
    }  # fmt: skip
    assert {n: (s.label_x, s.label_y, s.turn) for n, s in plan.seats.items()} == {
        4: (350.0, 20.0, 0.0), 2: (548.0, 233.0, 0.0), 1: (350.0, 440.0, 0.0), 3: (152.0, 233.0, 0.0),
    }  # fmt: skip


def test_on_a_full_circle_labels_point_outwards_and_none_stands_on_its_head() -> None:
    assert layout((n, 0) for n in range(1, 9)).flat
    plan = layout((n, 0) for n in range(1, 33))
    assert not plan.flat
    radius = max(180.0, 32 * 26 / (2 * pi))
    assert plan.width == plan.height == round(2 * (radius + 235), 1)
    for seat in plan.seats.values():
        assert -90.0 <= seat.turn <= 90.0
        right = sin(seat.angle) >= -1e-9
        assert seat.anchor == ("start" if right else "end")
        # Turned, the label lies along the radius: outwards on the right half, inwards on the left.
        assert isclose((seat.turn + (90 if right else -90)) % 360, seat.angle * 180 / pi % 360, abs_tol=0.06)
        assert isclose(seat.label_x - plan.width / 2, (radius + 18) * sin(seat.angle), abs_tol=0.06)
        assert isclose(plan.height / 2 - seat.label_y, (radius + 18) * cos(seat.angle), abs_tol=0.06)
    assert layout((n, 0) for n in range(1, 65)).width > plan.width


def test_arcs_hold_their_seats() -> None:
    # Two of twelve seats, and eight of twelve: more than half of the circle is the large arc.
    plan = layout([(1, 0), (2, 0), (3, 1), (4, 1), (5, 1), (6, 1), (7, 1), (8, 1)])
    assert {group: arc.path for group, arc in plan.arcs.items()} == {
        0: "M312.6 59.9A180.0 180.0 0 0 1 470.4 102.2",
        1: "M526.1 198.6A180.0 180.0 0 1 1 216.2 115.6",
    }
    assert {group: (arc.label_x, arc.label_y, arc.anchor) for group, arc in plan.arcs.items()} == {
        0: (390.1, 90.3, "middle"),
        1: (309.9, 389.7, "middle"),
    }
    anchors = {arc.anchor for arc in layout((n, n % 5) for n in range(1, 30)).arcs.values()}
    assert anchors == {"start", "middle", "end"}


def test_the_two_directions_are_two_lines_and_a_clients_own_is_a_third() -> None:
    plan = layout([(1, 0), (2, 0), (3, 0), (4, 0)])
    size = (plan.width, plan.height)
    a, b = plan.seats[1], plan.seats[2]
    assert curve(a, b, size, 0.1) == "M355.7 406.6Q417.5 303.5 516.3 244.2"
    assert curve(b, a, size, 0.1) == "M519.2 238.3Q381.5 267.5 353.3 400.3"
    assert curve(a, b, size, 0.24) == "M358.0 408.5Q442.7 328.7 519.0 247.6"


def test_a_curve_ends_outside_the_nodes() -> None:
    plan = layout([(1, 0), (2, 0), (3, 0), (4, 0)])
    a, b = plan.seats[4], plan.seats[1]
    path = curve(a, b, (plan.width, plan.height), 0.0)
    # Straight down through the middle: eleven pixels below the one, sixteen above the other.
    assert path == "M350.0 67.0Q350.0 236.0 350.0 400.0"
    bowed = curve(a, b, (plan.width, plan.height), 0.1)
    assert bowed.split("Q")[1].split()[0] == "314.0", "to its own right"


def test_an_edge_is_wider_for_more_and_bounded() -> None:
    assert [width(n) for n in (0, 1, 2, 4, 8, 10**6)] == [1.5, 1.5, 2.7, 3.9, 5.1, 8.0]
