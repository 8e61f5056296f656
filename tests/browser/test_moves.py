"""A card reaches another column by menu, by key and by drag."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.browser.conftest import Seeded
from tests.browser.opened import Opened, until

Open = Callable[..., Opened]


def status(seeded: Seeded, key: str) -> str:
    found: str = seeded.world.get(f"/tasks/{key}.json").json["task"]["status"]
    return found


def moved(seeded: Seeded, key: str, to: str) -> None:
    until(lambda: status(seeded, key) == to, what=f"{key} is in {status(seeded, key)}")


def board(seeded: Seeded, open_in: Open) -> tuple[Any, str]:
    return open_in(seeded.world).page("/"), seeded.made["third"]


def test_by_menu(own: Seeded, open_in: Open) -> None:
    page, key = board(own, open_in)
    page.locator(f"#card-{key} [data-move-menu]").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Done", exact=True).focus()
    page.keyboard.press("Enter")
    moved(own, key, "done")
    page.locator(f"#in-done #card-{key}").wait_for()


def test_by_key_and_back_with_the_focus_kept(own: Seeded, open_in: Open) -> None:
    page, key = board(own, open_in)
    page.locator(f"#card-{key} h3 a").focus()
    page.keyboard.press("]")
    moved(own, key, "doing")
    page.locator(f"#in-doing #card-{key}").wait_for()
    page.wait_for_function("(key) => document.getElementById(`card-${key}`).contains(document.activeElement)", arg=key)
    page.keyboard.press("[")
    moved(own, key, "todo")
    page.locator(f"#in-todo #card-{key}").wait_for()


def test_by_drag(own: Seeded, open_in: Open) -> None:
    page, key = board(own, open_in)
    page.locator(f"#card-{key}").drag_to(page.locator("#in-review"))
    moved(own, key, "review")
    page.locator(f"#in-review #card-{key}").wait_for()
