"""What stands around every page, and what scripts find there: ids and attributes of `docs/board.md`."""

from __future__ import annotations

import re
from pathlib import Path

import relaybay.ui
from relaybay.ui.paths import has_page
from tests.ui.board_rig import SECOND, Board
from tests.ui.test_board import lively

STATIC = Path(relaybay.ui.__file__).parent / "static"
DOCUMENT = (Path(__file__).parents[2] / "docs" / "board.md").read_text(encoding="utf-8")
FRAME = (
    *("nav", "standing", "lamp", "not-live", "said", "new-rows", "toast", "toast-undo", "palette", "palette-q"),
    *("palette_results", "keys-dialog", "keys", "peek-dialog", "favicon"),
)


def test_every_page_has_the_frame_that_scripts_work_on(board: Board) -> None:
    for path in lively(board):
        page = board.page(path)
        for name in FRAME:
            assert page.by_id(name), (path, name)
            assert f"`{name}`" in DOCUMENT, f"{name} is not described"
        assert [e["id"] for e in page.all(role="status")].count("said") == 1
        assert all("hidden" in page.by_id(name).attributes for name in ("lamp", "not-live", "new-rows", "toast"))
        assert all("open" not in e.attributes for e in page.all("dialog"))
        ids = [e["id"] for e in page.elements if "id" in e.attributes]
        assert len(ids) == len(set(ids)), path


def test_a_page_that_is_not_there_is_not_in_the_navigation(board: Board) -> None:
    nav = (page := board.page("/")).by_id("nav")
    links = [e["href"] for e in page.all("a") if board._inside(e, nav)]
    for name, path in (("map", "/map"), ("search", "/search"), ("settings", "/settings"), ("health", "/health")):
        assert (path in links) == has_page(name)


def test_the_line_at_the_head_counts_what_needs_the_owner_and_what_is_unread(board: Board) -> None:
    calm = board.page("/sessions").by_id("standing").text
    assert calm == "nothing needs you 0 messages unread"
    assert board.page("/").by_id("favicon")["href"].endswith("/icon.svg")
    web, api = board.session("shop-web", activity="working"), board.session("shop-api")
    key = board.task(bound=web)
    board.send(web, "shop-api", "one")
    board.hand_over(api)
    board.send(web, "shop-api", "two")
    board.send(web, "shop-api", "three")
    board.reply(web, key, "hm")
    page = board.page("/projects")
    assert page.by_id("standing").text == "1 needs you 2 messages not delivered 1 message unread"
    assert page.by_id("nav")["data-needs"] == "1"
    assert page.by_id("favicon")["href"].endswith("/icon-needs.svg")
    assert page.by_id("favicon")["data-calm"].endswith("/icon.svg")
    found = board.get("/projects.json").json
    assert (found["needs_you"], found["undelivered"], found["unread"]) == (1, 2, 1)
    board.reply(web, key, "hm again")
    assert board.page("/projects").by_id("standing").text.startswith("2 need you")


def test_columns_and_cards_say_what_keys_menu_and_drag_go_by(board: Board) -> None:
    key = board.task(status="todo")
    page = board.page("/")
    columns = [e for e in page.all("section") if "data-status" in e.attributes]
    assert [e["data-status"] for e in columns] == ["inbox", "todo", "doing", "review", "done"]
    assert [e["id"] for e in columns] == [f"in-{e['data-status']}" for e in columns]
    assert board._inside(page.by_id(f"card-{key}"), page.by_id("cards-todo"))
    assert "data-list" in page.by_id("cards-todo").attributes
    menu = page.by_id("move-menu")
    offered = [e for e in page.all("button", form="mover", name="status") if board._inside(e, menu)]
    assert [e["value"] for e in offered] == ["inbox", "todo", "doing", "review", "done", "dropped"]
    assert {e["data-act"] for e in page.all("button") if "data-act" in e.attributes} >= {
        "card-before", "card-next", "card-menu", "row-next", "row-previous", "peek",
    }  # fmt: skip


def test_a_peek_is_a_fragment_of_the_tasks_page_with_its_last_comments_and_a_form(board: Board) -> None:
    web = board.session("shop-web", activity="working")
    key = board.task("Mend the cart", "Some *body*", bound=web)
    for number in range(4):
        board.owner_comment(key, f"comment {number}")
        board.now += SECOND
    held = board.owner_comment(key, "the last", board=True)
    page = board.page(f"/tasks/{key}?fragment=peek")
    peek = page.by_id("peek")
    assert f"task:{key}" in peek["data-live"].split()
    assert "comment 1" not in peek.text and "comment 2" in peek.text and "the last" in peek.text
    assert page.one("form", action=f"/tasks/{key}/comments")["data-quiet"]
    undo = page.one("form", action=f"/comments/{held}/withdraw")
    assert undo["data-expires"]
    assert board.submit(page, f"/comments/{held}/withdraw").status == 303
    board.now += 6 * SECOND
    later = board.page(f"/tasks/{key}?fragment=peek")
    assert "the last" not in later.by_id("peek").text
    assert not later.all("form", action=f"/comments/{held}/withdraw")
    assert not board.page(f"/tasks/{key}").all(id="peek"), "it stands on no page of its own"


def test_htmx_is_told_to_put_no_style_in_and_to_leave_history_alone(board: Board) -> None:
    said = board.page("/").one("meta", name="htmx-config")["content"]
    assert '"includeIndicatorCSS": false' in said and '"history": false' in said


def test_scripts_evaluate_nothing_and_build_no_markup() -> None:
    for path in STATIC.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        for forbidden in (r"\beval\(", r"new Function", r"innerHTML", r"insertAdjacentHTML", r"document\.write"):
            assert not re.search(forbidden, text), (path.name, forbidden)


def test_every_script_and_sheet_that_is_there_is_used(board: Board) -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in STATIC.glob("*.js")}
    page = board.get("/").body
    for name in texts:
        others = "".join(text for other, text in texts.items() if other != name)
        assert name in page or f'"./{name}"' in others or f'"{name}"' in others, name
