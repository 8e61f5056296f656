"""Messages and their deliveries, in the order of a message's life: add, wait, hand over, read, move."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from relaybay.store import seals
from relaybay.store.conditions import FOR_REVIEW
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
    audience: str
    topic: str
    sender_kind: str
    sender_mode: str
    sender_folder: str
    automation: str
    body_hash: str
    state_us: int
    admitted_us: int
    passive: int
    passive_turn: int
    pointer: int
    fetched_us: int
    approved_epoch: int
    review_state: str
    review_token: str
    review_epoch: int
    taken_by: str

    @property
    def published(self) -> bool:
        """Whether its audience is a topic or a broadcast."""
        return self.audience != "direct"

    @property
    def by_script(self) -> bool:
        """Whether a script sent it, so that nobody can answer."""
        return self.sender_kind == "script"


_MESSAGE_COLUMNS = {
    "mid", "sender_id", "sender_title", "sender_name", "sender_verified", "sender_hook_id", "task_id", "task_key",
    "parent_id", "parent_mid", "depth", "body", "request_id", "digest", "sent_us", "audience", "topic", "sender_kind",
    "sender_mode", "sender_folder", "automation", "body_hash",
}  # fmt: skip
_COLUMNS = ", ".join(f"m.{f.name}" if f.name in _MESSAGE_COLUMNS else f"d.{f.name}" for f in fields(Mail))
DIRECT_ONLY = " AND m.audience = 'direct'"
_SELECT = f"SELECT {_COLUMNS}, m.seal FROM delivery d JOIN message m ON m.id = d.message_id"  # noqa: S608 - own names.

#: The same columns with nothing of a delivery: a message that nobody received is one too.
_NOTHING = {"str": "''", "int": "0", "int | None": "NULL", "str | None": "NULL"}


def _of_message(name: str, type_: str) -> str:
    if name == "message_id":
        return "m.id"
    return f"m.{name}" if name in _MESSAGE_COLUMNS else _NOTHING[type_]


_OF_MESSAGE = ", ".join(_of_message(f.name, str(f.type)) for f in fields(Mail))
_SELECT_MESSAGE = f"SELECT {_OF_MESSAGE}, m.seal FROM message m"  # noqa: S608 - own names.


def _mails(tx: Tx, where: str, *values: Any) -> list[Mail]:
    return [_read(Mail(*r), seal) for *r, seal in tx.rows(f"{_SELECT} {where}", *values)]


def _read(mail: Mail, seal: str) -> Mail:
    """A message as it was stored, or with words in the place of a text that the disk has changed (FLT-8)."""
    return mail if seals.whole(mail, seals.MESSAGE, seal) else replace(mail, body=seals.instead(mail.mid))


def record(tx: Tx, **message: Any) -> int:
    """Stores one message, sealed, without any delivery, and gives its key: also its number in the history."""
    message_id = tx.insert("message", sent_us=tx.now, **message)
    seals.put(tx, seals.MESSAGE, "id = ?", message_id)
    return message_id


def deliver(
    tx: Tx, message_id: int, *, recipient_id: int, recipient_title: str, recipient_name: str, state: str, **columns: Any
) -> Mail:
    """Adds a recipient to a message, in the state that the delivery machine gave it at the admission."""
    key = tx.insert(
        "delivery",
        message_id=message_id,
        recipient_id=recipient_id,
        recipient_title=recipient_title,
        recipient_name=recipient_name,
        state=state,
        sent_us=tx.now,
        state_us=tx.now,
        **columns,
    )
    tx.touch(recipient_id)
    return _mails(tx, "WHERE d.id = ?", key)[0]


def add(tx: Tx, *, recipient_id: int, recipient_title: str, recipient_name: str, **message: Any) -> Mail:
    """Stores one message and its one delivery, as a message is that everything lets in."""
    message_id = record(tx, audience="direct", **message)
    to = {"recipient_id": recipient_id, "recipient_title": recipient_title, "recipient_name": recipient_name}
    return deliver(tx, message_id, **to, state="sent", admitted_us=tx.now)  # type: ignore[arg-type]


def get(tx: Tx, mid: str, rows: Iterable[int] = ()) -> Mail | None:
    """A message's delivery, by the message's public id: the one to one of these rows, else its first; None where there
    is none. A direct message has one only.
    """
    of_rows = ", ".join(str(int(row)) for row in rows) or "-1"
    first = f"WHERE m.mid = ? ORDER BY coalesce(d.recipient_id, 0) IN ({of_rows}) DESC, d.id LIMIT 1"
    found = _mails(tx, first, mid)
    return found[0] if found else None


def message(tx: Tx, message_id: int) -> Mail | None:
    """One message by its key, with or without recipients: what stands of a delivery is then empty."""
    found = _messages(tx, "WHERE m.id = ?", message_id)
    return found[0] if found else None


def by_mid(tx: Tx, mid: str) -> Mail | None:
    """The same by its public id."""
    found = _messages(tx, "WHERE m.mid = ?", mid)
    return found[0] if found else None


def _messages(tx: Tx, where: str, *values: Any) -> list[Mail]:
    """Messages without their deliveries, each once."""
    return [_read(Mail(*r), seal) for *r, seal in tx.rows(f"{_SELECT_MESSAGE} {where}", *values)]


def older(tx: Tx, where: str, values: Sequence[Any], before: int, most: int) -> list[Mail]:
    """Messages below a number that meet a condition over `m`, newest first, each once and without its deliveries."""
    return _messages(tx, f"WHERE ({where}) AND m.id < ? ORDER BY m.id DESC LIMIT ?", *values, before, most)


def of_message(tx: Tx, message_id: int) -> list[Mail]:
    """All deliveries of one message, in the order in which its recipients were chosen."""
    return _mails(tx, "WHERE m.id = ? ORDER BY d.id", message_id)


def at(tx: Tx, message_id: int, recipient_id: int) -> Mail | None:
    """A message's delivery at one row."""
    found = _mails(tx, "WHERE m.id = ? AND d.recipient_id = ?", message_id, recipient_id)
    return found[0] if found else None


def every(tx: Tx, recipient_id: int) -> list[Mail]:
    """All deliveries of a row in whatever state, oldest first."""
    return _mails(tx, "WHERE d.recipient_id = ? ORDER BY d.id", recipient_id)


def by_key(tx: Tx, delivery_id: int) -> Mail | None:
    """A delivery by its key."""
    found = _mails(tx, "WHERE d.id = ?", delivery_id)
    return found[0] if found else None


def waiting(tx: Tx, recipient_id: int, states: Sequence[str], most: int = -1, *, published: bool = True) -> list[Mail]:
    """What a row has in these states, oldest first; without what was published if that is not wanted."""
    marks = ", ".join("?" * len(states)) + ")" + ("" if published else DIRECT_ONLY)
    end = f" LIMIT {most}" if most >= 0 else ""
    order = "ORDER BY d.passive, d.id"  # What only rides along comes after what goes by itself (PACK-2).
    return _mails(tx, f"WHERE d.recipient_id = ? AND d.state IN ({marks} {order}{end}", recipient_id, *states)


def may_block(tx: Tx, recipient_id: int, blocks_max: int, most: int, *, published: bool = True) -> list[Mail]:
    """What a row has `sent` or `delivered` with fewer Stop blocks than that, oldest first (table STOP)."""
    return _mails(
        tx,
        "WHERE d.recipient_id = ? AND d.state IN ('sent','delivered') AND d.stop_blocks < ? AND d.passive = 0"
        f"{'' if published else DIRECT_ONLY} ORDER BY d.id LIMIT ?",
        recipient_id,
        blocks_max,
        most,
    )


def ride_on(tx: Tx, recipient_id: int, turn_serial: int) -> None:
    """What a prompt's answer had no room for of what only rides along goes with the same turn's tool events."""
    tx.run(
        "UPDATE delivery SET passive_turn = ? WHERE recipient_id = ? AND state = 'sent' AND passive = 1",
        turn_serial,
        recipient_id,
    )


def passive_count(tx: Tx, recipient_id: int) -> int:
    """How many messages of a row only ride along with a prompt."""
    found = "SELECT count(*) FROM delivery WHERE recipient_id = ? AND state = 'sent' AND passive = 1"
    return int(tx.value(found, recipient_id))


def in_review(tx: Tx, recipient_id: int) -> list[Mail]:
    """What the owner has opened for review and not decided on (REV-2)."""
    return _mails(tx, "WHERE d.recipient_id = ? AND d.state = 'held' AND d.review_state = 'open'", recipient_id)


def held(tx: Tx, recipient_id: int | None = None) -> list[Mail]:
    """What waits for the owner's decision, of one row or of all, oldest first; what a suppressed row keeps among it."""
    if recipient_id is None:
        return _mails(tx, "WHERE d.state = 'held' AND d.recipient_id IS NOT NULL ORDER BY d.id")
    return _mails(tx, "WHERE d.recipient_id = ? AND d.state = 'held' ORDER BY d.id", recipient_id)


def held_count(tx: Tx, recipient_id: int | None = None) -> int:
    """How many `held` would give."""
    whose = "recipient_id IS NOT NULL" if recipient_id is None else f"recipient_id = {int(recipient_id)}"
    return int(tx.value(f"SELECT count(*) FROM delivery WHERE state = 'held' AND {whose}"))  # noqa: S608 - own words.


def for_review(tx: Tx) -> list[Mail]:
    """What waits for a decision of the owner's, oldest first."""
    return _mails(tx, f"WHERE {FOR_REVIEW} ORDER BY d.id")


def for_review_counts(tx: Tx) -> dict[int, int]:
    """How many of them each row has that has some."""
    found = tx.rows(f"SELECT d.recipient_id, count(*) FROM delivery d WHERE {FOR_REVIEW} GROUP BY 1")  # noqa: S608
    return {int(key): int(number) for key, number in found}


def ended_with_published(tx: Tx, before_us: int) -> list[int]:
    """Rows whose session has been over since before then, and that have something published waiting."""
    found = tx.rows(
        "SELECT DISTINCT d.recipient_id FROM delivery d JOIN message m ON m.id = d.message_id"
        " JOIN session s ON s.id = d.recipient_id WHERE d.state IN ('sent','held','taken') AND m.audience <> 'direct'"
        " AND s.link_state IN ('ended_exact','ended_guessed') AND s.ended_us <= ?",
        before_us,
    )
    return [int(r[0]) for r in found]


def rows_kept_waiting(tx: Tx) -> list[int]:
    """Rows that have anything which a change of their controls would touch."""
    return [
        int(r[0])
        for r in tx.rows(
            "SELECT DISTINCT recipient_id FROM delivery WHERE state IN ('sent','held') AND recipient_id IS NOT NULL"
            " ORDER BY recipient_id"
        )
    ]


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


def sent_as(tx: Tx, sender_id: int, request_id: str) -> Mail | None:
    """The message that a session sent under this request id, whatever its audience."""
    found = _messages(tx, "WHERE m.sender_id = ? AND m.request_id = ?", sender_id, request_id)
    return found[0] if found else None


def sent_by_script(tx: Tx, label: str, request_id: str) -> Mail | None:
    """The same of a script: each label is one sender."""
    found = _messages(
        tx, "WHERE m.sender_kind = 'script' AND m.sender_title = ? AND m.request_id = ?", label, request_id
    )
    return found[0] if found else None


def skipped(tx: Tx, message_id: int) -> int:
    """How many recipients the fan-out limit left out (PUB-6)."""
    return int(tx.value("SELECT skipped FROM message WHERE id = ?", message_id) or 0)


def sent_since(tx: Tx, sender_id: int, since_us: int) -> list[int]:
    """When this sender's accepted direct sends of the window were made, oldest first (SEND-12). What its recipient did
    not let in counts for nothing (page 50, Admission); what an automation sent for it counts (RATE-16).
    """
    rows = tx.rows(
        "SELECT m.sent_us FROM message m JOIN delivery d ON d.message_id = m.id WHERE m.sender_id = ? AND m.sent_us > ?"
        " AND m.audience = 'direct' AND d.admitted_us > 0 ORDER BY m.sent_us",
        sender_id,
        since_us,
    )
    return [int(r[0]) for r in rows]


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
    if found.state != mail.state:
        tx.update("delivery", mail.id, state_us=tx.now)
        found = replace(found, state_us=tx.now)
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
        "WHERE d.state IN ('sent','held','taken','delivered') AND ((m.sender_id = ? AND d.recipient_id = ?)"
        " OR (m.sender_id = ? AND d.recipient_id = ?)) ORDER BY d.id",
        a, b, b, a,
    )  # fmt: skip


def own_words(tx: Tx, recipient_id: int, hook_id: str) -> list[Mail]:
    """Open deliveries to a row of what was sent, verified, over this hook id (MOVE-12)."""
    return _mails(
        tx,
        "WHERE d.recipient_id = ? AND d.state IN ('sent','held','taken','delivered') AND m.sender_hook_id = ?"
        " AND m.sender_verified = 1 ORDER BY d.id",
        recipient_id,
        hook_id,
    )
