"""Ids (page 75): what of one is the time, what is chance, and that they sort by time."""

from __future__ import annotations

import re

import pytest

from relaybay.service import ids

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS = 80
_DRAWS = 256


def number(ulid: str) -> int:
    found = 0
    for char in ulid:
        found = found * 32 + _ALPHABET.index(char)
    return found


@pytest.mark.parametrize("ms", [0, 1, 2, 1_800_000_000_000, 2**47, 2**48 - 2])
def test_the_first_48_bits_are_the_milliseconds_and_the_other_80_are_chance(ms: int) -> None:
    drawn = [ids.ulid(ms * 1_000 + part) for part in (0, 999) for _ in range(_DRAWS)]
    numbers = [number(each) for each in drawn]
    assert {len(each) for each in drawn} == {26}
    assert {each >> _RANDOM_BITS for each in numbers} == {ms}
    chance = [each & (2**_RANDOM_BITS - 1) for each in numbers]
    assert len(set(chance)) == len(chance)
    for bit in range(_RANDOM_BITS):
        assert {each >> bit & 1 for each in chance} == {0, 1}, f"bit {bit} is always the same"


def test_a_time_that_48_bits_do_not_hold_begins_again() -> None:
    for ms in (2**48, 2**48 + 6, 2**49 + 2**47):
        assert number(ids.ulid(ms * 1_000)) >> _RANDOM_BITS == ms % 2**48


def test_ids_sort_by_time_and_say_what_they_are_of() -> None:
    made = [ids.ulid(at * 1_000) for at in range(1_799_999_999_000, 1_800_000_001_000, 7)]
    assert made == sorted(made)
    for prefix, make in (("m_", ids.message_id), ("c_", ids.comment_id), ("", ids.handover_id)):
        assert re.fullmatch(rf"{prefix}[{_ALPHABET}]{{26}}", make(1_800_000_000_000_000))
