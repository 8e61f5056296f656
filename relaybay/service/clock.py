"""The only place that reads the time. Microseconds since the epoch, UTC."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

Clock = Callable[[], int]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def system() -> int:
    """The machine's clock."""
    return time.time_ns() // 1_000


def from_file(path: Path) -> Clock:
    """A clock that a file stands for (tests only, `RELAYBAY_CLOCK`): its content is microseconds since the epoch."""

    def read() -> int:
        return int(path.read_text(encoding="ascii").strip())

    return read


def rfc3339(at_us: int) -> str:
    """A time as answers show it: RFC 3339 in UTC with microseconds and `Z` (page 75)."""
    moment = _EPOCH + timedelta(microseconds=at_us)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def age(seconds: int) -> str:
    """An age in words a person reads: `40 s`, `12 min`, `3 h`, `2 d`."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{max(seconds, 0)} s"
