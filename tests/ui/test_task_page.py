"""The task page: answers and comments on steps, the picker, files, keys, two hundred of everything."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from relaybay.service import comments, tasks
from relaybay.service.views_tasks import PAGE_COMMENTS, PICKER_MAX, RECENT_COMMENTS
from relaybay.specs import limit
from relaybay.store import comments as stored
from relaybay.ui.files import disposition
from tests.ui.board_rig import OWNER, SECOND, Board


def step(board: Board, key: str, text: str) -> None:
    change = tasks.Change(step_add=text)
    board.write(lambda tx: tasks.task_update(tx, board.relay, OWNER, task=key, change=change))


@pytest.mark.spec("CMT-1", "CMT-10")
def test_a_reply_is_answered_and_the_answer_names_it(board: Board) -> None:
    web = board.session("shop-web")
    key = board.task(bound=web)
    board.reply(web, key, "The first")
    second = board.reply(web, key, "The **second**, with much to say")
    page = board.page(f"/tasks/{key}")
    assert page.one("a", data_hotkey="c")["href"] == "#comment-body"
    answer = page.one("a", data_hotkey="r")["href"]
    assert answer == f"/tasks/{key}?reply={second}#comment-body"
    assert page.one("button", data_hotkey="e").text.startswith("Mark replies read (2)")
    page = board.page(answer.partition("#")[0])
    assert page.one("body")["data-page"] == f"/tasks/{key}?reply={second}"
    assert "Answers shop-web" in page.by_id("answers-line").text
    assert "The **second**, with much to say" in page.by_id("answers-line").text
    done = board.submit(page, f"/tasks/{key}/comments", body="This one")
    cid = done.headers["location"].partition("#")[2]
    own = board.page(f"/tasks/{key}").by_id(cid)
    assert "what it answers" in own.text
    assert not board.page(f"/tasks/{key}").all("a", data_hotkey="r"), "nothing waits for an answer"
    refused = board.post(f"/tasks/{key}/comments", body="x" * 6001, in_reply_to=second)
    assert "Answers shop-web" in refused.document.by_id("answers-line").text
    assert board.post(f"/tasks/{key}/comments", body="x", in_reply_to="c_none").status == 404
    assert not [
        e for e in board.page(f"/tasks/{key}?reply=c_none").elements if e.attributes.get("id") == "answers-line"
    ]


def test_a_comment_is_put_on_a_step(board: Board) -> None:
    key = board.task(bound=board.session("shop-web"))
    step(board, key, "Reproduce <it>")
    step(board, key, "Mend it")
    page = board.page(f"/tasks/{key}?step=2")
    assert "On step 2: Mend it" in page.by_id("comment").text
    cid = board.submit(page, f"/tasks/{key}/comments", body="Not yet").headers["location"].partition("#")[2]
    shown = board.page(f"/tasks/{key}")
    assert "on step 2" in shown.by_id(cid).text
    assert any(e["href"] == "#step-2" for e in shown.all("a")) and shown.by_id("step-2").tag == "li"
    assert board.relay.store.read(lambda tx: stored.get(tx, cid)).step_n == 2
    for wrong, status in (("3", 404), ("x", 422), ("-1", 422)):
        assert board.post(f"/tasks/{key}/comments", body="y", step=wrong).status == status
    assert "On step" not in board.page(f"/tasks/{key}?step=9").by_id("comment").text


@pytest.mark.spec("CMT-12")
def test_the_last_comment_in_its_five_seconds_is_taken_back_by_a_key(board: Board) -> None:
    key = board.task(bound=board.session("shop-web"))
    board.owner_comment(key, "one", board=True)
    two = board.owner_comment(key, "two", board=True)
    page = board.page(f"/tasks/{key}")
    forms = [e for e in page.all("form") if e.attributes.get("action", "").endswith("/withdraw")]
    assert len(forms) == 2
    (button,) = page.all("button", data_hotkey="u")
    assert board._inside(button, page.by_id(two))
    assert page.by_id(two).attributes and all("data-expires" in e.attributes for e in page.all("div", class_="acts"))
    board.now += 5 * SECOND
    assert not board.page(f"/tasks/{key}").all("button", data_hotkey="u")


@pytest.mark.spec("CTX-1", "DLV-19")
def test_a_comment_shows_every_mark_with_its_proof(board: Board) -> None:
    web = board.session("shop-web", activity="working")
    key = board.task(bound=web)
    cid = board.owner_comment(key, "Look")
    assert "its next tool call or prompt brings it" in board.page(f"/tasks/{key}").by_id(cid).text
    board.now += SECOND
    board.hand_over(web)
    board.now += SECOND
    board.relay.store.write(lambda tx: tx.run("UPDATE comment SET in_context_us = ?", tx.now))
    board.now += SECOND
    said = board.page(f"/tasks/{key}").by_id(cid).text
    assert "Delivered 2 s ago to shop-web" in said and "with a tool call" in said
    assert "In context 1 s ago seen in the session's transcript" in said
    caller = board.write(lambda tx: comments.comment_ack(tx, board.relay, _caller(web.hook_id), comment_id=cid))
    assert caller["state"] == "read"
    assert "Read just now acknowledged over its own link" in board.page(f"/tasks/{key}").by_id(cid).text


def _caller(hook_id: str | None) -> Any:
    from relaybay.domain import Caller

    return Caller(hook_session=hook_id or "")


def test_the_picker_says_of_each_session_what_its_link_is(board: Board) -> None:
    rows = {
        link: board.session(f"s-{link}", link=link, activity="unknown" if link == "none" else "idle")
        for link in ("exact", "guessed", "none", "exact_unseen")
    }
    board.session("over", link="ended_exact", activity="ended")
    key = board.task(bound=rows["none"])
    page = board.page(f"/tasks/{key}")
    options = {e["value"]: e.text for e in page.all("option") if board._inside(e, page.by_id("bind"))}
    assert options[rows["exact"].ref] == f"s-exact ({rows['exact'].ref}): idle, link exact"
    assert options[rows["guessed"].ref].endswith("idle, link guessed")
    assert options[rows["none"].ref].endswith("no hooks yet, never linked")
    assert options[rows["exact_unseen"].ref].endswith("link exact, not seen yet")
    assert not any("over" in text for text in options.values())
    assert list(options)[:2] == ["", rows["none"].ref], "the bound one first"
    assert set(list(options)[2:4]) == {rows["exact"].ref, rows["guessed"].ref}, "then those that live"
    assert "message_ack" in page.by_id("bind").text


def test_a_hundred_sessions_are_offered_and_the_others_by_name(board: Board) -> None:
    rows = [board.session(f"s{number}") for number in range(PICKER_MAX)]
    key = board.task()
    page = board.page(f"/tasks/{key}")
    assert not page.all("input", name="session")
    last = board.session("one too many")
    board.relay.store.write(lambda tx: tx.run("UPDATE session SET last_seen_us = 1 WHERE id = ?", last.id))
    page = board.page(f"/tasks/{key}")
    offered = [e["value"] for e in page.all("option") if board._inside(e, page.by_id("bind"))]
    assert len(offered) == PICKER_MAX + 1 and last.ref not in offered and rows[0].ref in offered
    assert "One of 1 more, by its name" in page.by_id("bind").text
    refused = board.post(f"/tasks/{key}/bind", session="nobody like that")
    assert refused.document.one("input", name="session")["value"] == "nobody like that"
    assert board.post(f"/tasks/{key}/bind", session="one too many").status == 303
    assert "bound to one too many" in board.page(f"/tasks/{key}").by_id("task_head").text


@pytest.mark.spec("40")
def test_a_file_is_put_on_a_task_downloaded_and_taken_off(board: Board) -> None:
    key = board.task()
    before = board.page(f"/tasks/{key}").by_id("task_files").text
    assert "No files" in before
    content = bytes(range(256))
    answer = board.upload(f"/tasks/{key}/files", 'a "b".bin', content, "application/x-thing")
    assert (answer.status, answer.headers["location"]) == (303, f"/tasks/{key}#task_files")
    page = board.page(f"/tasks/{key}")
    (file,) = board.get(f"/tasks/{key}.json").json["files"]
    assert (file["name"], file["size_bytes"]) == ('a \\"b\\".bin', 256)
    said = page.by_id(f"file-{file['id']}").text
    assert 'a "b".bin' in said and "application/x-thing" in said and "256 bytes" in said
    assert hashlib.sha256(content).hexdigest()[:12] in said
    link = page.one("a", download="")["href"]
    raw = board.raw(link)
    assert raw.content == content
    assert raw.headers["content-type"] == "application/octet-stream"
    assert raw.headers["x-content-type-options"] == "nosniff"
    assert raw.headers["content-disposition"] == disposition('a "b".bin')
    assert "default-src 'none'" in raw.headers["content-security-policy"]
    assert "no-store" in raw.headers["cache-control"]
    assert "Changed files by you" in page.by_id("timeline").text
    assert board.submit(page, f"{link}/remove").status == 303
    assert board.get(link).status == 404
    assert board.submit(page, f"{link}/remove").status == 404
    assert board.get("/tasks/shop-99/files/1").status == 404


@pytest.mark.spec("40")
def test_a_file_that_is_none_or_too_large_changes_nothing(board: Board) -> None:
    key = board.task()
    before = board.dump()
    path = f"/tasks/{key}/files"
    assert board.upload(path, "", b"").status == 422
    assert board.upload(path, "x" * 201, b"").status == 422
    large = board.upload(path, "a", b"x" * (limit("attachment_bytes_max") + 1))
    assert large.status == 413 and "attachment_too_large" in large.document.by_id("refusal-files").text
    for size in (1_048_576, 1_500_000):
        huge = board.upload(f"/tasks/{key}/files", "huge.bin", b"x" * size)
        assert huge.status == 413 and "at most 1000000 bytes are kept" in huge.document.text, "before it is read"
    assert board.post(path, file="a.txt").status == 422, "a field is no file"
    assert board.dump() == before
    assert board.upload(path, "a", b"x" * limit("attachment_bytes_max")).status == 303


def test_a_form_with_files_needs_its_token_and_goes_to_its_own_door_only(board: Board) -> None:
    key = board.task()
    before = board.dump()
    whole = board.upload(f"/tasks/{key}/comments", "a", b"x")
    assert whole.status == 415
    cookie = board.cookie
    headers = {"Content_Type": "multipart/form-data; boundary=edge", "Origin": board.server.url}
    for body in (b"", b"--edge--", b"--edge\r\nnonsense\r\n--edge--\r\n"):
        assert board.request("POST", f"/tasks/{key}/files", body or b"x", **headers).status == 403
    board.cookie = ""
    assert board.upload(f"/tasks/{key}/files", "a", b"x").status == 401
    board.cookie = cookie
    assert board.dump() == before


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("notes.txt", "attachment; filename=\"notes.txt\"; filename*=UTF-8''notes.txt"),
        ('a"b;\r\nX: y.txt', "attachment; filename=\"a_b_X_ y.txt\"; filename*=UTF-8''a%22b%3BX%3A%20y.txt"),
        ("évil\u202egpj.exe", "attachment; filename=\"_vilgpj.exe\"; filename*=UTF-8''%C3%A9vilgpj.exe"),
        ("\u200b", "attachment; filename=\"file\"; filename*=UTF-8''file"),
    ],
)
def test_a_downloads_name_breaks_no_header_and_hides_no_ending(name: str, header: str) -> None:
    assert disposition(name) == header


def test_two_hundred_of_everything_stay_usable(board: Board) -> None:
    web = board.session("shop-web")
    key = board.task(bound=web)
    for number in range(PAGE_COMMENTS + 3):
        board.owner_comment(key, f"comment {number}")
    for number in range(60):
        step(board, key, f"step {number}")
    page = board.page(f"/tasks/{key}")
    assert len(page.all("article")) == RECENT_COMMENTS
    assert len(page.raw.encode()) < 100_000 and len(page.elements) < 1_500
    more = next(e for e in page.all("a") if "older comments" in e.text)
    assert more.text == f"{PAGE_COMMENTS + 3 - RECENT_COMMENTS} older comments"
    whole = board.page(more["href"])
    assert (
        len(whole.all("article")) == PAGE_COMMENTS and whole.one("body")["data-page"] == more["href"].partition("#")[0]
    )
    assert "3 older comments are not shown" in whole.by_id("comments").text
    fewer = next(e for e in whole.all("a") if e.text == "Show the newest comments only")
    assert fewer["href"] == f"/tasks/{key}#comments"
    twin = board.get(f"/tasks/{key}.json").json
    assert (len(twin["comments"]), twin["comments_left_out"]) == (PAGE_COMMENTS, 3)


def test_what_an_old_comment_is_answered_by_leads_to_it(board: Board) -> None:
    web = board.session("shop-web")
    key = board.task(bound=web)
    first = board.owner_comment(key, "the very first")
    board.now += 10 * SECOND
    board.hand_over(web)
    for number in range(RECENT_COMMENTS - 1):
        board.owner_comment(key, f"comment {number}")
    board.reply(web, key, "Which one?", first)
    page = board.page(f"/tasks/{key}")
    assert first not in [e["id"] for e in page.all("article")]
    links = {e.text: e["href"] for e in page.all("a")}
    assert links["1 older comment"] == f"/tasks/{key}?all_of=comments#comments"
    assert links["what it answers"] == f"/tasks/{key}?all_of=comments#{first}"
    whole = {e.text: e["href"] for e in board.page(f"/tasks/{key}?all_of=comments").all("a")}
    assert whole["what it answers"] == f"#{first}"


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", '"><svg onload=alert(1)>', "{{ 7 * 7 }}", "\u202eevil"])
def test_hostile_files_steps_and_names_stay_text(board: Board, text: str) -> None:
    web = board.session(f"w{text}")
    key = board.task(bound=web)
    step(board, key, f"s {text}")
    board.upload(f"/tasks/{key}/files", f"f {text.replace('/', '')}", b"<script>alert(1)</script>", "text/html")
    cid = board.reply(web, key, f"r {text}")
    page = board.page(f"/tasks/{key}?reply={cid}&step=1")
    shown = text.replace("\u202e", "U+202E")
    assert shown in page.by_id("comment").text and shown in page.by_id("task_steps").text
    assert shown.replace("/", "") in page.by_id("task_files").text
    assert not page.all("svg", onload="alert(1)") and "\u202e" not in page.raw
    assert all(e.text == "" for e in page.all("script"))
