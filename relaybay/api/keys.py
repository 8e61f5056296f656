"""The key files under `run/`: the bearer token, the hook key and the owner's key.

A key is 256 random bits in URL-safe Base64. Its file is opened by descriptor, never through a link, and only used
when it is a plain file of ours that nobody else can read (page 75, Doors and keys; attack case 24).
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from relaybay.api.private_file import NotPrivate, read_private
from relaybay.errors import RelaybayError

KEY_BYTES = 32
KeyName = Literal["token", "hook_key", "owner_key"]
FILES: dict[KeyName, str] = {"token": "token", "hook_key": "hook.key", "owner_key": "owner.key"}
_SHAPE = re.compile(r"[A-Za-z0-9_-]{43,128}")
_READ_MAX = 256


class KeyFileRefused(RelaybayError):  # noqa: N818 - says the condition.
    """A key file or its folder is not safe to use; `path` and `why` say what to mend."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


@dataclass(frozen=True, slots=True)
class Keys:
    """What opens the doors."""

    token: str = field(repr=False)
    hook_key: str = field(repr=False)
    owner_key: str = field(repr=False)


class KeyFolder:
    """The folder `run/` with its key files. Makes what is missing, refuses what is unsafe."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: tuple[tuple[int, int], ...] = ()

    def path(self, name: KeyName) -> Path:
        """Where a key's file stands."""
        return self.folder / FILES[name]

    def load(self) -> Keys:
        """All keys; missing files are made. Raises KeyFileRefused."""
        with self._open() as folder:
            # Stamped before reading: a key replaced in between is then seen at the next refresh.
            self._seen = self._stamps(folder)
            token, hook_key, owner_key = (self._read_or_make(folder, name) for name in FILES)
        return Keys(token, hook_key, owner_key)

    def refresh(self) -> Keys | None:
        """The keys anew when a file was replaced since they were last read, else None. Raises KeyFileRefused."""
        with self._open() as folder:
            if self._stamps(folder) == self._seen:
                return None
        return self.load()

    def rotate(self, name: KeyName) -> str:
        """Replaces one key in a single step and returns the new one; a running server notices by `refresh`."""
        with self._open() as folder:
            key, temporary = self._write_temporary(folder, name)
            os.replace(temporary, FILES[name], src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
        return key

    @contextlib.contextmanager
    def _open(self) -> Iterator[int]:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise KeyFileRefused(self.folder, f"not a folder of its own ({error.strerror})") from error
        try:
            facts = os.fstat(folder)
            if facts.st_uid != os.getuid():
                raise KeyFileRefused(self.folder, "belongs to another user")
            if facts.st_mode & 0o077:
                os.fchmod(folder, 0o700)
            yield folder
        finally:
            os.close(folder)

    def _read_or_make(self, folder: int, name: KeyName) -> str:
        key = self._read(folder, name)
        if key is None:
            _, temporary = self._write_temporary(folder, name)
            # A link fails when the name exists: of two servers that start together, one key wins.
            with contextlib.suppress(FileExistsError):
                os.link(temporary, FILES[name], src_dir_fd=folder, dst_dir_fd=folder)
            os.unlink(temporary, dir_fd=folder)
            os.fsync(folder)
            key = self._read(folder, name)
        if key is None:
            raise KeyFileRefused(self.path(name), "vanished while it was made")
        return key

    def _read(self, folder: int, name: KeyName) -> str | None:
        path = self.path(name)
        try:
            found = read_private(FILES[name], _READ_MAX, folder=folder)
        except NotPrivate as error:
            raise KeyFileRefused(path, str(error)) from error
        if found is None:
            return None
        content = found.decode("ascii", "replace").strip()
        if not _SHAPE.fullmatch(content):
            raise KeyFileRefused(path, "does not hold a key; remove it and start again")
        return content

    def _write_temporary(self, folder: int, name: KeyName) -> tuple[str, str]:
        key = secrets.token_urlsafe(KEY_BYTES)
        temporary = f".{FILES[name]}.{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(temporary, flags, 0o600, dir_fd=folder)
        try:
            os.fchmod(file, 0o600)
            os.write(file, key.encode("ascii") + b"\n")
            os.fsync(file)
        finally:
            os.close(file)
        return key, temporary

    def _stamps(self, folder: int) -> tuple[tuple[int, int], ...]:
        stamps = []
        for file in FILES.values():
            try:
                facts = os.stat(file, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                stamps.append((0, 0))
            else:
                stamps.append((facts.st_ino, facts.st_mtime_ns))
        return tuple(stamps)
