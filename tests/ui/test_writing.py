"""What the owner writes is not lost: a task is edited where it stands, a comment that was taken back stands in its form."""

from __future__ import annotations

from typing import Any

import pytest

from relaybay.domain import Caller
from relaybay.errors import StoreFull
from relaybay.service import tasks
from tests.ui.board_rig import OWNER, SECOND, Board, Document, Element


def fields(page: Document, action: str) -> dict[str, Element]:
    form = page.one("form", action=action)
    return {e["name"]: e for e in page.elements if "name" in e.attributes and Board._inside(e, form)}


def task(board: Board, key: str) -> dict[str, Any]:
    found: dict[str, Any] = board.get(f"/tasks/{key}.json").json["task"]
    return found


@pytest.mark.spec("40", "70")
def test_title_and_text_are_edited_where_the_task_stands(board: Board) -> None:
    key = board.task('Mend "it" <now>', "Some *body*\n\n* with lines")
    page = board.page(f"/tasks/{key}")
    form = fields(page, f"/tasks/{key}/edit")
    assert form["title"]["value"] == 'Mend "it" <now>'
    assert "".join(form["body"].texts).removeprefix("\n") == "Some *body*\n\n* with lines"
    assert "open" not in page.by_id("edit").attributes
    done = board.submit(page, f"/tasks/{key}/edit", title="Mend it well", body="Another\r\ntext")
    assert (done.status, done.headers["location"]) == (303, f"/tasks/{key}")
    page = board.page(f"/tasks/{key}")
    assert page.one("h1").text == "Mend it well" and "Another text" in page.by_id("task_head").text
    assert task(board, key)["body"] == '"Another\\ntext"'
    assert "Changed title, body by you" in page.by_id("timeline").text


@pytest.mark.spec("40")
def test_of_two_windows_the_last_wins_and_the_timeline_tells_of_both(board: Board) -> None:
    key = board.task("One", "text")
    one, other = board.page(f"/tasks/{key}"), board.page(f"/tasks/{key}")
    assert board.submit(one, f"/tasks/{key}/edit", title="From one", body="text").status == 303
    board.now += SECOND
    assert board.submit(other, f"/tasks/{key}/edit", title="From the other", body="text").status == 303
    page = board.page(f"/tasks/{key}")
    assert page.one("h1").text == "From the other"
    assert page.by_id("timeline").text.count("Changed title by you") == 2


def test_a_refused_edit_changes_nothing_and_keeps_what_was_typed(board: Board) -> None:
    key = board.task("One", "text")
    before = board.dump()
    for title, body in (("", "new text"), ("x" * 201, "new text"), ("Two", "nul \x00"), ("Two", "x" * 90_000)):
        answer = board.submit(board.page(f"/tasks/{key}"), f"/tasks/{key}/edit", title=title, body=body)
        assert answer.status == 422, (title[:5], answer.status)
        page = answer.document
        assert "Not done." in page.by_id("refusal-edit").text
        assert "open" in page.by_id("edit").attributes
        kept = fields(page, f"/tasks/{key}/edit")
        assert kept["title"]["value"] == title
        assert "".join(kept["body"].texts).removeprefix("\n").replace("\ufffd", "\0") == body
        assert board.dump() == before
    assert board.post("/tasks/shop-9/edit", title="x", body="y").status == 404
    assert board.post(f"/tasks/{key}/edit", title="x").status == 422, "a form without its text is no form of ours"


def test_an_edit_that_changes_nothing_is_none(board: Board) -> None:
    key = board.task("One", "text\nmore")
    before = board.dump()
    assert board.post(f"/tasks/{key}/edit", title=" One ", body="text\r\nmore").status == 303
    assert board.dump() == before


@pytest.mark.spec("40")
def test_whose_text_it_is_does_not_change_with_the_title(board: Board) -> None:
    web = board.session("shop-web")
    caller = Caller(hook_session=web.hook_id)
    given = {"project": "shop", "title": "From an agent", "body": "its words"}
    key = board.write(lambda tx: tasks.task_create(tx, board.relay, caller, **given))["key"]
    assert board.submit(board.page(f"/tasks/{key}"), f"/tasks/{key}/edit", title="Mine", body="its words").status == 303
    assert task(board, key)["author"]["kind"] == "session"
    assert board.post(f"/tasks/{key}/edit", title="Mine", body="my words").status == 303
    assert task(board, key)["author"]["kind"] == "session", "of two parts one is the agent's still"
    assert board.post(f"/tasks/{key}/edit", title="All mine", body="all my words").status == 303
    assert task(board, key)["author"]["kind"] == "owner"


@pytest.mark.spec("CMT-12")
def test_what_was_taken_back_keeps_what_it_was_about(board: Board) -> None:
    key = board.task(bound=board.session("shop-web"))
    board.attach(key, "log.txt", b"lines")
    board.write(
        lambda tx: tasks.task_update(tx, board.relay, OWNER, task=key, change=tasks.Change(step_add="Reproduce"))
    )
    for about, says in (({"step": "1"}, "On step 1: Reproduce"), ({"attachment": "1"}, "On the file log.txt")):
        cid = board.post(f"/tasks/{key}/comments", body="\nNot <yet>", **about).headers["location"].partition("#")[2]
        page = board.submit(board.page(f"/tasks/{key}"), f"/comments/{cid}/withdraw").document
        assert page.by_id("comment-body").text == "Not <yet>" and says in page.by_id("comment").text
        again = board.submit(page, f"/tasks/{key}/comments", body="Not <yet>")
        assert again.status == 303
        board.now += 10 * SECOND
    shown = board.page(f"/tasks/{key}").by_id("comments").text
    assert "on step 1" in shown and "on log.txt" in shown


def test_a_step_that_was_added_leaves_its_field_ready_for_the_next(board: Board) -> None:
    key = board.task()
    page = board.page(f"/tasks/{key}")
    form = page.by_id("add-step")
    [field] = [e for e in page.all("input", name="text") if board._inside(e, form)]
    assert "autofocus" not in field.attributes
    assert page.one("form", data_quiet="Step added")["action"] == f"/tasks/{key}/steps"
    done = board.submit(page, f"/tasks/{key}/steps", text="First")
    assert done.headers["location"] == f"/tasks/{key}?add=step#add-step"
    page = board.page(f"/tasks/{key}?add=step")
    assert "autofocus" in page.one("input", name="text").attributes and page.one("input", name="text")["value"] == ""
    refused = board.post(f"/tasks/{key}/steps", text="nul \x00")
    field = refused.document.one("input", name="text")
    assert refused.status == 422 and "Not done." in refused.document.by_id("refusal-steps").text
    assert field["value"].startswith("nul ") and "autofocus" in field.attributes
    assert board.post(f"/tasks/{key}/steps", done="1").headers["location"] == f"/tasks/{key}"


@pytest.mark.spec("70")
def test_the_only_project_is_filled_in_for_a_new_task(board: Board) -> None:
    def filled() -> str:
        page = board.page("/")
        [field] = [e for e in page.all("input", name="project") if board._inside(e, page.by_id("new-task"))]
        return field["value"]

    assert filled() == ""
    board.task()
    assert filled() == "shop"
    board.post("/tasks", project="other", title="Two")
    assert filled() == ""


def test_what_no_disk_took_is_not_said_to_be_taken_back(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    key = board.task()
    said = board.owner_comment(key, "Not so fast", board=True)
    submit = board.relay.store.submit

    def on_a_full_disk(work: Any, lane: Any = "sql") -> Any:
        def carried_out_and_lost(tx: Any) -> Any:
            work(tx)
            raise StoreFull("no space")

        return submit(carried_out_and_lost, lane)

    monkeypatch.setattr(board.relay.store, "submit", on_a_full_disk)
    answer = board.post(f"/comments/{said}/withdraw", task=key, again="1")
    assert answer.status == 507 and "store_full" in answer.body and 'id="taken-back"' not in answer.body
    monkeypatch.undo()
    assert "Not so fast" in board.page(f"/tasks/{key}").by_id(said).text
