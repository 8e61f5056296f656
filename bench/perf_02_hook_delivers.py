"""PERF-2: a hook event that delivers a message: one transaction, and the text in its answer.

The floor does the least that a durable answer costs: a bare Sanic POST whose one row is on the disk before it is
answered, in turns with ours.
"""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from dataclasses import replace

from bench import wire
from bench.figures import Figure, Samples, at_most, ms
from bench.load import count
from bench.servers import floor, relaybay
from bench.sessions import linked, sends

RECIPIENTS = 8


def run(full: bool) -> list[Figure]:
    number = count(400, full=4_000, is_full=full)
    ours: list[float] = []
    least: list[float] = []
    with ExitStack() as stack:
        server = stack.enter_context(relaybay())
        bare_port = stack.enter_context(floor("sanic", server.home / "floor.db"))
        connection, bare = (stack.enter_context(wire.connect(port)) for port in (server.port, bare_port))
        recipients = linked(server, connection, RECIPIENTS, "recipient")
        row = wire.post(bare_port, "/durable", {"text": "x" * 900})
        for at, call in enumerate(sends(server, connection, number, recipients)):
            message = wire.tool_result(wire.exchange(connection, call))
            event = recipients[at % RECIPIENTS].tool_event()
            began = time.perf_counter()
            answer = wire.exchange(connection, event)
            ours.append((time.perf_counter() - began) * 1e6)
            text = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
            if message["message_id"] not in text:
                raise wire.Unexpected(f"the event did not carry {message['message_id']}: {text}")
            began = time.perf_counter()
            wire.exchange(bare, row)
            least.append((time.perf_counter() - began) * 1e6)
    samples, bare_samples = Samples.of(ours), Samples.of(least)
    figure = at_most("PERF-2", "hook event that delivers a message", samples, p50_ms=5)
    floor_text = f"bare durable POST p50 {ms(bare_samples.median)}"
    return [replace(figure, floor=floor_text, ratio=samples.median / bare_samples.median)]
