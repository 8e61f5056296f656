"""Readers: committed state only, one snapshot a read, no way to write; Pony's queries in the same snapshot."""

from __future__ import annotations

import sqlite3
import threading

import pytest
from pony.orm import select

from tests.store.conftest import event, kinds


def test_a_reader_sees_committed_state_only(store) -> None:
    wrote, go = threading.Event(), threading.Event()

    def unit(tx):
        event(tx, "in the making")
        wrote.set()
        assert go.wait(5)

    future = store.submit(unit)
    assert wrote.wait(5)
    assert kinds(store) == []
    assert store.read(lambda tx: tx.model.Event.select().count()) == 0
    go.set()
    future.result(5)
    assert kinds(store) == ["in the making"]


def test_one_read_is_one_snapshot_whatever_is_committed_meanwhile(store) -> None:
    store.write(event)

    def work(tx):
        first = tx.value("SELECT count(*) FROM event")
        store.write(event)
        by_pony = tx.model.Event.select().count()
        return first, by_pony, tx.value("SELECT count(*) FROM event")

    assert store.read(work) == (1, 1, 1)
    assert store.read(work) == (2, 2, 2), "the next read sees what was committed"


@pytest.mark.parametrize(
    "statement",
    ["INSERT INTO event (type, at_us, data) VALUES ('x', 1, '{}')", "DELETE FROM event", "DROP TABLE event"],
)
def test_a_reader_cannot_write(store, statement) -> None:
    store.write(event)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        store.read(lambda tx: tx.run(statement))
    assert kinds(store) == ["x"]


def test_a_reader_cannot_write_through_pony_either(store) -> None:
    for _ in range(4):  # More often than there are readers: Pony closes a connection that had an error.
        with pytest.raises(Exception, match=r"readonly|within a transaction"):
            store.read(lambda tx: tx.model.Event(type="x", at_us=1, data="{}"))
    assert kinds(store) == []
    assert store.write(event) == 1


def test_a_read_that_fails_leaves_the_reader_as_it_was(store) -> None:
    for _ in range(4):  # More often than there are readers.
        with pytest.raises(ZeroDivisionError):
            store.read(lambda tx: (tx.model.Event.select().count(), 1 / 0))
    assert kinds(store) == []
    assert store.write(event) == 1 and kinds(store) == ["x"]


def test_pony_s_queries_find_what_plain_sql_finds(store) -> None:
    for kind in ("a", "b", "B", "b "):
        store.write(lambda tx, kind=kind: event(tx, kind))

    def work(tx):
        events = tx.model.Event
        by_pony = select((e.type, e.id) for e in events if e.type >= "a")[:]
        like = select(e.type for e in events if e.type.startswith("b"))[:]
        return sorted(by_pony), sorted(like), sorted(tx.rows("SELECT type, id FROM event WHERE type >= 'a'")), [
            row[0] for row in tx.rows("SELECT type FROM event WHERE type LIKE 'b%' ORDER BY type")
        ]  # fmt: skip

    by_pony, like, plain, plain_like = store.read(work)
    assert by_pony == plain and like == plain_like == ["b", "b "]


def test_pony_reads_anew_in_each_read(store) -> None:
    store.write(event)
    assert store.read(lambda tx: tx.model.Event[1].type) == "x"
    store.write(lambda tx: tx.update("event", 1, type="y"))
    assert store.read(lambda tx: tx.model.Event[1].type) == "y"


def test_reads_go_on_while_the_writer_is_busy(store) -> None:
    go, began = threading.Event(), threading.Event()

    def slow(tx):
        event(tx)
        began.set()
        assert go.wait(5)

    future = store.submit(slow)
    assert began.wait(5)
    assert all(kinds(store) == [] for _ in range(20))
    go.set()
    future.result(5)
