"""Rolling windows (SEND-12; page 50, CH-8): how long until one more is allowed."""

from __future__ import annotations

from collections.abc import Iterable

_US_PER_SECOND = 1_000_000


def seconds_until_allowed(times: Iterable[int], now: int, count_max: int, window_seconds: int) -> int:
    """Whole seconds, rounded up, until another one fits: 0 when it fits now.

    `times` (microseconds since the epoch, any order) are those that counted; one counts for less than
    `window_seconds` after its time. A time in the future (a clock set back) counts as now while it is less than a
    window ahead, and not at all beyond: nobody is locked out until the clock has come back to it.
    """
    window = window_seconds * _US_PER_SECOND
    inside = sorted(min(t, now) for t in times if -window < now - t < window)
    if len(inside) < count_max:
        return 0
    frees_at = inside[-count_max] + window
    return -(-(frees_at - now) // _US_PER_SECOND)
