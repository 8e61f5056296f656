"""What was dropped is not lost: a line on the board leads to it, and it can be brought back from there."""

from __future__ import annotations

import pytest

from tests.ui.board_rig import Board


@pytest.mark.spec("70")
def test_the_line_about_dropped_tasks_leads_to_a_column_of_them(board: Board) -> None:
    key, other = board.task("Given up", status="dropped"), board.task("Going on", status="doing")
    page = board.page("/?project=shop")
    assert not page.all(id=f"card-{key}") and not page.all(id="in-dropped")
    link = next(e for e in page.all("a") if e.text == "1 dropped task is not shown")
    strip = page.by_id("column-strip")
    assert not board._inside(link, strip), "a line beside the columns would take the room of one"
    assert link["href"] == "/?project=shop&q=status%3Adropped#in-dropped"
    page = board.page(link["href"].partition("#")[0])
    column = page.by_id("in-dropped")
    assert column.text.startswith("Dropped 1") and board._inside(page.by_id(f"card-{key}"), column)
    assert not page.all(id=f"card-{other}")
    assert "not shown" not in page.by_id("columns").text
    assert [(e["value"], e.text) for e in page.all("button", formaction=f"/tasks/{key}/status")] == [
        ("inbox", "Back to Inbox")
    ]
    assert board.submit(page, f"/tasks/{key}/status", status="inbox").status == 303
    assert board._inside(board.page("/").by_id(f"card-{key}"), board.page("/").by_id("in-inbox")) is False
    assert f"card-{key}" in board.get("/").body


def test_a_filter_that_only_dropped_tasks_fit_leads_to_them(board: Board) -> None:
    board.task("Walrus", status="dropped")
    board.task("Walrus two", status="dropped")
    board.task("Seal")
    page = board.page("/?q=walrus")
    assert "No card fits this filter" in page.by_id("columns").text
    link = next(e for e in page.all("a") if e.text == "2 dropped tasks fit")
    assert link["href"] == "/?q=walrus+status%3Adropped#in-dropped"
    twin = board.get("/board.json?q=walrus+status:dropped").json
    assert [(one["status"], one["count"]) for one in twin["columns"]][-1] == ("dropped", 2)
    assert len(twin["columns"]) == 6 and len(twin["columns"][-1]["cards"]) == 2


@pytest.mark.parametrize(
    ("q", "columns"), [("status:dropped,done", 6), ("-status:dropped", 5), ("status:done", 5), ("is:unbound", 5)]
)
def test_only_a_filter_that_asks_for_them_has_the_column(board: Board, q: str, columns: int) -> None:
    board.task("Given up", status="dropped")
    board.task("Done", status="done")
    assert len(board.get(f"/board.json?q={q}").json["columns"]) == columns
    page = board.page(f"/?q={q}")
    assert len(page.all("section", data_status="dropped")) == (columns == 6)
    [back] = [e.text for e in page.all("button", formaction="/tasks/shop-2/status")]
    assert back == "Back to Review"


def test_all_of_a_long_column_of_dropped_tasks_can_be_shown(board: Board) -> None:
    for number in range(11):
        board.task(f"Given up {number}", status="dropped")
    page = board.page("/?q=status:dropped")
    more = next(e for e in page.all("a") if e.text.startswith("1 more"))
    assert len(page.all("li", class_="card")) == 10
    assert len(board.page(more["href"].partition("#")[0]).all("li", class_="card")) == 11


def test_a_new_task_is_not_made_dropped(board: Board) -> None:
    board.task("Given up", status="dropped")
    page = board.page("/?q=status:dropped")
    assert "dropped" not in [e["value"] for e in page.all("option") if "value" in e.attributes]
