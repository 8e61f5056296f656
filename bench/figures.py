"""What every benchmark shares: samples, their medians and percentiles, the floor beside them, and the table.

Percentiles are *nearest rank*: a value that was measured, never one between two. Times are in microseconds inside and
in milliseconds in the table.
"""

from __future__ import annotations

import math
import os
import platform
import resource
import sqlite3
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class Samples:
    """Times of one kind, in microseconds, sorted."""

    us: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float]) -> Samples:
        """Raises ValueError without a value: a figure of nothing would read as a good one."""
        us = tuple(sorted(values))
        if not us:
            raise ValueError("nothing was measured")
        return cls(us)

    def percentile(self, percent: float) -> float:
        """The nearest rank: the least measured value that `percent` of all are not above."""
        if not 0 < percent <= 100:
            raise ValueError("a percentile is above 0 and at most 100")
        return self.us[math.ceil(percent / 100 * len(self.us)) - 1]

    @property
    def median(self) -> float:
        return self.percentile(50)

    @property
    def p99(self) -> float:
        return self.percentile(99)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, relative to the median: how much to believe of the figure."""
        return (self.percentile(75) - self.percentile(25)) / 2 / self.median if self.median else 0.0


@dataclass(frozen=True)
class Figure:
    """One line of the report. `target` is the page's own words, `met` whether it holds; None: nothing was promised."""

    perf: str
    what: str
    value: str
    target: str = ""
    met: bool | None = None
    floor: str = ""
    ratio: float | None = None


def ms(us: float) -> str:
    """A time as the table shows it."""
    return f"{us / 1000:.3f} ms" if us < 10_000 else f"{us / 1000:.1f} ms"


def per_second(number: int, seconds: float) -> str:
    """A rate as the table shows it."""
    return f"{number / seconds:,.0f}/s"


def timed(work: Callable[[], object], times: int, warm_up: int = 0) -> Samples:
    """Calls `work` one call after the other; the first `warm_up` calls are not counted."""
    for _ in range(warm_up):
        work()
    found = []
    for _ in range(times):
        start = time.perf_counter_ns()
        work()
        found.append((time.perf_counter_ns() - start) / 1000)
    return Samples.of(found)


def side_by_side(
    work: Callable[[], object], floor: Callable[[], object], rounds: int, calls: int = 1
) -> tuple[Samples, Samples]:
    """The figure and its floor in turns, so that a machine that slows down slows both. The order changes each round."""
    ours: list[float] = []
    least: list[float] = []
    for number in range(rounds):
        order = [(work, ours), (floor, least)]
        for call, times in order if number % 2 == 0 else reversed(order):
            times.extend(timed(call, calls).us)
    return Samples.of(ours), Samples.of(least)


def process(command: Sequence[str], given: bytes = b"") -> Callable[[], object]:
    """A call that runs a whole process and waits for it: the floor of the command client is the interpreter alone."""

    def run() -> None:
        subprocess.run(command, input=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)

    return run


def against_floor(perf: str, what: str, samples: Samples, floor: Samples, most: float) -> Figure:
    """A figure whose target is a multiple of its floor: `most` times its median."""
    ratio = samples.median / floor.median
    value = f"p50 {ms(samples.median)}, p99 {ms(samples.p99)}"
    return Figure(perf, what, value, f"at most {most:g} × the floor", ratio <= most, f"p50 {ms(floor.median)}", ratio)


def at_most(
    perf: str, what: str, samples: Samples, *, p50_ms: float | None = None, p99_ms: float | None = None
) -> Figure:
    """A figure whose target is a time. At least one of the two bounds is given."""
    bounds = [
        (name, got, bound)
        for name, got, bound in (("p50", samples.median, p50_ms), ("p99", samples.p99, p99_ms))
        if bound is not None
    ]
    if not bounds:
        raise ValueError("a target needs a bound")
    return Figure(
        perf,
        what,
        f"p50 {ms(samples.median)}, p99 {ms(samples.p99)}, n = {len(samples.us):,}, ± {samples.spread:.0%}",
        ", ".join(f"{name} ≤ {bound:g} ms" for name, _, bound in bounds),
        all(got <= bound * 1000 for _, got, bound in bounds),
    )


def at_least(perf: str, what: str, number: int, seconds: float, rate: float) -> Figure:
    """A figure whose target is a rate."""
    return Figure(perf, what, per_second(number, seconds), f"≥ {rate:,.0f}/s", number / seconds >= rate)


def resident_mib(pid: int) -> float:
    """Memory of a process, in MiB. Raises OSError where there is no /proc or no such process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def fsync_floor(folder: Path, times: int = 200) -> Samples:
    """What one write that is on the disk costs in this folder: the floor of everything that is acknowledged."""
    path = folder / "fsync-floor"
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    try:
        return timed(lambda: (os.pwrite(handle, b"x" * 4096, 0), os.fdatasync(handle)), times, warm_up=10)
    finally:
        os.close(handle)
        path.unlink()


def machine() -> str:
    """The machine in a line: what the figures are true of."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    system = f"{platform.system()} {platform.release()}, {model}, {cores} cores, load {os.getloadavg()[0]:.1f}"
    return f"{system}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"


def report(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table."""
    head = ["id", "What", "Measured", "Target", "", "Floor", "× floor"]
    words = {True: "met", False: "**missed**", None: ""}
    rows = [
        [f.perf, f.what, f.value, f.target, words[f.met], f.floor, "" if f.ratio is None else f"{f.ratio:.2f}"]
        for f in figures
    ]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = [[text.ljust(width) for text, width in zip(row, widths, strict=True)] for row in [head, *rows]]
    rule = ["-" * max(width, 3) for width in widths]
    return "\n".join("| " + " | ".join(line) + " |" for line in [lines[0], rule, *lines[1:]])


def median(values: Iterable[float]) -> float:
    """The plain median of few values (rounds, starts), where a mean of the middle two is what is wanted."""
    return statistics.median(values)
