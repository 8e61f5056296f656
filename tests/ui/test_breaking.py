"""What somebody found who tried to break the board; each was a page that lied, or one that refused without words."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from relaybay.rules.query import QUERY_CHARS_MAX, Fault, parse, printed
from relaybay.service import projects
from tests.ui.board_rig import OWNER, Board

FRAGMENTS = (
    ("/", "columns"), ("/messages", "message_list"), ("/sessions", "session_groups"), ("/events", "event_list"),
)  # fmt: skip


@pytest.mark.spec("70")
@pytest.mark.parametrize(("path", "fragment"), FRAGMENTS)
def test_a_filter_that_became_wrong_shows_no_other_list_to_a_page_that_stands_open(
    board: Board, path: str, fragment: str
) -> None:
    board.session("web")
    board.task("A task that was not asked for")
    q = quote("session:gone" if path != "/sessions" else "project:gone")
    answer = board.get(f"{path}?q={q}&fragment={fragment}")
    assert answer.status == 422 and "not asked for" not in answer.body
    # What stands around goes on, or the page that says what is wrong would load itself again and again.
    around = board.get(f"{path}?q={q}&fragment=nav,standing")
    assert around.status == 200 and 'id="nav"' in around.body
    page = board.page(f"{path}?q={q}", 422)
    assert not page.all(id=fragment) and "not asked for" not in page.text


@pytest.mark.spec("40")
def test_a_filter_that_is_taken_has_an_address_that_is_taken(board: Board) -> None:
    for text in ("a" * 998 + "**", "b" * 990 + '"c"*', "x" * QUERY_CHARS_MAX):
        found = parse(text, "tasks")
        assert isinstance(found, Fault) or len(printed(found)) <= QUERY_CHARS_MAX
        page = board.get(f"/?q={quote(text)}")
        own = page.document.one("body")["data-page"]
        assert board.get(own).document.one("body")["data-page"] == own


@pytest.mark.spec("40")
@pytest.mark.parametrize("title", ["\u202e", "\u200b", "\u2060\u202d", " \u200b "])
def test_a_project_is_never_called_something_that_nobody_sees(board: Board, title: str) -> None:
    for before in ("", "Real"):
        if before:
            board.write(lambda tx: projects.project_add(tx, board.relay, OWNER, slug="shop", title="Real"))
        shown = board.write(lambda tx: projects.project_add(tx, board.relay, OWNER, slug="shop", title=title))
        assert shown["title"] in ('"Real"', '"shop"')


@pytest.mark.spec("40")
@pytest.mark.parametrize("slug", ["no", "null", "010", "2030-12-24", "y", "1e3", "true"])
def test_a_slug_that_yaml_takes_for_something_else_is_quoted(board: Board, slug: str) -> None:
    board.write(lambda tx: projects.project_add(tx, board.relay, OWNER, slug=slug))
    assert f'project: "{slug}"' in board.get(f"/projects/{slug}.md").body.splitlines()


@pytest.mark.spec("40")
@pytest.mark.parametrize("q", ["older:1\u0663m", "before:20\u0663\u0660-01-01"])
def test_digits_of_another_script_are_no_number(board: Board, q: str) -> None:
    assert board.get(f"/messages.json?q={quote(q)}").status == 422


def test_a_form_with_too_many_fields_is_told_that(board: Board) -> None:
    key = board.task()
    body = "&".join(f"f{number}=1" for number in range(60)).encode()
    token = board.gate.logins.csrf_token(board.cookie)
    answer = board.request(
        "POST",
        f"/tasks/{key}/comments",
        body,
        Content_Type="application/x-www-form-urlencoded",
        Origin=board.server.url,
        X_CSRF_Token=token,
    )
    assert answer.status == 422 and "more than 50 fields" in answer.body


def test_a_way_back_keeps_its_filter(board: Board) -> None:
    key = board.task()
    answer = board.post(f"/tasks/{key}/status", status="doing", back="/?q=foo~bar")
    assert answer.headers["location"].startswith("/?q=foo~bar")
