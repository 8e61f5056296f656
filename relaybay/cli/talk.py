"""Talking to the running server: finding it, and one JSON request with its answer over the Unix socket.

Owner's commands have this one door (page 75, Doors and keys): the gate takes no owner's key over TCP. So where a
server runs without a socket, commands that need it say so instead of trying another way.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import stat
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, urlencode

from relaybay import __version__
from relaybay.cli import exits
from relaybay.cli.exits import Failure, failure
from relaybay.cli.output import note
from relaybay.settings import Paths

CONNECT_SECONDS = 3.0
ANSWER_SECONDS = 30.0
CARD_BYTES_MAX = 1 << 16
KEY_BYTES_MAX = 200
OWNER_HEADER = "X-Relaybay-Owner"
_UCRED = struct.Struct("3i")


@dataclass(frozen=True, slots=True)
class Card:
    """What `run/server.json` says of the server that wrote it; `port` 0 and empty texts where it does not say.

    `lost_run` is the server's own run folder when only the data folder's lock told of it: no socket leads to it.
    """

    pid: int
    port: int
    url: str
    version: str
    lost_run: str = ""


class PeerRefused(OSError):  # noqa: N818 - says the condition.
    """Another user listens at our socket's path."""


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket. The peer must be a process of this user, or nothing is sent."""

    def __init__(self, path: Path, host: str = "localhost", timeout: float = ANSWER_SECONDS) -> None:
        super().__init__(host, timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connects and looks who listens."""
        self.sock = connect(self._path)
        self.sock.settimeout(self.timeout)


def connect(path: Path) -> socket.socket:
    """A connected Unix socket whose other end is ours. Raises OSError, PeerRefused."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(CONNECT_SECONDS)
        sock.connect(os.fspath(path))
        _need_own(sock, path)
    except BaseException:
        sock.close()
        raise
    return sock


def _need_own(sock: socket.socket, path: Path) -> None:
    if peer(sock)[1] != os.geteuid():
        raise PeerRefused(str(path))


def peer(sock: socket.socket) -> tuple[int, int]:
    """(pid, uid) of the process that listens at the other end."""
    if sys.platform == "darwin":
        uid = struct.unpack_from("Ii", sock.getsockopt(0, 1, 76))[1]  # SOL_LOCAL, LOCAL_PEERCRED: struct xucred.
        return struct.unpack("i", sock.getsockopt(0, 2, 4))[0], uid  # LOCAL_PEERPID.
    pid, uid, _ = _UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
    return pid, uid


def own_file(path: Path, bytes_max: int) -> bytes | None:
    """A small plain file of this user's, never through a link; None when there is none. Raises OSError."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(None, "it is no plain file")
        if facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
            raise OSError(None, "another user may write it")
        return os.read(file, bytes_max)
    finally:
        os.close(file)


def read_card(paths: Paths) -> Card | None:
    """What the server left in `run/server.json`; None when there is nothing that can be used."""
    try:
        members = json.loads(own_file(paths.server_json, CARD_BYTES_MAX) or b"{}")
        pid, port = int(members["pid"]), int(members.get("port", 0))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if pid <= 1:
        return None
    url = str(members.get("url", "")).rstrip("/") or f"http://127.0.0.1:{port}"
    return Card(pid, port, url, str(members.get("version", "")))


def find_running(paths: Paths) -> Card | None:
    """The server that runs on these folders, or None. Nothing is changed, and no lock is touched: a start that
    happens just now must not fail of being looked at.

    Raises:
        Failure: another user listens at the socket, or has the folder.
    """
    card = read_card(paths)
    try:
        with connect(paths.socket) as sock:
            pid = peer(sock)[0]
    except PeerRefused:
        raise failure("cli.socket_not_ours", exits.REFUSED, socket=paths.socket) from None
    except OSError:
        need_own(paths)
        # No socket: its path may be too long for one. Then the card counts, if somebody answers where it says.
        return card if card is not None and _alive(card.pid) and _answers(card) else _by_lock(paths)
    if card is None or card.pid != pid:
        # It listens before it writes its card, and after a crash the old card is still there.
        return Card(pid, 0, "", "")
    return card


def need_own(paths: Paths) -> None:
    """Refuses folders that another user has: keys in them would be theirs. Raises Failure."""
    for folder in (paths.run, paths.state, paths.data):
        try:
            mine = folder.stat().st_uid == os.geteuid()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise failure("cli.folder_not_ours", exits.REFUSED, folder=folder, why=error.strerror) from None
        if not mine:
            raise failure("cli.folder_not_ours", exits.REFUSED, folder=folder, why="it belongs to another user")


def _by_lock(paths: Paths) -> Card | None:
    """The server that signed the data folder's lock, when it lives, answers, and the lock is held."""
    from relaybay.cli import holder

    note = holder.read(paths.lock)
    if note is None or not note.lives:
        return None
    card = Card(note.pid, _port(note.url), note.url, note.version, note.run)
    # The lock last: by now there is a server, so no start can fail of the lock being looked at.
    return card if _answers(card) and holder.folder_taken(paths) else None


def _port(url: str) -> int:
    tail = url.rstrip("/").rpartition(":")[2]
    return int(tail) if tail.isdigit() else 0


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _answers(card: Card) -> bool:
    host = card.url.removeprefix("http://").rpartition(":")[0].strip("[]") or "127.0.0.1"
    connection = http.client.HTTPConnection(host, card.port, timeout=CONNECT_SECONDS)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class Server:
    """A running server, as the owner speaks to it."""

    def __init__(self, paths: Paths, card: Card, key: str) -> None:
        self.paths = paths
        self.card = card
        self._key = key

    @classmethod
    def find(cls, paths: Paths) -> Server:
        """The server that runs on these folders. Raises Failure: `no_server`, `no_socket`, `owner_key_unreadable`."""
        card = find_running(paths)
        if card is None:
            raise failure("cli.no_server", exits.NO_SERVER, run=paths.run)
        if card.lost_run:
            raise failure("cli.run_lost", exits.NO_SERVER, pid=card.pid, url=card.url, run=card.lost_run)
        if not paths.socket.exists():
            raise failure("cli.no_socket", exits.NO_SERVER, pid=card.pid, socket=paths.socket)
        if card.version not in ("", __version__):
            note(f"relaybay: the server is version {card.version}, this command {__version__}; restart the server.")
        return cls(paths, card, _owner_key(paths))

    def get(self, *path: str, seconds: float = ANSWER_SECONDS, **query: Any) -> dict[str, Any]:
        """One reading call under `/api/v1`; query members that are None or False are left out."""
        return self._call("GET", path, query, None, seconds)

    def post(self, *path: str, **body: Any) -> dict[str, Any]:
        """One writing call; members that are None are left out."""
        return self._call("POST", path, {}, {k: v for k, v in body.items() if v is not None}, ANSWER_SECONDS)

    def _call(
        self,
        method: str,
        path: tuple[str, ...],
        query: Mapping[str, Any],
        body: Mapping[str, Any] | None,
        seconds: float,
    ) -> dict[str, Any]:
        target = "/api/v1/" + "/".join(quote(part, safe="") for part in path)
        pairs = {k: "1" if v is True else v for k, v in query.items() if v is not None and v is not False}
        if pairs:
            target += "?" + urlencode(pairs)
        headers = {OWNER_HEADER: self._key}
        data = None
        if body is not None:
            data = json.dumps(body).encode("ascii")
            headers["Content-Type"] = "application/json"
        connection = UnixConnection(self.paths.socket, f"127.0.0.1:{self.card.port or 80}", seconds)
        try:
            connection.request(method, target, data, headers)
            response = connection.getresponse()
            content = response.read()
        except PeerRefused:
            raise failure("cli.socket_not_ours", exits.REFUSED, socket=self.paths.socket) from None
        except (ConnectionRefusedError, FileNotFoundError):
            raise failure("cli.no_server", exits.NO_SERVER, run=self.paths.run) from None
        except (OSError, http.client.HTTPException) as error:
            why = str(error) or type(error).__name__
            raise failure("cli.server_silent", exits.FAILED, why=why, log=self.paths.server_log) from error
        finally:
            connection.close()
        return self._read(response.status, content)

    def _read(self, status: int, content: bytes) -> dict[str, Any]:
        try:
            members = json.loads(content or b"{}")
        except ValueError:
            members = None
        if not isinstance(members, dict):
            raise failure("cli.server_answer", exits.FAILED, status=status, log=self.paths.server_log)
        if status < http.client.BAD_REQUEST:
            return cast("dict[str, Any]", members)
        if "code" not in members:
            raise failure("cli.server_answer", exits.FAILED, status=status, log=self.paths.server_log)
        spec_id, text = str(members.get("spec_id", "")), str(members.get("detail", ""))
        raise Failure(str(members["code"]), spec_id, text, exits.of_status(status))


def _owner_key(paths: Paths) -> str:
    try:
        data = own_file(paths.owner_key, KEY_BYTES_MAX)
        key = "" if data is None else data.decode("ascii").strip()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise failure("cli.owner_key_unreadable", exits.REFUSED, path=paths.owner_key, why=why) from None
    if not key:
        raise failure("cli.owner_key_unreadable", exits.REFUSED, path=paths.owner_key, why="it is missing or empty")
    return key
