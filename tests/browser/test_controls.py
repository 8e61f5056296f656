"""What one presses: large enough for a finger, and with a line around it that can be seen (WCAG 2.5.8, 1.4.11)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser import measure
from tests.browser.addresses import pages
from tests.browser.conftest import Seeded
from tests.browser.known import hold_against
from tests.browser.opened import DESK, PHONE, Opened

Open = Callable[..., Opened]
FINGER_PX = 44
POINTER_PX = 24
LINE_RATIO = 3.0
ROW = """() => document.querySelector("main tbody tr").getBoundingClientRect().height"""


@pytest.mark.parametrize("path", pages())
def test_a_finger_hits_what_it_means(few: Seeded, open_in: Open, path: str) -> None:
    opened = open_in(few.world, viewport=PHONE, has_touch=True, is_mobile=True)
    low = opened.page(few.addresses.of(path)).evaluate(measure.LOW, FINGER_PX)
    hold_against(path, {"finger": low} if low else {}, {"finger"})


@pytest.mark.parametrize("path", pages())
def test_a_pointer_hits_what_it_means_in_the_tightest_look(few: Seeded, open_in: Open, path: str) -> None:
    opened = open_in(few.world, viewport=DESK)
    opened.context.add_cookies([{"name": "relaybay_look", "value": "system.compact.on", "url": few.world.url}])
    low = opened.page(few.addresses.of(path)).evaluate(measure.LOW, POINTER_PX)
    hold_against(path, {"pointer": low} if low else {}, {"pointer"})


@pytest.mark.parametrize("path", pages())
def test_lines_around_controls_and_the_focus_can_be_seen(few: Seeded, open_in: Open, path: str) -> None:
    page = open_in(few.world).page(few.addresses.of(path))
    faint = []
    for colours in ("light", "dark"):
        page.emulate_media(color_scheme=colours)
        faint += [f"{colours}: {text}" for text in page.evaluate(measure.FAINT, LINE_RATIO)]
    hold_against(path, {"lines": faint} if faint else {}, {"lines"})


def test_faint_lines_and_low_controls_are_found(few: Seeded, open_in: Open) -> None:
    page = open_in(few.world).page("/search")
    page.evaluate("""() => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(`#q { border-color: #ddd } .finder-form button { min-height: 20px; height: 20px }
        :focus { outline: 2px solid #e8e8e8 !important }`);
      document.adoptedStyleSheets.push(sheet);
    }""")
    faint = page.evaluate(measure.FAINT, LINE_RATIO)
    assert any(text.startswith("line of input#q") for text in faint)
    assert any(text.startswith("ring of button") for text in faint)
    assert [text for text in page.evaluate(measure.LOW, POINTER_PX) if "Search" in text]


def test_rows_are_as_high_as_the_look_says(few: Seeded, open_in: Open) -> None:
    heights = {}
    for look in ("compact", "normal"):
        opened = open_in(few.world)
        opened.context.add_cookies([{"name": "relaybay_look", "value": f"system.{look}.on", "url": few.world.url}])
        heights[look] = opened.page("/projects").evaluate(ROW)
    touched = open_in(few.world, viewport={"width": 1280, "height": 900}, has_touch=True, is_mobile=True)
    heights["touched"] = touched.page("/projects").evaluate(ROW)
    assert heights["compact"] >= POINTER_PX and heights["normal"] >= heights["compact"] + 8
    assert heights["touched"] >= max(FINGER_PX, heights["normal"])
