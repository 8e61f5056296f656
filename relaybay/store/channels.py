"""Topics and broadcasts: who subscribes to what, how far each row has seen a topic, what the history has of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relaybay.store import sessions
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class TopicCount:
    """One topic of the history: how many messages are kept of it, when the last one was sent (µs), and its number."""

    topic: str
    count: int
    last_us: int
    last_id: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """Direct messages of a row with one other row: how many, and when the last one was sent (µs)."""

    peer_id: int
    count: int
    last_us: int


def patterns(tx: Tx, session_id: int) -> tuple[str, ...]:
    """What a row subscribes to, in the order in which it did."""
    found = tx.rows("SELECT pattern FROM topic_pattern WHERE session_id = ? ORDER BY id", session_id)
    return tuple(str(r[0]) for r in found)


def set_patterns(tx: Tx, session_id: int, wanted: Iterable[str]) -> None:
    """Makes these the row's patterns. Those that stay keep their place."""
    kept = tuple(wanted)
    for pattern in patterns(tx, session_id):
        if pattern not in kept:
            tx.run("DELETE FROM topic_pattern WHERE session_id = ? AND pattern = ?", session_id, pattern)
    have = patterns(tx, session_id)
    for pattern in kept:
        if pattern not in have:
            tx.insert("topic_pattern", session_id=session_id, pattern=pattern)
    tx.touch(session_id)


def all_patterns(tx: Tx) -> dict[int, tuple[str, ...]]:
    """The patterns of all rows that have some."""
    found: dict[int, tuple[str, ...]] = {}
    for key, pattern in tx.rows("SELECT session_id, pattern FROM topic_pattern ORDER BY session_id, id"):
        found[int(key)] = (*found.get(int(key), ()), str(pattern))
    return found


def subscribed(tx: Tx) -> list[int]:
    """Rows that subscribe to anything."""
    return [int(r[0]) for r in tx.rows("SELECT DISTINCT session_id FROM topic_pattern")]


def live(tx: Tx) -> list[SessionRow]:
    """Rows that a publication can reach: exactly linked and live, in the order of their keys."""
    return [
        sessions.need(tx, int(r[0]))
        for r in tx.rows("SELECT id FROM session WHERE link_state = 'exact' AND activity <> 'ended' ORDER BY id")
    ]


def see(tx: Tx, session_id: int, topic: str, message_id: int) -> None:
    """The row has seen the topic up to this message; a cursor never goes back."""
    tx.run(
        "INSERT INTO topic_cursor (session_id, topic, seen_id) VALUES (?, ?, ?)"
        " ON CONFLICT (session_id, topic) DO UPDATE SET seen_id = excluded.seen_id WHERE excluded.seen_id > seen_id",
        session_id,
        topic,
        message_id,
    )


def cursors(tx: Tx, session_id: int) -> dict[str, int]:
    """How far a row has seen each topic."""
    found = tx.rows("SELECT topic, seen_id FROM topic_cursor WHERE session_id = ?", session_id)
    return {str(topic): int(seen) for topic, seen in found}


def move_to(tx: Tx, from_id: int, to_id: int, kept: Iterable[str]) -> None:
    """A merge: these are the heir's patterns now, and of each topic the cursor that is further on counts."""
    set_patterns(tx, to_id, kept)
    for topic, seen in cursors(tx, from_id).items():
        see(tx, to_id, topic, seen)


def topics(tx: Tx) -> list[TopicCount]:
    """The topics of the history, the one last written to first."""
    found = tx.rows(
        "SELECT topic, count(*), max(sent_us), max(id) FROM message WHERE audience = 'topic' GROUP BY topic"
        " ORDER BY max(id) DESC"
    )
    return [TopicCount(str(topic), int(count), int(last), int(key)) for topic, count, last, key in found]


def newest(tx: Tx) -> list[tuple[str, int]]:
    """Of each topic its newest message: (topic, number), the newest first. Asked at prompts: an index has all of it."""
    found = tx.rows("SELECT topic, max(id) FROM message WHERE audience = 'topic' GROUP BY topic ORDER BY max(id) DESC")
    return [(str(topic), int(key)) for topic, key in found]


def newest_not_by(tx: Tx, topic: str, session_id: int) -> int:
    """The newest message of a topic that this row did not send itself, by its number; 0 where there is none."""
    found = tx.value(
        "SELECT max(id) FROM message WHERE audience = 'topic' AND topic = ? AND (sender_id IS NULL OR sender_id <> ?)",
        topic,
        session_id,
    )
    return int(found or 0)


def named(tx: Tx) -> list[str]:
    """The topics of the history by name."""
    return [str(r[0]) for r in tx.rows("SELECT DISTINCT topic FROM message WHERE audience = 'topic' ORDER BY topic")]


def broadcasts(tx: Tx) -> TopicCount | None:
    """The broadcasts of the history; None when there is none."""
    count, last, key = tx.rows("SELECT count(*), max(sent_us), max(id) FROM message WHERE audience = 'broadcast'")[0]
    return TopicCount("", int(count), int(last), int(key)) if count else None


def conversations(tx: Tx, session_id: int) -> list[Conversation]:
    """The rows that this one exchanged direct messages with, the one last written to or from first."""
    found = tx.rows(
        "SELECT peer, count(*), max(sent_us) FROM ("
        " SELECT d.recipient_id AS peer, m.id AS id, m.sent_us AS sent_us FROM message m"
        "  JOIN delivery d ON d.message_id = m.id WHERE m.audience = 'direct' AND m.sender_id = ?"
        "  AND d.recipient_id IS NOT NULL AND d.recipient_id <> m.sender_id"
        " UNION ALL SELECT m.sender_id, m.id, m.sent_us FROM delivery d JOIN message m ON m.id = d.message_id"
        "  WHERE m.audience = 'direct' AND d.recipient_id = ? AND m.sender_id IS NOT NULL"
        "  AND m.sender_id <> d.recipient_id) GROUP BY peer ORDER BY max(id) DESC",
        session_id,
        session_id,
    )
    return [Conversation(int(peer), int(count), int(last)) for peer, count, last in found]


def prune(tx: Tx, before_us: int, most: int) -> int:
    """Cuts the history (HIST-2, HIST-3): what was sent before `before_us` goes first, the newest of each topic apart;
    then the oldest beyond `most`. A direct message that waits for a row that is there survives both. How many went.
    """
    waits = (
        "EXISTS (SELECT 1 FROM delivery d WHERE d.message_id = message.id AND message.audience = 'direct'"
        " AND d.recipient_id IS NOT NULL AND d.state IN ('sent','held','taken'))"
    )
    gone = tx.run(
        f"DELETE FROM message WHERE sent_us < ? AND NOT {waits} AND NOT (audience = 'topic' AND id ="  # noqa: S608
        " (SELECT max(newer.id) FROM message newer WHERE newer.audience = 'topic' AND newer.topic = message.topic))",
        before_us,
    )
    have = int(tx.value("SELECT count(*) FROM message"))
    if have > most:
        gone += tx.run(
            f"DELETE FROM message WHERE id IN (SELECT id FROM message WHERE NOT {waits} ORDER BY id LIMIT ?)",  # noqa: S608
            have - most,
        )
    return gone
