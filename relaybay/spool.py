"""The reader's side of the spool: takes the file that the command hook left, sealed, and gives its events.

The protocol, and why nothing is lost or applied twice, is told in `relaybay/client/spool_writer.py`. Here is
the server's half: rename, seal, read, apply (the caller), set the rest aside, unlink last. A crash between
any two steps repeats work that the event's id makes harmless, so only one process may take from a folder at a
time: the one that has the data folder's lock. No rule of sessions or messages belongs here, and no database.

Files of the folder: `spool` (being written), `imp-*` (taken, not yet applied), `spool.bad` (what was no
record), `dropped` (one `x` for each event that the hook could not write).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

FILE_BYTES_MAX = 64 << 20  # The hook stops at 16 MiB; a file this big is not of its making.
BAD_BYTES_MAX = 16 << 20
DROPPED_BYTES_MAX = 2 << 20
DROPPED_MARK = b"x"
TAKEN_GLOB = "imp-*"

# The id is a ULID's digits; the payload's length is in bytes and tells a record that was cut short.
RECORD = re.compile(rb"R1 ([0-9A-HJKMNP-TV-Z]{26}) ([0-9]{1,17}) ([a-z0-9-]{1,32}) ([0-9]{1,8}) (\{.*\})")
NO_SYMLINK = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class SpoolRefused(Exception):  # noqa: N818 - named for what happened.
    """A file or folder of the spool is not what SPOOL-5 asks for; `str` of it is `name: why`."""


@dataclass(frozen=True, slots=True)
class SpooledEvent:
    """One event as the hook left it: without texts, with the headers that tell its client's process.

    `headers` has lower-case names (`x-relaybay-client-pid` …), as a request has them. `body` is the event
    with the kept fields alone and, of a prompt, `prompt_kind` in place of its text.
    """

    id: str
    at_us: int
    client: str
    headers: dict[str, str]
    body: dict[str, object]


@dataclass(slots=True)
class Batch:
    """One taken file. `done()` must follow once every event is committed, else the batch comes again at next
    start.
    """

    path: Path
    events: tuple[SpooledEvent, ...]
    chunks: tuple[bytes, ...] = field(repr=False)

    @property
    def bad(self) -> int:
        """How many parts of the file were no record (SPOOL-3)."""
        return len(self.chunks)

    def done(self) -> None:
        """Sets the bad parts aside and removes the file, in that order. Raises OSError when it cannot be removed.

        Where the parts cannot be kept they are let go, for a torn record brings nothing back and must not hold up the
        whole ones; `sizes` names the file that was in the way.
        """
        if self.chunks:
            with contextlib.suppress(OSError, SpoolRefused):
                _set_aside(self.path.parent, self.chunks)
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Sizes:
    """What `doctor` shows of a spool. `faults` are `name: why`, one for each file that SPOOL-5 refuses."""

    waiting_bytes: int
    taken_bytes: int
    bad_bytes: int
    dropped: int
    faults: tuple[str, ...]


def prepare(folder: Path) -> None:
    """Makes the folder (0700) and a counter of drops that already has a block, for the day the disk is full.

    Raises SpoolRefused for a folder that is another's or open to others, OSError when it cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_folder(folder)
    try:
        fd = os.open(folder / "dropped", os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_SYMLINK, 0o600)
    except FileExistsError:
        return
    with os.fdopen(fd, "wb") as counter:
        counter.write(b"\n")


def take(folder: Path) -> list[Batch]:
    """Takes what lies in the folder: files that an earlier run left first, then the present one.

    A folder that is not there holds nothing. Raises SpoolRefused when the folder itself is not what SPOOL-5
    asks for. A single file that is refused stays where it is, untouched, and `sizes` names it.
    """
    try:
        _check_folder(folder)
    except FileNotFoundError:
        return []
    try:
        _check_file(folder / "spool", (folder / "spool").lstat())
        (folder / "spool").rename(folder / f"imp-{time.time_ns():020d}-{os.getpid()}")
    except (FileNotFoundError, SpoolRefused):
        pass  # Nothing new, or nothing that may be touched; older files are taken all the same.
    batches = []
    for path in sorted(folder.glob(TAKEN_GLOB)):
        try:
            events, chunks = parse(_sealed_bytes(path))
        except (FileNotFoundError, SpoolRefused):
            continue
        batches.append(Batch(path, _in_order(events), tuple(chunks)))
    return batches


def parse(data: bytes) -> tuple[list[SpooledEvent], list[bytes]]:
    """Splits a spool file into (whole records as they stand, parts that are none). Pure; never raises."""
    events: list[SpooledEvent] = []
    chunks: list[bytes] = []
    for line in data.split(b"\n"):
        if not line:
            continue
        event = _record(line)
        if event is None:
            chunks.append(line)
        else:
            events.append(event)
    return events, chunks


def sizes(folder: Path) -> Sizes:
    """Looks at a spool without touching it. A folder that is not there is an empty spool. Raises nothing."""
    faults: list[str] = []
    try:
        _check_folder(folder)
    except FileNotFoundError:
        return Sizes(0, 0, 0, 0, ())
    except (OSError, SpoolRefused) as fault:
        return Sizes(0, 0, 0, 0, (str(fault),))
    waiting = _size(folder / "spool", faults)
    taken = sum(_size(path, faults) for path in sorted(folder.glob(TAKEN_GLOB)))
    bad = _size(folder / "spool.bad", faults)
    dropped = 0
    if _size(folder / "dropped", faults):
        dropped = _read(folder / "dropped", DROPPED_BYTES_MAX).count(DROPPED_MARK)
    return Sizes(waiting, taken, bad, dropped, tuple(faults))


def _in_order(events: Iterable[SpooledEvent]) -> tuple[SpooledEvent, ...]:
    """By the time they happened, each id once: a hook that met the seal has written twice."""
    once = {event.id: event for event in events}
    return tuple(sorted(once.values(), key=lambda event: (event.at_us, event.id)))


def _record(line: bytes) -> SpooledEvent | None:
    """One record, or None for a line that is none or not whole."""
    found = RECORD.fullmatch(line)
    if found is None:
        return None
    event_id, at_us, client, length, payload = found.groups()
    if int(length) != len(payload):
        return None
    try:
        value = json.loads(payload, parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # Half a surrogate pair could be stored nowhere.
    except (ValueError, RecursionError):
        return None
    headers, body = value.get("headers"), value.get("body")
    if not isinstance(headers, dict) or not isinstance(body, dict):
        return None
    if not all(isinstance(text, str) for text in headers.values()):
        return None
    if not isinstance(body.get("session_id"), str) or not isinstance(body.get("hook_event_name"), str):
        return None
    return SpooledEvent(event_id.decode(), int(at_us), client.decode(), headers, body)


def _no_constant(word: str) -> NoReturn:
    raise ValueError(word)


def _sealed_bytes(path: Path) -> bytes:
    """Seals a taken file and reads it. The seal comes first: what is written after the reading is written
    again.
    """
    _check_file(path, path.lstat())  # Before it is opened, which a FIFO or a device may notice.
    fd = os.open(path, os.O_RDONLY | NO_SYMLINK)
    with os.fdopen(fd, "rb") as file:
        _check_file(path, os.fstat(fd))
        os.fchmod(fd, 0o400)
        return file.read()


def _check_folder(folder: Path) -> None:
    seen = folder.lstat()
    if not stat.S_ISDIR(seen.st_mode):
        raise SpoolRefused(f"{folder.name}: not a folder")
    if seen.st_uid != os.geteuid():
        raise SpoolRefused(f"{folder.name}: belongs to another user")
    if seen.st_mode & 0o077:
        raise SpoolRefused(f"{folder.name}: open to other users")


def _check_file(path: Path, seen: os.stat_result) -> None:
    if not stat.S_ISREG(seen.st_mode):
        raise SpoolRefused(f"{path.name}: not a regular file")
    if seen.st_uid != os.geteuid():
        raise SpoolRefused(f"{path.name}: belongs to another user")
    if seen.st_mode & 0o077:
        raise SpoolRefused(f"{path.name}: open to other users")
    if seen.st_nlink > 1:
        raise SpoolRefused(f"{path.name}: has a second name")
    if seen.st_size > FILE_BYTES_MAX:
        raise SpoolRefused(f"{path.name}: over {FILE_BYTES_MAX} bytes")


def _size(path: Path, faults: list[str]) -> int:
    """A file's size; 0 with a fault noted when it is refused, 0 when it is not there."""
    try:
        seen = path.lstat()
        _check_file(path, seen)
    except FileNotFoundError:
        return 0
    except (OSError, SpoolRefused) as fault:
        faults.append(str(fault))
        return 0
    return seen.st_size


def _read(path: Path, bytes_max: int) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | NO_SYMLINK)
    except OSError:
        return b""
    with os.fdopen(fd, "rb") as file:
        return file.read(bytes_max)


def _set_aside(folder: Path, chunks: Iterable[bytes]) -> None:
    """Appends to `spool.bad` as far as its bound allows; the count is kept by the caller whatever fits."""
    fd = os.open(folder / "spool.bad", os.O_WRONLY | os.O_APPEND | os.O_CREAT | NO_SYMLINK, 0o600)
    with os.fdopen(fd, "ab") as file:
        seen = os.fstat(fd)
        _check_file(folder / "spool.bad", seen)
        room = BAD_BYTES_MAX - seen.st_size
        for chunk in chunks:
            room -= len(chunk) + 1
            if room < 0:
                break
            file.write(chunk + b"\n")
