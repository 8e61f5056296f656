"""The board without scripts: every page is there, every form does its work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.addresses import pages
from tests.browser.conftest import Seeded
from tests.browser.known import hold_against
from tests.browser.opened import Opened

Open = Callable[..., Opened]


@pytest.mark.parametrize("path", pages())
def test_a_page_stands_without_scripts(few: Seeded, open_in: Open, path: str) -> None:
    page = open_in(few.world, java_script_enabled=False).page(few.addresses.of(path))
    assert page.locator("h1").count() == 1
    # A button that no form sends is one that only a script could work.
    dead = [
        button.inner_text()
        for button in page.locator("main button").all()
        if button.is_visible() and not button.evaluate("one => Boolean(one.form) && one.type === 'submit'")
    ]
    hold_against(path, {"noscript": dead} if dead else {}, {"noscript"})
    for link in page.locator("#nav a").all():
        assert link.get_attribute("href")


def test_forms_do_their_work(own: Seeded, open_in: Open) -> None:
    page = open_in(own.world, java_script_enabled=False).page("/")
    page.locator("#new-task summary").click()
    page.locator("#new-task [name=project]").fill("shop")
    page.locator("#new-task [name=title]").fill("Made without a script")
    page.locator("#new-task [type=submit]").click()
    assert page.locator("h1").inner_text() == "Made without a script"
    address = page.url

    page.locator("#comment-body").fill("Said without a script")
    page.locator("#comment [type=submit]").click()
    assert page.get_by_text("Said without a script").count() == 1
    page.locator("form[action$='/withdraw'] button").first.click()
    assert page.locator("#comments").get_by_text("Said without a script").count() == 0
    assert page.locator("#comment-body").input_value() == "Said without a script"

    page.locator("form[action$='/status'] select").select_option("review")
    page.locator("form[action$='/status'] button").first.click()
    page.goto(f"{own.world.url}/")
    assert page.locator("#in-review").get_by_text("Made without a script").count() == 1
    assert page.goto(address).ok

    page.goto(f"{own.world.url}/inbox")
    entries = len(own.world.get("/inbox.json").json["entries"])
    page.get_by_role("button", name="Mark read").first.click()
    assert page.locator("h1").inner_text() == "Inbox"
    assert len(own.world.get("/inbox.json").json["entries"]) == entries - 1
