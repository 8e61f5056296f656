"""Talking HTTP to a server byte by byte: nothing here adds a header the test did not name."""

from __future__ import annotations

import contextlib
import json
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Response:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name.lower()), None)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        assert self.header("content-type") == "application/problem+json", self
        return self.json["code"]


@dataclass
class Wire:
    """One address: a TCP port or a Unix socket."""

    address: int | Path
    headers: dict[str, str] = field(default_factory=dict)

    def connect(self, timeout: float = 10) -> socket.socket:
        if isinstance(self.address, int):
            return socket.create_connection(("127.0.0.1", self.address), timeout=timeout)
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(timeout)
        connection.connect(str(self.address))
        return connection

    def raw(self, data: bytes, *, head: bool = False) -> Response:
        with self.connect() as connection:
            # Refused before all was sent; the answer is there all the same.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(data)
            return read_response(connection, head=head)

    def request(
        self,
        method: str,
        path: str,
        headers: dict[str, str] | list[tuple[str, str]] | None = None,
        body: bytes | None = None,
        *,
        host: str | None = "",
    ) -> Response:
        """`host` is ours by default; None leaves the header out."""
        lines = [f"{method} {path} HTTP/1.1"]
        if host == "":
            host = f"127.0.0.1:{self.address}" if isinstance(self.address, int) else "localhost"
        if host is not None:
            lines.append(f"Host: {host}")
        given = list((headers or {}).items()) if not isinstance(headers, list) else headers
        lines += [f"{name}: {value}" for name, value in [*self.headers.items(), *given]]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        head = "\r\n".join(lines) + "\r\n\r\n"
        return self.raw(head.encode("utf-8", "surrogateescape") + (body or b""), head=method == "HEAD")

    def get(self, path: str, headers: Any = None, **more: Any) -> Response:
        return self.request("GET", path, headers, **more)

    def post(self, path: str, value: Any = None, headers: dict[str, str] | None = None) -> Response:
        return self.request(
            "POST", path, {"Content-Type": "application/json", **(headers or {})}, json.dumps(value).encode()
        )


def read_head(file: Any) -> tuple[int, list[tuple[str, str]]]:
    line = file.readline()
    assert line.startswith(b"HTTP/1.1 "), line
    headers = []
    while (header := file.readline().rstrip(b"\r\n")) != b"":
        name, _, value = header.partition(b":")
        headers.append((name.decode().lower(), value.strip().decode("utf-8", "replace")))
    return int(line.split()[1]), headers


def read_response(connection: socket.socket, *, head: bool = False) -> Response:
    with connection.makefile("rb") as file:
        status, headers = read_head(file)
        while status == 100:
            status, headers = read_head(file)
        found = dict(headers)
        if head or status in (204, 304):
            return Response(status, headers, b"")
        if found.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(file.readline(), 16):
                body += file.read(size)
                file.readline()
            file.readline()
        else:
            body = file.read(int(found["content-length"]))
    return Response(status, headers, body)
