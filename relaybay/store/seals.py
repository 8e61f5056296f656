"""Seals: a SHA-256 beside each text that somebody wrote, and one over a whole copy.

SQLite's own check walks its trees and looks at no text: a bit that flipped inside a body passes it. So a message, a
comment and a task keep a seal over what they say and who said it; whoever reads one with another seal is told so in
place of the text, and `problems` names the row (FLT-8). What changes in the life of a row (states, marks, whose row it
is) is in no row's seal; a copy's seal has everything in it. Belongs here: what is sealed and how. Does not:
connections.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from relaybay.answers import word
from relaybay.store.transaction import Tx

#: Runs a statement and gives its rows.
Query = Callable[..., Iterable[Sequence[Any]]]


@dataclass(frozen=True, slots=True)
class Sealed:
    """A table with seals: the columns under them in their order, and the one that names a row to a person."""

    table: str
    columns: tuple[str, ...]
    name: str

    @property
    def select(self) -> str:
        """The query of the columns and the seal, after the row's key."""
        return f"SELECT id, {', '.join(self.columns)}, seal FROM {self.table}"  # noqa: S608 - own names.


MESSAGE = Sealed(
    "message",
    (
        "mid", "sender_title", "sender_name", "sender_verified", "sender_hook_id", "task_key", "parent_mid", "depth",
        "body", "digest", "sent_us",
    ),
    "mid",
)  # fmt: skip
COMMENT = Sealed(
    "comment",
    ("cid", "author_kind", "author_title", "author_verified", "body_md", "parent_cid", "step_n", "created_us"),
    "cid",
)
TASK = Sealed("task", ("task_key", "title", "body_md", "author", "created_us"), "task_key")
TABLES = (MESSAGE, COMMENT, TASK)
#: The table that a copy has and a database in use has not: one row, the seal of everything else in the file.
COPY_SEAL = "copy_seal"
_ROWS_NAMED = 20


def of(values: Iterable[Any]) -> str:
    """The seal over a row's values."""
    return sha256(json.dumps(list(values), ensure_ascii=True, default=repr).encode()).hexdigest()


def put(tx: Tx, sealed: Sealed, where: str, *values: Any) -> None:
    """Seals the rows that a condition meets, as they are now: after they were made, or a text of theirs was changed."""
    for key, *said, _ in tx.rows(f"{sealed.select} WHERE {where}", *values):
        tx.run(f"UPDATE {sealed.table} SET seal = ? WHERE id = ?", of(said), key)  # noqa: S608 - own names.


def change(tx: Tx, sealed: Sealed, column: str, old: str, new: str) -> None:
    """Puts another word wherever a column under a seal has this one. A row whose seal is broken stays so."""
    at = sealed.columns.index(column)
    for key, *said, seal in tx.rows(f"{sealed.select} WHERE {column} = ?", old):
        again = [*said[:at], new, *said[at + 1 :]]
        fresh = of(again) if of(said) == seal else seal
        tx.run(f"UPDATE {sealed.table} SET {column} = ?, seal = ? WHERE id = ?", new, fresh, key)  # noqa: S608


def fill(tx: Tx) -> None:
    """Seals all rows of a database that had no seals so far."""
    for sealed in TABLES:
        put(tx, sealed, "seal = ''")


def whole(row: Any, sealed: Sealed, seal: str) -> bool:
    """Whether a row that was read says what was sealed. One that never had a seal is taken as it is."""
    return not seal or of(getattr(row, name) for name in sealed.columns) == seal


def sound(tx: Tx, sealed: Sealed, key: int) -> bool:
    """Whether a row, by its key, says what was sealed."""
    return all(not seal or of(said) == seal for _, *said, seal in tx.rows(f"{sealed.select} WHERE id = ?", key))


def instead(name: str) -> str:
    """What stands in the place of a text that is not the one that was written."""
    return word("text.damaged", id=name).text


def problems(query: Query) -> list[str]:
    """The rows whose text is not the one that was sealed, by name; then whether a copy is as it was made."""
    found: list[str] = []
    for sealed in TABLES:
        if not any(row[1] == "seal" for row in query(f"PRAGMA table_info({sealed.table})")):
            continue  # An older schema.
        at = sealed.columns.index(sealed.name)
        for _, *said, seal in query(sealed.select):
            if of(said) != seal and len(found) < _ROWS_NAMED:
                found.append(f"the text of {sealed.table} {said[at]} is not the one that was stored")
    kept = _copy_seal(query)
    if kept is not None and kept != content(query):
        found.append("the content is not what was copied")
    return found


def _copy_seal(query: Query) -> str | None:
    """The seal that a copy has with it, None when the file has none."""
    if not list(query("SELECT 1 FROM sqlite_master WHERE name = ?", (COPY_SEAL,))):
        return None
    return "".join(str(row[0]) for row in query(f"SELECT sha256 FROM {COPY_SEAL}"))  # noqa: S608 - own name.


def content(query: Query) -> str:
    """SHA-256 over the schema and every row of every table, a copy's seal apart. Each value counts with its type."""
    digest = sha256()
    names = []
    for kind, name, sql in query("SELECT type, name, sql FROM sqlite_master ORDER BY type, name"):
        if name == COPY_SEAL:
            continue
        digest.update(repr((kind, name, sql)).encode("utf-8", "surrogatepass"))
        # What full-text search keeps of its texts beside them follows from these, and has no order to read it in.
        if kind == "table" and not name.startswith("search_text_"):
            names.append(name)
    for name in names:
        digest.update(f"{name}\n".encode())
        for row in query(f'SELECT * FROM "{name}" ORDER BY rowid'):  # noqa: S608 - the schema's own names.
            digest.update(repr(tuple(row)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
