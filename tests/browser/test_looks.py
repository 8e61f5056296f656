"""How pages look where colours, room or scripts are missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from relaybay.store import sessions
from tests.browser.conftest import Seeded
from tests.browser.opened import PHONE, Opened

Open = Callable[..., Opened]
STYLE = "(one, name) => getComputedStyle(one)[name]"
SIZE = "(one) => { const { width, height } = one.getBoundingClientRect(); return [width, height]; }"
#: Smallest room between the words of two neighbours in a line of the navigation, in px.
ROOM = """() => {
  const words = [...document.querySelectorAll(".top nav a")].map((link) => {
    const range = document.createRange();
    range.selectNodeContents(link.firstChild);
    const { left, right, top, height } = range.getBoundingClientRect();
    return { left, right: link.querySelector(".badge")?.getBoundingClientRect().right ?? right, top, height };
  });
  const beside = words.slice(1).map((one, at) => [words[at], one]).filter(([a, b]) => Math.abs(a.top - b.top) < a.height / 2);
  return Math.min(...beside.map(([a, b]) => b.left - a.right));
}"""


def style(page: Any, selector: str, name: str) -> str:
    found: str = page.locator(selector).first.evaluate(STYLE, name)
    return found


def test_forced_colours_show_edges_and_what_is_chosen(few: Seeded, open_in: Open) -> None:
    page = open_in(few.world, forced_colors="active").page("/")
    assert style(page, ".top nav a", "borderTopWidth") == "0px", "a clear line is drawn all the same"
    assert style(page, ".column", "borderTopWidth") == "1px"
    chosen, other = ".filters a[aria-current]", ".filters a:not([aria-current])"
    assert style(page, chosen, "backgroundColor") != style(page, other, "backgroundColor")
    assert style(page, chosen, "color") != style(page, other, "color")


@pytest.mark.parametrize("path", ["/", "/sessions", "/messages", "/inbox"])
@pytest.mark.parametrize("scale", [100, 200])
def test_the_pages_of_a_narrow_window_do_not_run_together(few: Seeded, open_in: Open, path: str, scale: int) -> None:
    page = open_in(few.world, viewport=PHONE).page(path)
    page.evaluate("(scale) => { document.documentElement.style.fontSize = `${scale}%`; }", scale)
    assert page.evaluate(ROOM) >= 4
    width, height = page.locator("#nav a[href='/inbox'] .badge").evaluate(SIZE)
    assert width >= height - 1, "a badge of one digit is round"
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_a_saved_filter_is_as_high_as_what_stands_beside_it(own: Seeded, open_in: Open) -> None:
    own.world.post("/views", page="board", name="Waiting", q="is:undelivered")
    page = open_in(own.world, viewport=PHONE).page("/")
    saved, project = page.locator(".views a").evaluate(SIZE), page.locator(".filters a").first.evaluate(SIZE)
    assert saved[1] == project[1]


def test_a_picture_that_is_wider_than_the_window_says_so(few: Seeded, open_in: Open) -> None:
    page = open_in(few.world, viewport=PHONE).page("/map")
    assert page.locator(".map-wider").is_visible()
    assert page.locator(".map-wrap").evaluate("(one) => one.scrollWidth > one.clientWidth")
    wide = open_in(few.world).page("/map")
    assert not wide.locator(".map-wider").is_visible()
    assert wide.locator(".map-wrap").evaluate("(one) => one.scrollWidth <= one.clientWidth")


@pytest.mark.parametrize("width", [1280, 920])
def test_an_address_in_the_settings_stands_in_one_line(few: Seeded, open_in: Open, width: int) -> None:
    page = open_in(few.world, viewport={"width": width, "height": 800}).page("/settings")
    assert page.locator("#setting-server-host td code").first.evaluate("(one) => one.getClientRects().length") == 1
    apart = """() => document.querySelector("#setting_list > .table-wrap + p").getBoundingClientRect().top
      - document.querySelector("#setting_list > .table-wrap").getBoundingClientRect().bottom"""
    assert page.evaluate(apart) >= 6


@pytest.mark.parametrize("width", [1280, 920, 360])
def test_a_pill_and_an_age_have_one_line(own: Seeded, open_in: Open, width: int) -> None:
    world, row = own.world, own.made["review"]
    world.relay.store.write(lambda tx: sessions.change(tx, row.id, asks="permission", asks_since_us=tx.now))
    page = open_in(world, viewport={"width": width, "height": 800}).page("/sessions")
    low = page.get_by_text("not delivered").first.evaluate(SIZE)[1]
    assert page.get_by_text("asks permission").first.evaluate(SIZE)[1] <= low + 4
    for lines in page.locator(".rows time").evaluate_all("(all) => all.map((one) => one.getClientRects().length)"):
        assert lines == 1


def test_no_keys_are_told_of_where_none_work(few: Seeded, open_in: Open) -> None:
    page = open_in(few.world, java_script_enabled=False).page(few.addresses.of("/tasks/<key:str>"))
    assert page.locator("kbd").count() > 3
    assert not [one for one in page.locator("kbd").all() if one.is_visible()]
    assert open_in(few.world).page("/").locator("kbd").first.is_visible()


@pytest.mark.parametrize("path", ["/inbox", "/messages", "/search"])
def test_a_count_of_more_digits_moves_nothing(few: Seeded, open_in: Open, path: str) -> None:
    page = open_in(few.world).page(path)
    ends = "() => document.querySelector('.page-head').getBoundingClientRect().bottom"
    widths = range(760, 1400, 20)

    def heads() -> list[float]:
        found = []
        for width in widths:
            page.set_viewport_size({"width": width, "height": 800})
            found.append(page.evaluate(ends))
        return found

    before = heads()
    page.evaluate("""() => {
      for (const link of document.querySelectorAll("#standing a")) {
        link.lastChild.nodeValue = link.lastChild.nodeValue.replace(/\\d+/, "888");
      }
    }""")
    assert page.locator("#standing").inner_text().count("888") == 3
    moved = [width for width, was, now in zip(widths, before, heads(), strict=True) if was != now]
    assert not moved
