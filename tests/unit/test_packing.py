"""What goes into one hook answer: table PACK."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaybay import specs
from relaybay.rules.packing import Item, pack, shows_age

MESSAGES_MAX = specs.limit("messages_per_answer_max")


def comment(number: int, units: int = 100) -> Item:
    return Item(f"c_{number}", "comment", units, number)


def message(number: int, units: int = 100, *, passive: bool = False) -> Item:
    return Item(f"m_{number}", "message", units, number, passive)


def packed(items, room: int, tail: int = 50, **besides: int):
    return pack(items, room, max_messages=MESSAGES_MAX, tail_room=tail, **besides)


@pytest.mark.spec("PACK-2")
def test_comments_come_first_then_messages_the_oldest_first_then_passive_ones_then_work() -> None:
    items = [Item("w_1", "work", 1, 0), message(1, passive=True), message(5), message(4), comment(9), comment(8)]
    assert packed(items, 10_000).chosen == ("c_8", "c_9", "m_4", "m_5", "m_1", "w_1")


@pytest.mark.spec("PACK-3")
def test_a_smaller_later_item_does_not_overtake_its_own_kind_but_another_kind_goes_on() -> None:
    result = packed([comment(1, 60), comment(2, 500), comment(3, 10), message(1, 40)], 200)
    assert result.chosen == ("c_1", "m_1")
    assert (result.comments_waiting, result.messages_waiting) == (2, 0)


@pytest.mark.spec("PACK-4")
def test_the_fifth_message_waits_and_is_counted() -> None:
    result = packed([message(n, 1) for n in range(5)], 10_000)
    assert result.chosen == ("m_0", "m_1", "m_2", "m_3")
    assert result.waiting == result.messages_waiting == 1


@pytest.mark.spec("PACK-4")
def test_the_last_line_takes_room_only_when_something_waits() -> None:
    both = [message(1, 100), message(2, 100)]
    assert packed(both, 200).chosen == ("m_1", "m_2")
    assert packed(both, 199).chosen == ("m_1",)
    assert packed(both, 200, messages_besides=1).chosen == ("m_1",)
    assert packed(both, 250, messages_besides=1).chosen == ("m_1", "m_2")


@pytest.mark.spec("PACK-1", "PACK-3")
def test_an_item_of_exactly_the_room_fits_and_one_more_unit_waits() -> None:
    assert packed([message(1, 300)], 300).chosen == ("m_1",)
    nothing = packed([message(1, 301)], 300)
    assert nothing.chosen == ()
    assert nothing.waiting == 1


ITEMS = st.lists(
    st.tuples(st.sampled_from(["comment", "message", "work"]), st.integers(1, 400), st.booleans()), max_size=12
)


@pytest.mark.spec("PACK-1", "PACK-2", "PACK-3", "PACK-4")
@given(ITEMS, st.integers(60, 1_000), st.integers(0, 2))
@settings(max_examples=500)
def test_every_answer_keeps_the_rules(drawn, room: int, besides: int) -> None:
    items = [
        Item(str(n), kind, units, n, passive and kind == "message") for n, (kind, units, passive) in enumerate(drawn)
    ]
    by_id = {item.id: item for item in items}
    result = packed(items, room, 50, comments_besides=besides)
    chosen = [by_id[i] for i in result.chosen]
    used = sum(item.units for item in chosen) + (50 if result.waiting else 0)
    assert used <= room
    assert len(chosen) + result.waiting == len(items) + besides
    assert sum(item.kind == "message" for item in chosen) <= MESSAGES_MAX
    for kind in ("comment", "message", "work"):
        queue = sorted((i for i in items if i.kind == kind), key=lambda i: (i.passive, i.at_us))
        taken = [i for i in chosen if i.kind == kind]
        assert taken == queue[: len(taken)]
    order = [("comment", "message", "work").index(item.kind) for item in chosen]
    assert order == sorted(order)


@pytest.mark.spec("PACK-2")
def test_a_frame_says_its_age_after_ten_minutes_or_when_there_are_newer_ones() -> None:
    ten = specs.limit("waited_minutes_min")
    assert shows_age(ten * 60_000_000, 0, waited_minutes_min=ten)
    assert not shows_age(ten * 60_000_000 - 1, 0, waited_minutes_min=ten)
    assert shows_age(0, 1, waited_minutes_min=ten)
