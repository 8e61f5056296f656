"""HTTP/1.1 for a load generator: requests made once as bytes, and the least that tells that a response is whole."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_HEAD_END = b"\r\n\r\n"
_LAST_CHUNK = b"0\r\n\r\n"
_READ_BYTES = 1 << 18
#: What the client's own `http` hooks send beside the key (measured); a server has to read them all.
HOOK_HEADERS = {
    "accept": "application/json, text/plain, */*",
    "user-agent": "axios/1.15.2",
    "accept-encoding": "gzip, compress, deflate, br",
}
#: The two eras of MCP: the present client speaks the first, older ones the second.
ERAS = ("2026-07-28", "2025-11-25")


class Unexpected(Exception):  # noqa: N818 - says what happened.
    """An answer that no figure may be made of."""


def post(port: int, path: str, body: Any, key: str = "", **more: str) -> bytes:
    """One POST with a JSON body over a connection that is kept."""
    content = json.dumps(body).encode("utf-8")
    headers = {"host": f"127.0.0.1:{port}", "connection": "keep-alive", "content-type": "application/json"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    headers |= {name.replace("_", "-"): value for name, value in more.items()}
    headers["content-length"] = str(len(content))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode("ascii") + content


def connect(address: int | Path) -> socket.socket:
    """A connection to a port or a Unix socket, without Nagle's delay."""
    if isinstance(address, Path):
        unix = socket.socket(socket.AF_UNIX)
        unix.connect(str(address))
        return unix
    connection = socket.create_connection(("127.0.0.1", address), timeout=30)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def is_whole(data: bytes) -> bool:
    """Whether one whole response stands in `data`."""
    end = data.find(_HEAD_END)
    if end < 0:
        return False
    length = _LENGTH.search(data, 0, end + 2)
    if length is not None:
        return len(data) >= end + len(_HEAD_END) + int(length[1])
    return data.endswith(_LAST_CHUNK) or data.startswith(b"HTTP/1.1 204")


def status(data: bytes) -> int:
    """The status of a whole response."""
    return int(data[9:12])


def body_of(data: bytes) -> bytes:
    """The body of a whole response; a chunked one is put together."""
    head, _, rest = data.partition(_HEAD_END)
    if _LENGTH.search(head + b"\r\n"):
        return rest
    parts = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        parts.append(rest[: int(size, 16)])
        rest = rest[int(size, 16) + 2 :]
    return b"".join(parts)


def receive(connection: socket.socket) -> bytes:
    """One whole response, whatever its status. Raises Unexpected when the connection ends before."""
    data = b""
    while not is_whole(data):
        part = connection.recv(_READ_BYTES)
        if not part:
            raise Unexpected(f"the connection ended after {data[:300]!r}")
        data += part
    return data


def exchange(connection: socket.socket, request: bytes) -> bytes:
    """One request and its answer's body. Raises Unexpected for any status but 200 and 201."""
    connection.sendall(request)
    data = receive(connection)
    if status(data) not in (200, 201):
        raise Unexpected(data[:600].decode("utf-8", "replace"))
    return body_of(data)


def tool_call(port: int, key: str, tool: str, tool_use_id: str = "", era: str = ERAS[0], **arguments: Any) -> bytes:
    """One call of an MCP tool as a client of this era sends it; neither needs a session."""
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": era}
    meta: dict[str, Any] = {"claudecode/toolUseId": tool_use_id} if tool_use_id else {}
    if era == ERAS[0]:
        headers |= {"mcp-method": "tools/call", "mcp-name": tool}
        meta["io.modelcontextprotocol/protocolVersion"] = era
        meta["io.modelcontextprotocol/clientInfo"] = {"name": "bench", "version": "1"}
        meta["io.modelcontextprotocol/clientCapabilities"] = {}
    params: dict[str, Any] = {"name": tool, "arguments": arguments, "_meta": meta}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return post(port, "/mcp", call, key, **headers)


def tool_result(body: bytes) -> dict[str, Any]:
    """What a tool answered, out of the event stream. Raises Unexpected for a refusal."""
    text = body.decode("utf-8")
    line = next((line for line in text.splitlines() if line.startswith("data: {")), text)
    result = json.loads(line.removeprefix("data: ")).get("result", {})
    if result.get("isError", True):
        raise Unexpected(text[:600])
    return dict(result["structuredContent"])
