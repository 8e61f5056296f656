"""Exports as Markdown: golden files, and no text of anybody's that a reader of Markdown takes for markup."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from relaybay.rules.export import (
    CommentPart,
    FilePart,
    Mark,
    ProjectPart,
    TaskPart,
    Who,
    block,
    code,
    project_document,
    shown,
    task_document,
)

GOLDEN = Path(__file__).parent / "golden"
AT = "2027-01-15T08:00:00.000000Z"
LATER = "2027-01-15T08:05:00.000000Z"


def task(**changed) -> TaskPart:
    given = {
        "key": "shop-1",
        "project": "shop",
        "title": 'Ship the "checkout" \\ now',
        "status": "doing",
        "author": "owner",
        "session": Who("reviewer", "S-2"),
        "created": AT,
        "updated": LATER,
        "body": "# Do this\n\n```python\nprint('x')\n```\n\n* and <b>that</b>",
        "steps": [(1, "Write it", True), (2, "Test `it`", False)],
        "files": [FilePart("plan.pdf", "application/pdf", 1234, "ab" * 32)],
        "comments": [
            CommentPart(
                "c_1", None, "read",
                [
                    Mark("sent", AT),
                    Mark("delivered", AT, "by tool", Who("reviewer", "S-2")),
                    Mark("in context", AT),
                    Mark("read", LATER, "verified"),
                ],
                "Please look at **this**", step=2,
            ),
            CommentPart(
                "c_2", Who("re`viewer", "S-2", verified=False), "unanswered", [Mark("sent", LATER)], "Done.\n", "c_1"
            ),
            CommentPart("c_3", Who("gone", ""), "answered", [Mark("sent", LATER)], ""),
        ],
    }  # fmt: skip
    return TaskPart(**(given | changed))


def project(**changed) -> ProjectPart:
    empty = task(key="shop-2", title="Later", session=None, author="S-2", body="", steps=[], files=[], comments=[])
    given = {"slug": "shop", "title": "The shop", "root": "/srv/shop", "created": AT, "tasks": [task(), empty]}
    return ProjectPart(**(given | changed))


@pytest.mark.spec("40")
@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("task.md", lambda: task_document(task())),
        (
            "task-bare.md",
            lambda: task_document(task(session=None, body="", steps=[], files=[], comments=[], author="unnamed")),
        ),
        ("project.md", lambda: project_document(project())),
        ("project-cut.md", lambda: project_document(project(root="", tasks=[], left_out=3))),
    ],
)
def test_an_export_is_the_golden_file(name, document) -> None:
    assert document() == (GOLDEN / name).read_text(encoding="utf-8")


def test_a_comment_names_the_file_that_it_is_about() -> None:
    about = CommentPart("c_1", None, "sent", [Mark("sent", AT)], "Look.", attachment="a `plan`.pdf")
    lines = task_document(task(comments=[about])).splitlines()
    assert "- on file: ``a `plan`.pdf``" in lines
    assert not any(line.startswith("- on file") for line in task_document(task()).splitlines())


def test_a_title_in_the_front_matter_is_one_quoted_line() -> None:
    found = task_document(task(title='a\n"b" \\ c\u202e'))
    assert '\ntitle: "a \\"b\\" \\\\ c[U+202E]"\n' in found
    assert "left_out" not in project_document(project())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('plain <b> & "x" \\ y\n\tz', 'plain <b> & "x" \\ y\n\tz'),
        ("a\u202eb", "a[U+202E]b"),
        ("a\u200bb\x07", "a[U+200B]b[U+0007]"),
        ("\U000e0041", "[U+E0041]"),
        ("x\r\b\f", "x[U+000D][U+0008][U+000C]"),
        ("👩\u200d🚀 é 中", "👩\u200d🚀 é 中"),
    ],
)  # fmt: skip
def test_what_nobody_would_see_is_a_sign_with_its_number(text, said) -> None:
    assert shown(text) == said


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain", "`plain`"),
        ("a `b` c", "``a `b` c``"),
        ("`b`", "`` `b` ``"),
        ("`b", "`` `b ``"),
        ("b``", "``` b`` ```"),
        ("two\nlines  and   spaces", "`two lines and spaces`"),
        ("", "`-`"),
        ("   ", "`-`"),
    ],
)
def test_a_line_of_somebodys_is_inline_code(text, written) -> None:
    assert code(text) == written


def test_a_text_of_somebodys_is_a_block_with_a_longer_fence() -> None:
    assert block("") == []
    assert block("a\nb") == ["```markdown", "a", "b", "```", ""]
    assert block("```\nx\n````")[0] == "`````markdown"
    assert block("``")[0] == "```markdown"
    assert block("```")[0] == "````markdown"


HOSTILE = st.text(
    alphabet=st.sampled_from([*"`~#-*_[]()!<>&|\\\"' \n\tax1.:/@{}=$", "\u202e", "\u200b", "é", "\U000e0041"]),
    max_size=60,
)


@given(HOSTILE, HOSTILE, HOSTILE)
def test_no_text_is_markup_to_a_reader_of_markdown(title, body, step) -> None:
    hostile = task(
        title=title, body=body, steps=[(1, step, False)], files=[FilePart(title, step, 1, "0")],
        session=Who(title, "S-2"), comments=[CommentPart("c_1", Who(step, "S-2"), "sent", [Mark("sent", AT)], body)],
    )  # fmt: skip
    plain = task(
        title="t", body="b" if body else "", steps=[(1, "s", False)], files=[FilePart("t", "s", 1, "0")],
        session=Who("t", "S-2"),
        comments=[CommentPart("c_1", Who("s", "S-2"), "sent", [Mark("sent", AT)], "b" if body else "")],
    )  # fmt: skip
    assert shape(task_document(hostile)) == shape(task_document(plain))


def shape(document: str) -> list[str]:
    """What a reader of Markdown makes of it, without the contents of code and of the front matter."""
    matter, _, rest = document.removeprefix("---\n").partition("\n---\n")
    assert all(re.fullmatch(r"[a-z_]+: (\"([^\"\\\n]|\\.)*\"|[A-Za-z0-9:.+-]+)", line) for line in matter.split("\n"))
    found = []
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough").parse(rest):
        found.append(token.type + (f" {token.content}" if token.type == "html_block" else ""))
        found += [
            inner.type + (f" {inner.content}" if inner.type in ("text", "html_inline") else "")
            for inner in token.children or []
        ]
    return found


def test_nothing_of_the_message_is_asked_for() -> None:
    assert not any("message" in field for part in (TaskPart, CommentPart) for field in part.__dataclass_fields__)
