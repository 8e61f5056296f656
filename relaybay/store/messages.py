"""Messages and their deliveries, in the order of a message's life: add, wait, hand over, read, move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from relaybay.store import seals
from relaybay.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Mail:
    """One delivery with its message, as hot paths and lists need it. Times in µs, 0 where nothing happened."""

    id: int  # the delivery's key
    message_id: int
    mid: str
    sender_id: int | None
    sender_title: str
    sender_name: str
    sender_verified: int
    sender_hook_id: str
    task_id: int | None
    task_key: str
    parent_id: int | None
    parent_mid: str
    depth: int
    body: str
    request_id: str | None
    digest: str
    sent_us: int
    recipient_id: int | None
    recipient_title: str
    recipient_name: str
    state: str
    reason_code: str
    delivered_us: int
    delivered_by: str
    delivered_hook_id: str
    handover_id: str
    in_context_us: int
    read_us: int
    read_how: str
    stop_blocks: int
    reoffers: int
    given_us: int


_MESSAGE_COLUMNS = {
    "mid", "sender_id", "sender_title", "sender_name", "sender_verified", "sender_hook_id", "task_id", "task_key",
    "parent_id", "parent_mid", "depth", "body", "request_id", "digest", "sent_us",
}  # fmt: skip
_COLUMNS = ", ".join(f"m.{f.name}" if f.name in _MESSAGE_COLUMNS else f"d.{f.name}" for f in fields(Mail))
_SELECT = f"SELECT {_COLUMNS}, m.seal FROM delivery d JOIN message m ON m.id = d.message_id"  # noqa: S608 - own names.


def _mails(tx: Tx, where: str, *values: Any) -> list[Mail]:
    return [_read(Mail(*r), seal) for *r, seal in tx.rows(f"{_SELECT} {where}", *values)]


def _read(mail: Mail, seal: str) -> Mail:
    """A message as it was stored, or with words in the place of a text that the disk has changed (FLT-8)."""
    return mail if seals.whole(mail, seals.MESSAGE, seal) else replace(mail, body=seals.instead(mail.mid))


def add(tx: Tx, *, recipient_id: int, recipient_title: str, recipient_name: str, **message: Any) -> Mail:
    """Stores one message and its one delivery, in the delivery machine's initial state."""
    message_id = tx.insert("message", audience="direct", sent_us=tx.now, **message)
    seals.put(tx, seals.MESSAGE, "id = ?", message_id)
    key = tx.insert(
        "delivery",
        message_id=message_id,
        recipient_id=recipient_id,
        recipient_title=recipient_title,
        recipient_name=recipient_name,
        state="sent",
        sent_us=tx.now,
    )
    tx.touch(recipient_id)
    return _mails(tx, "WHERE d.id = ?", key)[0]


def get(tx: Tx, mid: str) -> Mail | None:
    """A message's one direct delivery, by the message's public id."""
    found = _mails(tx, "WHERE m.mid = ? ORDER BY d.id LIMIT 1", mid)
    return found[0] if found else None


def by_key(tx: Tx, delivery_id: int) -> Mail | None:
    """A delivery by its key."""
    found = _mails(tx, "WHERE d.id = ?", delivery_id)
    return found[0] if found else None


def waiting(tx: Tx, recipient_id: int, states: Sequence[str], most: int = -1) -> list[Mail]:
    """What a row has in these states, oldest first."""
    marks = ", ".join("?" * len(states))
    end = f" LIMIT {most}" if most >= 0 else ""
    return _mails(tx, f"WHERE d.recipient_id = ? AND d.state IN ({marks}) ORDER BY d.id{end}", recipient_id, *states)


def may_block(tx: Tx, recipient_id: int, blocks_max: int, most: int) -> list[Mail]:
    """What a row has `sent` or `delivered` with fewer Stop blocks than that, oldest first (table STOP)."""
    return _mails(
        tx,
        "WHERE d.recipient_id = ? AND d.state IN ('sent','delivered') AND d.stop_blocks < ? ORDER BY d.id LIMIT ?",
        recipient_id,
        blocks_max,
        most,
    )


def unproven(tx: Tx) -> list[tuple[str, Literal["comment", "message"], int, str]]:
    """What hooks of a row's present id delivered, and neither proven nor given up: hook id, kind, key and public id
    (CTX-1). Oldest first.
    """
    rows = tx.rows(
        "SELECT d.delivered_hook_id, d.id, m.mid FROM delivery d JOIN message m ON m.id = d.message_id"
        " JOIN session s ON s.hook_id = d.delivered_hook_id"
        " WHERE d.state = 'delivered' AND d.in_context_us = 0 AND d.reason_code = '' ORDER BY d.id"
    )
    return [(str(hook), "message", int(key), str(mid)) for hook, key, mid in rows]


def counts(tx: Tx, recipient_id: int | None = None) -> dict[str, int]:
    """How many deliveries a row has in each open state, `sent` and `delivered`; without a row, how many there are."""
    whose, values = ("", []) if recipient_id is None else ("recipient_id = ? AND ", [recipient_id])
    rows = tx.rows(
        f"SELECT state, count(*) FROM delivery WHERE {whose}state IN ('sent','delivered') GROUP BY state",  # noqa: S608
        *values,
    )
    return {str(state): int(count) for state, count in rows}


def repeated(tx: Tx, sender_id: int, request_id: str) -> Mail | None:
    """The accepted send of this sender that had the same request id (SEND-16)."""
    found = _mails(tx, "WHERE m.sender_id = ? AND m.request_id = ? LIMIT 1", sender_id, request_id)
    return found[0] if found else None


def sent_since(tx: Tx, sender_id: int, since_us: int) -> list[int]:
    """When this sender's accepted sends of the window were made, oldest first (SEND-12)."""
    return [
        int(r[0])
        for r in tx.rows(
            "SELECT sent_us FROM message WHERE sender_id = ? AND sent_us > ? ORDER BY sent_us", sender_id, since_us
        )
    ]


def newer_from(tx: Tx, mail: Mail) -> int:
    """How many newer messages the same sender has written to the same row (the frame says so)."""
    if mail.sender_id is None or mail.recipient_id is None:
        return 0
    return int(
        tx.value(
            "SELECT count(*) FROM message m JOIN delivery d ON d.message_id = m.id"
            " WHERE m.sender_id = ? AND d.recipient_id = ? AND m.id > ?",
            mail.sender_id,
            mail.recipient_id,
            mail.message_id,
        )
    )


def set_delivery(tx: Tx, mail: Mail, **columns: Any) -> Mail:
    """Sets columns of one delivery and gives it as it now is."""
    tx.update("delivery", mail.id, **columns)
    tx.touch(mail.recipient_id)
    found = by_key(tx, mail.id)
    assert found is not None
    return found


def give(tx: Tx, delivery_ids: Sequence[int]) -> None:
    """Remembers that a list gave these texts to their recipient (message_ack without an id)."""
    for key in delivery_ids:
        tx.run("UPDATE delivery SET given_us = ? WHERE id = ? AND given_us = 0", tx.now, key)


def listed(tx: Tx, where: str, values: Sequence[Any], most: int, *, oldest_first: bool = False) -> list[Mail]:
    """Deliveries newest first for a list; `where` is the caller's own condition over `m` and `d`."""
    order = "d.id" if oldest_first else "d.id DESC"
    return _mails(tx, f"WHERE {where} ORDER BY {order} LIMIT ?", *values, most)


def count(tx: Tx, where: str, values: Sequence[Any], most: int) -> int:
    """How many deliveries a list has, counted up to `most`."""
    found = f"SELECT 1 FROM delivery d JOIN message m ON m.id = d.message_id WHERE {where} LIMIT ?"  # noqa: S608
    return int(tx.value(f"SELECT count(*) FROM ({found}) counted", *values, most))  # noqa: S608 - own words.


def thread(tx: Tx, mid: str, most: int) -> list[Mail]:
    """A message with all that it answers and all that answers it or those, the oldest first."""
    return _mails(
        tx,
        "WHERE m.id IN (WITH RECURSIVE up(id, above) AS (SELECT id, parent_id FROM message WHERE mid = ?"
        " UNION SELECT p.id, p.parent_id FROM message p JOIN up ON p.id = up.above),"
        " down(id) AS (SELECT min(id) FROM up UNION SELECT a.id FROM message a JOIN down ON a.parent_id = down.id)"
        " SELECT id FROM down) ORDER BY d.id LIMIT ?",
        mid,
        most,
    )


def move_sender(tx: Tx, from_id: int, to_id: int) -> None:
    """What a merged row had sent is its heir's: request ids and rate windows with it (MOVE-10). A request id that
    both used stays with the heir's own message.
    """
    tx.run(
        "UPDATE message SET request_id = NULL WHERE sender_id = ? AND request_id IN"
        " (SELECT request_id FROM message WHERE sender_id = ? AND request_id IS NOT NULL)",
        from_id,
        to_id,
    )
    tx.run("UPDATE message SET sender_id = ? WHERE sender_id = ?", to_id, from_id)


def between(tx: Tx, a: int, b: int) -> list[Mail]:
    """Open deliveries of what two rows had sent each other (MOVE-12)."""
    return _mails(
        tx,
        "WHERE d.state IN ('sent','delivered') AND ((m.sender_id = ? AND d.recipient_id = ?)"
        " OR (m.sender_id = ? AND d.recipient_id = ?)) ORDER BY d.id",
        a, b, b, a,
    )  # fmt: skip


def own_words(tx: Tx, recipient_id: int, hook_id: str) -> list[Mail]:
    """Open deliveries to a row of what was sent, verified, over this hook id (MOVE-12)."""
    return _mails(
        tx,
        "WHERE d.recipient_id = ? AND d.state IN ('sent','delivered') AND m.sender_hook_id = ?"
        " AND m.sender_verified = 1 ORDER BY d.id",
        recipient_id,
        hook_id,
    )
