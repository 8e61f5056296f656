"""Random walks over the whole core (page 90): the promises of specs/invariants.toml after every step."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.stateful.machine import RelayMachine
from tests.stateful.pairs import Pairs, counting

SOAK = bool(os.environ.get("RELAYBAY_SOAK"))
SOAK_STEPS = 100_000
QUICK = settings(max_examples=80, stateful_step_count=50)
LONG = settings(max_examples=400, stateful_step_count=80, derandomize=False)


@pytest.mark.spec(
    "INV-1", "INV-2", "INV-3", "INV-4", "INV-5", "INV-7", "INV-8", "INV-9", "INV-10", "INV-11", "INV-12", "WAIT-2"
)
def test_the_promises_hold_after_every_step(record_property) -> None:
    RelayMachine.steps = 0
    pairs = Pairs()
    began = time.monotonic()
    with counting(pairs):
        run_state_machine_as_test(RelayMachine, settings=LONG if SOAK else QUICK)
        while SOAK and RelayMachine.steps < SOAK_STEPS:
            run_state_machine_as_test(RelayMachine, settings=LONG)
    record_property("executed", " ".join(sorted(pairs.spec_ids)))
    record_property("count:stateful steps", RelayMachine.steps)
    print(f"{RelayMachine.steps} steps, {len(pairs.pairs)} pairs, {time.monotonic() - began:.0f} s")
    assert not pairs.wrongly_marked(), "a row that the table marks never_asked was asked"
