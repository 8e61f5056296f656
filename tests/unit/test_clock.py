"""The clock and its words: ages at each edge, times as answers show them, a clock that a file stands for."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from relaybay.service import clock


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0 s"), (0, "0 s"), (59, "59 s"), (60, "1 min"), (119, "1 min"), (120, "2 min"), (3_599, "59 min"),
        (3_600, "1 h"), (7_199, "1 h"), (7_200, "2 h"), (86_399, "23 h"), (86_400, "1 d"), (172_799, "1 d"),
        (172_800, "2 d"), (864_000, "10 d"),
    ],
)  # fmt: skip
def test_an_age_changes_its_words_at_each_unit(seconds: int, words: str) -> None:
    assert clock.age(seconds) == words


def test_a_time_has_microseconds_and_stands_in_utc() -> None:
    assert clock.rfc3339(0) == "1970-01-01T00:00:00.000000Z"
    assert clock.rfc3339(1_800_000_000_123_456) == "2027-01-15T08:00:00.123456Z"


def test_the_machines_clock_counts_microseconds() -> None:
    assert abs(clock.system() - time.time() * 1_000_000) < 60_000_000


def test_a_file_stands_for_the_clock(tmp_path: Path) -> None:
    file = tmp_path / "clock"
    file.write_text(" 1800000000000000\n")
    told = clock.from_file(file)
    assert told() == 1_800_000_000_000_000
    file.write_text("5")
    assert told() == 5, "it is read each time"
