"""Files that belong to somebody else, written so that no reader ever sees half of one.

What belongs here: reading, locking and replacing single files. What does not: what is in them.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

READ_BYTES_MAX = 64 << 20
LOCK_WAIT_S = 3.0
CLIENT_LOCK_STALE_S = 10.0
"""The client takes its own lock for dead after this long without a sign of life, so setup does as well."""


class BusyError(OSError):
    """Somebody else holds the lock of a file. `path` is the file's."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is locked")
        self.path = path


class NotAFileError(OSError):
    """There is a folder, a pipe, or something huge where a settings file belongs."""


def read_file(path: Path) -> tuple[bytes, int] | None:
    """The bytes and permission bits of a file; None when there is none.

    Raises:
        NotAFileError: it is no regular file, or is over 64 MiB.
        OSError: it cannot be read.
    """
    try:
        # Without O_NONBLOCK opening a pipe would wait for its writer.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > READ_BYTES_MAX:
            raise NotAFileError(str(path))
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(), stat.S_IMODE(seen.st_mode)
    finally:
        os.close(handle)


def write_file(path: Path, data: bytes, mode: int) -> bool:
    """Replaces a file, or makes it: a temporary file beside it, flushed to disk, renamed over it.

    Returns:
        Whether its folder had to be made.

    Raises:
        OSError: it could not be written; the old file is as it was.
    """
    made = not path.parent.is_dir()
    if made:
        path.parent.mkdir(parents=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".relaybay", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            _keep_owner(path, handle)
            os.fchmod(handle, mode)
            file.write(data)
            file.flush()
            os.fsync(handle)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
    sync_folder(path.parent)
    return made


def _keep_owner(path: Path, handle: int) -> None:
    """Gives the new file the old one's owner, which matters when root runs setup for somebody."""
    try:
        old = path.stat()
    except FileNotFoundError:
        return
    if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):
            os.fchown(handle, old.st_uid, old.st_gid)


def sync_folder(folder: Path) -> None:
    """Makes a rename or a removal in a folder last."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keeps other relaybays, and the client itself, off a file for a moment.

    Raises:
        BusyError: somebody else has it for longer than setup waits.
    """
    if not path.parent.is_dir():
        yield  # Nobody can be at work on a file in a folder that does not exist.
        return
    # Not `NAME.lock`: that name is the client's own, and for the client it has to be a folder.
    lock_path = path.with_name(f".{path.name}.relaybay-lock")
    lock = FileLock(lock_path, timeout=LOCK_WAIT_S)
    try:
        lock.acquire()
    except Timeout:
        raise BusyError(str(path)) from None
    try:
        with _client_lock(path):
            yield
    finally:
        # Gone before it is released, so that no lock file stays beside the person's own. Two relaybays with the
        # same home are kept apart by the lock in its state folder, which stays.
        lock_path.unlink(missing_ok=True)
        lock.release()


@contextmanager
def _client_lock(path: Path) -> Iterator[None]:
    """The lock that Claude Code itself takes around its writes of `.claude.json`: a folder named after the file."""
    if path.name not in {".claude.json", ".config.json"}:
        yield
        return
    folder = path.with_name(path.name + ".lock")
    end = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            folder.mkdir()
            break
        except FileExistsError:
            if _stale(folder):
                yield  # Its holder is dead; the client will clear it away.
                return
            if time.monotonic() > end:
                raise BusyError(str(path)) from None
            time.sleep(0.05)
    try:
        yield
    finally:
        with suppress(OSError):
            folder.rmdir()


def _stale(folder: Path) -> bool:
    try:
        return time.time() - folder.stat().st_mtime > CLIENT_LOCK_STALE_S
    except FileNotFoundError:
        return False
