"""The board by keyboard: every key is listed, does something, has a button, and can be switched off."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.addresses import pages
from tests.browser.conftest import Seeded
from tests.browser.opened import Opened

Open = Callable[..., Opened]
ROWS = "main .cards > li h3 a, main [data-list] [data-row-main]"
MIDDLE = "main .cards > li:not(:first-child, :last-child) h3 a"
HOTKEYS = """() => [...document.querySelectorAll("[data-hotkey]")].map((element) => ({
  keys: element.dataset.hotkey, tag: element.tagName, visible: element.checkVisibility({ visibilityProperty: true }),
  title: element.title, shown: [...element.querySelectorAll("kbd")].map((one) => one.textContent.replace("Ctrl ", "")).join("|"),
  words: (element.getAttribute("aria-label") || element.textContent || element.placeholder || element.labels?.[0]?.textContent || "").trim() }))"""
LISTED = """() => [...document.querySelectorAll("[data-run]")].filter((one) => one.checkVisibility()).map((one) => one.dataset.run)"""
PRINT = """() => {
  const active = document.activeElement;
  const same = document.documentElement.outerHTML.replace(/<time.*?<\\/time>/g, "").replace(/data-stop="\\d+"/g, "");
  return [location.href, same, active.tagName + active.id + active.textContent.slice(0, 80), scrollY,
    [...document.querySelectorAll("dialog[open], [popover]:popover-open, details[open]")].map((one) => one.id).join()].join("\\n");
}"""


def alternatives(keys: str) -> set[str]:
    return set(re.split(r",(?=.)", keys))


def press(page: Any, keys: str) -> None:
    """The first alternative, as a person presses it."""
    for part in re.split(r",(?=.)", keys)[0].split():
        page.keyboard.press(part)


def keys_of(page: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(HOTKEYS)
    return found


@pytest.mark.parametrize("path", pages())
def test_help_lists_every_key_of_the_page(few: Seeded, open_in: Open, path: str) -> None:
    page = open_in(few.world).page(few.addresses.of(path))
    here = keys_of(page)
    assert {one["tag"] for one in here} <= {"A", "BUTTON", "SUMMARY", "INPUT", "TEXTAREA"}, "a key without a control"
    assert not [one for one in here if not one["words"]], "a key whose control has no name"
    page.locator("main").focus()
    page.keyboard.press("?")
    page.wait_for_function(f"() => ({LISTED})().length > 5")
    listed = {key for run in page.evaluate(LISTED) for key in alternatives(run)}
    # What waits unseen until there is something for it (undo) is listed when it is there.
    missing = [one["keys"] for one in here if one["visible"] and not alternatives(one["keys"]) & listed]
    assert not missing, f"not in the list: {missing}; listed: {sorted(listed)}"


def test_every_key_does_something(own: Seeded, open_in: Open) -> None:
    from playwright.sync_api import TimeoutError as TooLong

    opened = open_in(own.world)
    for number in range(6):
        own.world.task(f"A card above or below {number}", status="todo")
    tried: set[str] = set()
    dead: list[str] = []
    for path in pages():
        address = own.addresses.of(path)
        page = opened.page(address)
        todo = [one["keys"] for one in keys_of(page) if one["visible"] and one["keys"] not in tried]
        page.close()
        for keys in todo:
            tried.add(keys)
            page = opened.page(address)
            # Keys of a list work on the row that has the focus: one with a row before it and one after it, if there is one.
            rows = page.locator(MIDDLE if page.locator(MIDDLE).count() else ROWS)
            if rows.count():
                rows.first.focus()
            before = page.evaluate(PRINT)
            press(page, keys)
            try:
                page.wait_for_function(f"(before) => ({PRINT})() !== before", arg=before, timeout=4_000)
            except TooLong:
                dead.append(f"{keys} on {address}")
            page.close()
    assert not dead, dead
    assert {"g b", "g i", "g s"} <= {key for keys in tried for key in alternatives(keys)}


def test_the_list_names_no_key_that_is_nowhere(few: Seeded, open_in: Open) -> None:
    opened = open_in(few.world)
    page = opened.page("/keys")
    listed = set(page.evaluate(LISTED))
    assert len(listed) > 10
    there: set[str] = set()
    for path in pages():
        page.goto(few.world.url + few.addresses.of(path))
        # One that nobody sees is no button; and who sees it is to learn its key from it.
        there |= {key for one in keys_of(page) if one["visible"] for key in alternatives(one["keys"])}
        hidden = [one for one in keys_of(page) if one["visible"] and not told_by(one)]
        assert not hidden, f"{path}: controls that do not name their key: {hidden}"
    # Undo is put there with what can be undone: `test_what_was_done_can_be_undone_by_key`. Those of an open review, of a
    # chosen session and of a long channel are pressed in `test_reviews.py`.
    assert not [run for run in listed - {"u", "a", "d", "s", "o"} if not alternatives(run) & there]


def told_by(control: dict[str, Any]) -> bool:
    """Whether the control shows its key, or says it to who points at it."""
    first = control["keys"].split(",")[0] or ","
    shown = first.removeprefix("Control+").upper() if first.startswith("Control+") else first
    return shown in control["shown"].split("|") or f"({first})" in control["title"]


def test_keys_of_one_letter_can_be_switched_off(few: Seeded, open_in: Open) -> None:
    opened = open_in(few.world)
    opened.context.add_cookies([{"name": "relaybay_look", "value": "system.normal.off", "url": few.world.url}])
    page = opened.page("/")
    letters = sorted({key for one in keys_of(page) for key in alternatives(one["keys"]) if len(key.split()[0]) == 1})
    row = page.locator(ROWS).first
    row.focus()
    before = page.evaluate(PRINT)
    for letter in [*letters, "g b", "g i", "?", "/"]:
        press(page, letter)
    page.wait_for_timeout(300)
    assert page.evaluate(PRINT) == before
    page.keyboard.press("Control+k")
    page.locator("#palette[open]").wait_for()


def test_who_types_presses_no_key(few: Seeded, open_in: Open) -> None:
    page = open_in(few.world).page(few.addresses.of("/tasks/<key:str>"))
    field = page.locator("#comment-body")
    field.focus()
    page.keyboard.type("g b ? / n j [ ] e r c u")
    assert page.url.startswith(few.world.url + "/tasks/")
    assert field.input_value() == "g b ? / n j [ ] e r c u"
    assert page.locator("dialog[open]").count() == 0


@pytest.mark.parametrize(("keys", "dialog"), [("?", "#keys-dialog"), ("Control+k", "#palette")])
def test_a_dialog_gives_the_focus_back(few: Seeded, open_in: Open, keys: str, dialog: str) -> None:
    page = open_in(few.world).page("/")
    link = page.locator(ROWS).first
    link.focus()
    page.keyboard.press(keys)
    page.locator(f"{dialog}[open]").wait_for()
    page.wait_for_function("(dialog) => document.querySelector(dialog).contains(document.activeElement)", arg=dialog)
    page.keyboard.press("Escape")
    page.wait_for_function("(dialog) => !document.querySelector(dialog).open", arg=dialog)
    assert page.evaluate("document.activeElement.outerHTML") == link.evaluate("one => one.outerHTML")


def test_the_palette_finds_and_goes(few: Seeded, open_in: Open) -> None:
    page = open_in(few.world).page("/")
    page.keyboard.press("Control+k")
    page.locator("#palette-q").wait_for()
    page.keyboard.type("receipts")
    page.wait_for_function("""() => document.querySelector('#palette_results [aria-selected=true]')?.textContent
      .includes('Fix the sum on receipts')""")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/tasks/{few.made['key']}**")


def test_what_was_done_can_be_undone_by_key(own: Seeded, open_in: Open) -> None:
    page = open_in(own.world).page(f"/tasks/{own.made['third']}")
    page.locator("#comment-body").fill("Taken back at once")
    page.locator("#comment [type=submit]").press("Enter")
    page.get_by_text("Taken back at once").first.wait_for()
    page.locator("main").focus()
    page.keyboard.press("u")
    page.wait_for_function("() => !document.querySelector('#comments').textContent.includes('Taken back at once')")
