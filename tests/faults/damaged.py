"""Ways to damage a file, and what the product then says of it (FLT-8)."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relaybay.domain import Caller
from relaybay.errors import StoreError
from relaybay.service import feed, figures, message_lists, sessions
from relaybay.service.relay import Relay, open_relay
from relaybay.store import comments, messages, seals, sqlite, tasks
from relaybay.store.mark import file_of
from tests.faults.doors import now_us

PAGE = 4096
Rows = dict[tuple[str, Any], dict[str, Any]]
Damage = Callable[[bytes, random.Random, bytes], bytes]


def flipped_bit(data: bytes, chance: random.Random, other: bytes) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def many_flips(data: bytes, chance: random.Random, other: bytes) -> bytes:
    for _ in range(chance.randrange(2, 40)):
        data = flipped_bit(data, chance, other)
    return data


def changed_letter(data: bytes, chance: random.Random, other: bytes) -> bytes:
    """A letter of a text becomes another: no check of SQLite's sees that."""
    letters = [at for at in (chance.randrange(len(data)) for _ in range(4_000)) if 97 <= data[at] <= 122]
    at = chance.choice(letters or [0])
    return data[:at] + bytes([97 + chance.randrange(26)]) + data[at + 1 :]


def zeroed_page(data: bytes, chance: random.Random, other: bytes) -> bytes:
    at = chance.randrange(max(1, len(data) // PAGE)) * PAGE
    return data[:at] + bytes(min(PAGE, len(data) - at)) + data[at + PAGE :]


def zeroed_sector(data: bytes, chance: random.Random, other: bytes) -> bytes:
    at = chance.randrange(max(1, len(data) // 512)) * 512
    return data[:at] + bytes(min(512, len(data) - at)) + data[at + 512 :]


def cut_anywhere(data: bytes, chance: random.Random, other: bytes) -> bytes:
    return data[: chance.randrange(len(data))]


def cut_at_a_page(data: bytes, chance: random.Random, other: bytes) -> bytes:
    return data[: chance.randrange(len(data) // PAGE + 1) * PAGE]


def swapped_pages(data: bytes, chance: random.Random, other: bytes) -> bytes:
    count = max(2, len(data) // PAGE)
    one, two = sorted(chance.sample(range(count), 2))
    pages = [data[at * PAGE : (at + 1) * PAGE] for at in range(count)]
    pages[one], pages[two] = pages[two], pages[one]
    return b"".join(pages) + data[count * PAGE :]


def page_of_another(data: bytes, chance: random.Random, other: bytes) -> bytes:
    """A page of another database, as a file system that mixed up its blocks would have it."""
    at = chance.randrange(max(1, min(len(data), len(other)) // PAGE)) * PAGE
    return data[:at] + other[at : at + PAGE] + data[at + PAGE :]


def another_file(data: bytes, chance: random.Random, other: bytes) -> bytes:
    return other


def emptied(data: bytes, chance: random.Random, other: bytes) -> bytes:
    return b""


#: Each with how often it is drawn: what SQLite's own checks do not see comes most.
DAMAGES: dict[Damage, int] = {
    flipped_bit: 6, many_flips: 2, changed_letter: 6, zeroed_page: 3, zeroed_sector: 3, cut_anywhere: 3,
    cut_at_a_page: 2, swapped_pages: 2, page_of_another: 2, another_file: 1, emptied: 1,
}  # fmt: skip


@dataclass
class Base:
    """A folder with a database as a process left it, what is in it, and another one's files to swap with."""

    name: str
    folder: Path
    rows: Rows
    other: Path

    @property
    def files(self) -> list[str]:
        """The files that can be damaged: the database, and its log where the process left one."""
        return [name for name in ("relaybay.db", "relaybay.db-wal") if (self.folder / name).exists()]


def rows_of(database: Path) -> Rows:
    """Everything in a file, by table and key; values that are no text any more as bytes."""
    with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        connection.text_factory = bytes
        names = connection.execute(
            # What full-text search keeps follows from the texts, and some of its tables have no keys.
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'search_text%' ORDER BY name"
        ).fetchall()
        found: Rows = {}
        for (raw,) in names:
            name = raw.decode()
            cursor = connection.execute(f'SELECT rowid, * FROM "{name}"')
            columns = [column[0] for column in cursor.description]
            for row in cursor:
                found[name, row[0]] = dict(zip(columns[1:], row[1:], strict=True))
        return found


@dataclass
class Judged:
    """What the product said of one damaged folder. `where`: who refused it, or `equal`, or `marks changed`."""

    where: str
    differing: list[str] = field(default_factory=list)


#: What is remembered without an event: of the end of a log that was cut it may be gone, and nobody was promised it.
TOLD_BY_NO_EVENT = {"tool_use", "witnessed", "spool_seen", "inbox", "comment_given"}
SEALED_COLUMNS = {sealed.table: {*sealed.columns, "seal"} for sealed in seals.TABLES}


def judge(base: Base, folder: Path) -> Judged:
    """Opens a damaged folder as a server does and reads all texts by the product's own ways.

    Raises AssertionError for a text that is neither the one that was stored nor said to be damaged, for any fault that has
    no name, and for a refused file that was written to.
    """
    database = folder / "relaybay.db"
    before = {name: (folder / name).read_bytes() for name in base.files if (folder / name).exists()}
    found = sqlite.problems(database) if database.exists() else ["no file"]
    try:
        relay = open_relay(database, now_us)
    except StoreError as error:
        if {name: (folder / name).read_bytes() for name in before} != before:
            raise AssertionError("a damaged file was written to") from error
        return Judged("refused at the start")
    try:
        stopped = read_all(relay, base)
    finally:
        relay.store.close()
    if stopped:
        return Judged("stopped when it was read")
    if found:
        return Judged("refused by the deep check")
    return compared(base, rows_of(database))


def compared(base: Base, rows: Rows) -> Judged:
    """Nobody found fault: then what is under a seal has to be all there and the same."""
    differing = []
    for key in base.rows.keys() | rows.keys():
        table = key[0]
        was, now = base.rows.get(key), rows.get(key)
        if was == now:
            continue
        if table in TOLD_BY_NO_EVENT and now is None:
            differing.append(f"{table} row")
            continue
        assert was is not None and now is not None, f"a row of {table} came or went without a word: {was or now}"
        changed = {name for name in was if was[name] != now.get(name)}
        assert not changed & SEALED_COLUMNS.get(table, set()), f"a text changed without a word: {was} is now {now}"
        differing += [f"{table}.{name}" for name in sorted(changed)]
    return Judged("marks changed" if differing else "equal", differing)


def read_all(relay: Relay, base: Base) -> bool:
    """Reads everything by the product's ways; whether the store had to stop. Each text is the one that was stored, or is
    said not to be.
    """
    owner = Caller(owner=True)
    texts = {str(row["mid"].decode()): row["body"] for (table, _), row in base.rows.items() if table == "message"}
    texts |= {str(row["cid"].decode()): row["body_md"] for (table, _), row in base.rows.items() if table == "comment"}
    texts |= {str(row["task_key"].decode()): row["body_md"] for (table, _), row in base.rows.items() if table == "task"}

    def same(name: str, text: str) -> None:
        stored = texts.get(name)
        assert text == seals.instead(name) or stored is None or text == stored.decode(), f"{name} says: {text!r}"

    def stored_texts(tx: Any) -> None:
        for mail in messages.listed(tx, "1 = 1", [], 10_000):
            same(mail.mid, mail.body)
        for (key,) in tx.rows("SELECT id FROM task"):
            same(tasks.by_id(tx, key).task_key, tasks.by_id(tx, key).body_md)
            for comment in comments.of_task(tx, key):
                same(comment.cid, comment.body_md)

    ways: list[Callable[[Any], Any]] = [
        stored_texts,
        lambda tx: message_lists.list_messages(tx, relay, owner),
        lambda tx: sessions.list_sessions(tx, relay),
        lambda tx: figures.figures(tx, relay),
        lambda tx: feed.events_since(tx, cursor="0", limit=200),
    ]
    stopped = False
    for way in ways:
        try:
            relay.store.read(way)
        except StoreError:
            stopped = True
    return stopped


def copy(base: Base, target: Path) -> Path:
    """The files as the process left them, its mark too; the log's index is made anew by whoever opens it."""
    target.mkdir()
    for name in [*base.files, file_of(Path("relaybay.db")).name]:
        if (base.folder / name).exists():
            shutil.copy2(base.folder / name, target)
    return target
