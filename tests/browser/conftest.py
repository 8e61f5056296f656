"""One browser a worker, one server a world, one context a test; what a page asks for and complains of is always looked at.

Nothing here outlives this package: as long as Playwright runs, its event loop counts as running in the worker's thread,
and every `asyncio.run` of another test there is refused. A worker gets a group in one piece, so it is over with the last
of these tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.browser.addresses import Addresses
from tests.browser.chrome import FLAGS, chromium, what_is_missing
from tests.browser.opened import Opened
from tests.browser.world import World, ill_meant, little, much, nothing, well_meant
from tests.conftest import missing

GROUPS = 2
"""At most so many browsers run at once, however many workers there are."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if "tests/browser" in str(item.path)]
    for item in here:
        # By module, so that worlds are built once; the heavy ones are told apart by name.
        number = sum(map(ord, item.path.stem)) % GROUPS
        item.add_marker(pytest.mark.xdist_group(f"browser-{number}"))


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    reason = what_is_missing()
    if reason:
        missing("browser", reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield running
        running.close()
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()


def _little_again(world: World) -> dict[str, Any]:
    return little(world)


@dataclass
class Seeded:
    """A world, what was put into it, and its addresses."""

    world: World
    made: dict[str, Any]
    _addresses: Addresses | None = None

    @property
    def addresses(self) -> Addresses:
        if self._addresses is None:
            self._addresses = Addresses(self.world)
        return self._addresses


Seed = Callable[[World], dict[str, Any]]


@pytest.fixture(scope="package")
def seeded(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Seed], Seeded]]:
    """Worlds that tests only look at, each built when it is first asked for."""
    made: dict[Seed, Seeded] = {}

    def build(seed: Seed) -> Seeded:
        if seed not in made:
            world = World(tmp_path_factory.mktemp(seed.__name__))
            made[seed] = Seeded(world, {})
            world.log_in()
            made[seed].made = seed(world)
        return made[seed]

    yield build
    for one in made.values():
        one.world.close()


@pytest.fixture(scope="package")
def empty(seeded: Callable[[Seed], Seeded]) -> Seeded:
    return seeded(nothing)


@pytest.fixture(scope="package")
def few(seeded: Callable[[Seed], Seeded]) -> Seeded:
    return seeded(little)


@pytest.fixture(scope="package")
def many(seeded: Callable[[Seed], Seeded]) -> Seeded:
    return seeded(much)


@pytest.fixture(scope="package")
def hostile(seeded: Callable[[Seed], Seeded]) -> Seeded:
    return seeded(ill_meant)


@pytest.fixture(scope="package")
def plain(seeded: Callable[[Seed], Seeded]) -> Seeded:
    """The twin of `hostile`."""
    return seeded(well_meant)


@pytest.fixture(scope="package")
def lively(seeded: Callable[[Seed], Seeded]) -> Seeded:
    """A world in which things happen, one after the other, in many tests."""
    return seeded(_little_again)


@pytest.fixture
def own(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seeded]:
    """A world of the test's own, to change."""
    world = World(tmp_path_factory.mktemp("own"))
    try:
        world.log_in()
        yield Seeded(world, little(world))
    finally:
        world.close()


@pytest.fixture
def open_in(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Opens a browser of its own (cookies, storage, workers) on a world, logged in. After the test nothing that it
    opened may have complained, or asked another origin for anything.
    """
    opened: list[Opened] = []

    def open_one(world: World, **context: Any) -> Opened:
        one = Opened(browser, world, **context)
        opened.append(one)
        return one

    yield open_one
    faults = [fault for one in opened for fault in one.close()]
    assert not faults, "\n".join(faults)
