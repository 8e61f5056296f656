"""FLT-1: the real server is killed at random moments under 16 clients, started again, and has lost nothing it promised."""

from __future__ import annotations

import time

import pytest

from tests.faults import numbers
from tests.faults.crowd import Client, counted, many_kills
from tests.faults.real import RealServer

LIFE_SECONDS = (0.05, 0.6)
#: A bound against a start that hangs. How long one takes is a figure (PERF-10), and told in the report.
START_SECONDS_MAX = 25


@pytest.mark.spec("FLT-1", "INV-1")
def test_what_the_server_acknowledged_survives_its_kills(campaign) -> None:
    kills, most = numbers.points("FLT-1"), numbers.accepted_min("FLT-1")
    with campaign("FLT-1") as run, RealServer() as server:
        told = run.new_history()

        def strike(number: int, clients: list[Client]) -> bool:
            time.sleep(run.chance.uniform(*LIFE_SECONDS))
            # In a full campaign a server lives until the run has accepted as much as it should have by then.
            while counted(clients) < most * number // kills and not any(client.failure for client in clients):
                time.sleep(0.01)
            return server.kill()

        many_kills(run, server, told, strike, kills)
        server.stop()
        assert "Traceback" not in server.log, server.log
        run.hold(told, server.database)
        assert run.accepted >= most and run.accepted > run.points, f"only {run.accepted} were accepted"
        slowest = max(server.start_seconds)
        assert slowest < START_SECONDS_MAX, f"a start took {slowest:.1f} s"
        run.counts["slowest start, ms"] = round(slowest * 1000)
