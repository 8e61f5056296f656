"""Every page, in light, dark and forced colours, wide and narrow: no violation that axe knows of."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest

from tests.browser.addresses import pages
from tests.browser.conftest import Seeded
from tests.browser.known import hold_against
from tests.browser.opened import DESK, PHONE, Opened

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
LOOKS = (
    {"color_scheme": "light", "forced_colors": "none"},
    {"color_scheme": "dark", "forced_colors": "none"},
    {"color_scheme": "dark", "forced_colors": "active"},
)
#: By rule: how many places axe may leave untold on one page (text in a drawing, mostly, which `measure.CONTRAST` tells).
#: They must not grow unseen.
UNTOLD_MAX = {"color-contrast": 12, "target-size": 6}
_RUN = """async ([tags, forced]) => {
  // In forced colours axe compares with -webkit-text-fill-color, which is not what is painted: measure.CONTRAST is asked.
  const rules = { "color-contrast": { enabled: !forced } };
  const found = await axe.run(document, { runOnly: { type: "tag", values: tags }, rules, resultTypes: ["violations", "incomplete"] });
  return { violations: found.violations.map((rule) => [rule.id, rule.help, rule.nodes.map((node) =>
    `${node.target.join(" ")}: ${node.any.concat(node.all, node.none).map((check) => check.message).join("; ")}`)]),
    incomplete: Object.fromEntries(found.incomplete.map((rule) => [rule.id, rule.nodes.length])) };
}"""


def look_at(
    page: Any, sizes: tuple[dict[str, int], ...] = (DESK, PHONE), looks: tuple[dict[str, str], ...] = LOOKS
) -> tuple[list[str], dict[str, int]]:
    """What axe objects to in every look and size, a line each, and by rule how much it could not tell at most.

    The page is loaded once: what changes is what a style sheet asks for.
    """
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    found: list[str] = []
    untold: dict[str, int] = {}
    for size in sizes:
        page.set_viewport_size(size)
        for look in looks:
            page.emulate_media(**look)
            said = page.evaluate(_RUN, [TAGS, look["forced_colors"] == "active"])
            where = f"{size['width']} px, {'/'.join(look.values())}"
            found += [
                f"{where}: {rule} ({why}): {node}" for rule, why, nodes in said["violations"] for node in nodes[:4]
            ]
            untold = {
                rule: max(untold.get(rule, 0), said["incomplete"].get(rule, 0)) for rule in untold | said["incomplete"]
            }
    return found, untold


@pytest.mark.parametrize("path", pages())
def test_no_violation(few: Seeded, open_in: Callable[..., Opened], path: str) -> None:
    page = open_in(few.world).page(few.addresses.of(path))
    found, untold = look_at(page)
    more = [f"{rule}: {count}" for rule, count in untold.items() if count > UNTOLD_MAX.get(rule, 0)]
    hold_against(path, {name: lines for name, lines in (("axe", found), ("untold", more)) if lines}, {"axe", "untold"})


def _light_and_dark_in_turn(path: str) -> tuple[dict[str, str], ...]:
    """One look a page: what colours make of a page, the test above has seen in all of them."""
    return (LOOKS[len(path) % 2],)


@pytest.mark.parametrize("path", [path for path in pages() if "<" not in path])
def test_no_violation_where_there_is_nothing_yet(empty: Seeded, open_in: Callable[..., Opened], path: str) -> None:
    found, _ = look_at(open_in(empty.world).page(path), looks=_light_and_dark_in_turn(path))
    hold_against(path, {"axe": found} if found else {}, {"axe"})


@pytest.mark.parametrize("path", pages())
def test_no_violation_with_two_hundred_rows(many: Seeded, open_in: Callable[..., Opened], path: str) -> None:
    found, _ = look_at(open_in(many.world).page(many.addresses.of(path)), looks=_light_and_dark_in_turn(path))
    hold_against(path, {"axe": found} if found else {}, {"axe"})
