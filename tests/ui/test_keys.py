"""Keys stand in the HTML, each on a button, link or field; the list behind `?` and the palette name them all."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import relaybay.ui
from relaybay.service import views_palette
from relaybay.ui.paths import has_page
from relaybay.ui.shortcuts import SHORTCUTS, Shortcut
from tests.ui.board_rig import Board, Document
from tests.ui.test_board import lively

TEMPLATES = Path(relaybay.ui.__file__).parent / "templates"
GIVEN = re.compile(r'data-hotkey="([^"{]+)"')
IN_NAV = re.compile(r'\("[a-z]+", "[A-Z][a-z]+", "([^"]+)"\)')
CLICKED = ("a", "button", "summary", "input")


def given() -> set[str]:
    texts = {path: path.read_text(encoding="utf-8") for path in TEMPLATES.rglob("*.html")}
    found = {keys for text in texts.values() for keys in GIVEN.findall(text)}
    return found | set(IN_NAV.findall(texts[TEMPLATES / "parts" / "nav.html"]))


def test_every_key_of_a_template_is_listed_and_every_listed_one_stands_in_a_template() -> None:
    listed = {one.keys for one in SHORTCUTS}
    assert given() - listed == set(), "a key without words behind `?`"
    assert listed - given() <= {one.keys for one in SHORTCUTS if one.keys in ("c", "r", "e", "n")}, (
        "listed, and nowhere"
    )


def test_no_key_is_listed_twice_nor_begins_another() -> None:
    alternatives = [part for one in SHORTCUTS for part in re.split(r",(?=.)", one.keys)]
    assert not [keys for keys, count in Counter(alternatives).items() if count > 1]
    starts = {keys.split()[0] for keys in alternatives if " " in keys}
    assert starts.isdisjoint(alternatives)


def test_what_is_shown_of_a_key_is_its_first_alternative() -> None:
    assert Shortcut("g b", "", "").shown == ["g", "b"]
    assert Shortcut("?,Shift+?", "", "").shown == ["?"]
    assert Shortcut("Control+k,Meta+k", "", "").shown == ["Ctrl K"]


def test_a_key_stands_on_something_that_can_be_pressed(board: Board) -> None:
    for path in lively(board):
        for element in board.page(path).elements:
            if "data-hotkey" in element.attributes:
                assert element.tag in CLICKED, (path, element.tag, element.attributes)
                assert element.text or element.attributes.get("aria-label") or element.tag == "input", (path, element)


def entries(page: Document) -> dict[str, str]:
    return {e["data-run"]: e.text for e in page.elements if "data-run" in e.attributes}


def test_the_list_of_keys_has_a_button_or_a_link_for_each(board: Board) -> None:
    page = board.page("/keys")
    listed = entries(page)
    assert set(listed) == {one.keys for one in SHORTCUTS if not one.page or has_page(one.page)}
    assert listed["g b"] == "Board g b"
    assert {e.tag for e in page.elements if "data-run" in e.attributes} == {"a", "button"}
    # A button that only a script can work stands for scripts alone; without one its words are there to be read.
    run = [e for e in page.all("button") if "data-run" in e.attributes]
    assert run and all("needs-script" in e["class"].split() for e in run)
    said = [e.text for e in page.all("p", class_="run no-script")]
    assert said == [f"{one.words} with scripts only" for one in SHORTCUTS if not one.page]
    assert next(e for e in page.all("a") if e.attributes.get("data-run") == "g s")["href"] == "/sessions"
    alone = board.page("/keys?fragment=keys")
    assert entries(alone) == listed
    assert [e["id"] for e in alone.elements if e.parent is None] == ["keys"]
    assert [one["hotkey"] for one in board.get("/keys.json").json["shortcuts"]][:2] == ["g b", "g i"]


def options(board: Board, query: str) -> list[str]:
    page = board.page(f"/palette?fragment=palette_results&q={query}")
    return [e.text for e in page.all(role="option")]


def test_the_palette_finds_pages_sessions_tasks_and_actions_by_the_words(board: Board) -> None:
    web = board.session("shop-web", activity="working")
    board.session("reviewer", link="ended_exact", activity="ended")
    board.task("Mend the cart", bound=web)
    board.task("Write 100% of_it")
    assert options(board, "cart") == ["Mend the cart To do shop-1"]
    assert options(board, "CART%20mend") == ["Mend the cart To do shop-1"]
    assert options(board, "shop-2") == ["Write 100% of_it To do shop-2"]
    assert options(board, "0%25") == ["Write 100% of_it To do shop-2"]
    assert options(board, "f_i") == ["Write 100% of_it To do shop-2"]
    assert options(board, "reviewer") == ["reviewer Ended S-2"]
    assert options(board, "s-1") == ["shop-web Working S-1"]
    assert "Sessions g s" in options(board, "sessions")
    assert options(board, "new%20task") == ["New task t"]
    assert options(board, "xyzzy") == [
        "Nothing fits “xyzzy”. Looked at: pages, actions, saved filters, sessions, tasks."
    ]
    page = board.page("/palette?q=cart")
    assert next(e for e in page.all(role="option"))["href"] == "/tasks/shop-1"
    assert page.one("input", name="q", value="cart")
    ids = [e["id"] for e in board.page("/palette").all(role="option")]
    assert len(ids) == len(set(ids))


def test_an_empty_palette_shows_everything_there_is_to_do_and_the_latest(board: Board) -> None:
    for number in range(views_palette.FOUND_MAX + 2):
        board.task(f"Task {number}")
        board.session(f"session {number}", activity="ended" if number else "idle")
    found = board.get("/palette.json").json
    assert [one["key"] for one in found["tasks"]] == [f"shop-{n}" for n in range(10, 2, -1)]
    assert len(found["sessions"]) == views_palette.FOUND_MAX
    assert found["sessions"][0]["title"] == "session 0", "live ones come first"
    assert [one["title"] for one in found["sessions"][1:3]] == ["session 9", "session 8"]
    assert len(found["actions"]) == len([one for one in SHORTCUTS if not one.page or has_page(one.page)])
    assert found["query"] == ""


def test_the_palette_has_the_saved_filters_with_their_page(board: Board) -> None:
    for page, name, q in (
        ("board", "Mine <b>", "is:needs-me"),
        ("messages", "late ones", "is:undelivered older:10m"),
        ("events", "late talk", "type:message.*"),
    ):
        assert board.post("/views", page=page, name=name, q=q).status == 303
    assert options(board, "late") == ["late ones Messages", "late talk Events"]
    assert options(board, "board%20mine") == ["Mine <b> Board"]
    found = {e.text: e["href"] for e in board.page("/palette?q=late").all(role="option")}
    assert found["late ones Messages"] == "/messages?q=is%3Aundelivered+older%3A10m"
    assert found["late talk Events"] == "/events?q=type%3Amessage.%2A"
    for number in range(views_palette.FOUND_MAX):
        board.post("/views", page="sessions", name=f"kept {number}", q="is:live")
    kept = board.get("/palette.json").json["views"]
    assert len(kept) == views_palette.FOUND_MAX
    assert kept[0] == {"id": 1, "page": "board", "name": '"Mine \\u003cb\\u003e"', "query": "is:needs-me"}
    assert not board.page("/palette").all("b")


def test_hostile_names_stay_text_in_the_palette(board: Board) -> None:
    board.task("<b>x</b>\u202e")
    page = board.page("/palette?q=%3Cb%3E")
    assert not page.all("b")
    assert "<b>x</b>" in page.one("main").text
    assert "U+202E" in page.one("main").text
    echo = board.page("/palette?q=%3Cb%3Ezz%E2%80%AE&fragment=palette_results")
    assert "Nothing fits “<b>zzU+202E”." in echo.text and "\u202e" not in echo.raw and not echo.all("b")
    assert board.get("/palette?q=" + "a" * 3_000).status == 200


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [("Board", "bo", True), ("Board", "BOARD", True), ("a b c", "c a", True), ("a b", "a d", False), ("x", "", True)],
)
def test_all_words_must_stand_in_the_text(text: str, query: str, expected: bool) -> None:
    assert views_palette.fits(text, query) is expected


def test_only_so_many_words_are_looked_at() -> None:
    assert views_palette.words("A b  c d e f g") == ["a", "b", "c", "d", "e", "f"]
