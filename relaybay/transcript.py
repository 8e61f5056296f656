"""Reads a client's own transcript, for what proves that a text reached a session's context (page 20, CTX-1, 3, 4, 5).

Only files below the client's own folder are opened, by descriptor and without following a link; a read is bounded. Of
what stands there only ids are looked for: no text is kept, stored or logged. Claude Code's member names, as measured on
2.1.197 and 2.1.332, are known here and nowhere else. No rule belongs here (`rules/context.py`), and no database.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from relaybay.rules.context import FileFacts, judge_file

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_INTERRUPTED = "[Request interrupted by user"
_FRAME = b"[relaybay"
#: A line without any of these says nothing that is asked for, and is not parsed.
_SIGNS = (b'"assistant"', _FRAME, _INTERRUPTED.encode())
_TOO_LARGE = "<persisted-output>"
#: Where a text stands although nobody showed it to the model, or where the model speaks itself.
_NO_PROOF_TYPES = {"queue-operation", "system", "assistant", "last-prompt", "summary"}
_NO_PROOF_ATTACHMENTS = {"hook_success", "hook_blocking_error", "hook_non_blocking_error", "hook_cancelled"}
_PROOF_ATTACHMENTS = {"hook_additional_context", "queued_command"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line that says something: where it begins in the file, and what it is.

    `shown`: `text` reached the model. `unclear`: `text` stands in a line of an unknown kind. `step`: the model spoke;
    `step_id` is its message's id. `interrupted`: the user broke the turn off at `at_us` (0 when the line says none).
    `foreign`: the line is of another session.
    """

    kind: Literal["shown", "unclear", "step", "interrupted", "foreign"]
    offset: int
    text: str = ""
    step_id: str = ""
    at_us: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """What one read came to. `file` is `judge_file`'s word; `size` the file's length in bytes; `next` where the next
    read begins; `entries` what the whole lines from the asked place on say.
    """

    file: Literal["read", "none", "foreign"]
    size: int = 0
    next: int = 0
    entries: tuple[Entry, ...] = ()


class Transcripts:
    """The transcripts of the client whose own folders these are. Without a folder nothing is ever read (CTX-3)."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._folders = tuple(folders)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where transcripts are looked for."""
        return self._folders

    def size(self, path: str) -> int:
        """How long a transcript is now, in bytes; 0 where there is none to read. One question to the system."""
        if self._root_of(path) is None:
            return 0
        try:
            found = Path(path).lstat()
        except (OSError, ValueError):
            return 0
        return found.st_size if stat.S_ISREG(found.st_mode) else 0

    def read(self, path: str, hook_id: str, begin: int, most: int) -> Piece:
        """The lines of a session's transcript from byte `begin` on, as far as `most` bytes hold them whole.

        A `begin` in the middle of a line belongs to that line, which is left out. Never raises.
        """
        facts, handle = self._open(path)
        verdict = judge_file(facts)
        if handle is None or verdict.outcome != "read":
            if handle is not None:
                os.close(handle)
            return Piece(verdict.outcome)  # type: ignore[arg-type]
        try:
            with os.fdopen(handle, "rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                if begin >= size:
                    return Piece("read", size, begin)
                # The byte before tells whether the place is the beginning of a line.
                file.seek(max(begin - 1, 0))
                data = file.read(most + 1) or b""
        except OSError:
            return Piece("none")
        return _piece(data, hook_id, begin, size, most)

    def _root_of(self, path: str) -> str | None:
        """The client's folder that a path lies in by its words alone; None when it lies in none."""
        if not path.startswith("/") or "\0" in path:
            return None
        plain = os.path.normpath(path)
        for folder in self._folders:
            for root in {str(folder), os.path.realpath(folder)}:
                if plain.startswith(root.rstrip("/") + "/"):
                    return root
        return None

    def _open(self, path: str) -> tuple[FileFacts, int | None]:
        root = self._root_of(path)
        handle: int | None = None
        symlink = regular = own = False
        if root is not None:
            parts = os.path.relpath(os.path.normpath(path), root).split("/")
            handle, symlink = _walk(root, parts)
            if handle is not None:
                found = os.fstat(handle)
                regular, own = stat.S_ISREG(found.st_mode), found.st_uid == os.getuid()
        facts = FileFacts(
            named=bool(path),
            below_folder=root is not None,
            symlink=symlink,
            regular=regular,
            own=own,
            readable=handle is not None,
            other_id=False,
        )
        return facts, handle


def _walk(root: str, parts: list[str]) -> tuple[int | None, bool]:
    """Opens a file part by part below a folder. (descriptor or None, whether a part is a symbolic link)."""
    folder: int | None = None
    try:
        # Only the client's folder itself may be a link: people keep their dotfiles in a repository.
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for part in parts[:-1]:
            inner = os.open(part, _OPEN | os.O_DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], _OPEN, dir_fd=folder), False
    except OSError:
        return None, _has_link(root, parts)
    finally:
        if folder is not None:
            os.close(folder)


def _has_link(root: str, parts: list[str]) -> bool:
    for count in range(1, len(parts) + 1):
        with contextlib.suppress(OSError):
            if Path(root, *parts[:count]).is_symlink():
                return True
    return False


def _piece(data: bytes, hook_id: str, begin: int, size: int, most: int) -> Piece:
    """`data` begins one byte before `begin`, but for a `begin` of 0."""
    at = begin
    if begin > 0:
        first = data.find(b"\n")
        if first < 0:
            return Piece("read", size, begin + most if len(data) > most else begin)
        data, at = data[first + 1 :], begin + first
    whole = data.rfind(b"\n") + 1
    if not whole and len(data) >= most:
        # A line longer than a read: nothing that is asked for is so long, and it must not be read for ever.
        return Piece("read", size, at + len(data))
    entries: list[Entry] = []
    for line in data[:whole].split(b"\n")[:-1]:
        entries += entry_of(line, hook_id, at)
        at += len(line) + 1
    foreign = any(entry.kind == "foreign" for entry in entries)
    return Piece("foreign" if foreign else "read", size, at, tuple(entries))


def entry_of(line: bytes, hook_id: str, offset: int = 0) -> list[Entry]:
    """What one line says: one entry, or none."""
    if not any(sign in line for sign in _SIGNS):
        return []
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        # A torn line says nothing. A frame in one that no JSON reader takes is of no kind that is known.
        return [Entry("unclear", offset, line.decode(errors="replace"))] if _FRAME in line else []
    if not isinstance(said, dict) or said.get("isSidechain") is True:
        return []
    owner = said.get("sessionId")
    if isinstance(owner, str) and owner != hook_id:
        return [Entry("foreign", offset)]
    return list(_entries(said, offset, known=isinstance(owner, str)))


def _entries(said: dict[str, Any], offset: int, *, known: bool) -> Iterator[Entry]:
    kind = said.get("type")
    message = said.get("message")
    if kind == "assistant":
        step_id = message.get("id") if isinstance(message, dict) else None
        if known and isinstance(step_id, str) and step_id:
            yield Entry("step", offset, step_id=step_id)
        return
    if kind in _NO_PROOF_TYPES:
        return
    attachment = said.get("attachment")
    if kind == "attachment" and isinstance(attachment, dict):
        yield from _attachment(attachment, offset, known=known)
    elif kind == "user":
        yield from _user(said, message, offset, known=known)
    else:
        yield from _texts("unclear", said, offset)


def _attachment(attachment: dict[str, Any], offset: int, *, known: bool) -> Iterator[Entry]:
    kind = attachment.get("type")
    if kind in _NO_PROOF_ATTACHMENTS:
        return
    yield from _texts("shown" if known and kind in _PROOF_ATTACHMENTS else "unclear", attachment, offset)


def _user(said: dict[str, Any], message: object, offset: int, *, known: bool) -> Iterator[Entry]:
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    if any(block.get("type") == "tool_result" for block in blocks):
        # What a tool answered: the list of one's messages holds ids too.
        return
    if known and len(blocks) == 1 and str(blocks[0].get("text", "")).startswith(_INTERRUPTED):
        yield Entry("interrupted", offset, at_us=_time(said.get("timestamp")))
        return
    origin = said.get("origin")
    woken = isinstance(origin, dict) and origin.get("kind") == "task-notification"
    yield from _texts("shown" if known and woken else "unclear", content, offset)


def _texts(kind: Literal["shown", "unclear"], value: object, offset: int) -> Iterator[Entry]:
    """Each text in a value that holds a frame's sign; not one that the client put away for its size."""
    if isinstance(value, str):
        if _FRAME.decode() in value and not value.startswith(_TOO_LARGE):
            yield Entry(kind, offset, value)
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(kind, inner, offset)


def _time(value: object) -> int:
    """An RFC 3339 time in microseconds since the epoch; 0 when it is none."""
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
        return int(at.timestamp() * 1_000_000) if at is not None and at.tzinfo is not None else 0
    except (ValueError, OverflowError):
        return 0
