"""The counts of pages: Pony's queries, held against plain counting over the same rows."""

from __future__ import annotations

from collections import Counter

import pytest

from relaybay.store import board


@pytest.fixture
def filled(store):
    """Every state, with and without a row, a task, a binding."""

    def write(tx):
        for slug in ("shop", "docs"):
            tx.insert("project", slug=slug, title=slug, created_us=1)
        for number in range(3):
            tx.insert("session", title=f"s{number}", title_key=f"s{number}", kind="agent", activity="idle", link_state="none", first_seen_us=1)  # fmt: skip
        for number, (project, session, status) in enumerate([(1, 1, "todo"), (1, None, "done"), (2, 2, "todo")], 1):
            tx.insert("task", project_id=project, session_id=session, number=number, task_key=f"t-{number}", title="t", status=status, created_us=1, updated_us=1)  # fmt: skip
            tx.insert("step", task_id=number, n=1, text="a", done=number % 2)
            tx.insert("step", task_id=number, n=2, text="b", done=0)
        for number, state in enumerate(["sent", "delivered", "read", "orphaned"] * 6):
            task, reader = [None, 1, 2, 3][number % 4 - number // 8], [None, 1, 2][number // 4 % 3]
            key = tx.insert("message", mid=f"m{number}", sender_title="a", sender_verified=0, body="b", digest="d", sent_us=1, task_id=task)  # fmt: skip
            tx.insert("delivery", message_id=key, recipient_id=reader, recipient_title="r", state=state, sent_us=1, read_how="verified" if state == "read" else "")  # fmt: skip
        for number, state in enumerate(["sent", "delivered", "read", "unanswered", "answered"] * 4):
            kind = "owner" if number % 2 else "session"
            tx.insert("comment", cid=f"c{number}", task_id=number % 3 + 1, author_kind=kind, author_id=[None, 1, 2][number % 3], body_md="x", state=state, created_us=1)  # fmt: skip

    store.write(write)
    return store


def rows(store, sql: str) -> list[tuple]:
    return store.read(lambda tx: tx.rows(sql))


def grouped(found: list[tuple]) -> dict:
    counts: dict = {}
    for (key, state), number in Counter(found).items():
        counts.setdefault(key, {})[state] = number
    return counts


OPEN = ("sent", "delivered")


@pytest.mark.spec("INV-10")
def test_counts_equal_a_count_over_the_store(filled) -> None:
    mail = rows(
        filled, "SELECT d.recipient_id, m.task_id, d.state FROM delivery d JOIN message m ON m.id = d.message_id"
    )
    comments = rows(
        filled,
        "SELECT t.session_id, c.task_id, c.author_id, c.author_kind, c.state FROM comment c JOIN task t ON t.id = c.task_id",
    )
    expected = {
        board.mail_by_session: grouped([(r, s) for r, _, s in mail if s in OPEN and r]),
        board.mail_by_task: grouped([(t, s) for _, t, s in mail if s in OPEN and t]),
        board.comments_by_session: grouped([(b, s) for b, _, _, k, s in comments if k == "owner" and s in OPEN and b]),
        board.comments_by_task: grouped(
            [(t, s) for _, t, _, k, s in comments if (k == "owner" and s in OPEN) or s == "unanswered"]
        ),
        board.replies_by_session: dict(Counter(a for _, _, a, _, s in comments if s == "unanswered" and a)),
        board.steps_by_task: {1: (1, 2), 2: (0, 2), 3: (1, 2)},
    }
    for count, found in expected.items():
        assert found and filled.read(count) == found, count.__name__
    for project, found in {
        "": {"todo": 2, "done": 1},
        "shop": {"todo": 1, "done": 1},
        "docs": {"todo": 1},
        "x": {},
    }.items():
        assert filled.read(lambda tx, project=project: board.tasks_by_status(tx, project)) == found


def test_what_waits_is_counted_by_its_small_index(filled) -> None:
    # However long the history, a page counts what is open: Pony's query has to keep the words of the index.
    seen: list[str] = []
    connection_of = lambda tx: tx._cursor.connection  # noqa: E731

    def work(tx):
        connection_of(tx).set_trace_callback(seen.append)
        board.mail_by_session(tx)
        connection_of(tx).set_trace_callback(None)
        (asked,) = [sql for sql in seen if "delivery" in sql]
        return [row[3] for row in tx.rows(f"EXPLAIN QUERY PLAN {asked}")]

    assert any("delivery_waiting" in step for step in filled.read(work))
