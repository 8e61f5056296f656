"""PERF-4: the command hook, the whole process, against the interpreter alone. The measuring is `hook_client.py`'s."""

from __future__ import annotations

from bench import hook_client
from bench.figures import Figure, Samples, against_floor, ms
from bench.load import count


def run(full: bool) -> list[Figure]:
    times = hook_client.measure(count(200, full=1_000, is_full=full), hook_client.base_python())
    samples = {name: Samples.of(value * 1000 for value in values) for name, values in times.items()}
    least = samples.pop(hook_client.FLOOR)
    judged = against_floor(
        "PERF-4", "command hook, whole process", samples.pop(hook_client.ANSWERED), least, hook_client.RATIO_MAX
    )
    # Without a server an event is put on the disk; nothing is promised of that, but it should be known.
    others = [
        Figure(
            "PERF-4", name, f"p50 {ms(s.median)}, p99 {ms(s.p99)}", floor=judged.floor, ratio=s.median / least.median
        )
        for name, s in samples.items()
    ]
    return [judged, *others]
