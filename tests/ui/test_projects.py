"""A project's own page, and tasks and projects as Markdown beside their pages."""

from __future__ import annotations

import re

import pytest

from relaybay.service import comments, export, projects, tasks, views_projects
from relaybay.service.tasks import Change
from relaybay.service.views_projects import SESSIONS_MAX, STATUS_TASKS
from tests.ui.board_rig import OWNER, SECOND, Board

EVIL = "</code><script>alert(1)</script>\n# Comments\n![x](https://foreign.example/x.png)"


def add(board: Board, slug: str = "shop", **more: str) -> None:
    board.write(lambda tx: projects.project_add(tx, board.relay, OWNER, slug=slug, **more))


def test_a_project_shows_its_tasks_by_status_its_sessions_and_what_happened(board: Board) -> None:
    add(board, title="The shop", root="/srv/shop")
    add(board, "docs")
    here = board.session("reviewer", project_id=1, activity="working")
    board.session("elsewhere")
    key = board.task("Paint", bound=here)
    board.task("Sold", status="done")
    board.task("Gone", status="dropped")
    board.write(lambda tx: tasks.task_update(tx, board.relay, OWNER, task=key, change=Change(step_add="buy")))
    board.owner_comment(key, "do it")
    found = board.get("/projects/shop.json").json
    assert (found["project"]["slug"], found["project"]["open_tasks"], found["count"], found["live"]) == (
        "shop",
        1,
        3,
        1,
    )
    assert [(s["status"], s["count"], [t["key"] for t in s["tasks"]]) for s in found["statuses"]] == [
        ("todo", 1, ["shop-1"]), ("done", 1, ["shop-2"]), ("dropped", 1, ["shop-3"]),
    ]  # fmt: skip
    line = found["statuses"][0]["tasks"][0]
    assert line["steps"] == {"done": 0, "count": 1} and line["session"]["ref"] == here.ref
    assert line["comments"] == {"undelivered": 1, "unread": 0, "unanswered": 0}
    assert [one["ref"] for one in found["sessions"]] == [here.ref]
    assert {event["type"] for event in found["timeline"]} >= {"project.added", "task.created", "comment.added"}
    page = board.page("/projects/shop")
    assert page.one("h1").text == "The shop"
    assert page.by_id("row-shop-1") and page.one("a", href="/projects/shop.md")
    for part in ("project_head", "project_tasks", "project_timeline"):
        assert board.get(f"/projects/shop?fragment={part}").document.by_id(part)["data-live"]


def test_much_of_a_status_is_cut_and_a_link_shows_all(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [board.task(f"Task {n}") for n in range(STATUS_TASKS + 1)]
    other = [board.task(f"Done {n}", status="done") for n in range(STATUS_TASKS)]
    board.now += SECOND
    board.write(lambda tx: tasks.task_update(tx, board.relay, OWNER, task=keys[0], change=Change(step_add="buy")))

    def rows(address: str) -> list[str]:
        return [e["id"].removeprefix("row-") for e in board.page(address).all("tr") if "id" in e.attributes]

    def links(address: str) -> dict[str, str]:
        return {e.text: e["href"] for e in board.page(address).all("a") if " more" in e.text or "Show fewer" in e.text}

    assert rows("/projects/shop") == [*keys[:1:-1], keys[0], *reversed(other)], "what was changed last, newest first"
    assert links("/projects/shop") == {"1 more of To do": "/projects/shop?all_of=todo#status-todo"}
    whole = "/projects/shop?all_of=todo%2Cdone"
    assert rows(whole) == [*reversed(keys), *reversed(other)]
    assert links(whole) == {"Show fewer of To do": "/projects/shop?all_of=done#status-todo"}
    assert board.page(whole).one("body")["data-page"] == whole
    twin = board.get("/projects/shop.json").json
    assert [len(one["tasks"]) for one in twin["statuses"]] == [STATUS_TASKS + 1, STATUS_TASKS]
    assert [one["left_out"] for one in twin["statuses"]] == [0, 0]
    monkeypatch.setattr(views_projects, "ALL_MAX", STATUS_TASKS)
    said = board.page(whole).by_id("project_tasks").text
    assert "1 more, not changed for longer; relaybay task list --project shop --status todo lists all." in said


def test_many_sessions_of_a_project_are_cut_the_live_ones_first(board: Board) -> None:
    add(board, root="/srv/shop")
    over = board.session("over", project_id=1, link="ended_exact", activity="ended")
    refs = [board.session(f"one {n}", project_id=1).ref for n in range(SESSIONS_MAX + 1)]
    found = board.get("/projects/shop.json").json
    assert [one["ref"] for one in found["sessions"]] == refs[:0:-1] and over.ref not in refs
    assert (found["sessions_left_out"], found["live"]) == (2, SESSIONS_MAX + 1)
    page = board.page("/projects/shop")
    more = {e.text: e["href"] for e in page.all("a") if " more " in e.text}
    assert more == {"2 more sessions of this project": "/sessions?q=project%3Ashop"}


def test_pages_of_an_empty_and_of_an_unknown_project(board: Board) -> None:
    add(board)
    text = board.page("/projects/shop").by_id("main").text
    assert "No folder is set" in text and "No task in this project yet" in text and "relaybay task create" in text
    for twin in ("", ".json", ".md"):
        answer = board.get(f"/projects/nothing{twin}")
        assert answer.status == 404
    assert board.get("/projects/nothing.json").json["code"] == "project_unknown"


def made(board: Board) -> str:
    add(board, title="The shop")
    bound = board.session("reviewer")
    key = board.task("Paint `it`", body="# Do\n\n" + EVIL, bound=bound)
    board.write(lambda tx: tasks.task_update(tx, board.relay, OWNER, task=key, change=Change(step_add=EVIL)))
    board.write(lambda tx: tasks.task_update(tx, board.relay, OWNER, task=key, change=Change(step_done=1)))
    first = board.owner_comment(key, "Look\n" + EVIL)
    board.hand_over(bound)
    board.now += SECOND
    board.reply(bound, key, "Done " + EVIL, first)
    board.send(board.session("other"), bound.ref, "a message's text stays in", task=key)
    return key


@pytest.mark.spec("40", "70")
def test_a_task_as_markdown(board: Board) -> None:
    key = made(board)
    answer = board.get(f"/tasks/{key}.md")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/markdown; charset=utf-8")
    assert answer.headers["content-disposition"] == 'inline; filename="shop-1.md"'
    lines = answer.body.split("\n")
    assert lines[:7] == [
        "---", "key: shop-1", "project: shop", 'title: "Paint `it`"', "status: todo", "author: owner", "session: S-1",
    ]  # fmt: skip
    assert "# shop-1: `` Paint `it` ``" in lines
    assert [line for line in lines if line.startswith("- [")] == [
        "- [x] 1: `</code><script>alert(1)</script> # Comments ![x](https://foreign.example/x.png)`"
    ]
    marks = [line.split(": ")[0] for line in lines if re.match(r"- [a-z ]+: ", line)]
    assert marks == [
        "- author", "- state", "- sent", "- delivered", "- read", "- author", "- in reply to", "- state", "- sent",
    ]  # fmt: skip
    assert any(line.startswith("- delivered: ") and line.endswith("to `reviewer` (S-1), by tool") for line in lines)
    assert any(line.startswith("- read: ") and line.endswith(", verified") for line in lines)
    assert "a message's text" not in answer.body
    board.now += 3_600 * SECOND
    assert board.get(f"/tasks/{key}.md").body == answer.body == board.get("/tasks/SHOP-1.md").body


def test_a_project_as_markdown_has_its_tasks_in_order(board: Board) -> None:
    made(board)
    board.task("Second")
    answer = board.get("/projects/shop.md")
    assert answer.headers["content-disposition"] == 'inline; filename="shop.md"'
    # Outside of fences there is no other heading than the export's own.
    outside = re.sub(r"(?m)^(`{3,})markdown\n.*?^\1$", "", answer.body, flags=re.DOTALL).split("\n")
    heads = [line for line in outside if line.startswith("#") and "c_" not in line]
    assert heads == [
        "# shop: `The shop`", "## shop-1: `` Paint `it` ``", "### Steps", "### Comments", "## shop-2: `Second`",
    ]  # fmt: skip
    assert "tasks: 2" in answer.body and "left_out" not in answer.body


def test_a_long_project_says_what_it_leaves_out(board: Board, monkeypatch) -> None:
    for n in range(4):
        board.task(f"t{n}")
    monkeypatch.setattr(export, "TASKS_MAX", 3)
    body = board.get("/projects/shop.md").body
    assert "tasks: 4\nleft_out: 1\n" in body and "## shop-3" in body and "## shop-4" not in body


def test_what_is_not_there_has_no_markdown_either(board: Board) -> None:
    for path in ("/tasks/shop-9.md", "/projects/shop.md"):
        assert board.get(path).status == 404
    board.cookie = ""
    assert board.get("/tasks/shop-9.md").status == 401


def test_a_comment_that_was_taken_back_is_in_no_export(board: Board) -> None:
    key = board.task(bound=board.session("reviewer"))
    comment = board.owner_comment(key, "typo", board=True)
    board.write(lambda tx: comments.withdraw(tx, comment_id=comment))
    assert "## Comments" not in board.get(f"/tasks/{key}.md").body
