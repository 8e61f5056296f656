"""What was acknowledged is on disk: after kill -9 of the process, at any moment."""

from __future__ import annotations

import random
import time

import pytest

from relaybay.store import sqlite
from tests.store.conftest import open_store
from tests.store.processes import start

KILLS = 20


@pytest.mark.spec("INV-1", "FLT-1")
def test_an_acknowledged_write_survives_kill_9(tmp_path, record_property) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    promised = 0
    for _ in range(KILLS):
        child = start("write", tmp_path)
        first = child.stdout.readline()
        assert first.strip() == str(promised + 1), "a key was lost, or given to a write that nobody acknowledged"
        time.sleep(chance.random() * 0.05)
        child.kill()
        # A line that was cut by the kill told its reader nothing.
        rest = child.stdout.read().rpartition("\n")[0].split()
        child.wait()
        acknowledged = int(rest[-1]) if rest else int(first)
        store = open_store(tmp_path)
        found = store.read(lambda tx: tx.rows("SELECT id FROM event ORDER BY id"))
        store.close()
        # One write may be on disk whose answer the kill has swallowed.
        assert len(found) in (acknowledged, acknowledged + 1)
        assert found == [(key,) for key in range(1, len(found) + 1)]
        promised = len(found)
    assert sqlite.problems(tmp_path / "relaybay.db") == []
    record_property("count:processes killed", KILLS)
    record_property("count:writes acknowledged before a kill", promised)
