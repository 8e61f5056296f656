"""Full-text search over tasks and comments, never over messages (page 40): the texts kept for it, and its queries.

Only here is SQLite's dialect of it (FTS5); PostgreSQL's twin has a `tsvector` column under the same names. A row's key
is twice its task's, or twice its comment's and one. Whoever writes a task, a step or a comment puts its text here in
the same transaction. What is kept here follows from the other tables: where it is damaged it is made anew (`rebuild`).
Belongs here: what is found. Does not: the grammar of a query (`rules/query.py`), and pages.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from relaybay.errors import SearchDamaged
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
#: The form of FTS5's own tables (its `FTS5_CURRENT_VERSION`).
_FTS5_VERSION = 4
#: What is looked for: a word, or several that stand beside each other, and whether the last may go on.
Words = Sequence[tuple[str, bool]]
#: SQL with a `?` for each of its values.
Conditions = Sequence[tuple[str, Sequence[Any]]]
_STEPS = "(SELECT group_concat(text, char(10)) FROM (SELECT text FROM step WHERE task_id = t.id ORDER BY n))"
_TASKS = f"SELECT 2 * t.id, t.task_key, t.title, t.body_md, coalesce({_STEPS}, '') FROM task t"  # noqa: S608 - own names.
_COMMENTS = "SELECT 2 * c.id + 1, '', '', c.body_md, '' FROM comment c"
_PUT = "INSERT INTO search_text (rowid, task_key, title, body, steps)"
_JOINED = (
    " LEFT JOIN comment c ON x.rowid % 2 = 1 AND c.id = x.rowid / 2"
    " JOIN task t ON t.id = CASE WHEN x.rowid % 2 = 1 THEN c.task_id ELSE x.rowid / 2 END"
    " JOIN project p ON p.id = t.project_id"
)
#: Without words only the keys are needed: the texts themselves are not read.
_ALL = "(SELECT 2 * id AS rowid FROM task UNION ALL SELECT 2 * id + 1 FROM comment) x"
_KEYS = "x.rowid AS id, t.id AS task_id, c.id AS comment_id, coalesce(c.created_us, t.updated_us) AS at_us"
_PAGE = "SELECT id, task_id, comment_id, count(*) OVER () FROM"
_ORDERS = {
    "best": "worth, at_us DESC, id DESC",
    "new": "at_us DESC, id DESC",
    "old": "at_us, id",
}


@dataclass(frozen=True, slots=True)
class Found:
    """One text: of the comment `comment_id`, or where that is None of the task. Title (a task's) and snippet have marks
    in them; the snippet is empty where a task's title or key alone was found, and both where no words were looked for.
    """

    task_id: int
    comment_id: int | None
    title: str
    snippet: str


def put_task(tx: Tx, task_id: int) -> None:
    """Keeps a task's key, title, text and steps as they are now."""
    with _named():
        tx.run("DELETE FROM search_text WHERE rowid = ?", 2 * task_id)
        tx.run(f"{_PUT} {_TASKS} WHERE t.id = ?", task_id)


def put_comment(tx: Tx, comment_id: int) -> None:
    """Keeps the text of a new comment; one that was stored never changes."""
    with _named():
        tx.run(f"{_PUT} {_COMMENTS} WHERE c.id = ?", comment_id)


def drop_comment(tx: Tx, comment_id: int) -> None:
    """Forgets a comment's text."""
    with _named():
        tx.run("DELETE FROM search_text WHERE rowid = ?", 2 * comment_id + 1)


@contextlib.contextmanager
def _named() -> Iterator[None]:
    """What goes wrong with the index alone, by its own name: whoever hears it makes the index anew."""
    try:
        yield
    except Exception as error:
        if sqlite.refuses_search(error):
            raise SearchDamaged(f"the search index: {error}") from error
        raise


def complete(tx: Tx) -> bool:
    """Whether there are as many texts here as tasks and comments, and they can be looked in: a look that costs next to
    nothing. Raises SearchDamaged.
    """
    with _named():
        tx.rows("SELECT rowid FROM search_text WHERE search_text MATCH ? LIMIT 1", expression([("a", False)]))
        kept = texts(tx)
    return bool(kept == tx.value("SELECT (SELECT count(*) FROM task) + (SELECT count(*) FROM comment)"))


def fails(tx: Tx) -> bool:
    """Whether the index is there, as from schema 3 on, and cannot be looked in."""
    if tx.value("SELECT 1 FROM sqlite_master WHERE name = 'search_text'") is None:
        return False
    try:
        complete(tx)
    except Exception as error:
        if sqlite.named(error) is None and not isinstance(error, SearchDamaged):
            raise
        return True
    return False


def faithful(tx: Tx) -> bool:
    """Whether what is kept here is what the tasks and comments say."""
    kept = "SELECT id, c0, c1, c2, c3 FROM search_text_content"
    return complete(tx) and not tx.rows(f"SELECT * FROM ({_TASKS} UNION ALL {_COMMENTS}) EXCEPT {kept} LIMIT 1")  # noqa: S608 - own words.


def rebuild(tx: Tx) -> None:
    """Makes all that is kept here anew, whatever was there."""
    # A table whose configuration was damaged opens no more, and what does not open cannot be dropped.
    tx.run("DELETE FROM search_text_config")
    tx.run("INSERT INTO search_text_config (k, v) VALUES ('version', ?)", _FTS5_VERSION)
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


def found(tx: Tx, words: Words, conditions: Conditions, order: str, skip: int, most: int) -> tuple[list[Found], int]:
    """A page of the texts that have all `words` and meet all conditions (over `x`, `t`, `p` and, of a comment, `c`), in
    an `order`: `best`, `new` or `old`; and how many there are in all. Without words the best are the newest.
    """
    parts = [("search_text MATCH ?", (expression(words),)), *conditions] if words else list(conditions)
    where = " AND ".join(sql for sql, _ in parts) or "1 = 1"
    values = [value for _, given in parts for value in given]
    source = f"{'search_text x' if words else _ALL}{_JOINED} WHERE {where}"
    # Worked out only where it is asked for: it is dear.
    worth = f"bm25(search_text, {_WEIGHTS})" if words and order == "best" else "0"
    fitting = f"SELECT {_KEYS}, {worth} AS worth FROM {source}"  # noqa: S608 - own words.
    rows = tx.rows(
        f"{_PAGE} ({fitting}) found ORDER BY {_ORDERS[order]} LIMIT ? OFFSET ?",
        *values,
        most,
        skip,
    )
    if not rows:
        return [], int(tx.value(f"SELECT count(*) FROM {source}", *values)) if skip else 0  # noqa: S608 - own words.
    marked = _marked(tx, words, [int(row[0]) for row in rows]) if words else {}
    page = [
        Found(int(task), None if comment is None else int(comment), *marked.get(int(key), ("", "")))
        for key, task, comment, _ in rows
    ]
    return page, int(rows[0][3])


def _marked(tx: Tx, words: Words, keys: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Title and snippet of these texts, with marks. Asked for by themselves: made for every text that fits, before
    their order is known, they took most of a search's time (measured).
    """
    marks = f"'{MARK_ON}', '{MARK_OFF}'"
    body, steps = (
        f"snippet(search_text, {column}, {marks}, '{ELLIPSIS}', {_SNIPPET_WORDS})" for column in (_BODY, _STEP)
    )
    # The plus keeps the engine from looking for the words anew for every key.
    rows = tx.rows(
        f"SELECT rowid, highlight(search_text, {_TITLE}, {marks}), {body}, {steps} FROM search_text"  # noqa: S608
        f" WHERE search_text MATCH ? AND +rowid IN ({', '.join('?' * len(keys))})",
        expression(words),
        *keys,
    )
    return {int(key): (str(title), _first(str(text), str(step))) for key, title, text, step in rows}


def _first(*snippets: str) -> str:
    """The first in which something was found."""
    return next((one for one in snippets if MARK_ON in one), "")


def texts(tx: Tx) -> int:
    """How many texts there are to look in."""
    return int(tx.value("SELECT count(*) FROM search_text_docsize"))
