"""Texts of others on the board: inert, whole, and with nothing in them that a reader cannot see."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from relaybay.rules.text import literal, name_line
from relaybay.ui.markdown import markdown_filter
from relaybay.ui.text import decoded, decoded_line, option_filter, visible, words_filter
from tests.ui.board_rig import Board, Document

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "</title></textarea></div></main><h1>owned</h1>",
    "{{ 7 * 7 }} {% if %}",
    "&lt;b&gt; &amp; &#60;",
    "[x](javascript:alert(1)) ![p](http://evil.example/p.png)",
    '<a href="http://evil.example" style="position:fixed">x</a>',
]
TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200)


@pytest.mark.spec("TEXT-3", "TEXT-5")
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_and_bodies_stay_text(board: Board, text: str) -> None:
    web = board.session(f"web {text}", cwd=f"/src/{text}")
    api = board.session("api")
    key = board.task(f"Title {text}", f"Body {text}", bound=web)
    mid = board.send(web, "api", text, task=key)
    board.reply(web, key, f"Reply {text}")
    board.owner_comment(key, f"Comment {text}")
    board.post(f"/tasks/{key}/steps", text=f"Step {text}")
    for path in (
        "/",
        "/inbox",
        "/sessions",
        f"/sessions/{web.ref}",
        f"/sessions/{api.ref}",
        "/messages",
        f"/tasks/{key}",
    ):
        page = board.page(path)
        assert not page.all("img"), path
        assert not [e for e in page.all("svg") if e.attributes.get("class") not in ("icon", "sprite")], path
        assert len(page.all("h1")) == 1, path
        assert len(page.all("main")) == 1, path
        assert all(s["src"].startswith("/static/") for s in page.all("script")), path
        for element in page.elements:
            assert not any(name.startswith("on") or name == "style" for name in element.attributes), (path, element)
            assert not element.attributes.get("href", "").lower().startswith("javascript"), path
    article = board.page("/messages").by_id(f"message-{mid}")
    assert text in "".join(article.texts)


def test_a_message_is_no_markdown_and_keeps_its_white_space(board: Board) -> None:
    web = board.session("web")
    board.session("api")
    body = "**bold** `code`\n  two  blanks\n\n\tand a tab"
    mid = board.send(web, "api", body)
    page = board.page("/messages")
    shown = next(e for e in page.all("div", class_="body"))
    assert "".join(shown.texts) == body
    assert not page.all("strong")
    assert mid


def test_the_owners_words_are_markdown(board: Board) -> None:
    key = board.task(body="**bold** and <i>not</i>")
    page = board.page(f"/tasks/{key}")
    assert [e.text for e in page.all("strong")] == ["bold"]
    assert not page.all("i")


@pytest.mark.parametrize(
    ("source", "tags"),
    [
        ("![pixel](http://evil.example/p.png)", {"div", "p", "a"}),
        ("[a](http://example.com)", {"div", "p", "a"}),
        ("[a](javascript:alert(1)) [b](/login?code=1) [c](data:text/html,x) [d](//evil.example)", {"div", "p"}),
        ("<http://example.com/?a=1&b=2>", {"div", "p", "a"}),
        ("# One\n\n###### Six", {"div", "h4", "h6"}),
        ("<img src=x onerror=alert(1)>\n\n<div>x</div>\n\n<!-- c -->", {"div", "p"}),
        ("| a | b |\n|---|---|\n| 1 | 2 |", {"div", "table", "thead", "tbody", "tr", "th", "td"}),
        ("```<b> onclick=1\n<script>\n```", {"div", "pre", "code"}),
        ("a\nb", {"div", "p", "br"}),
        ("> " * 200 + "deep", {"div", "blockquote", "p"}),
    ],
)
def test_markdown_makes_only_what_it_may(source: str, tags: set[str]) -> None:
    document = Document(str(markdown_filter(literal(source))))
    assert {e.tag for e in document.elements} - {"p"} == tags - {"p"}
    for element in document.elements:
        if element.tag == "a":
            assert element["href"].startswith(("http://", "https://"))
            assert "noopener" in element["rel"]
        else:
            assert set(element.attributes) <= {"class", "dir"}, element


@pytest.mark.parametrize(
    ("source", "text", "links"),
    [
        ("![a plan](http://example.com/p.png)", "a plan (image)", 1),
        ("![i](http://example.com/p.png) after", "i (image) after", 1),
        ("![](http://example.com/p.png)", "(image)", 1),
        ("[![build](http://example.com/b.svg)](http://example.com/)", "build (image)", 1),
        ('![<b>"x"</b>](http://example.com/p.png "title")', '<b>"x"</b> (image)', 1),
    ],
)
def test_an_image_is_a_link_by_its_alternative_text(source: str, text: str, links: int) -> None:
    document = Document(str(markdown_filter(literal(source))))
    assert document.text == text
    assert len(document.all("a")) == links
    assert all(e["rel"] == "noopener noreferrer nofollow" for e in document.all("a"))


def test_a_long_message_opens_whole_and_a_short_one_stands(board: Board) -> None:
    web = board.session("web")
    board.session("api")
    long = "\n".join(f"line {number}" for number in range(60))
    cases = {board.send(web, "api", long): long, board.send(web, "api", "short\nand\nplain"): "short\nand\nplain"}
    page = board.page("/messages")
    for mid, body in cases.items():
        article = page.by_id(f"message-{mid}")
        bodies = [e for e in page.all("div", class_="body") if board._inside(e, article)]
        assert ["".join(e.texts) for e in bodies] == [body]
        closed = [e for e in page.all("details", class_="long") if board._inside(e, article)]
        assert len(closed) == (body == long)
    (summary,) = (e for e in page.all("summary") if e.parent is not None and e.parent["class"] == "long")
    assert summary.text == "line 0 line 1 line 2 line 3 line 4 line 5 … Show allShow its beginning"
    styles = [e["href"] for e in page.all("link", rel="stylesheet")]
    assert not any("max-height" in board.get(style).body for style in styles)


def test_a_sentence_marks_what_is_to_be_typed_and_nothing_else() -> None:
    said = words_filter('Run `relaybay open` or `<b>`; "a`b" & `c')
    assert str(said) == ('Run <code class="command">relaybay open</code> or `&lt;b&gt;`; &#34;a`b&#34; &amp; `c')
    assert isinstance(said, Markup)


@given(TEXTS)
def test_markdown_never_lets_markup_through(text: str) -> None:
    document = Document(str(markdown_filter(literal(text + "\n<b onclick=x>" + text))))
    assert not [e for e in document.elements if e.tag in ("b", "script", "img", "style", "iframe")]
    assert not [e for e in document.elements if any(name.startswith("on") for name in e.attributes)]


@pytest.mark.spec("TEXT-4")
@given(TEXTS)
def test_what_is_shown_stands_for_what_is_stored(text: str) -> None:
    assert decoded(literal(text)) == text
    line = decoded_line(name_line(text))
    assert line == text or (line.endswith("…") and text.startswith(line[:-1]))


@given(TEXTS)
def test_shown_text_is_markup_free_and_holds_nothing_hidden(text: str) -> None:
    shown = visible(text)
    assert isinstance(shown, Markup)
    document = Document(f"<p>{shown}</p>")
    assert {e.tag for e in document.elements} <= {"p", "span"}
    inner = "".join(document.elements[0].texts)
    # What is left has no escape but those of quotes, backslashes, line breaks, tabs and markup.
    left = json.dumps(inner, ensure_ascii=False)
    assert literal(inner).replace("\\u003c", "<").replace("\\u003e", ">").replace("\\u0026", "&") == left


def test_hidden_characters_are_shown_by_number() -> None:
    assert str(visible("a\u202eb")) == 'a<span class="hidden-char">U+202E</span>b'
    assert "U+200B ×3" in str(visible("x\u200b\u200b\u200by"))
    assert "U+E0041" in str(visible("tag\U000e0041"))
    assert str(visible("naïve 日本 👩‍💻")) == "naïve 日本 👩‍💻"
    assert option_filter("a\\u202eb") == "a[U+202E]b"
    assert option_filter('raw "quote"') == 'raw "quote"'
