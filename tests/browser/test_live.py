"""Pages that stay open: one stream for all of a browser's tabs, nothing missed, nobody disturbed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from relaybay.service import tasks
from tests.browser.addresses import pages
from tests.browser.conftest import Seeded
from tests.browser.opened import SETTLED, Opened
from tests.ui.board_rig import OWNER

Open = Callable[..., Opened]
OUTAGE = ("console error: Failed to load resource: ", "console error: Fetch API cannot load")
TABS = 10
HALF = "half a thou"


def card(page: Any, key: str) -> Any:
    return page.locator(f"#card-{key}")


def lamp_says(page: Any, pattern: str, seconds: float = 15) -> None:
    page.wait_for_function(
        "(pattern) => new RegExp(pattern, 'i').test(document.getElementById('lamp').textContent)",
        arg=pattern,
        timeout=seconds * 1000,
    )


def test_ten_tabs_share_one_stream_and_all_are_live(own: Seeded, open_in: Open) -> None:
    opened = open_in(own.world)
    tabs = [opened.page("/") for _ in range(TABS)]
    assert own.world.listeners == 1
    key = own.world.task("Seen in every tab")
    for tab in tabs:
        card(tab, key).wait_for()
    assert own.world.listeners == 1
    for tab in tabs[:-1]:
        tab.close()
    assert own.world.listeners == 1
    own.world.task("After the others were closed")
    tabs[-1].get_by_text("After the others were closed").wait_for()


def test_an_outage_is_told_and_nothing_is_missed(own: Seeded, open_in: Open) -> None:
    opened = open_in(own.world)
    opened.expected = OUTAGE
    page = opened.page("/")
    port = own.world.go_away()
    lamp_says(page, "not live|retrying")
    key = own.world.task("Made while nobody could see it")
    assert card(page, key).count() == 0
    own.world.come_back(port, logins=True)
    card(page, key).wait_for(timeout=20_000)
    page.wait_for_function(SETTLED)


def test_a_server_that_forgot_its_logins_is_told_and_a_new_login_wakes_every_tab(own: Seeded, open_in: Open) -> None:
    opened = open_in(own.world)
    opened.expected = OUTAGE
    page = opened.page("/")
    port = own.world.go_away()
    key = own.world.task("Made while nobody could see it")
    own.world.come_back(port, logins=False)
    lamp_says(page, "relaybay open", 20)
    other = opened.context.new_page()
    other.goto(own.world.login)
    card(other, key).wait_for()
    card(page, key).wait_for(timeout=20_000)
    page.wait_for_function(SETTLED)


def stir(seeded: Seeded) -> None:
    """Something of every kind happens, so that every page has to fetch its fragments again."""
    world, made = seeded.world, seeded.made
    late = world.session(f"late-comer-{world.now}", activity="working", cwd="/src/late")
    world.now += 10_000_000
    world.send(late, "reviewer", "Something new for everybody.", task=made["key"])
    world.reply(made["lead"], made["key"], "And one more question.")
    change = tasks.Change(step_add="A step that came up")
    world.write(lambda tx: tasks.task_update(tx, world.relay, OWNER, task=made["key"], change=change))
    world.task("A card that came up")


PICK_FIELD = """() => {
  const fields = [...document.querySelectorAll("main textarea, main input[type=search], main input:not([type])")];
  const open = fields.find((one) => one.checkVisibility());
  if (open) { open.focus(); open.value = ""; }
  return Boolean(open);
}"""
PICK_LINK = """() => {
  const links = [...document.querySelectorAll("main [data-live] a[href], main a[href], main button")].filter((one) => one.checkVisibility());
  const chosen = links[Math.floor(links.length / 2)];
  if (!chosen) return false;
  chosen.scrollIntoView({ block: "center" });
  chosen.focus();
  window.chosen = window.named(chosen);
  return true;
}"""
NAMED = """() => { window.named = (one) => [one.tagName, one.getAttribute("href"), one.formAction ?? "", one.value ?? "",
  one.closest("[id]").id].join(" ") }"""
TOP = "document.activeElement.getBoundingClientRect().top"
STILL_THERE = "() => [window.named(document.activeElement), window.chosen]"


def fetched(page: Any) -> None:
    """Returns when fragments have been fetched again, and what came stands in the page."""
    page.wait_for_function(
        "() => performance.getEntriesByType('resource').some((one) => one.name.includes('fragment=') && one.responseEnd > 0)"
    )
    page.wait_for_timeout(500)
    page.evaluate("performance.clearResourceTimings()")


@pytest.mark.parametrize("path", pages())
def test_a_live_update_leaves_the_reader_alone(lively: Seeded, open_in: Open, path: str) -> None:
    opened = open_in(lively.world)
    page = opened.page(lively.addresses.of(path))
    live = page.locator("main [data-live]").count() > 0
    page.evaluate("performance.clearResourceTimings()")
    typed = page.evaluate(PICK_FIELD)
    if typed:
        page.keyboard.type(HALF)
        page.keyboard.press("Shift+ArrowLeft")
        page.keyboard.press("Shift+ArrowLeft")
    y = page.evaluate("scrollY")
    stir(lively)
    if live:
        fetched(page)
    if typed:
        state = "(e => [e.value, e.selectionStart, e.selectionEnd])(document.activeElement)"
        assert page.evaluate(state) == [HALF, len(HALF) - 2, len(HALF)]
    assert page.evaluate("scrollY") == y

    page.evaluate("document.activeElement.blur()")
    page.evaluate(NAMED)
    if live and page.evaluate(PICK_LINK):
        y = page.evaluate(TOP)
        stir_again(lively)
        fetched(page)
        now, chosen = page.evaluate(STILL_THERE)
        assert now == chosen, "the focus went elsewhere"
        assert abs(page.evaluate(TOP) - y) <= 2, "it moved away under the reader"


def stir_again(seeded: Seeded) -> None:
    seeded.world.now += 10_000_000
    seeded.world.send(seeded.made["review"], "builder", "And again.", task=seeded.made["key"])
    seeded.world.reply(seeded.made["lead"], seeded.made["key"], "One more.")


def test_the_title_counts_what_needs_the_owner_while_one_looks_on(own: Seeded, open_in: Open) -> None:
    page = open_in(own.world).page("/")
    count = int(re.match(r"\((\d+)\)", page.title()).group(1))  # type: ignore[union-attr]
    own.world.send(own.made["lead"], "reviewer", "Not for the owner: counts for nothing.")
    own.world.reply(own.made["lead"], own.made["third"], "Shall I begin?")
    page.wait_for_function("(start) => document.title.startsWith(start)", arg=f"({count + 1}) ")
    assert str(count + 1) in page.locator("#nav").inner_text()


def test_rows_do_not_move_under_the_pointer(own: Seeded, open_in: Open) -> None:
    for n in range(12):
        own.world.send(own.made["lead"], "builder", f"Filler {n}")
        own.world.now += 10_000_000
    page = open_in(own.world).page("/messages")
    row = page.locator("main [data-live] [id^=message-]").nth(2)
    row.hover()
    name, y = row.get_attribute("id"), row.bounding_box()["y"]
    shifts = page.evaluate("window.shifts")
    for n in range(20):
        own.world.send(own.made["review"], "builder", f"Burst {n}")
        own.world.now += 10_000_000
        page.wait_for_timeout(20)
    page.wait_for_timeout(1_500)
    assert page.locator(f"#{name}").bounding_box()["y"] == y
    assert page.evaluate("window.shifts") - shifts < 0.01
    new = page.locator("#new-rows")
    assert "new" in new.inner_text()
    new.click()
    page.get_by_text("Burst 19").wait_for()


def test_when_a_row_goes_the_focus_goes_to_its_neighbour(own: Seeded, open_in: Open) -> None:
    keys = [own.world.task(f"Neighbour {n}", status="todo") for n in range(3)]
    page = open_in(own.world).page("/")
    page.locator(f"#card-{keys[1]} h3 a").focus()
    status = tasks.Change(status="dropped")
    own.world.write(lambda tx: tasks.task_update(tx, own.world.relay, OWNER, task=keys[1], change=status))
    page.wait_for_function("(key) => !document.getElementById(`card-${key}`)", arg=keys[1])
    # Newest first: the one that stood below it was made before it.
    page.wait_for_function(
        "(key) => document.getElementById(`card-${key}`).contains(document.activeElement)", arg=keys[0]
    )
