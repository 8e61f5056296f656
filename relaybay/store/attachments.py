"""Files that the owner put to a task: what each is, and its content once for each hash."""

from __future__ import annotations

from dataclasses import dataclass, fields

from relaybay.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class AttachmentRow:
    """One file of a task. Size in bytes, time in µs."""

    id: int
    task_id: int
    name: str
    media_type: str
    size_bytes: int
    sha256: str
    created_us: int


_SELECT = f"SELECT {', '.join(f.name for f in fields(AttachmentRow))} FROM attachment"  # noqa: S608 - own names.


def of_task(tx: Tx, task_id: int) -> list[AttachmentRow]:
    """A task's files, in the order in which they came."""
    return [AttachmentRow(*r) for r in tx.rows(f"{_SELECT} WHERE task_id = ? ORDER BY id", task_id)]


def get(tx: Tx, task_id: int, key: int) -> AttachmentRow | None:
    """A file of a task by its number."""
    found = tx.row(f"{_SELECT} WHERE task_id = ? AND id = ?", task_id, key)
    return None if found is None else AttachmentRow(*found)


def add(tx: Tx, task_id: int, *, name: str, media_type: str, sha256: str, content: bytes) -> AttachmentRow:
    """Puts a file to a task; content that is there already is kept once."""
    tx.run(
        "INSERT INTO attachment_content (sha256, content) VALUES (?, ?) ON CONFLICT (sha256) DO NOTHING",
        sha256,
        content,
    )
    key = tx.insert(
        "attachment",
        task_id=task_id,
        name=name,
        media_type=media_type,
        size_bytes=len(content),
        sha256=sha256,
        created_us=tx.now,
    )
    found = get(tx, task_id, key)
    assert found is not None
    return found


def content(tx: Tx, sha256: str) -> bytes:
    """The content with this hash; nothing where it is gone."""
    found = tx.value("SELECT content FROM attachment_content WHERE sha256 = ?", sha256)
    return bytes(found) if found is not None else b""


def remove(tx: Tx, attachment: AttachmentRow) -> None:
    """Takes a file off its task; its content goes with the last that has it."""
    tx.run("DELETE FROM attachment WHERE id = ?", attachment.id)
    tx.run(
        "DELETE FROM attachment_content WHERE sha256 = ? AND NOT EXISTS"
        " (SELECT 1 FROM attachment WHERE attachment.sha256 = attachment_content.sha256)",
        attachment.sha256,
    )
