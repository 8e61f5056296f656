"""Facts about a connection's other end: which socket it came by and, on the Unix socket, whose process it is."""

from __future__ import annotations

import os
import socket
import struct
import sys

from sanic import Request

_UCRED = struct.Struct("3i")  # Linux: pid, uid, gid (unix(7), SO_PEERCRED).
_XUCRED = struct.Struct("Ii")  # macOS: version, uid; the groups behind them don't matter (sys/ucred.h).
_SOL_LOCAL = 0
_LOCAL_PEERCRED = 1


def over_unix(request: Request) -> bool:
    """Whether the request came by the Unix socket: by the transport's own address, never by a header."""
    assert request.conn_info is not None
    return not isinstance(request.conn_info.sockname, tuple)


def peer_uid(connection: socket.socket) -> int | None:
    """The uid of the process at the other end of a Unix socket, or None where the system cannot say."""
    try:
        if sys.platform == "darwin":
            data = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)
            return int(_XUCRED.unpack_from(data)[1])
        data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
        return int(_UCRED.unpack(data)[1])
    except (AttributeError, OSError):
        return None


def is_same_user(request: Request) -> bool:
    """Whether the peer runs as the server's own user. Asked once per connection; unknown counts as no."""
    assert request.conn_info is not None
    facts = request.conn_info.ctx
    if not hasattr(facts, "same_user"):
        connection = request.transport.get_extra_info("socket")
        facts.same_user = connection is not None and peer_uid(connection) == os.geteuid()
    return bool(facts.same_user)
