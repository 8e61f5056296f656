"""Full-text search over tasks and comments, never over messages (page 40): the texts kept for it, and its queries.

Only here is SQLite's dialect of it (FTS5); PostgreSQL's twin has a `tsvector` column under the same names. A row's key
is twice its task's, or twice its comment's and one. Whoever writes a task, a step or a comment puts its text here in
the same transaction. What is kept here follows from the other tables: where it is damaged it is made anew (`rebuild`).
Belongs here: what is found. Does not: the grammar of a query (`rules/query.py`), and pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relaybay.store import sqlite
from relaybay.store.transaction import Tx

#: Around what was found, in a snippet: two characters that no writing system has.
MARK_ON, MARK_OFF = "\ufdd0", "\ufdd1"
ELLIPSIS = "…"
_QUOTE = '"'
#: How much a word counts in key, title, body and steps: who looks for a title finds it first.
_WEIGHTS = "10.0, 4.0, 1.0, 1.0"
_TITLE, _BODY, _STEP = 1, 2, 3
_SNIPPET_WORDS = 24
#: What is looked for: a word, or several that stand beside each other, and whether the last may go on.
Words = Sequence[tuple[str, bool]]
#: SQL with a `?` for each of its values.
Conditions = Sequence[tuple[str, Sequence[Any]]]
_STEPS = "(SELECT group_concat(text, char(10)) FROM (SELECT text FROM step WHERE task_id = t.id ORDER BY n))"
_TASKS = f"SELECT 2 * t.id, t.task_key, t.title, t.body_md, coalesce({_STEPS}, '') FROM task t"  # noqa: S608 - own names.
_COMMENTS = "SELECT 2 * c.id + 1, '', '', c.body_md, '' FROM comment c"
_PUT = "INSERT INTO search_text (rowid, task_key, title, body, steps)"
_FROM = (
    " FROM search_text x"
    " LEFT JOIN comment c ON x.rowid % 2 = 1 AND c.id = x.rowid / 2"
    " JOIN task t ON t.id = CASE WHEN x.rowid % 2 = 1 THEN c.task_id ELSE x.rowid / 2 END"
    " JOIN project p ON p.id = t.project_id"
)
_AT = "coalesce(c.created_us, t.updated_us)"
_ORDERS = {
    "best": f"bm25(search_text, {_WEIGHTS}), {_AT} DESC, x.rowid DESC",
    "new": f"{_AT} DESC, x.rowid DESC",
    "old": f"{_AT}, x.rowid",
}


@dataclass(frozen=True, slots=True)
class Found:
    """One text: of the comment `comment_id`, or where that is None of the task. Title (a task's) and snippet have marks
    in them; the snippet is empty where a task's title or key alone was found.
    """

    task_id: int
    comment_id: int | None
    title: str
    snippet: str


def put_task(tx: Tx, task_id: int) -> None:
    """Keeps a task's key, title, text and steps as they are now."""
    tx.run("DELETE FROM search_text WHERE rowid = ?", 2 * task_id)
    tx.run(f"{_PUT} {_TASKS} WHERE t.id = ?", task_id)


def put_comment(tx: Tx, comment_id: int) -> None:
    """Keeps the text of a new comment; one that was stored never changes."""
    tx.run(f"{_PUT} {_COMMENTS} WHERE c.id = ?", comment_id)


def drop_comment(tx: Tx, comment_id: int) -> None:
    """Forgets a comment's text."""
    tx.run("DELETE FROM search_text WHERE rowid = ?", 2 * comment_id + 1)


def complete(tx: Tx) -> bool:
    """Whether there are as many texts here as tasks and comments: a look that costs next to nothing."""
    return bool(texts(tx) == tx.value("SELECT (SELECT count(*) FROM task) + (SELECT count(*) FROM comment)"))


def faithful(tx: Tx) -> bool:
    """Whether what is kept here is what the tasks and comments say."""
    kept = "SELECT id, c0, c1, c2, c3 FROM search_text_content"
    return complete(tx) and not tx.rows(f"SELECT * FROM ({_TASKS} UNION ALL {_COMMENTS}) EXCEPT {kept} LIMIT 1")  # noqa: S608 - own words.


def rebuild(tx: Tx) -> None:
    """Makes all that is kept here anew, whatever was there."""
    tx.run("DROP TABLE search_text")
    tx.run(f"CREATE {sqlite.WORDS['search_text']}")
    tx.run(f"{_PUT} {_TASKS}")
    tx.run(f"{_PUT} {_COMMENTS}")


def expression(words: Words) -> str:
    """What FTS5 is asked for texts that have all of these. Everything is quoted: nothing in a text is an operator."""
    return " AND ".join(f'"{text.replace(_QUOTE, _QUOTE * 2)}"' + "*" * prefix for text, prefix in words)


def tasks_with(words: Words) -> tuple[str, str]:
    """The condition on a task `t` that its own texts have all of these words: SQL with one `?`, and its value."""
    return "2 * t.id IN (SELECT rowid FROM search_text WHERE search_text MATCH ?)", expression(words)


def texts_with(words: Words) -> tuple[str, str]:
    """The same, on a text `x` of `found`, as a part of a larger condition (not this, or either of two)."""
    return "x.rowid IN (SELECT rowid FROM search_text WHERE search_text MATCH ?)", expression(words)


def found(tx: Tx, words: Words, conditions: Conditions, order: str, skip: int, most: int) -> list[Found]:
    """Texts that have all `words` and meet all conditions (over `x`, `t`, `p` and, of a comment, `c`), in an `order`:
    `best`, `new` or `old`. Without words the best are the newest.
    """
    title, body, steps = "x.title", "''", "''"
    if words:
        marks = f"'{MARK_ON}', '{MARK_OFF}'"
        title = f"highlight(search_text, {_TITLE}, {marks})"
        body, steps = (
            f"snippet(search_text, {column}, {marks}, '{ELLIPSIS}', {_SNIPPET_WORDS})" for column in (_BODY, _STEP)
        )
    elif order == "best":
        order = "new"
    where, values = _where(words, conditions)
    rows = tx.rows(
        f"SELECT t.id, c.id, {title}, {body}, {steps}{_FROM} WHERE {where} ORDER BY {_ORDERS[order]} LIMIT ? OFFSET ?",
        *values,
        most,
        skip,
    )
    return [
        Found(int(task), None if comment is None else int(comment), str(shown), _marked(str(text), str(step)))
        for task, comment, shown, text, step in rows
    ]


def _marked(*snippets: str) -> str:
    """The first in which something was found."""
    return next((one for one in snippets if MARK_ON in one), "")


def count(tx: Tx, words: Words, conditions: Conditions) -> int:
    """How many texts `found` would give, all pages together."""
    where, values = _where(words, conditions)
    return int(tx.value(f"SELECT count(*){_FROM} WHERE {where}", *values))


def texts(tx: Tx) -> int:
    """How many texts there are to look in."""
    return int(tx.value("SELECT count(*) FROM search_text_docsize"))


def _where(words: Words, conditions: Conditions) -> tuple[str, list[Any]]:
    parts = [("search_text MATCH ?", (expression(words),)), *conditions] if words else list(conditions)
    return " AND ".join(sql for sql, _ in parts) or "1 = 1", [value for _, values in parts for value in values]
