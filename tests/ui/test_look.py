"""Theme, rows and keys: chosen by a form, kept in a cookie, drawn by the server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import relaybay.ui
from tests.ui.board_rig import Answer, Board

STATIC = Path(relaybay.ui.__file__).parent / "static"
HOME = ("theme", "rows", "letters")


def chosen(board: Board, cookie: str) -> tuple[str, ...]:
    session, board.cookie = board.cookie, f"{board.cookie}; relaybay_look={cookie}"
    html = board.page("/").one("html")
    board.cookie = session
    return tuple(html[f"data-{name}"] for name in HOME)


def cookie_of(answer: Answer) -> str:
    assert answer.status == 303
    kept = answer.headers["set-cookie"]
    assert "HttpOnly" in kept and "SameSite=Strict" in kept and "Path=/" in kept and "Max-Age=31536000" in kept
    return kept.split(";")[0].partition("=")[2]


def test_the_server_draws_what_the_cookie_says_and_nothing_else(board: Board) -> None:
    assert chosen(board, "") == ("system", "normal", "on")
    assert chosen(board, "dark.compact.off") == ("dark", "compact", "off")
    assert chosen(board, "light") == ("light", "normal", "on")
    for wrong in ("x.y.z", "dark", "dark.<b>.off", "....", "%22.compact.on", "off.dark.compact"):
        theme, rows, letters = chosen(board, wrong)
        assert theme in ("system", "light", "dark") and rows in ("normal", "compact") and letters in ("on", "off")
    assert chosen(board, "x.compact.z") == ("system", "compact", "on")


def test_the_form_keeps_one_choice_and_leaves_the_others(board: Board) -> None:
    page = board.page("/sessions")
    forms = page.all("form", action="/preferences")
    assert len(forms) == 1
    answer = board.post("/preferences", theme="dark", back="/sessions")
    assert answer.headers["location"] == "/sessions"
    kept = cookie_of(answer)
    assert chosen(board, kept) == ("dark", "normal", "on")
    session, board.cookie = board.cookie, f"{board.cookie}; relaybay_look={kept}"
    token = board.gate.logins.csrf_token(session)
    both = cookie_of(board.post("/preferences", csrf=token, letters="off"))
    pressed = [e["value"] for e in board.page("/").all("button", name="theme") if e["aria-pressed"] == "true"]
    scheme = board.page("/").one("meta", name="color-scheme")["content"]
    board.cookie = session
    assert chosen(board, both) == ("dark", "normal", "off")
    assert pressed == ["dark"]
    assert scheme == "dark"


def test_a_choice_that_is_none_changes_nothing(board: Board) -> None:
    assert cookie_of(board.post("/preferences", theme="<b>", rows="huge")) == "system.normal.on"
    assert board.post("/preferences", theme="dark", back="//evil").headers["location"] == "/"
    assert board.post("/preferences", csrf="wrong", theme="dark").status == 403
    assert board.post("/preferences", colour="red").status == 422
    assert "set-cookie" not in board.post("/preferences", colour="red").headers


def test_the_keys_of_one_letter_can_be_switched_off_on_the_page_of_keys_too(board: Board) -> None:
    session, board.cookie = board.cookie, f"{board.cookie}; relaybay_look=system.normal.off"
    said = board.page("/keys").by_id("keys").text
    board.cookie = session
    assert "switched off in this browser" in said
    assert "can be switched off" in board.page("/keys").by_id("keys").text


# --- the style sheets ---

SHEETS = sorted(path.name for path in STATIC.glob("*.css"))


def sheet(name: str) -> str:
    return re.sub(r"/\*.*?\*/", "", (STATIC / name).read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("name", [name for name in SHEETS if name != "tokens.css"])
def test_colours_stand_in_the_tokens_only(name: str) -> None:
    assert not re.findall(r"#[0-9a-fA-F]{3,8}\b(?![-\w]*\s*[{,.:>])|\brgba?\(|\bhsla?\(|light-dark\(", sheet(name)), (
        name
    )


@pytest.mark.parametrize("name", SHEETS)
def test_every_token_that_is_used_is_given(name: str) -> None:
    tokens = set(re.findall(r"(--[a-z0-9-]+)\s*:", "".join(map(sheet, SHEETS))))
    assert set(re.findall(r"var\((--[a-z0-9-]+)", sheet(name))) <= tokens


def test_every_sheet_is_loaded_in_one_order(board: Board) -> None:
    loaded = [e["href"].rpartition("/")[2] for e in board.page("/").all("link", rel="stylesheet")]
    board.cookie = ""
    shared = [e["href"].rpartition("/")[2] for e in board.page("/", 401).all("link", rel="stylesheet")]
    assert loaded[: len(shared)] == shared, "a page's own sheets come after those of all pages"
    assert (shared[0], shared[-1]) == ("tokens.css", "narrow.css")


def test_reduced_motion_forced_colours_and_pointers_are_thought_of() -> None:
    everything = "".join(map(sheet, SHEETS))
    for query in (
        "prefers-reduced-motion: reduce",
        "forced-colors: active",
        "pointer: coarse",
        "prefers-contrast: more",
    ):
        assert f"({query})" in everything
    tokens = sheet("tokens.css")
    assert re.search(r"--row: 32px.*\[data-rows=\"compact\"\] \{\s*--row: 24px.*coarse.*--row: 44px", tokens, re.DOTALL)
