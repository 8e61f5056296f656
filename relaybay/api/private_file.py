"""Small files that only the server's own user may read or write: the keys, and the logins that outlive a start."""

from __future__ import annotations

import os
import stat
from pathlib import Path

# O_NONBLOCK, or a FIFO put there by somebody would hold the start for ever.
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class NotPrivate(Exception):  # noqa: N818 - says the condition.
    """The file is there and is not safe to use; the message says why."""


def read_private(name: str | Path, bytes_max: int, *, folder: int | None = None) -> bytes | None:
    """The first bytes of a plain file of this user's that nobody else can look into, never through a link (attack case
    24); None when there is none. `folder` is the descriptor that `name` is looked for in. Raises NotPrivate.
    """
    try:
        file = os.open(name, _FLAGS, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotPrivate(f"cannot be opened as a plain file ({error.strerror})") from error
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode):
            raise NotPrivate("is no plain file")
        if facts.st_uid != os.getuid():
            raise NotPrivate("belongs to another user")
        if facts.st_mode & 0o077:
            raise NotPrivate(f"can be read by others (mode {facts.st_mode & 0o777:04o}, not 0600)")
        return os.read(file, bytes_max)
    finally:
        os.close(file)
