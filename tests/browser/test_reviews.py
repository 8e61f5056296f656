"""Reviews and the messaging panel in a browser: by key, live, without a batch (page 50, OWN-4, 5 and 10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import Seeded
from tests.browser.opened import Opened

Open = Callable[..., Opened]


def needs(page: Any) -> int:
    return int(page.locator("#nav").get_attribute("data-needs"))


def review_of(page: Any, mid: str) -> None:
    page.wait_for_url(f"**/messages/{mid}/review**")
    page.locator(f"#review-{mid}").wait_for()


@pytest.mark.spec("OWN-4", "REV-4", "REV-5")
def test_held_messages_are_decided_by_keys_one_after_the_other(own: Seeded, open_in: Open) -> None:
    first, second, third = own.made["held"][:3]
    page = open_in(own.world).page("/messages?tab=review")
    before = needs(page)
    assert page.locator("#review_list li[id]").count() == len(own.made["held"])
    page.keyboard.press("n")
    review_of(page, first)
    assert "Two tests of the parser are red." in page.locator(".review-body").inner_text()
    page.keyboard.press("n")
    review_of(page, second)
    page.keyboard.press("a")
    page.get_by_text("Not held any more.").wait_for()
    assert needs(page) == before - 1
    page.keyboard.press("n")
    review_of(page, third)
    for _ in range(3):
        here = page.url
        page.keyboard.press("n")
        page.wait_for_url(lambda url, here=here: url != here)
    review_of(page, first)
    page.keyboard.press("d")
    page.locator("details.ask[open]").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Reject for good"
    assert page.url.endswith(f"/messages/{first}/review?session={page.url.rpartition('=')[2]}"), "asked, not done"
    assert own.world.get(f"/messages/{first}/review.json").json["review"]["stage"] == "open"
    page.keyboard.press("Enter")
    page.get_by_text("Not held any more.").wait_for()
    stages = [own.world.get(f"/messages/{mid}/review.json").json["review"] for mid in (first, second)]
    assert [one["state"] for one in stages] == ["rejected", "sent"]


@pytest.mark.spec("REV-2")
def test_an_open_review_says_by_itself_that_controls_changed(own: Seeded, open_in: Open) -> None:
    first = own.made["held"][0]
    page = open_in(own.world).page("/messages?tab=review")
    page.keyboard.press("n")
    review_of(page, first)
    watch = page.url.rpartition("=")[2]
    row = type("Row", (), {"ref": watch})()
    own.world.policy(row, "auto")  # type: ignore[arg-type]
    page.get_by_text("Controls changed since this was opened.").wait_for()
    assert page.locator("[data-hotkey=a]").count() == 0 and page.locator(".review-body").count() == 0
    page.keyboard.press("v")
    page.locator("[data-hotkey=a]").wait_for()


@pytest.mark.spec("OWN-5", "OWN-8", "OWN-10")
def test_the_panel_takes_a_name_topics_and_a_policy(own: Seeded, open_in: Open) -> None:
    opened = open_in(own.world)
    opened.expected = ("console error: Failed to load resource: the server responded with a status of 422",)
    opened.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=own.world.url)
    page = opened.page(f"/sessions/{own.made['build'].ref}")
    panel = page.locator("#session_messaging")
    panel.get_by_label("Choose").fill("ci-watcher")
    panel.get_by_role("button", name="Use this name").click()
    panel.get_by_text("@ci-watcher", exact=True).wait_for()
    panel.get_by_role("button", name="Copy the name").click()
    page.locator("#note").get_by_text("Copied @ci-watcher").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "@ci-watcher"
    panel.get_by_label("Subscribe to").fill("ci.failures CI.x")
    panel.get_by_role("button", name="Add").click()
    page.locator("#refusal-session_topics").wait_for()
    assert page.get_by_label("Subscribe to").input_value() == "ci.failures CI.x"
    page.get_by_label("Subscribe to").fill("ci.failures deploy.**")
    panel.get_by_role("button", name="Add").click()
    panel.get_by_text("deploy.**", exact=True).first.wait_for()
    panel.get_by_label("Policy").select_option("hold")
    panel.get_by_role("button", name="Apply").click()
    panel.get_by_text("keeps every message back for you").first.wait_for()


@pytest.mark.spec("OWN-7")
def test_a_reader_opens_at_the_newest_and_follows_it_only_there(own: Seeded, open_in: Open) -> None:
    world = own.world
    for number in range(25):
        world.script_publish("ci.failures", f"Build {number} is red.\n" * 4, f"job {number}")
        world.now += 60_000_000
    page = open_in(world).page("/channels/ci.failures#newest")
    page.wait_for_function("() => scrollY > 0")
    page.wait_for_function("() => /^live/i.test(document.getElementById('lamp').textContent.trim())")
    last = world.script_publish("ci.failures", "The newest of all.", "late job")
    page.locator(f"#said-{last}").wait_for()
    page.wait_for_function("""() => document.getElementById("newest").getBoundingClientRect().top <= innerHeight""")
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_function("() => scrollY === 0")
    later = world.script_publish("ci.failures", "Newer still.", "later job")
    page.locator(f"#said-{later}").wait_for(state="attached")
    page.wait_for_timeout(200)
    assert page.evaluate("scrollY") == 0, "who reads further up is left alone"
    page.keyboard.press("o")
    page.wait_for_url("**before=**")
    assert page.locator("#reader[data-live]").count() == 0


@pytest.mark.spec("OWN-8")
def test_a_chosen_session_is_subscribed_by_key(own: Seeded, open_in: Open) -> None:
    page = open_in(own.world).page(f"/channels/ci.failures?session={own.made['build'].ref}")
    page.keyboard.press("s")
    page.get_by_role("button", name="Unsubscribe").wait_for()
    assert own.world.get(f"/sessions/{own.made['build'].ref}.json").json["messaging"]["topics"] == ["ci.failures"]
