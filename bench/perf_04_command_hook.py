"""PERF-4: the command hook, the whole process, against the interpreter alone. The measuring is `hook_client.py`'s."""

from __future__ import annotations

from bench import hook_client
from bench.figures import Figure, Samples, against_floor
from bench.load import count


def run(full: bool) -> list[Figure]:
    times = hook_client.measure(count(200, full=1_000, is_full=full), hook_client.base_python())
    samples = {name: Samples.of(value * 1000 for value in values) for name, values in times.items()}
    least = samples[hook_client.FLOOR]
    return [
        against_floor("PERF-4", f"command hook, whole process; {name}", found, least, hook_client.RATIO_MAX)
        for name, found in samples.items()
        if name != hook_client.FLOOR
    ]
