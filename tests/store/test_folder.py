"""One server per folder, whoever opens, closes or dies; where the file stands; folders and files nobody can write."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

import pytest

from relaybay.errors import StoreLocked, StoreReadOnly, StoreUnavailable
from relaybay.store.database import Store
from tests.store.conftest import NOW, event, kinds, on_disk, open_store
from tests.store.processes import run, run_mounted, start


@pytest.mark.spec("80")
def test_a_second_store_on_a_folder_is_refused(store, tmp_path) -> None:
    for _ in range(2):
        with pytest.raises(StoreLocked, match=str(tmp_path)):
            open_store(tmp_path)
    assert store.write(event) == 1, "the first goes on"
    assert run("again", tmp_path) == ["StoreLocked"], "nor does another process get it"


@pytest.mark.spec("80")
def test_the_folder_is_free_after_kill_9_of_its_server(tmp_path) -> None:
    child = start("hold", tmp_path)
    assert child.stdout.readline() == "open\n"
    with pytest.raises(StoreLocked):
        open_store(tmp_path)
    child.kill()
    child.wait()
    store = open_store(tmp_path)
    assert store.write(event) == 1
    store.close()


@pytest.mark.spec("FLT-7")
def test_of_servers_that_start_at_once_one_gets_the_folder(tmp_path) -> None:
    for _ in range(3):
        children = [start("hold", tmp_path) for _ in range(4)]
        said = sorted(child.stdout.readline().strip() for child in children)
        for child in children:
            child.communicate()
        assert said == ["StoreLocked"] * 3 + ["open"]


def test_a_store_may_be_closed_by_another_thread_than_opened_it(tmp_path) -> None:
    opened: list[Store] = []
    opener = threading.Thread(target=lambda: opened.append(open_store(tmp_path)))
    opener.start()
    opener.join()
    opened[0].close()
    open_store(tmp_path).close()


def test_a_store_that_could_not_be_opened_leaves_the_folder_free(tmp_path) -> None:
    (tmp_path / "relaybay.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreUnavailable, match="not a database"):
        open_store(tmp_path)
    (tmp_path / "relaybay.db").unlink()
    open_store(tmp_path).close()


@pytest.mark.parametrize("name", ["a b", "100%", "what?x=1#y", "%41", "ü–🚀", "file:x", "$HOME"])
def test_any_folder_s_name_will_do(tmp_path, name) -> None:
    store = open_store(tmp_path / name)
    store.write(event)
    assert kinds(store) == ["x"] == on_disk(tmp_path / name / "relaybay.db")
    store.close()


def test_a_relative_path_is_meant_from_where_the_program_runs(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store(Path("data/relaybay.db"), lambda: NOW)
    store.write(event)
    monkeypatch.chdir("/")
    assert kinds(store) == ["x"]
    store.close()
    assert (tmp_path / "data" / "relaybay.db").is_file()


# -- what nobody can write ------------------------------------------------------------------------------------


def test_a_folder_in_the_place_of_the_file_is_named(tmp_path) -> None:
    (tmp_path / "relaybay.db").mkdir()
    with pytest.raises(StoreReadOnly):
        open_store(tmp_path)


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(StoreReadOnly, match="data"):
        open_store(tmp_path / "data")


def test_a_read_only_folder_is_named(tmp_path) -> None:
    open_store(tmp_path).close()
    folder = tmp_path / "data"
    folder.mkdir()
    script = f"mount -t tmpfs tmpfs {folder}\ncp {tmp_path}/relaybay.db {folder}\nmount -o remount,ro {folder}"
    if os.geteuid() == 0:
        assert run_mounted(script, "again", folder) == ["StoreReadOnly"]
        return
    folder.chmod(0o500)
    assert run("again", folder) == ["StoreReadOnly"]


def test_a_read_only_file_is_named(tmp_path) -> None:
    store = open_store(tmp_path)
    store.write(event)
    store.close()
    if os.geteuid() == 0:
        script = f"mount --bind {store.path} {store.path}\nmount -o remount,bind,ro {store.path}"
        assert run_mounted(script, "again", tmp_path) == ["StoreReadOnly"]
    else:
        store.path.chmod(0o400)
        assert run("again", tmp_path) == ["StoreReadOnly"]
    assert on_disk(store.path) == ["x"]


def test_a_file_that_turns_read_only_under_the_writer_is_named(store) -> None:
    store.write(event)
    store.write(lambda tx: tx.run("PRAGMA query_only=ON"))
    with pytest.raises(StoreReadOnly):
        store.write(event)
    store.write(lambda tx: tx.run("PRAGMA query_only=OFF"))
    assert store.write(event) == 2, "and goes on when it can be written again"


def test_another_program_that_holds_the_file_is_waited_for_and_then_named(store, monkeypatch) -> None:
    store.write(lambda tx: tx.run("PRAGMA busy_timeout=50"))
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked"):
        store.write(event)
    other.execute("ROLLBACK")
    other.close()
    assert store.write(event) == 1
