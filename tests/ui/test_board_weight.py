"""What the board's first page weighs, and how a card reaches any column from it all the same."""

from __future__ import annotations

from relaybay.service import tasks
from tests.ui.board_rig import OWNER, Board

COLUMNS = ("inbox", "todo", "doing", "review", "done")


def fill(board: Board, cards: int) -> list[str]:
    web = board.session("shop-web", activity="working")
    keys = [
        board.task(f"A task with a title of usual length {n}", status=COLUMNS[n % 5], bound=web) for n in range(cards)
    ]
    for key in keys[::2]:
        change = tasks.Change(step_add="a step")
        board.write(
            lambda tx, key=key, change=change: tasks.task_update(tx, board.relay, OWNER, task=key, change=change)
        )
    for key in keys[::4]:
        board.owner_comment(key, "look")
    return keys


def test_the_board_of_a_day_is_light(board: Board) -> None:
    fill(board, 30)
    assert len(board.get("/").body.encode()) < 60_000


def test_two_hundred_cards_stay_within_bounds(board: Board) -> None:
    fill(board, 200)
    page = board.get("/")
    assert len(page.document.all("li", class_="card")) == 200
    assert len(page.body.encode()) < 160_000


def test_a_card_offers_its_next_column_and_the_others_when_asked(board: Board) -> None:
    key = board.task(status="todo")
    done = board.task(status="done")
    page = board.page("/?project=shop")
    action = f"/tasks/{key}/status"
    assert [(e["value"], e.text) for e in page.all("button", formaction=action)] == [("doing", "Move to Doing")]
    assert [e["value"] for e in page.all("button", formaction=f"/tasks/{done}/status")] == ["review"]
    other = next(e["href"] for e in page.all("a") if e.text == f"Move to… another column: {key}")
    assert other == f"/?project=shop&move={key}#card-{key}"
    page = board.page(other.partition("#")[0])
    offered = [e["value"] for e in page.all("button", formaction=action)]
    assert offered == ["inbox", "doing", "review", "done", "dropped"]
    moved = board.submit(page, action, status="dropped")
    assert (moved.status, moved.headers["location"]) == (303, "/?project=shop")
    assert "1 dropped task" in board.page("/").by_id("columns").text
    assert board.get("/?move=<b>").status == 200
