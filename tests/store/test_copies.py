"""Copies of a database that is in use, and what is said of a file that is none."""

from __future__ import annotations

import sqlite3
import threading

import pytest

from relaybay.errors import StoreUnavailable
from relaybay.store import migrations, sqlite
from tests.store.conftest import event, kinds, on_disk, open_store


def test_a_copy_is_of_one_moment_while_the_writer_goes_on(store, tmp_path) -> None:
    for _ in range(200):
        store.write(lambda tx: event(tx, "before", "x" * 1000))
    ended = threading.Event()

    def write_on() -> None:
        while not ended.is_set():
            store.write(lambda tx: [event(tx, "pair") for _ in range(2)])

    writing = threading.Thread(target=write_on)
    writing.start()
    try:
        for number in range(5):
            copy = tmp_path / f"copy-{number}.db"
            sqlite.back_up(store.path, copy)
            found = on_disk(copy)
            assert found[:200] == ["before"] * 200 and len(found) % 2 == 0, "half a transaction was copied"
            assert sqlite.problems(copy) == [] and sqlite.schema_of(copy) == len(migrations.STEPS)
    finally:
        ended.set()
        writing.join()


def test_a_copy_has_what_stands_in_the_log_only(store, tmp_path) -> None:
    store.write(lambda tx: event(tx, "in the log"))
    assert (tmp_path / "relaybay.db-wal").stat().st_size > 0
    sqlite.back_up(store.path, tmp_path / "copy.db")
    assert on_disk(tmp_path / "copy.db") == ["in the log"]


def test_a_copy_put_in_the_place_of_the_database_is_opened(store, tmp_path) -> None:
    store.write(event)
    other = tmp_path / "other"
    other.mkdir()
    sqlite.back_up(store.path, other / "relaybay.db")
    again = open_store(other)
    assert kinds(again) == ["x"]
    again.write(event)
    again.close()
    assert kinds(store) == ["x"]


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"SQLite format 3\0" + b"\xff" * 5000, b"text" * 2000])
def test_what_is_no_database_is_told_or_empty(tmp_path, content) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(content)
    assert sqlite.problems(path) or content in (b"", b"SQLite format 3\0")
    with pytest.raises((sqlite3.Error, TypeError)):
        sqlite.schema_of(path)


@pytest.mark.spec("FLT-8")
def test_a_log_beside_an_empty_file_is_left_alone(store, tmp_path) -> None:
    store.write(event)
    other = tmp_path / "other"
    other.mkdir()
    log = other / "relaybay.db-wal"
    log.write_bytes((tmp_path / "relaybay.db-wal").read_bytes())
    for make in (lambda: None, (other / "relaybay.db").touch):
        make()
        assert sqlite.problems(other / "relaybay.db") == [sqlite.ORPHANED]
        with pytest.raises(StoreUnavailable, match="log"):
            open_store(other)
        with pytest.raises(sqlite3.DatabaseError):
            sqlite.back_up(other / "relaybay.db", tmp_path / "copy.db")
        assert log.read_bytes() == (tmp_path / "relaybay.db-wal").read_bytes()


def test_a_file_that_is_not_there_is_a_problem_and_is_not_made(tmp_path) -> None:
    assert sqlite.problems(tmp_path / "none.db")
    with pytest.raises(sqlite3.Error):
        sqlite.back_up(tmp_path / "none.db", tmp_path / "copy.db")
    assert not (tmp_path / "none.db").exists()
