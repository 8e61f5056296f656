"""PERF-5: `message_send` over MCP, on the disk before it is answered: one client's time, 64 clients' rate.

Every call is vouched for by its sender's hooks, as a real client's is, and no sender meets its rate limit: senders are
many. The floor is a bare Sanic POST that puts one row on the disk, with a writer that commits in groups too.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from bench import wire
from bench.figures import Figure, Samples, at_least, at_most, median, ms
from bench.load import Lanes, Load, count
from bench.servers import floor, relaybay
from bench.sessions import linked, sends

CLIENTS = 64
RECIPIENTS = 64
TURNS = 4


def _sent(data: bytes) -> None:
    if b'"isError":true' in data or b"message_id" not in data:
        raise wire.Unexpected(data[:600].decode("utf-8", "replace"))


@dataclass
class Runs:
    """What one kind of run came to, ours and the floor beside it."""

    ours: list[Load] = field(default_factory=list)
    bare: list[Load] = field(default_factory=list)


def run(full: bool) -> list[Figure]:
    alone = Runs()
    many = {era: Runs() for era in wire.ERAS}
    one = count(400, full=4_000, is_full=full) // TURNS
    all_of = count(4_000, full=30_000, is_full=full) // TURNS // CLIENTS * CLIENTS
    with ExitStack() as stack:
        server = stack.enter_context(relaybay())
        bare_port = stack.enter_context(floor("sanic", server.home / "floor.db"))
        connection = stack.enter_context(wire.connect(server.port))
        recipients = linked(server, connection, RECIPIENTS, "recipient")
        row = [wire.post(bare_port, "/durable", {"text": "x" * 900})]
        plan = [(alone, one, 1, wire.ERAS[0]), *((many[era], all_of, CLIENTS, era) for era in wire.ERAS)]
        for _ in range(TURNS):
            for runs, calls, clients, era in plan:
                made = list(sends(server, connection, calls, recipients, era))
                # Each client has its own calls: no two may use the same tool use.
                ours = Lanes(server.port, [made[client::clients] for client in range(clients)], _sent)
                bare = Lanes(bare_port, [row] * clients)
                for lanes, kept in ((ours, runs.ours), (bare, runs.bare)):
                    kept.append(lanes.closed_loop(60, answers_max=calls))
                    lanes.close()
    return [_alone(alone), *(_many(many[era], era) for era in wire.ERAS)]


def _alone(runs: Runs) -> Figure:
    samples, least = (Samples.of(us for load in loads for us in load.us) for loads in (runs.ours, runs.bare))
    figure = at_most("PERF-5", "message_send over MCP, 1 client", samples, p50_ms=8)
    return replace(figure, floor=f"bare durable POST p50 {ms(least.median)}", ratio=samples.median / least.median)


def _many(runs: Runs, era: str) -> Figure:
    rate, least = (median(load.rate for load in loads) for loads in (runs.ours, runs.bare))
    figure = at_least("PERF-5", f"the same, {CLIENTS} clients of era {era}", round(rate * 100), 100, 500)
    return replace(figure, floor=f"bare durable POST {least:,.0f}/s", ratio=least / rate)
