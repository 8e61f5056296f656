"""The way to the server: which door, whose it is, one request, one answer.

Each function works under the interval timer of `event.py` or under the socket's own time limit, so none has a
limit of its own. They raise OSError where nobody is there or an answer is cut short, and `Refused` where
somebody else is.
"""

import _socket
import posix
import sys

TYPE_CHECKING = False  # The typing module costs more than the whole call.
if TYPE_CHECKING:
    from collections.abc import Callable

ANSWER_BYTES_MAX = 1 << 20  # An answer carries 8,000 characters of text; one near this is not ours.
CARD_BYTES_MAX = 1 << 16
SOCKET_PATH_BYTES_MAX = 103 if sys.platform == "darwin" else 107
PORT_MAX = 65535
DIGITS_MAX = 10
STATUS_DIGITS = 3
FILE_KIND, REGULAR, WRITABLE_BY_OTHERS = 0o170000, 0o100000, 0o022


class Refused(Exception):  # noqa: N818 - named for what happened, as the codes in the log are.
    """A peer or a file is not what it has to be. The one argument is a word for the log."""


def connect(run: str) -> "tuple[_socket.socket, bytes]":
    """Returns (connected socket, key to show; empty over the Unix socket).

    The Unix socket is the door. TCP is taken only where the path is too long for one, or where the running
    server has made none: a key must not be shown at a port that just anybody may have taken.
    """
    path = (run + "/relaybay.sock").encode("utf-8", "surrogateescape")
    if len(path) <= SOCKET_PATH_BYTES_MAX:
        sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            sock.connect(path)
        except FileNotFoundError:
            sock.close()
        else:
            check_peer(sock)
            return sock, b""
    port, key = tcp_door(run)
    sock = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    sock.connect(("127.0.0.1", port))
    return sock, key


def check_peer(sock: "_socket.socket") -> None:
    """Refuses a socket at which another user listens. Both systems give the uid as the second 32-bit word."""
    if hasattr(_socket, "SO_PEERCRED"):
        raw = sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    else:
        raw = sock.getsockopt(0, 1, 76)  # SOL_LOCAL, LOCAL_PEERCRED: the struct xucred of macOS and the BSDs.
    if int.from_bytes(raw[4:8], sys.byteorder) != posix.geteuid():
        raise Refused("peer_refused")


def tcp_door(run: str) -> tuple[int, bytes]:
    """Returns (port, hook key). Both count only while the process that wrote `server.json` lives: the port
    that a dead server left behind may be anybody's by now.
    """
    card = own_file(run + "/server.json")
    port, pid = number_in(card, b'"port"'), number_in(card, b'"pid"')
    if not 0 < port <= PORT_MAX or not pid:
        raise Refused("server_json")
    posix.kill(pid, 0)
    key = own_file(run + "/hook.key").strip()
    if not key.replace(b"-", b"").replace(b"_", b"").isalnum():
        raise Refused("hook_key")
    return port, key


def own_file(path: str) -> bytes:
    """Reads a small regular file of this user that nobody else may write; a symlink is not followed."""
    fd = posix.open(path, posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC)
    try:
        seen = posix.fstat(fd)
        if seen.st_mode & (FILE_KIND | WRITABLE_BY_OTHERS) != REGULAR or seen.st_uid != posix.geteuid():
            raise Refused("file_refused")
        return posix.read(fd, CARD_BYTES_MAX)
    finally:
        posix.close(fd)


def number_in(card: bytes, name: bytes) -> int:
    """The whole number after a member's name, 0 when there is none. Spares the import of a JSON reader."""
    rest = card.partition(name)[2].lstrip()
    if rest[:1] != b":":
        return 0
    digits = rest[1:].lstrip()[:DIGITS_MAX]
    return int(digits[: len(digits) - len(digits.lstrip(b"0123456789"))] or b"0")


def request(target: str, key: bytes, headers: dict[str, str], body: bytes) -> bytes:
    """One POST as bytes. The header values are printable ASCII already."""
    lines = [
        "POST " + target + " HTTP/1.1",
        "host: 127.0.0.1",
        "content-type: application/json",
        "content-length: " + str(len(body)),
        "connection: close",
    ]
    if key:
        lines.append("authorization: Bearer " + key.decode("ascii"))
    lines.extend([name + ": " + value for name, value in headers.items()])
    return "\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + body


def exchange(
    sock: "_socket.socket", message: bytes, alive: "Callable[[], bool] | None" = None
) -> tuple[int, bytes, bytes]:
    """Sends the message and reads one answer: (status, content type, body).

    The sending side stays open until the end: a server takes a half-closed connection for a peer that left.
    An answer that tells no length has an empty body here. With `alive`, a receive that times out asks it
    whether to go on.
    """
    try:  # noqa: SIM105 - contextlib costs an import
        sock.sendall(message)
    except (BrokenPipeError, ConnectionResetError):
        pass  # A refusal may have come before the body was taken in; then it is there to be read.
    data = b""
    head: tuple[int, bytes, int | None, int] | None = None
    while len(data) <= ANSWER_BYTES_MAX:
        if head is None and b"\r\n\r\n" in data:
            head = parse_head(data)
        if head is not None:
            status, kind, length, start = head
            if length is None:
                return status, kind, b""
            if len(data) >= start + length:
                return status, kind, data[start : start + length]
        try:
            part = sock.recv(1 << 16)
        except TimeoutError:
            if alive is None or not alive():
                raise
            continue
        if not part:
            break
        data += part
    raise ConnectionError


def parse_head(data: bytes) -> tuple[int, bytes, int | None, int]:
    """Returns (status, content type, length or None, where the body starts). A chunked body has no length
    here.
    """
    head = data.partition(b"\r\n\r\n")[0]
    first, *lines = head.split(b"\r\n")
    words = first.split(None, 2)
    if words[0:1] != [b"HTTP/1.1"] and words[0:1] != [b"HTTP/1.0"]:
        raise ConnectionError
    if len(words) == 1 or not words[1].isdigit() or len(words[1]) != STATUS_DIGITS:
        raise ConnectionError
    kind = b""
    length = None
    chunked = False
    for line in lines:
        name, _, value = line.partition(b":")
        name, value = name.lower(), value.strip()
        if name == b"content-type":
            kind = value.lower()
        elif name == b"content-length" and value.isdigit() and len(value) <= DIGITS_MAX:
            length = int(value)
        elif name == b"transfer-encoding":
            chunked = True
    return int(words[1]), kind, None if chunked else length, len(head) + 4


def write_all(fd: int, data: bytes) -> None:
    """Writes everything, in as many writes as it takes."""
    while data:
        data = data[posix.write(fd, data) :]
