"""What holds of every page, whatever it shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser import measure
from tests.browser.addresses import is_page, pages
from tests.browser.conftest import Seeded
from tests.browser.known import hold_against
from tests.browser.opened import PHONE, Opened

Open = Callable[..., Opened]
NARROW = {"width": 320, "height": 640}
"""1280 px at 400 %."""
FIRST_PAGE_BYTES, PAGE_BYTES = 60_000, 100_000
NODES_MAX = 1_500
ONCE = """() => { const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  return ids.filter((id, at) => ids.indexOf(id) !== at); }"""


def speaking(page: Any) -> list[str]:
    """Exactly one place speaks, politely, in a short sentence; a list that is fetched again is none."""
    found = page.evaluate(measure.SPEAKING)
    one = len(found) == 1 and found[0][0] == "status" and found[0][1] in ("", "polite") and len(found[0][3]) <= 120
    return [] if one else [str(found)]


def contrast(page: Any) -> list[str]:
    found = []
    for look in ({"color_scheme": "light"}, {"color_scheme": "dark"}, {"forced_colors": "active"}):
        page.emulate_media(**{"color_scheme": "dark", "forced_colors": "none", **look})
        found += [f"{look}: {text}" for text in page.evaluate(measure.CONTRAST)]
    page.emulate_media(color_scheme="light", forced_colors="none")
    return found


def title(page: Any, inbox: int) -> list[str]:
    """The title counts what needs the owner and nothing else, and the icon in the tab says the same."""
    told = f"({inbox}) " if inbox else ""
    icon = page.locator("#favicon").get_attribute("href") or ""
    fits = page.title().startswith(told) and page.title().endswith(" · relaybay")
    fits = fits and (bool(inbox) or not page.title().startswith("("))
    fits = fits and icon.endswith("icon-needs.svg" if inbox else "icon.svg")
    return [] if fits else [f"{page.title()} ({icon}) with {inbox} in the Inbox"]


def keyboard(page: Any) -> list[str]:
    """Tab reaches the controls, the focus can be seen, and nothing lies over it."""
    stops = measure.tab_through(page)
    # A list may be one stop; a trap would be one as well.
    few = [f"only {len(stops)} stops"] if len(stops) < min(8, page.evaluate(measure.CONTROLS)) else []
    return few + [
        f"{what}: {stop['what']}"
        for stop in stops
        for what, wrong in (
            ("no ring", not stop["ring"]),
            ("out of sight", not stop["visible"]),
            ("covered", stop["covered"]),
        )
        if wrong
    ]


def motion(page: Any) -> list[str]:
    page.emulate_media(reduced_motion="reduce")
    found: list[str] = page.evaluate(measure.MOVING)
    page.emulate_media(reduced_motion="no-preference")
    return found


def narrow(page: Any) -> list[str]:
    """Nothing sticks out at 320 px, nor with the text spacing that a reader may set. Last, for it changes the page."""
    page.set_viewport_size(NARROW)
    found = page.evaluate(measure.SIDEWAYS)
    page.evaluate(measure.SPACING)
    return [*found, *(f"spaced: {text}" for text in page.evaluate(measure.SIDEWAYS) + page.evaluate(measure.CUT))]


CHECKS = (speaking, contrast, motion, keyboard, narrow)


@pytest.mark.parametrize("path", pages())
def test_a_page_is_for_everybody(few: Seeded, open_in: Open, path: str) -> None:
    opened = open_in(few.world)
    page = opened.page(few.addresses.of(path))
    faults = {check.__name__: found for check in CHECKS if (found := check(page))}
    if found := title(page, len(few.world.get("/inbox.json").json["entries"])):
        faults["title"] = found
    hold_against(path, faults, {*(check.__name__ for check in CHECKS), "title"})


@pytest.mark.parametrize("path", [path for path in pages() if "<" not in path])
def test_a_page_with_nothing_on_it(empty: Seeded, open_in: Open, path: str) -> None:
    page = open_in(empty.world).page(path)
    assert page.locator("h1").count() == 1
    assert title(page, 0) == []
    page.set_viewport_size(PHONE)
    assert page.evaluate(measure.SIDEWAYS) == []


@pytest.mark.parametrize("path", pages())
def test_two_hundred_rows_stay_light(many: Seeded, open_in: Open, path: str) -> None:
    page = open_in(many.world).context.new_page()
    answer = page.goto(many.world.url + many.addresses.of(path))
    size, nodes = len(answer.body()), page.evaluate(measure.NODES)
    assert page.locator("h1").count() == 1
    assert title(page, many.world.get("/inbox.json").json["count"]) == []
    light = size <= (FIRST_PAGE_BYTES if path == "/" else PAGE_BYTES) and nodes <= NODES_MAX
    assert page.evaluate(ONCE) == [], "an id stands twice"
    hold_against(path, {} if light else {"weight": [f"{size:,} B, {nodes:,} nodes"]}, {"weight"})


def test_nothing_else_is_a_page(few: Seeded) -> None:
    for operation in few.world.routes.operations:
        if (
            operation.method == "GET"
            and operation.door == "board"
            and "<" not in operation.path
            and not is_page(operation)
        ):
            answer = few.world.get(operation.path)
            assert "text/html" not in answer.headers["content-type"], f"{operation.path}: name its operation page_…"


def test_views_that_the_board_links_to_are_there(few: Seeded, open_in: Open) -> None:
    opened = open_in(few.world)
    for address in few.addresses.views():
        answer = few.world.get(address)
        assert answer.status == 200, address
        if "text/html" in answer.headers["content-type"]:
            opened.page(address, settled=False).close()


def test_the_one_time_address_logs_a_browser_in(few: Seeded, open_in: Open) -> None:
    opened = open_in(few.world, login=False)
    page = opened.context.new_page()
    page.goto(few.world.login)
    assert page.url == f"{few.world.url}/"
    assert page.locator("h1").inner_text() == "Board"
    used = open_in(few.world, login=False)
    used.expected = ("console error: Failed to load resource: the server responded with a status of 401",)
    page = used.context.new_page()
    assert page.goto(f"{few.world.url}/").status == 401
    assert "relaybay open" in page.locator("body").inner_text()
