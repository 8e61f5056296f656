"""A disk that is full, a write or an fsync that fails, a file that is damaged: named, and never promised away (FLT-4)."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from relaybay.errors import StoreFull, StoreUnavailable
from relaybay.store import seals, sqlite
from tests.conftest import missing
from tests.store.conftest import event, kinds, on_disk, open_store
from tests.store.processes import ROOT, command, run, run_mounted

PAGE = "x" * 4096


@pytest.mark.spec("FLT-4")
def test_a_full_disk_is_named_and_left_behind_when_there_is_room_again(tmp_path) -> None:
    script = f"mount -t tmpfs -o size=2m tmpfs {tmp_path}"
    first, second = run_mounted(script, "fill", tmp_path)
    refusal, acknowledged, *after = first.split()
    assert refusal == "StoreFull" and after == ["done"] * 3
    assert int(second) == int(acknowledged) + 3, "what was acknowledged is there, what was refused is not"


@pytest.mark.spec("FLT-4")
def test_a_file_at_its_bound_is_full_and_the_group_that_met_it_is_undone(store) -> None:
    store.write(lambda tx: tx.run(f"PRAGMA max_page_count={tx.value('PRAGMA page_count') + 8}"))
    refused, acknowledged = None, 0
    while refused is None:
        future = store.submit(lambda tx: event(tx, "page", PAGE))
        refused = future.exception(5)
        acknowledged += refused is None
    assert isinstance(refused, StoreFull) and acknowledged > 0
    assert kinds(store) == ["page"] * acknowledged
    store.write(lambda tx: tx.run("PRAGMA max_page_count=1000000"))
    store.write(lambda tx: event(tx, "page", PAGE))
    assert kinds(store) == ["page"] * (acknowledged + 1)


@pytest.mark.spec("FLT-4")
def test_after_a_failed_write_nothing_more_is_promised(tmp_path) -> None:
    first, second = run("bounded", tmp_path)
    refusal, acknowledged, *after = first.split()
    assert refusal == "StoreUnavailable" and after == ["StoreUnavailable"] * 3, "also when the disk is well again"
    assert int(second) == int(acknowledged) > 0, "what was acknowledged can still be read"
    store = open_store(tmp_path)
    assert len(kinds(store)) >= int(acknowledged) and sqlite.problems(store.path) == []
    store.close()


@pytest.mark.spec("FLT-4")
@pytest.mark.parametrize(("call", "nth"), [("fdatasync", 12), ("pwrite64", 60)])
def test_after_a_call_to_the_disk_that_failed_nothing_more_is_promised(tmp_path, call, nth) -> None:
    if shutil.which("strace") is None:
        missing("strace", "no failing fsync can be injected here")
    open_store(tmp_path).close()
    log = tmp_path / "strace.log"
    traced = [
        "strace",
        "-f",
        "-qq",
        "-o",
        str(log),
        "-e",
        f"trace={call}",
        "-e",
        f"inject={call}:error=EIO:when={nth}+",
    ]
    line = [*traced, *command("write", tmp_path)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    if "ptrace" in done.stderr:
        missing("strace", done.stderr)
    assert "INJECTED" in log.read_text(), "the fault was never injected"
    acknowledged = [int(line) for line in done.stdout.split()]
    assert "StoreUnavailable" in done.stderr and acknowledged == list(range(1, len(acknowledged) + 1))
    store = open_store(tmp_path)
    assert len(kinds(store)) >= len(acknowledged) > 0 and sqlite.problems(store.path) == []
    store.close()


def test_a_damaged_file_stops_the_store_instead_of_answering_wrongly(tmp_path) -> None:
    store = open_store(tmp_path)
    for _ in range(50):
        store.write(lambda tx: event(tx, "page", PAGE))
    store.close()
    content = bytearray(store.path.read_bytes())
    # Its end, where the events are: a start looks at the index of the search, and refuses a file that has lost that too.
    start = len(content) * 3 // 4
    content[start:] = b"\xff" * (len(content) - start)
    store.path.write_bytes(content)
    assert sqlite.problems(store.path)
    store = open_store(tmp_path)
    with pytest.raises(StoreUnavailable, match="malformed"):
        store.write(lambda tx: tx.rows("SELECT data FROM event ORDER BY data"))
    with pytest.raises(StoreUnavailable, match="stopped"):
        store.write(event)
    store.close()


def test_a_file_that_is_damaged_in_its_search_index_and_elsewhere_is_refused_and_left_as_it_is(tmp_path) -> None:
    store = open_store(tmp_path)
    for _ in range(50):
        store.write(lambda tx: event(tx, "page", PAGE))
    store.close()
    content = bytearray(store.path.read_bytes())
    content[len(content) // 2 :] = b"\xff" * (len(content) - len(content) // 2)
    store.path.write_bytes(content)
    with pytest.raises(StoreUnavailable, match=r"damaged|malformed"):
        open_store(tmp_path)
    assert store.path.read_bytes() == content


def test_a_foreign_key_that_points_nowhere_is_found(store) -> None:
    store.write(lambda tx: tx.insert("project", slug="a", title="a", created_us=1))
    store.write(lambda tx: tx.insert("task", project_id=1, number=1, task_key="a-1", title="t", status="todo", created_us=1, updated_us=1))  # fmt: skip
    store.write(lambda tx: seals.put(tx, seals.TASK, "id = 1"))
    assert sqlite.problems(store.path) == []
    store.close()
    connection = sqlite.sqlite3.connect(store.path)
    connection.execute("PRAGMA foreign_keys=OFF")
    connection.execute("DELETE FROM project")
    connection.commit()
    connection.close()
    assert sqlite.problems(store.path) == ["foreign key of task"]
    assert on_disk(store.path) == []
