"""What somebody who uses the board all day runs into: keys with nothing chosen, a server that is gone, texts to be kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import Seeded
from tests.browser.opened import Opened, until
from tests.browser.test_live import OUTAGE
from tests.browser.test_moves import moved, status

Open = Callable[..., Opened]
FOCUS = "() => document.activeElement.closest('.card')?.id ?? document.activeElement.id"
READING = "() => [...document.querySelectorAll('.cards > .card')].map((one) => one.id)"


def chosen(page: Any) -> str:
    found: str = page.evaluate(FOCUS)
    return found


@pytest.mark.parametrize("key", ["[", "]", "m"])
def test_a_key_with_no_card_chosen_chooses_the_first_and_says_so(own: Seeded, open_in: Open, key: str) -> None:
    page = open_in(own.world).page("/")
    first = page.evaluate(READING)[0]
    before = status(own, first.removeprefix("card-"))
    page.keyboard.press(key)
    note = page.locator("#note")
    note.wait_for()
    assert "No card was chosen" in note.inner_text() and first.removeprefix("card-") in note.inner_text()
    assert chosen(page) == first and status(own, first.removeprefix("card-")) == before


def test_what_cannot_be_moved_further_says_so_for_all_to_see(own: Seeded, open_in: Open) -> None:
    key = own.world.task("The first", status="inbox")
    page = open_in(own.world).page("/")
    page.locator(f"#card-{key} h3 a").focus()
    page.locator("[data-act=card-before]").click()
    page.get_by_text(f"{key} is in the first column.").first.wait_for()
    assert page.locator("#note").is_visible()


def test_j_and_k_walk_through_all_cards(own: Seeded, open_in: Open) -> None:
    for number in range(2):
        own.world.task(f"Another {number}", status="review")
    page = open_in(own.world).page("/")
    cards = page.evaluate(READING)
    assert len(cards) >= 5
    walked = []
    for _ in cards:
        page.keyboard.press("j")
        walked.append(chosen(page))
    assert walked == cards
    page.keyboard.press("j")
    assert chosen(page) == cards[-1]
    back = []
    for _ in cards[1:]:
        page.keyboard.press("k")
        back.append(chosen(page))
    assert back == cards[-2::-1]


def test_h_and_l_go_to_the_nearest_card_of_the_column_beside(own: Seeded, open_in: Open) -> None:
    low = [own.world.task(f"Low {number}", status="todo") for number in range(4)]
    high = [own.world.task(f"High {number}", status="done") for number in range(3)]
    for key in (own.made["key"], own.made["second"]):
        own.world.post(f"/tasks/{key}/status", status="todo")
    page = open_in(own.world).page("/")
    top = """(id) => document.getElementById(id).getBoundingClientRect().top"""
    page.locator(f"#card-{low[2]} h3 a").focus()
    here = page.evaluate(top, f"card-{low[2]}")
    page.keyboard.press("l")
    tops = {f"card-{key}": abs(page.evaluate(top, f"card-{key}") - here) for key in high}
    assert chosen(page) == min(tops, key=lambda one: tops[one])
    page.keyboard.press("l")
    page.get_by_text("No column after this one has a card.").first.wait_for()
    page.keyboard.press("h")
    assert chosen(page).removeprefix("card-") in {*low, own.made["key"], own.made["second"], own.made["third"]}
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.tagName") == "BUTTON", "arrows go through what the card offers"


def test_the_search_field_is_ready(few: Seeded, open_in: Open) -> None:
    page = open_in(few.world).page("/")
    page.keyboard.press("/")
    page.wait_for_url("**/search")
    page.wait_for_function("() => document.activeElement.id === 'q'")
    page.keyboard.type("receipts")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=receipts**")
    page.locator("main").focus()
    page.keyboard.press("/")
    page.wait_for_function("() => document.activeElement.id === 'q'")
    assert "q=receipts" in page.url


@pytest.mark.parametrize("way", ["key", "menu", "drag"])
def test_a_move_that_no_server_takes_is_told(own: Seeded, open_in: Open, way: str) -> None:
    opened = open_in(own.world)
    opened.expected = OUTAGE
    page, key = opened.page("/"), own.made["third"]
    port = own.world.go_away()
    if way == "drag":
        page.locator(f"#card-{key}").drag_to(page.locator("#in-review"))
    else:
        page.locator(f"#card-{key} h3 a").focus()
        page.keyboard.press("]" if way == "key" else "m")
        if way == "menu":
            page.get_by_role("button", name="Done", exact=True).press("Enter")
    note = page.locator("#note")
    note.wait_for()
    assert note.inner_text() == f"{key} was not moved: the server does not answer. It is still in To do."
    assert page.locator(".sending").count() == 0
    own.world.come_back(port, logins=True)
    until(lambda: status(own, key) == "todo")
    page.locator(f"#card-{key} h3 a").focus()
    page.keyboard.press("]")
    moved(own, key, "doing")
    note.wait_for(state="hidden")


@pytest.mark.parametrize("keys", ["Control+Enter", "Meta+Enter"])
def test_a_comment_is_sent_from_its_text(own: Seeded, open_in: Open, keys: str) -> None:
    page = open_in(own.world).page(f"/tasks/{own.made['third']}")
    field = page.locator("#comment-body")
    field.fill("One line")
    field.press("Enter")
    page.keyboard.type("and another")
    page.keyboard.press(keys)
    page.wait_for_url("**#c_*")
    assert own.world.get(f"/tasks/{own.made['third']}.json").json["comments"][-1]["body"] == '"One line\\nand another"'


@pytest.mark.parametrize("script", [True, False])
def test_a_comment_that_is_taken_back_can_be_written_on(own: Seeded, open_in: Open, script: bool) -> None:
    page = open_in(own.world, java_script_enabled=script).page(f"/tasks/{own.made['third']}")
    page.locator("#comment-body").fill("Not so fast")
    page.locator("#comment [type=submit]").click()
    if script:
        page.locator("main").focus()
        page.keyboard.press("u")
    else:
        page.get_by_role("button", name="Take it back").click()
    page.locator("#taken-back").wait_for()
    assert page.locator("#comment-body").input_value() == "Not so fast"
    assert own.world.get(f"/tasks/{own.made['third']}.json").json["comments"] == []


def test_a_comment_that_is_taken_back_in_a_peek_stands_in_its_field(own: Seeded, open_in: Open) -> None:
    page = open_in(own.world).page("/")
    page.locator(f"#card-{own.made['third']} h3 a").focus()
    page.keyboard.press("Space")
    page.locator("#peek-body").fill("Not so fast")
    page.keyboard.press("Control+Enter")
    page.locator("#peek").get_by_role("button", name="Take it back").click()
    page.wait_for_function("() => document.getElementById('peek-body').value === 'Not so fast'")


def test_steps_are_typed_one_after_the_other(own: Seeded, open_in: Open) -> None:
    page = open_in(own.world).page(f"/tasks/{own.made['third']}")
    page.locator("#add-step input[name=text]").focus()
    for number in range(3):
        page.keyboard.type(f"Step {number}")
        page.keyboard.press("Enter")
        page.locator(f"#step-{number + 1}").wait_for()
    assert page.evaluate("() => document.activeElement.name") == "text"
    found = own.world.get(f"/tasks/{own.made['third']}.json").json["task"]["steps"]
    assert [one["text"] for one in found] == ['"Step 0"', '"Step 1"', '"Step 2"']
    page.locator("#add-step input[name=text]").fill("Step 3")
    page.locator("#add-step button").click()
    page.wait_for_function("() => document.activeElement.name === 'text' && document.activeElement.value === ''")
