"""The figures of `bench/`: ranks, floors and the table say what was measured."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bench import figures
from bench.figures import Figure, Samples


@pytest.mark.parametrize(("percent", "value"), [(1, 1), (50, 50), (50.5, 51), (99, 99), (99.5, 100), (100, 100)])
def test_a_percentile_is_a_value_that_was_measured(percent: float, value: int) -> None:
    assert Samples.of(range(100, 0, -1)).percentile(percent) == value


def test_nothing_measured_is_no_figure() -> None:
    with pytest.raises(ValueError, match="nothing was measured"):
        Samples.of([])


@pytest.mark.parametrize("percent", [0, -1, 100.1])
def test_a_percentile_has_its_range(percent: float) -> None:
    with pytest.raises(ValueError, match="percentile"):
        Samples.of([1]).percentile(percent)


def test_a_multiple_of_the_floor_is_met_up_to_its_bound_and_not_above() -> None:
    floor = Samples.of([1000.0])
    assert figures.against_floor("PERF-4", "whole process", Samples.of([1500.0]), floor, 1.5).met is True
    missed = figures.against_floor("PERF-4", "whole process", Samples.of([1501.0]), floor, 1.5)
    assert missed.met is False
    assert missed.ratio == pytest.approx(1.501)


def test_a_time_is_met_up_to_its_bound_and_each_bound_counts() -> None:
    samples = Samples.of([1000.0] * 98 + [9000.0] * 2)
    assert figures.at_most("PERF-1", "x", samples, p50_ms=1).met is True
    assert figures.at_most("PERF-1", "x", samples, p50_ms=1, p99_ms=9).met is True
    assert figures.at_most("PERF-1", "x", samples, p50_ms=1, p99_ms=5).met is False
    with pytest.raises(ValueError, match="bound"):
        figures.at_most("PERF-1", "x", samples)


def test_a_rate_is_met_from_its_bound_on() -> None:
    assert figures.at_least("PERF-5", "x", 1000, 2, 500).met is True
    assert figures.at_least("PERF-5", "x", 999, 2, 500).met is False


def test_figure_and_floor_take_turns() -> None:
    calls: list[str] = []
    ours, floor = figures.side_by_side(lambda: calls.append("w"), lambda: calls.append("f"), rounds=3)
    assert calls == ["w", "f", "f", "w", "w", "f"]
    assert (len(ours.us), len(floor.us)) == (3, 3)


def test_times_are_microseconds() -> None:
    assert figures.timed(lambda: time.sleep(0.002), 3).median >= 2000


def test_the_table_says_what_was_missed() -> None:
    text = figures.report(
        [Figure("PERF-1", "hook", "1.000 ms", "≤ 5 ms", True), Figure("PERF-4", "x", "2", "", False, "1", 2.0)]
    )
    lines = text.splitlines()
    assert len({len(line) for line in lines}) == 1
    assert "| met " in lines[2]
    assert "| **missed** |" in lines[3]
    assert lines[3].endswith("| 2.00    |")


def test_the_floor_of_the_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    assert figures.fsync_floor(tmp_path, times=3).median > 0
    assert list(tmp_path.iterdir()) == []
