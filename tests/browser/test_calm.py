"""A page that is left open all day stays calm: it speaks seldom, and does not jump however much happens."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

from relaybay.service import tasks
from tests.browser.conftest import Seeded
from tests.browser.opened import Opened
from tests.ui.board_rig import OWNER

Open = Callable[..., Opened]
SPOKEN = """() => {
  window.spoken = [];
  const region = document.getElementById("said");
  new MutationObserver(() => window.spoken.push([performance.now(), region.textContent]))
    .observe(region, { childList: true, characterData: true, subtree: true });
}"""
GAP_MS = 10_000
EVENTS, PER_SECOND = 100, 50


def test_one_place_speaks_and_no_more_than_once_in_ten_seconds(own: Seeded, open_in: Open) -> None:
    page = open_in(own.world).page("/")
    assert page.locator("[role=status]:not([hidden]), [aria-live=polite]").count() == 1
    assert page.locator("[data-live][aria-live], [data-live] [aria-live]").count() == 0, "no list speaks by itself"
    page.evaluate(SPOKEN)
    for number in range(6):
        own.world.task(f"Come up while one looks on {number}")
        page.wait_for_timeout(400)
    page.wait_for_function("() => window.spoken.length >= 2", timeout=20_000)
    spoken = page.evaluate("() => window.spoken")
    # A browser's own timers may be early by a hair.
    assert all(later[0] - one[0] > GAP_MS - 50 for one, later in pairwise(spoken)), spoken
    assert all(text and len(text) < 120 for _, text in spoken)


def test_fifty_events_a_second_shift_nothing(own: Seeded, open_in: Open) -> None:
    page = open_in(own.world).page("/")
    key = own.made["third"]
    began = time.monotonic()
    for number in range(EVENTS):
        change = tasks.Change(title=f"Write down how a release is made {number:03}")
        own.world.write(
            lambda tx, change=change: tasks.task_update(tx, own.world.relay, OWNER, task=key, change=change)
        )
        time.sleep(max(0.0, began + (number + 1) / PER_SECOND - time.monotonic()))
    page.wait_for_function(
        "(key) => document.querySelector(`#card-${key} h3`).textContent.includes('made 099')", arg=key
    )
    assert page.evaluate("() => window.shifts") < 0.01
