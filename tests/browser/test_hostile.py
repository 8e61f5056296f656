"""Texts of others stay text: no element, no attribute, no request, no other title, nothing unseen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from tests.browser import hostile as texts
from tests.browser import measure
from tests.browser.addresses import pages
from tests.browser.conftest import Seeded
from tests.browser.known import hold_against
from tests.browser.opened import PHONE, Opened

Open = Callable[..., Opened]
MADE_OF = """() => [...new Set([...document.querySelectorAll("*")].flatMap((element) =>
  [element.localName, ...[...element.attributes].map((one) => `${element.localName}[${one.name}]`)]))]"""
UNSEEN = """() => [...document.documentElement.textContent].filter((char) =>
  /[\\u202a-\\u202e\\u2066-\\u2069\\u200b\\u200e\\u200f\\u2060\\ufeff]/.test(char)).map((char) => char.codePointAt(0).toString(16))"""
MARKDOWN = {
    "p",
    "br",
    "em",
    "strong",
    "code",
    "pre",
    "a",
    "a[href]",
    "a[rel]",
    "a[target]",
    "ul",
    "ol",
    "li",
    "blockquote",
    "hr",
    "h4",
    "h5",
    "h6",
}
NAMES = ("q", "project", "move", "session", "state", "task", "message", "box", "before", "window", "view")
"""Whatever a page's address may hold; a page knows some of them."""
NEVER = ("iframe", "object", "embed", "img", "base", "style", "frame", "video", "audio")


def made_of(page: Any) -> set[str]:
    return set(page.evaluate(MADE_OF))


def look_for_harm(page: Any, usual: set[str]) -> list[str]:
    """What the page is made of that the same page over plain texts is not, Markdown apart."""
    found = made_of(page)
    title = page.title()
    return [
        *(f"new: {name}" for name in sorted(found - usual - MARKDOWN)),
        *(f"never: {name}" for name in found if "[on" in name or name.split("[")[0] in NEVER),
        *(f"unseen: U+{code}" for code in page.evaluate(UNSEEN)),
        *([f"title: {title}"] if title.endswith("spoofed") or not title.endswith(" · relaybay") else []),
    ]


@pytest.mark.parametrize("path", pages())
def test_every_page_keeps_hostile_texts_as_texts(plain: Seeded, hostile: Seeded, open_in: Open, path: str) -> None:
    addresses = [plain.addresses.of(path)]
    if "<key" in path:
        addresses = [path.replace("<key:str>", f"shop-{number}") for number in range(4, 4 + len(texts.LINES), 4)]
    usual_in, opened = open_in(plain.world, viewport=PHONE), open_in(hostile.world, viewport=PHONE)
    found: list[str] = []
    for address in addresses:
        usual = usual_in.page(address)
        # Ids of messages are drawn by lot: of each world its own.
        page = opened.page(hostile.addresses.of(path) if "<message_id" in path else address)
        harm = [*look_for_harm(page, made_of(usual)), *page.evaluate(measure.SIDEWAYS)]
        found += [f"{address}: {one}" for one in harm]
        page.close()
        usual.close()
    hold_against(path, {"hostile": found} if found else {}, {"hostile"})


@pytest.mark.parametrize("path", [path for path in pages() if "<" not in path])
def test_a_hostile_address_is_no_more_than_an_address(few: Seeded, open_in: Open, path: str) -> None:
    opened = open_in(few.world)
    opened.expected = ("console error: Failed to load resource: the server responded with a status of 4",)
    page = opened.context.new_page()

    def asked(text: str) -> Any:
        return page.goto(f"{few.world.url}{path}?" + "&".join(f"{name}={quote(text)}" for name in NAMES))

    usual: set[str] = set()
    for text in ("", "plain", "words:of from:nobody"):
        asked(text)
        usual |= made_of(page)
    found: list[str] = []
    for text in (*texts.MARKUP[:5], *texts.LOOKS[:1], "\0", "a" * 1_000):
        answer = asked(text)
        assert answer.status < 500, (path, text)
        if "text/html" in answer.headers["content-type"]:
            found += [f"{text[:40]!r}: {harm}" for harm in look_for_harm(page, usual)]
    hold_against(path, {"address": found} if found else {}, {"address"})


def test_a_line_of_a_million_is_refused_on_a_page_that_still_works(own: Seeded, open_in: Open) -> None:
    opened = open_in(own.world, viewport=PHONE)
    opened.expected = ("console error: Failed to load resource: the server responded with a status of 4",)
    page = opened.page(f"/tasks/{own.made['key']}")
    page.locator("#comment-body").evaluate(
        "(field, text) => { field.removeAttribute('maxlength'); field.value = text; }", texts.LONGEST
    )
    page.locator("#comment [type=submit]").click()
    page.locator("[id^=refusal]").first.wait_for()
    assert page.locator("h1").count() == 1
    assert page.evaluate(measure.SIDEWAYS) == []
