"""PERF-1: a hook event with nothing to deliver, over open connections: paced, and as many as go.

The floor is a bare Sanic POST of the same bytes on the same loop, measured in turns of some seconds; beside it stands
what the generator gets out of a server that only writes fixed bytes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from bench import wire
from bench.figures import Figure, Samples, at_least, at_most, median, ms
from bench.load import Lanes, Load, seconds
from bench.servers import floor, relaybay
from bench.sessions import Session, linked

CONNECTIONS = 16
PER_SECOND = 2_000
TURNS = 5
_NOTHING = b"\r\n\r\n{}"


def _nothing(data: bytes) -> None:
    if not data.endswith(_NOTHING):
        raise wire.Unexpected(f"an event with nothing to deliver was answered {data!r}")


def _events(sessions: Sequence[Session]) -> list[list[bytes]]:
    return [[one.tool_event("PreToolUse"), one.tool_event("PostToolUse")] for one in sessions]


def _plain(events: list[list[bytes]], port: int, server_port: int) -> list[list[bytes]]:
    """The same requests, to a floor."""
    ours, theirs = f"127.0.0.1:{server_port}".encode(), f"127.0.0.1:{port}".encode()
    return [[event.replace(b"/hooks/claude-code", b"/json").replace(ours, theirs) for event in one] for one in events]


def run(full: bool) -> list[Figure]:
    turn_seconds = seconds(30, full=600, is_full=full, quick=10) / TURNS
    with ExitStack() as stack:
        server = stack.enter_context(relaybay())
        bare_port, echo_port = (stack.enter_context(floor(kind)) for kind in ("sanic", "echo"))
        connection = stack.enter_context(wire.connect(server.port))
        events = _events(linked(server, connection, CONNECTIONS, "session"))
        ours = Lanes(server.port, events, _nothing)
        bare = Lanes(bare_port, _plain(events, bare_port, server.port), _nothing)
        echo = Lanes(echo_port, _plain(events, echo_port, server.port))
        for lanes in (ours, bare, echo):
            stack.callback(lanes.close)
            lanes.closed_loop(1)
        paced: dict[Lanes, list[Load]] = {ours: [], bare: []}
        closed: dict[Lanes, list[Load]] = {ours: [], bare: [], echo: []}
        for number in range(TURNS):
            for lanes in (ours, bare) if number % 2 == 0 else (bare, ours):
                paced[lanes].append(lanes.paced(turn_seconds, PER_SECOND))
                closed[lanes].append(lanes.closed_loop(turn_seconds))
            closed[echo].append(echo.closed_loop(min(turn_seconds, 2.0)))
    return [_paced(paced[ours], paced[bare]), *_closed(closed[ours], closed[bare], closed[echo])]


def _paced(ours: list[Load], bare: list[Load]) -> Figure:
    samples, least = (Samples.of(us for load in loads for us in load.us) for loads in (ours, bare))
    what = f"hook event, nothing waiting; {CONNECTIONS} connections at {PER_SECOND:,}/s"
    figure = at_most("PERF-1", what, samples, p50_ms=1, p99_ms=5)
    floor_text = f"bare Sanic POST p50 {ms(least.median)}, p99 {ms(least.p99)}"
    return replace(figure, floor=floor_text, ratio=samples.median / least.median)


def _closed(ours: list[Load], bare: list[Load], echo: list[Load]) -> list[Figure]:
    rate, least, most = (median(load.rate for load in loads) for loads in (ours, bare, echo))
    figure = at_least("PERF-1", f"the same, closed loop, {CONNECTIONS} connections", round(rate * 100), 100, 8_000)
    ceiling = Figure("PERF-1", "the generator's own ceiling (fixed bytes back)", f"{most:,.0f}/s")
    return [replace(figure, floor=f"bare Sanic POST {least:,.0f}/s", ratio=least / rate), ceiling]
