"""The feed by what an event is about and by its type: the same as looking through all of it, and by index."""

from __future__ import annotations

import json

import pytest

from relaybay.store import events
from relaybay.store.subjects import subjects_of

FEED = [
    ("task.created", {"task": "shop-1", "project": "shop", "by": "owner"}),
    ("message.sent", {"message_id": "m_1", "from_ref": "S-1", "to_ref": "S-2", "task": "shop-1"}),
    ("session.message", {"by": "message_send", "from_ref": "S-1", "to_ref": "S-2", "task": "shop-1"}),
    ("message.delivered", {"message_id": "m_1", "from_ref": "S-1", "to_ref": "S-2", "task": None}),
    ("session.message", {"by": "client", "from_ref": "S-2", "to": "whoever", "task": None}),
    ("task.updated", {"task": "shop-11", "project": "shop", "by": "S-1"}),
    ("comment.added", {"comment_id": "c_1", "task": "shop-1", "author": "owner"}),
    ("comment.added", {"comment_id": "c_2", "task": "my-shop-1", "author": "S-2", "title": "S-1"}),
    ("session.ended", {"session": "S-12", "title": "shop-1"}),
    ("inbox.seen", {"kind": "hook_fault", "ref": "S-1"}),
    ("project.added", {"project": "my-shop", "by": "unnamed"}),
]


@pytest.fixture
def fed(store):
    """The feed above, three times over."""
    for _ in range(3):
        store.write(lambda tx: [tx.emit(type_, **data) for type_, data in FEED] and None)
    return store


@pytest.mark.parametrize(
    ("type_", "data", "named"),
    [
        ("message.sent", FEED[1][1], ["message:m_1", "session:S-1", "session:S-2", "task:shop-1", "project:shop"]),
        # One task in one project is named once; the owner and callers without a name are no sessions.
        ("task.created", FEED[0][1], ["task:shop-1", "project:shop"]),
        ("session.message", FEED[2][1], []),
        ("session.message", FEED[4][1], ["edge:client", "session:S-2"]),
        ("message.sent", {"from_ref": "S-1", "to_ref": "S-1"}, ["session:S-1"]),
        ("message.sent", {"by": "client"}, []),
        ("comment.added", FEED[7][1], ["comment:c_2", "task:my-shop-1", "project:my-shop", "session:S-2"]),
        ("session.removed", {"session": "S-2", "taken_over_by": "S-10"}, ["session:S-2", "session:S-10"]),
        ("x", {"session": "S-0", "author": "S-1x", "by": "xS-1", "task": "", "project": None, "other": "S-1"}, []),
    ],
)
def test_what_an_event_is_about(type_, data, named) -> None:
    assert subjects_of(type_, data) == named


def by_looking(store, wanted) -> list[int]:
    rows = store.read(lambda tx: tx.rows("SELECT id, type, data FROM event ORDER BY id DESC"))
    return [key for key, type_, data in rows if wanted(type_, json.loads(data))]


def keys(found) -> list[int]:
    return [event[0] for event in found]


def is_twin(type_, data) -> bool:
    return type_ == "session.message" and data["by"] == "message_send"


@pytest.mark.parametrize(
    ("kind", "name"),
    [("task", "shop-1"), ("task", "shop-11"), ("project", "shop"), ("project", "my-shop"), ("session", "S-1"),
     ("session", "S-2"), ("session", "S-12"), ("message", "m_1"), ("comment", "c_2")],
)  # fmt: skip
def test_a_timeline_is_what_a_look_through_the_feed_finds(fed, kind, name) -> None:
    subject = f"{kind}:{name}"
    expected = by_looking(fed, lambda type_, data: subject in subjects_of(type_, data))
    assert expected
    assert keys(fed.read(lambda tx: events.about(tx, kind, name, 100))) == expected
    assert keys(fed.read(lambda tx: events.about(tx, kind, name, 2))) == expected[:2]
    later = fed.read(lambda tx: events.newest(tx, 100, subjects=(subject,), before=expected[0]))
    assert keys(later) == expected[1:]


def test_nothing_is_about_what_no_event_names(fed) -> None:
    assert fed.read(lambda tx: events.about(tx, "task", "shop", 100)) == []
    assert fed.read(lambda tx: events.about(tx, "session", "S-1' OR 1=1", 100)) == []


@pytest.mark.parametrize("most", [1, 4, 100])
def test_types_and_subjects_narrow_together(fed, most) -> None:
    cases = [
        ({}, lambda t, d: not is_twin(t, d)),
        ({"types": ["task.created", "task.updated"]}, lambda t, d: t.startswith("task.")),
        ({"types": ["session.message"]}, lambda t, d: t == "session.message" and not is_twin(t, d)),
        ({"types": []}, lambda t, d: False),
        (
            {"types": ["message.sent"], "subjects": ("session:S-1",)},
            lambda t, d: t == "message.sent" and d["from_ref"] == "S-1",
        ),
        ({"types": [], "subjects": ("session:S-1",)}, lambda t, d: False),
        (
            {"subjects": ("session:S-1", "task:shop-1")},
            lambda t, d: t == "message.sent" and not is_twin(t, d),
        ),
    ]
    for given, wanted in cases:
        expected = by_looking(fed, wanted)
        found = fed.read(lambda tx, given=given: events.newest(tx, most, **given))
        assert keys(found) == expected[:most], given
        before = expected[0] if expected else 0
        found = fed.read(lambda tx, given=given, before=before: events.newest(tx, most, before=before, **given))
        assert keys(found) == expected[1 : most + 1], given


def test_the_types_of_the_feed_each_once(fed) -> None:
    assert fed.read(events.types) == sorted({type_ for type_, _ in FEED})


def test_edges_of_clients_from_a_time_on(fed) -> None:
    fed.write(lambda tx: setattr(tx, "now", tx.now + 5) or tx.emit("session.message", by="client", to="late"))
    at = fed.read(lambda tx: tx.value("SELECT max(at_us) FROM event"))
    found = fed.read(lambda tx: events.client_edges(tx, 0))
    assert [edge["to"] for edge in found] == ["whoever"] * 3 + ["late"]
    assert [edge["to"] for edge in fed.read(lambda tx: events.client_edges(tx, at))] == ["late"]
    assert fed.read(lambda tx: events.client_edges(tx, at + 1)) == []


def plan(store, work) -> list[str]:
    seen: list[str] = []

    def traced(tx):
        connection = tx._cursor.connection
        connection.set_trace_callback(seen.append)
        work(tx)
        connection.set_trace_callback(None)
        asked = [sql for sql in seen if sql.startswith("SELECT")]
        return [row[3] for sql in asked for row in tx.rows(f"EXPLAIN QUERY PLAN {sql}")]

    steps = store.read(traced)
    assert steps
    return steps


@pytest.mark.spec("40")
def test_no_timeline_looks_through_the_feed_or_sorts_it(fed) -> None:
    looks = [
        lambda tx: events.about(tx, "task", "shop-1", 5),
        lambda tx: events.newest(tx, 5, subjects=("session:S-1", "task:shop-1"), types=["message.sent"], before=20),
        lambda tx: events.newest(tx, 5, types=["message.sent", "task.created"], before=20),
        lambda tx: events.newest(tx, 5, before=20),
        events.types,
        lambda tx: events.client_edges(tx, 5),
    ]
    for look in looks:
        for step in plan(fed, look):
            assert "TEMP B-TREE" not in step, step
            # A scan in the order of the key ends after a page of rows.
            assert step.startswith(("SEARCH", "CORRELATED")) or step == "SCAN e", step
    assert plan(fed, looks[0])[0].startswith("SEARCH s USING COVERING INDEX")
