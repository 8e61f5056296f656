"""Random walks over the whole core (page 90): the promises of specs/invariants.toml after every step."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.stateful.channel_machine import ChannelMachine
from tests.stateful.machine import RelayMachine
from tests.stateful.pairs import Pairs, counting

SOAK = bool(os.environ.get("RELAYBAY_SOAK"))
SOAK_STEPS = 100_000
QUICK = settings(max_examples=80, stateful_step_count=50)
LONG = settings(max_examples=400, stateful_step_count=80, derandomize=False)


BASE = (
    "INV-1", "INV-2", "INV-3", "INV-4", "INV-5", "INV-7", "INV-8", "INV-9", "INV-10", "INV-11", "INV-12", "WAIT-2",
)  # fmt: skip
CHANNELS = ("INV-13", "INV-14", "INV-16", "INV-17", "INV-18", "INV-19", "INV-20", "CH-9")


@pytest.mark.spec(*BASE)
def test_the_promises_hold_after_every_step(record_property) -> None:
    _walk(RelayMachine, "stateful steps", record_property)


@pytest.mark.spec(*BASE, *CHANNELS)
def test_the_promises_hold_after_every_step_with_channels(record_property) -> None:
    _walk(ChannelMachine, "stateful steps with channels", record_property)


def _walk(machine: type[RelayMachine], counted: str, record_property: Any) -> None:
    machine.steps = 0
    pairs = Pairs()
    began = time.monotonic()
    with counting(pairs):
        run_state_machine_as_test(machine, settings=LONG if SOAK else QUICK)
        while SOAK and machine.steps < SOAK_STEPS:
            run_state_machine_as_test(machine, settings=LONG)
    record_property("executed", " ".join(sorted(pairs.spec_ids)))
    record_property(f"count:{counted}", machine.steps)
    print(f"{machine.steps} steps, {len(pairs.pairs)} pairs, {time.monotonic() - began:.0f} s")
    assert not pairs.wrongly_marked(), "a row that the table marks never_asked was asked"
