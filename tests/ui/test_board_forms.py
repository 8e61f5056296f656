"""The board's forms: what each does, that a refusal keeps what was typed, and that none works without its token."""

from __future__ import annotations

import re

import pytest

from relaybay.store import events
from tests.ui.board_rig import SECOND, Board


@pytest.mark.spec("CMT-1", "CMT-12")
def test_a_comment_can_be_taken_back_for_five_seconds(board: Board) -> None:
    web = board.session("shop-web", activity="working")
    key = board.task(bound=web)
    answer = board.submit(board.page(f"/tasks/{key}"), f"/tasks/{key}/comments", body="Look **here**\r\nplease")
    assert answer.status == 303
    path, _, cid = answer.headers["location"].partition("#")
    assert path == f"/tasks/{key}"
    page = board.page(path)
    assert "Look here please" in page.by_id(cid).text
    assert page.by_id(cid).text.count("Sent") == 1
    assert "Not delivered" not in page.by_id(cid).text
    board.now += 4_999_999
    back = board.submit(board.page(path), f"/comments/{cid}/withdraw")
    assert back.status == 200
    page = back.document
    assert (
        page.by_id("comment-body").text == "Look **here** please"
        and "autofocus" in page.by_id("comment-body").attributes
    )
    assert "Taken back; no session was given it" in page.by_id("comment").text
    assert "Not done" not in page.one("main").text and page.one("body")["data-page"] == path
    assert cid not in board.get(path).body and "Look **here**" not in board.get(path).body
    assert not [row for row in board.dump() if "Look **here**" in str(row)], "gone, with all its text"


@pytest.mark.spec("CMT-19")
def test_after_five_seconds_it_is_too_late_and_the_page_says_so(board: Board) -> None:
    web = board.session("shop-web", activity="working")
    key = board.task(bound=web)
    cid = board.post(f"/tasks/{key}/comments", body="Look").headers["location"].partition("#")[2]
    shown = board.page(f"/tasks/{key}")
    board.now += 5 * SECOND
    assert not board.page(f"/tasks/{key}").all("form", action=f"/comments/{cid}/withdraw")
    before = board.dump()
    answer = board.submit(shown, f"/comments/{cid}/withdraw")
    assert answer.status == 409
    assert "too_late" in answer.document.by_id("refusal-withdraw").text
    assert "its next tool call or prompt brings it" in answer.document.by_id(cid).text
    assert board.dump() == before


@pytest.mark.spec("CMT-2")
def test_a_comment_on_an_unbound_task_says_that_nobody_gets_it(board: Board) -> None:
    key = board.task()
    cid = board.owner_comment(key, "Anybody?")
    assert "no session is bound" in board.page(f"/tasks/{key}").by_id(cid).text


@pytest.mark.parametrize("body", ["", " \u200b ", "x" * 6001, "nul \x00"])
def test_a_refused_comment_is_kept_as_it_was_typed(board: Board, body: str) -> None:
    key = board.task()
    before = board.dump()
    answer = board.post(f"/tasks/{key}/comments", body=body)
    assert answer.status == 422
    page = answer.document
    refusal = page.by_id("refusal-comment")
    assert refusal["role"] == "alert"
    assert "Not done." in refusal.text
    field = page.by_id("comment-body")
    if "\x00" not in body:  # HTML itself has no NUL.
        assert "".join(field.texts) == body
    assert page.one("body")["data-page"] == f"/tasks/{key}"
    assert board.dump() == before


@pytest.mark.spec("CMT-10", "CMT-11")
def test_replies_wait_until_they_are_marked_or_answered(board: Board) -> None:
    web = board.session("shop-web")
    key = board.task("Mend the cart", bound=web)
    board.reply(web, key, "Shall I **hide** it?")
    page = board.page("/inbox")
    assert "Shall I hide it?" in page.by_id("inbox_entry").text
    answer = board.submit(page, f"/tasks/{key}/replies/read")
    assert (answer.status, answer.headers["location"]) == (303, "/inbox")
    page = board.page("/inbox")
    assert "Nothing needs you" in page.by_id("inbox_entry").text
    assert page.one("title").text == "Inbox · relaybay"
    board.reply(web, key, "And now?")
    assert board.page("/").one("title").text == "(1) Board · relaybay"
    board.submit(board.page(f"/tasks/{key}"), f"/tasks/{key}/comments", body="Disable it")
    assert board.page("/").one("title").text == "Board · relaybay"


@pytest.mark.spec("SEND-13")
def test_a_stopped_chain_stands_in_the_inbox_until_seen(board: Board) -> None:
    web, api = board.session("shop-web"), board.session("shop-api")
    mid = board.send(web, "shop-api", "Thanks again!")
    board.relay.store.write(lambda tx: events.put_inbox(tx, "reply_too_deep", mid, api.id))
    page = board.page("/inbox")
    assert "Thanks again!" in page.by_id("inbox_entry").text
    assert board.submit(page, f"/messages/{mid}/seen").headers["location"] == "/inbox"
    assert "Nothing needs you" in board.page("/inbox").text
    again = board.submit(page, f"/messages/{mid}/seen")
    assert again.status == 422
    assert "Not done." in again.document.by_id("refusal-inbox").text


def test_a_fault_stands_in_the_inbox_until_seen(board: Board) -> None:
    board.relay.store.write(lambda tx: events.put_inbox(tx, "spool_fault", "<b>.jsonl", None))
    page = board.page("/inbox")
    assert "relaybay doctor" in page.by_id("inbox_entry").text
    assert board.submit(page, "/inbox/seen").status == 303
    assert "Nothing needs you" in board.page("/inbox").text


def test_a_task_is_made_and_its_project_with_it(board: Board) -> None:
    answer = board.submit(
        board.page("/"), "/tasks", project="acme", title=" Mend <it> ", body="# Big\r\n\r\ntext", status="doing"
    )
    assert (answer.status, answer.headers["location"]) == (303, "/tasks/acme-1")
    page = board.page("/tasks/acme-1")
    assert page.one("h1").text == "Mend <it>"
    assert "Big text" in page.by_id("task_head").text
    assert "acme" in board.page("/projects").by_id("project_list").text


def test_a_refused_task_is_kept_as_it_was_typed(board: Board) -> None:
    before = board.dump()
    answer = board.post("/tasks", project="Not A Slug", title='A "title" <x>', body="kept", status="review")
    assert answer.status == 422
    page = answer.document
    assert "Not done." in page.by_id("refusal-task_create").text
    assert "open" in page.by_id("new-task").attributes
    assert page.one("input", name="title")["value"] == 'A "title" <x>'
    assert page.one("input", name="project")["value"] == "Not A Slug"
    assert page.one("textarea", name="body").text == "kept"
    assert [e["value"] for e in page.all("option", selected="")] == ["review"]
    assert board.dump() == before


def test_a_card_moves_without_dragging(board: Board) -> None:
    key = board.task(status="todo")
    page = board.page("/")
    assert board.submit(page, f"/tasks/{key}/status", status="review").headers["location"] == "/"
    assert key in board.page("/").one("section", aria_labelledby="column-review").text
    answer = board.post(f"/tasks/{key}/status", status="elsewhere")
    assert answer.status == 422
    assert "elsewhere" in answer.document.by_id("refusal-status").text
    assert "Moved from To do to Review by you" in board.page(f"/tasks/{key}").by_id("timeline").text


@pytest.mark.spec("CMT-22", "MOVE-11", "LINK-12")
def test_a_task_is_bound_and_unbound(board: Board) -> None:
    web = board.session("shop-web")
    key = board.task()
    assert board.submit(board.page(f"/tasks/{key}"), f"/tasks/{key}/bind", session=web.ref).status == 303
    page = board.page(f"/tasks/{key}")
    assert "bound to shop-web" in page.by_id("task_head").text
    assert [e["value"] for e in page.all("option", selected="")] == [web.ref, "todo"]
    assert board.submit(page, f"/tasks/{key}/bind", session="").status == 303
    assert "no session is bound" in board.page(f"/tasks/{key}").by_id("task_head").text
    refused = board.post(f"/tasks/{key}/bind", session="nobody")
    assert refused.status == 404
    assert "nobody" in refused.document.by_id("refusal-bind").text


def test_steps_are_added_and_ticked(board: Board) -> None:
    key = board.task()
    action = f"/tasks/{key}/steps"
    board.post(action, text="First <i>")
    board.post(action, text="Second")
    board.post(action, done="2")
    page = board.page(f"/tasks/{key}")
    assert "Not done: First <i> Comment on step 1 Done: Second" in page.by_id("task_steps").text
    board.post(action, undone="2")
    assert "Done: Second" not in board.page(f"/tasks/{key}").by_id("task_steps").text.replace("Not done", "")
    assert board.post(action, done="9").status == 404
    assert "Not done." in board.post(action, text=" ").document.by_id("refusal-steps").text


def test_a_project_is_added_and_changed(board: Board) -> None:
    page = board.page("/projects")
    assert board.submit(page, "/projects", slug="acme", title="Acme", root="/src/acme").status == 303
    assert "/src/acme" in board.page("/projects").by_id("project_list").text
    refused = board.submit(page, "/projects", slug="Acme!", title="kept", root="")
    assert refused.status == 422
    assert refused.document.one("input", name="title")["value"] == "kept"


@pytest.mark.spec("LINK-20")
def test_a_session_is_renamed_unlinked_and_ended(board: Board) -> None:
    web, api = board.session("shop-web"), board.session("shop-api")
    page = board.page(f"/sessions/{web.ref}")
    assert board.submit(page, f"/sessions/{web.ref}/rename", title="storefront").status == 303
    page = board.page(f"/sessions/{web.ref}")
    assert page.one("h1").text == "storefront"
    assert "Also known as shop-web" in page.by_id("session_facts").text
    refused = board.submit(page, f"/sessions/{web.ref}/rename", title="shop-api")
    assert refused.status == 409
    assert refused.document.one("input", name="title")["value"] == "shop-api"
    assert board.submit(page, f"/sessions/{web.ref}/unlink").status == 303
    assert "Unlinked by you" in board.page(f"/sessions/{web.ref}").by_id("session_facts").text
    assert board.submit(board.page(f"/sessions/{api.ref}"), f"/sessions/{api.ref}/end").status == 303
    assert "Ended" in board.page(f"/sessions/{api.ref}").by_id("session_facts").text


# --- the token ---


def test_no_form_works_without_its_token(board: Board) -> None:
    key = board.task(bound=board.session("shop-web"))
    cid = board.owner_comment(key, "look", board=True)
    before = board.dump()
    forms = [op.path for op in board.routes.operations if op.method == "POST"]
    assert len(forms) >= 14
    values = {"<key:str>": key, "<ref:str>": "S-1", "<comment_id:str>": cid, "<message_id:str>": "m_1"}
    values["<number:str>"] = values["<view_id:str>"] = "1"
    for registered in forms:
        path = re.sub("<.*?>", lambda found: values[found[0]], registered)
        for token in ("", "0" * 64):
            answer = board.post(
                path, csrf=token, body="x", title="x", status="done", session="S-1", project="x", slug="x"
            )
            assert answer.status == 403, path
    assert board.dump() == before
    assert board.get("/").status == 200


@pytest.mark.parametrize(
    "back", ["//evil.example/", "https://evil.example", "/\\evil.example", "/login?code=1", "javascript:0"]
)
def test_a_form_returns_to_pages_of_the_board_only(board: Board, back: str) -> None:
    key = board.task()
    answer = board.post(f"/tasks/{key}/status", status="done", back=back)
    assert answer.headers["location"] == f"/tasks/{key}"
