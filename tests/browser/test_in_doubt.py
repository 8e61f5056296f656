"""What nobody can know from here: whether a form that got no answer was carried out, whose move came last."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.browser.conftest import Seeded
from tests.browser.opened import PHONE, Opened
from tests.browser.test_live import OUTAGE
from tests.browser.test_moves import status

Open = Callable[..., Opened]
WIDTH = "() => document.documentElement.scrollWidth"


def test_a_comment_whose_answer_is_lost_is_not_sent_twice(own: Seeded, open_in: Open) -> None:
    opened = open_in(own.world)
    opened.expected = OUTAGE
    page, key = opened.page("/"), own.made["third"]

    def lose(route: Any) -> None:
        route.fetch(max_redirects=0)
        route.abort()

    page.route("**/comments", lose)
    page.locator(f"#card-{key} h3 a").focus()
    page.keyboard.press("Space")
    field = page.locator("#peek textarea")
    field.fill("Only once, please")
    page.keyboard.press("Control+Enter")
    page.get_by_text("The server did not answer. What you sent may be there already").first.wait_for()
    assert field.input_value() == "Only once, please"
    page.wait_for_timeout(500)
    said = [one for one in own.world.get(f"/tasks/{key}.json").json["comments"] if "Only once" in one["body"]]
    assert len(said) == 1


def test_an_undo_does_not_take_back_what_somebody_else_did_since(own: Seeded, open_in: Open) -> None:
    page, key = open_in(own.world).page("/"), own.made["third"]
    assert status(own, key) == "todo"
    page.locator(f"#card-{key} h3 a").focus()
    page.keyboard.press("]")
    page.locator(f"#in-doing #card-{key}").wait_for()
    own.world.post(f"/tasks/{key}/status", status="review")
    page.locator(f"#in-review #card-{key}").wait_for()
    page.keyboard.press("u")
    page.get_by_text(f"{key} was moved on meanwhile, to Review. It stays there.").first.wait_for()
    assert status(own, key) == "review"


@pytest.mark.parametrize(
    "path", ["/tasks/nope-" + "x" * 300, "/sessions/" + "S" * 300, "/messages?message=" + "m" * 300]
)
def test_no_refusal_makes_a_phone_scroll_sideways(few: Seeded, open_in: Open, path: str) -> None:
    opened = open_in(few.world, viewport=PHONE)
    opened.expected = ("console error: Failed to load resource: the server responded with a status of 404",)
    page = opened.context.new_page()
    page.goto(few.world.url + path)
    assert page.evaluate(WIDTH) <= 360


def test_the_matrix_of_many_sessions_scrolls_by_itself(own: Seeded, open_in: Open) -> None:
    rows = [own.world.session(f"agent-{number}") for number in range(14)]
    for one, two in pairwise(rows):
        own.world.send(one, two.title, "x")
    page = open_in(own.world, viewport=PHONE).context.new_page()
    page.goto(own.world.url + "/map?view=matrix")
    assert page.evaluate(WIDTH) <= 360
