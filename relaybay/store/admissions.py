"""What table ADM counts at one recipient: the last minute's admissions, and what waits (page 50)."""

from __future__ import annotations

from dataclasses import dataclass

from relaybay.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Author:
    """Whose messages count together: a row's, or a script's by its label."""

    row_id: int | None = None
    label: str = ""


def _by(author: Author) -> tuple[str, int | str]:
    if author.row_id is not None:
        return "m.sender_id = ?", author.row_id
    return "m.sender_kind = 'script' AND m.sender_title = ?", author.label


def admitted(tx: Tx, recipient_id: int, since_us: int, author: Author | None = None) -> list[int]:
    """When messages were let in here since then, of one author or of all (µs)."""
    who, values = ("1 = 1", []) if author is None else (_by(author)[0], [_by(author)[1]])
    found = tx.rows(
        "SELECT d.admitted_us FROM delivery d JOIN message m ON m.id = d.message_id"  # noqa: S608 - own words.
        f" WHERE d.recipient_id = ? AND d.admitted_us > ? AND {who}",
        recipient_id,
        since_us,
        *values,
    )
    return [int(r[0]) for r in found]


def same_text(tx: Tx, recipient_id: int, since_us: int, author: Author, body_hash: str) -> list[int]:
    """When an equal text of this author was let in here since then (ADM-3), whatever its audience (µs)."""
    who, value = _by(author)
    found = tx.rows(
        "SELECT d.admitted_us FROM delivery d JOIN message m ON m.id = d.message_id"  # noqa: S608 - own words.
        f" WHERE d.recipient_id = ? AND d.admitted_us > ? AND m.body_hash = ? AND {who}",
        recipient_id,
        since_us,
        body_hash,
        value,
    )
    return [int(r[0]) for r in found]


def waiting(tx: Tx, recipient_id: int) -> tuple[int, int]:
    """How many deliveries wait here in `sent`, `held` or `taken`, and the bytes of their bodies together."""
    count, size = tx.rows(
        "SELECT count(*), coalesce(sum(length(CAST(m.body AS BLOB))), 0) FROM delivery d JOIN message m"
        " ON m.id = d.message_id WHERE d.recipient_id = ? AND d.state IN ('sent','held','taken')",
        recipient_id,
    )[0]
    return int(count), int(size)


def published(tx: Tx, sender_id: int, since_us: int) -> list[int]:
    """When this row published since then (µs): what `publish_per_minute` counts."""
    found = tx.rows(
        "SELECT sent_us FROM message WHERE sender_id = ? AND sent_us > ? AND audience <> 'direct'", sender_id, since_us
    )
    return [int(r[0]) for r in found]
