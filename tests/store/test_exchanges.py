"""Who wrote to whom, held against plain counting; and by index, however long the history is."""

from __future__ import annotations

from collections import Counter

import pytest

from relaybay.store import board
from tests.store.test_events import plan

SINCE = 10


@pytest.fixture
def written(store):
    """Messages before, at and after a time, in every state, of rows and of none, about tasks and about nothing."""

    def write(tx):
        tx.insert("project", slug="shop", title="shop", created_us=1)
        tx.insert("project", slug="docs", title="docs", created_us=1)
        for number in range(3):
            tx.insert("session", title=f"s{number}", title_key=f"s{number}", kind="agent", activity="idle", link_state="none", first_seen_us=1)  # fmt: skip
        for number, bound in enumerate([1, None, 1], 1):
            tx.insert("task", project_id=1 + number % 2, session_id=bound, number=number, task_key=f"t-{number}", title="t", status="todo", created_us=1, updated_us=1)  # fmt: skip
        number = 0
        for sent in (1, SINCE - 1, SINCE, SINCE + 5):
            for state in ("sent", "delivered", "read", "orphaned"):
                for sender, reader, task in ((1, 2, None), (2, 1, 1), (None, 1, 2), (1, None, 1)):
                    number += 1
                    key = tx.insert("message", mid=f"m{number}", sender_id=sender, sender_title=f"from{sender}", sender_verified=0, body="b", digest="d", sent_us=sent, task_id=task)  # fmt: skip
                    if number % 3 == 0:
                        tx.run("UPDATE message SET audience = 'topic', topic = 'ci' WHERE id = ?", key)
                    if sender is None and number % 2:
                        tx.run("UPDATE message SET sender_kind = 'script' WHERE id = ?", key)
                    tx.insert("delivery", message_id=key, recipient_id=reader, recipient_title=f"to{reader}", state=state, sent_us=sent, read_how="verified" if state == "read" else "")  # fmt: skip

    store.write(write)
    return store


@pytest.mark.parametrize("task", [None, 1, 2, 3])
def test_exchanges_equal_a_count_over_the_store(written, task) -> None:
    rows = written.read(
        lambda tx: tx.rows(
            "SELECT m.sender_id, m.sender_title, d.recipient_id, d.recipient_title, d.state, m.sent_us, m.task_id,"
            " m.sender_kind, m.audience"
            " FROM message m JOIN delivery d ON d.message_id = m.id"
        )
    )
    counts, oldest = Counter(), {}
    for sender, from_title, reader, to_title, state, sent, about, kind, audience in rows:
        if (task is not None and about != task) or (sent < SINCE and state != "sent"):
            continue
        key = (sender, "" if sender else from_title, reader, "" if reader else to_title, state, sent >= SINCE)
        key += (kind == "script", audience != "direct")
        counts[key] += 1
        oldest[key] = min(oldest.get(key, sent), sent)
    found = written.read(lambda tx: board.exchanges(tx, SINCE, task))
    assert {
        (
            *(e.sender_id, e.sender_title, e.recipient_id, e.recipient_title, e.state, e.inside),
            *(e.script, e.published),
        ): (e.count, e.oldest_us)
        for e in found
    } == {key: (count, oldest[key]) for key, count in counts.items()}
    assert len(found) == len(counts) and bool(found) == (task != 3)


def test_neither_half_of_it_looks_through_the_history(written) -> None:
    steps = plan(written, lambda tx: board.exchanges(tx, SINCE))
    looks = [step for step in steps if step.startswith(("SCAN", "SEARCH"))]
    assert any("message_by_time (sent_us>?)" in step for step in looks)
    assert any("delivery_waiting" in step for step in looks)
    assert not any(step.startswith("SCAN") and "delivery_waiting" not in step for step in looks), looks


def test_tasks_that_messages_are_about_the_newest_first(written) -> None:
    assert written.read(lambda tx: board.tasks_written_about(tx, 10)) == ["t-2", "t-1"]
    assert written.read(lambda tx: board.tasks_written_about(tx, 1)) == ["t-2"]


def test_the_project_of_the_first_task_that_is_bound(written) -> None:
    first, _second = 2, 1
    assert written.read(board.projects_of_bound) == {1: first}
