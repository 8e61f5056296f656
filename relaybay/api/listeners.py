"""The two listening sockets, bound by ourselves: TCP on loopback, and the Unix socket in `run/`."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import logging
import os
import secrets
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from relaybay.answers import Answer, word
from relaybay.errors import RelaybayError

BACKLOG: Final = 1024
# sun_path holds 108 bytes on Linux with the closing NUL (unix(7)), 104 on macOS.
UNIX_PATH_BYTES_MAX: Final = 107
_log = logging.getLogger(__name__)


class BindRefused(RelaybayError):  # noqa: N818 - says the condition.
    """The server cannot listen where it was told to. `answer` has the words and the code (`port_taken`, …)."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.text)
        self.answer = answer


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a running server answers. `socket_path` is None when there is no Unix socket."""

    host: str
    port: int
    socket_path: Path | None

    @property
    def url(self) -> str:
        """The TCP address as a URL, without a slash at the end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def bind_tcp(host: str, port: int) -> socket.socket:
    """A listening TCP socket on a loopback address; port 0 takes a free one. Raises BindRefused."""
    if not _is_loopback(host):
        raise BindRefused(word("serve.host_not_loopback", host=host))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        # Listening from here on: with SO_REUSEADDR two sockets may be bound to one port, but only one may listen.
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise BindRefused(word("serve.port_taken", host=host, port=port)) from error
        raise BindRefused(word("serve.bind_failed", host=host, port=port, why=error.strerror)) from error
    except OverflowError as error:
        listener.close()
        raise BindRefused(word("serve.bind_failed", host=host, port=port, why="no such port")) from error
    listener.setblocking(False)  # noqa: FBT003 - the socket API has it so.
    return listener


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class UnixListener:
    """The Unix socket: 0600, in place in one step, and removed again only while it is still ours."""

    def __init__(self, path: Path, listener: socket.socket) -> None:
        self.path = path
        self.socket = listener
        self._identity = _identity(path)

    @classmethod
    def bind(cls, path: Path) -> UnixListener | None:
        """Binds and listens; on any trouble None and one warning, because hooks then still have TCP (page 75)."""
        # Bound under a short name beside it and renamed: whoever finds the name finds a socket with its final
        # mode, listening, and one left behind by a killed server is replaced without a gap.
        temporary = path.with_name(f".{secrets.token_hex(4)}")
        longest = max(len(os.fsencode(path)), len(os.fsencode(temporary)))
        if longest > UNIX_PATH_BYTES_MAX:
            _log.warning("no Unix socket: %s is %d bytes long, %d at most", path, longest, UNIX_PATH_BYTES_MAX)
            return None
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _refuse_foreign_file(path)
            before = os.umask(0o077)
            try:
                listener.bind(os.fspath(temporary))
            finally:
                os.umask(before)
            temporary.chmod(0o600)
            listener.listen(BACKLOG)
            listener.setblocking(False)  # noqa: FBT003
            temporary.rename(path)
        except OSError as error:
            listener.close()
            with contextlib.suppress(OSError):
                temporary.unlink()
            _log.warning("no Unix socket at %s: %s", path, error.strerror)
            return None
        return cls(path, listener)

    def close(self) -> None:
        """Closes the socket and takes its name away, unless another server has put its own there by now."""
        self.socket.close()
        with contextlib.suppress(OSError):
            if _identity(self.path) == self._identity:
                self.path.unlink()


def _refuse_foreign_file(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise FileExistsError(errno.EEXIST, "something that is no socket stands there")


def _identity(path: Path) -> tuple[int, int]:
    facts = path.lstat()
    return facts.st_dev, facts.st_ino
