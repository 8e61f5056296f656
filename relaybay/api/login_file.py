"""The browser logins that outlive the server: `run/logins`, digests and times alone.

A board that stands open all day is still logged in after a restart. Who could read the file gains nothing by it: a
digest opens no door. Whatever is wrong with the file costs logins, never the start.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import secrets
from pathlib import Path
from typing import Final

from relaybay.api.private_file import NotPrivate, read_private

FILE: Final = "logins"
_READ_MAX: Final = 64 * 1024
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_VERSION: Final = 1
_log = logging.getLogger(__name__)


class LoginFile:
    """The file at `path`. The folder around it is the key folder's, which only its owner can look into."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[bytes, int]:
        """Digest of each cookie → microseconds since the epoch at which its login began; nothing from a file that is
        damaged or not ours alone.
        """
        try:
            content = read_private(self.path, _READ_MAX)
            return {} if content is None else _logins(content)
        except (NotPrivate, OSError, ValueError, RecursionError) as error:
            _log.warning("browsers have to log in again: %s: %s", self.path, error)
            return {}

    def write(self, logins: dict[bytes, int]) -> None:
        """Replaces the file in one step. When it can't be written it goes: these logins end with the server then, and
        none that was ended comes back with the next one.
        """
        text = json.dumps({"v": _VERSION, "logins": {key.hex(): at_us for key, at_us in logins.items()}})
        aside = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        try:
            file = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(file, "w", encoding="ascii") as out:
                out.write(text)
                out.flush()
                os.fsync(file)
            aside.replace(self.path)
        except OSError as error:
            _log.warning("the next start knows no browser, each has to log in again: %s: %s", self.path, error)
            for path in (aside, self.path):
                with contextlib.suppress(OSError):
                    path.unlink()


def _logins(content: bytes) -> dict[bytes, int]:
    """Raises ValueError for what `write` never wrote."""
    found = json.loads(content)
    logins = found.get("logins") if isinstance(found, dict) and found.get("v") == _VERSION else None
    known = isinstance(logins, dict) and all(_DIGEST.fullmatch(key) and type(at) is int for key, at in logins.items())
    if logins is None or not known:
        raise ValueError("it holds something that is no login")
    return {bytes.fromhex(key): at_us for key, at_us in logins.items()}
