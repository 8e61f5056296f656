"""Group commit: many units in one transaction, each undone alone; the orm lane; who hears what, and when."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest
from pony.orm import commit, db_session, flush

from relaybay.domain import Outcome, Refusal
from relaybay.errors import StoreUnavailable
from relaybay.store import sessions
from tests.store.conftest import event, kinds, on_disk, open_store

REFUSED = Outcome(refusal=Refusal("send.sender_required", "SEND-1"))


class Held:
    """Keeps the writer busy with a first unit, so that what is submitted meanwhile makes one group."""

    def __init__(self, store) -> None:
        self.go = threading.Event()
        self.began = threading.Event()
        self.first = store.submit(self._wait)
        assert self.began.wait(5)

    def _wait(self, tx) -> None:
        self.began.set()
        assert self.go.wait(5)

    def release(self) -> None:
        self.go.set()


@pytest.fixture
def commits(tmp_path):
    """A store that says what each commit changed."""
    heard: list[tuple[set[int], list[str]]] = []
    store = open_store(tmp_path, on_commit=lambda news, tx: heard.append((news.touched, [t for t, _ in news.events])))
    store.heard = heard
    yield store
    store.close()


def fail(tx):
    event(tx, "half")
    tx.touch(7)
    tx.after(lambda: pytest.fail("a unit that failed has no followers"))
    raise ValueError("a bug")


def refuse(tx):
    event(tx, "half")
    tx.emit("half.refused")
    tx.touch(7)
    tx.after(lambda: pytest.fail("a refused unit has no followers"))
    tx.trace(lambda later: event(later, "trace"))
    return REFUSED


@pytest.mark.spec("INV-7")
def test_what_waits_is_committed_at_once_and_each_unit_is_undone_alone(commits) -> None:
    held = Held(commits)
    units = [lambda tx, i=i: (tx.emit(f"unit.{i}"), tx.touch(i)) for i in range(4)]
    futures = [commits.submit(unit) for unit in (units[0], units[1], fail, units[2], refuse, units[3])]
    held.release()
    for place in (0, 1, 3, 5):
        assert futures[place].result(5)
    with pytest.raises(ValueError, match="a bug"):
        futures[2].result(5)
    assert futures[4].result(5) is REFUSED
    assert commits.heard == [({0, 1, 2, 3}, [f"unit.{i}" for i in range(4)])], "one commit, told once"
    assert kinds(commits) == ["unit.0", "unit.1", "unit.2", "trace", "unit.3"]


@pytest.mark.spec("INV-7")
def test_a_refused_unit_leaves_its_traces_and_nothing_else(commits) -> None:
    assert commits.write(refuse) is REFUSED
    assert kinds(commits) == ["trace"]
    assert commits.heard == [], "a trace is no event"


def test_a_trace_is_written_by_an_accepted_unit_too_and_by_a_failed_one_not(store) -> None:
    def accepted(tx):
        event(tx, "done")
        tx.trace(lambda later: event(later, "trace"))
        return Outcome()

    def broken(tx):
        tx.trace(lambda later: event(later, "trace of a bug"))
        raise ValueError("a bug")

    store.write(accepted)
    with pytest.raises(ValueError, match="a bug"):
        store.write(broken)
    assert kinds(store) == ["done", "trace"]


def test_an_error_of_the_database_in_one_unit_leaves_the_others_alone(store) -> None:
    def twice(tx):
        event(tx, "half")
        for _ in range(2):
            sessions.add(tx, title="a", title_key="a", kind="hook", hook_id="h", link_state="exact")

    held = Held(store)
    first, broken, last = store.submit(event), store.submit(twice), store.submit(event)
    held.release()
    assert (first.result(5), last.result(5)) == (1, 2)
    with pytest.raises(Exception, match="UNIQUE"):
        broken.result(5)
    assert kinds(store) == ["x", "x"]


def test_an_error_whose_text_speaks_of_disks_is_still_a_bug_of_one_unit(store) -> None:
    # The store's troubles are told by SQLite's code: a text may quote what anybody wrote.
    def bug(tx):
        raise ValueError("database or disk is full; attempt to write a readonly database; disk I/O error")

    with pytest.raises(ValueError, match="disk is full"):
        store.write(bug)
    assert store.write(event) == 1


def test_followers_run_after_the_commit_in_their_order_and_before_the_answer(store) -> None:
    seen: list[tuple[str, list[str]]] = []

    def unit(tx, name):
        event(tx, name)
        tx.after(lambda: seen.append((name, on_disk(store.path))))
        return name

    held = Held(store)
    futures = [store.submit(lambda tx, name=name: unit(tx, name)) for name in "ab"]
    held.release()
    assert [future.result(5) for future in futures] == ["a", "b"]
    assert seen == [("a", ["a", "b"]), ("b", ["a", "b"])]


def test_a_follower_or_a_listener_that_fails_ends_neither_the_writer_nor_the_answer(tmp_path) -> None:
    def listener(news, tx):
        raise RuntimeError("a listener's bug")

    def unit(tx):
        tx.emit("kept")
        tx.after(lambda: 1 / 0)
        tx.after(lambda: ran.append(1))
        return "stored"

    ran: list[int] = []
    store = open_store(tmp_path, on_commit=listener)
    for _ in range(2):
        assert store.write(unit) == "stored"
    assert ran == [1, 1] and kinds(store) == ["kept", "kept"]
    store.close()


def test_on_commit_reads_what_was_committed(tmp_path) -> None:
    seen: list[int] = []
    store = open_store(tmp_path, on_commit=lambda news, tx: seen.append(tx.value("SELECT count(*) FROM event")))
    store.write(lambda tx: tx.emit("a"))
    store.write(lambda tx: tx.emit("b"))
    assert seen == [1, 2]
    store.close()


def test_a_caller_that_gave_up_in_the_queue_is_left_out_and_the_writer_lives_on(store) -> None:
    held = Held(store)
    gone, kept = store.submit(lambda tx: event(tx, "gone")), store.submit(lambda tx: event(tx, "kept"))
    assert gone.cancel()
    assert not held.first.cancel(), "what the writer has taken up is carried out"
    held.release()
    assert kept.result(5) == 1
    with pytest.raises(CancelledError):
        gone.result(5)
    assert kinds(store) == ["kept"]


def test_closing_carries_out_what_is_queued_and_takes_nothing_more(tmp_path) -> None:
    store = open_store(tmp_path)
    held = Held(store)
    futures = [store.submit(event, "orm" if i % 3 == 0 else "sql") for i in range(10)]
    closing = threading.Thread(target=store.close)
    closing.start()
    held.release()
    closing.join(5)
    assert [future.result(5) for future in futures] == list(range(1, 11))
    for refused in (store.submit(event), store.submit_read(event)):
        with pytest.raises(StoreUnavailable, match="closed"):
            refused.result(5)
    store.close()
    assert sorted(p.name for p in tmp_path.iterdir()) in (["lock", "relaybay.db"], ["relaybay.db"]), "no log is left"
    assert on_disk(store.path) == ["x"] * 10


# -- the orm lane --------------------------------------------------------------------------------------------


def entity(tx, kind: str):
    return tx.model.Event(type=kind, at_us=1, data="{}")


def test_the_trap_a_savepoint_does_not_undo_an_entity(store) -> None:
    # What the two lanes are for: Pony keeps the undone entity in its identity map, and writes it at the commit.
    with db_session(immediate=True):
        connection = store.db.get_connection()
        connection.execute("SAVEPOINT unit")
        store.db.Event(type="undone", at_us=1, data="{}")
        connection.execute("ROLLBACK TO SAVEPOINT unit")
        connection.execute("RELEASE SAVEPOINT unit")
        commit()
    assert kinds(store) == ["undone"]
    store.db.disconnect()


@pytest.mark.spec("INV-7")
def test_the_orm_lane_undoes_entities_with_a_refused_or_failed_unit(store) -> None:
    def refused(tx):
        entity(tx, "refused, flushed")
        flush()
        entity(tx, "refused")
        tx.trace(lambda later: event(later, "trace"))
        return REFUSED

    def failed(tx):
        entity(tx, "failed, flushed")
        flush()
        entity(tx, "failed")
        raise ValueError("a bug")

    held = Held(store)
    futures = [
        store.submit(event),
        store.submit(refused, "orm"),
        store.submit(event),
        store.submit(failed, "orm"),
        store.submit(lambda tx: entity(tx, "kept").type, "orm"),
        store.submit(event),
    ]
    held.release()
    assert futures[1].result(5) is REFUSED
    with pytest.raises(ValueError, match="a bug"):
        futures[3].result(5)
    assert futures[4].result(5) == "kept"
    assert futures[5].result(5)
    assert kinds(store) == ["x", "trace", "x", "kept", "x"]


def test_a_unit_of_the_orm_lane_is_alone_in_its_transaction(commits) -> None:
    held = Held(commits)
    futures = [commits.submit(lambda tx, i=i: tx.emit(f"e{i}"), "orm" if i == 2 else "sql") for i in range(5)]
    held.release()
    for future in futures:
        future.result(5)
    assert [events for _, events in commits.heard] == [["e0", "e1"], ["e2"], ["e3", "e4"]]


def test_the_sql_lane_has_no_entities(store) -> None:
    with pytest.raises(AssertionError, match="orm lane"):
        store.write(lambda tx: tx.model.Event)


def test_an_entity_that_the_database_refuses_fails_its_unit_alone(store) -> None:
    def broken(tx):
        entity(tx, "half")
        tx.model.Session(
            title="a", title_key="a", kind="hook", client="other", activity="idle", link_state="exact", first_seen_us=1
        )

    with pytest.raises(Exception, match="session_link_has_id"):
        store.write(broken, "orm")
    assert store.write(event) == 1 and kinds(store) == ["x"]
