"""Files on a task (page 40): the owner puts them there, takes them off, and gets them back as they were.

Their content is kept by its SHA-256 and held against it whenever it is given out. Agents are not given files: a comment
names a path for that.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

from relaybay.answers import word
from relaybay.domain import Outcome, Refusal
from relaybay.rules import names
from relaybay.rules.text import blank, name_line, name_literal
from relaybay.service.arguments import invalid
from relaybay.service.clock import rfc3339
from relaybay.service.relay import Relay
from relaybay.service.tasks import unknown
from relaybay.specs import limit
from relaybay.store import attachments, tasks
from relaybay.store.attachments import AttachmentRow
from relaybay.store.tasks import TaskRow
from relaybay.store.transaction import Tx

_TOKEN: Final = r"[a-z0-9][a-z0-9!#$&^_.+-]{0,62}"  # noqa: S105 - of a media type.
_MEDIA_TYPE: Final = re.compile(f"{_TOKEN}/{_TOKEN}")
UNKNOWN_TYPE: Final = "application/octet-stream"
_KEY_DIGITS_MAX: Final = 18


def view(row: AttachmentRow) -> dict[str, Any]:
    """A file as pages name it."""
    return {
        "id": row.id,
        "name": name_line(row.name),
        "media_type": row.media_type,
        "size_bytes": row.size_bytes,
        "sha256": row.sha256,
        "created_at": rfc3339(row.created_us),
    }


def attach(tx: Tx, *, task: str, name: str, media_type: str, content: bytes) -> Outcome:
    """The owner puts a file to a task. Of a path only its last part is kept; a media type that is none is unknown."""
    found = tasks.get(tx, task)
    if found is None:
        return unknown(task, owner=True)
    kept = names.one_line(re.split(r"[/\\]", name)[-1])
    wrong = _wrong(kept, content)
    if wrong is not None:
        return Outcome(refusal=wrong)
    there, most = len(attachments.of_task(tx, found.id)), limit("attachments_per_task_max")
    if there >= most:
        return Outcome(refusal=Refusal("attachment.too_many", "40", {"task": found.task_key, "most": most}))
    given = media_type.strip().lower()
    row = attachments.add(
        tx,
        found.id,
        name=kept,
        media_type=given if _MEDIA_TYPE.fullmatch(given) else UNKNOWN_TYPE,
        sha256=hashlib.sha256(content).hexdigest(),
        content=content,
    )
    tx.emit("task.updated", task=found.task_key, project=found.project, changed=["files"], by="owner")
    said = word("attachment.added", name=name_literal(row.name), task=found.task_key).text
    return Outcome(data={**view(row), "task": found.task_key, "text": said})


def _wrong(name: str, content: bytes) -> Refusal | None:
    if blank(name):
        return invalid("file", "why.blank")
    if len(name) > limit("name_chars_max"):
        return invalid("file", "why.too_long", chars=len(name), chars_max=limit("name_chars_max"))
    size, most = len(content), limit("attachment_bytes_max")
    if size > most:
        return Refusal("attachment.too_large", "40", {"size": size, "most": most})
    return None


def of_task(tx: Tx, task: TaskRow, number: str) -> AttachmentRow | Refusal:
    """A file of a task by its number, as pages and scripts name it."""
    known = number.isascii() and number.isdigit() and len(number) <= _KEY_DIGITS_MAX
    row = attachments.get(tx, task.id, int(number)) if known else None
    if row is None:
        return Refusal("attachment.unknown", "40", {"number": name_literal(number), "task": task.task_key})
    return row


def _named(tx: Tx, task: str, number: str) -> tuple[str, AttachmentRow] | Outcome:
    found = tasks.get(tx, task)
    if found is None:
        return unknown(task, owner=True)
    row = of_task(tx, found, number)
    return Outcome(refusal=row) if isinstance(row, Refusal) else (found.task_key, row)


def fetch(tx: Tx, _relay: Relay, *, task: str, number: str) -> Outcome:
    """A file with its `content` (bytes); refused when the disk has changed it (FLT-8)."""
    named = _named(tx, task, number)
    if isinstance(named, Outcome):
        return named
    _, row = named
    content = attachments.content(tx, row.sha256)
    if hashlib.sha256(content).hexdigest() != row.sha256:
        return Outcome(refusal=Refusal("attachment.damaged", "FLT-8", {"name": name_literal(row.name)}))
    return Outcome(data={**view(row), "content": content})


def detach(tx: Tx, *, task: str, number: str) -> Outcome:
    """The owner takes a file off a task."""
    named = _named(tx, task, number)
    if isinstance(named, Outcome):
        return named
    key, row = named
    attachments.remove(tx, row)
    tx.emit("task.updated", task=key, project=key.rpartition("-")[0], changed=["files"], by="owner")
    said = word("attachment.removed", name=name_literal(row.name), task=key).text
    return Outcome(data={"task": key, "text": said})
