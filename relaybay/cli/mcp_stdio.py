"""MCP over stdin and stdout, forwarded message by message to Streamable HTTP, for both eras of the protocol.

A message is passed on byte for byte: `_meta` with the tool-use id, which the server proves sessions by, is never
taken apart. Read of it is only what HTTP wants beside the body:

    2025-11-25   MCP-Protocol-Version, as agreed at `initialize`; a cancel is a notification that is sent on
    2026-07-28   MCP-Protocol-Version, Mcp-Method and Mcp-Name, as the message itself says them; a cancel is the
                 end of the request's own connection

The server keeps no MCP session, so it can be restarted in between: a call that meets no server gets an error in
words, and the next one works again.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, Final

from relaybay.answers import Answer, with_code, word

CALLS_MAX: Final = 64
LAST_SECONDS: Final = 30.0
CUT_SECONDS: Final = 2.0
LINE_BYTES_MAX: Final = 4 << 20
PROTOCOL_META: Final = "io.modelcontextprotocol/protocolVersion"
NAMED_BY: Final[Mapping[str, str]] = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
# A stream that lasts as long as the client: it is not waited for at the end of the input.
LISTENING: Final = frozenset({"subscriptions/listen"})
PARSE_ERROR, INVALID_REQUEST, SERVER_ERROR = -32700, -32600, -32000
_PLAIN: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_CODED: Final = re.compile(r"=\?base64\?.*\?=")

Id = str | int


@dataclass
class _Call:
    """A request in flight. `sock` is kept, because the library lets go of it once it has the response's head."""

    id: Id
    method: str
    modern: bool
    cancelled: bool = False
    sock: socket.socket | None = None
    thread: threading.Thread | None = None

    def cut(self) -> None:
        """Ends it at once; nobody is told."""
        self.cancelled = True
        if self.sock is not None:
            with contextlib.suppress(OSError):  # It may have ended by itself just now.
                self.sock.shutdown(socket.SHUT_RDWR)


class Forwarder:
    """Reads JSON-RPC lines, forwards each, and writes what comes back, one line per message.

    Args:
        connect: a connection to the server, made anew for each message; raises OSError.
        token: the bearer token as it is now; raises OSError.
        out: where answers go.
    """

    def __init__(
        self, connect: Callable[[], http.client.HTTPConnection], token: Callable[[], str], out: IO[bytes]
    ) -> None:
        self._connect = connect
        self._token = token
        self._out = out
        self._lock = threading.Lock()
        self._calls: dict[Id, _Call] = {}
        self._version = ""
        self._over = False

    def run(self, lines: Iterable[bytes]) -> None:
        """To the end of the input; then what is still being answered may finish. Nothing is written afterwards."""
        try:
            for line in lines:
                if line.strip():
                    self._take(line)
            _join([call for call in self._open() if call.method not in LISTENING], LAST_SECONDS)
        finally:
            self._end()

    def _open(self) -> list[_Call]:
        with self._lock:
            return list(self._calls.values())

    def _end(self) -> None:
        """Cuts off what is left, such as streams, so that no thread outlives the output it would write to."""
        with self._lock:
            self._over = True
        left = self._open()
        for call in left:
            call.cut()
        _join(left, CUT_SECONDS)

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line) if len(line) <= LINE_BYTES_MAX else None
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            self._error(None, PARSE_ERROR, word("cli.mcp_not_json"))
            return
        method, call_id = str(message.get("method", "")), message.get("id")
        if method and isinstance(call_id, str | int) and not isinstance(call_id, bool):
            self._begin(line, message, _Call(call_id, method, bool(_own_version(message))))
            return
        if method == "notifications/cancelled" and self._cancel(message):
            return
        # Notifications keep their order, so they are sent from here.
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = self._send(line, message)
            try:
                connection.getresponse().read()
            finally:
                connection.close()

    # --- requests ---

    def _begin(self, line: bytes, message: Mapping[str, Any], call: _Call) -> None:
        with self._lock:
            busy = len(self._calls) >= CALLS_MAX or call.id in self._calls
            if not busy:
                self._calls[call.id] = call
        if busy:
            self._error(call.id, INVALID_REQUEST, word("cli.mcp_busy", calls_max=CALLS_MAX))
            return
        if call.method == "initialize":
            self._version = ""  # What was agreed before does not hold for the message that agrees anew.
        try:
            # Sent from here, so that nothing that comes after it, such as its cancel, can overtake it.
            connection = self._send(line, message)
        except (OSError, http.client.HTTPException) as error:
            self._forget(call)
            self._error(call.id, SERVER_ERROR, word("cli.mcp_unreachable", why=_why(error)))
            return
        call.sock = connection.sock
        call.thread = threading.Thread(target=self._receive, args=(connection, call), daemon=True)
        call.thread.start()
        if call.method == "initialize":
            call.thread.join()  # The next message needs what is agreed now.

    def _receive(self, connection: http.client.HTTPConnection, call: _Call) -> None:
        try:
            answered = self._exchange(connection, call)
            why = "" if answered else "it ended the stream without an answer"
        except (OSError, http.client.HTTPException, ValueError) as error:
            why = _why(error)
        finally:
            self._forget(call)
            connection.close()
        if why and not call.cancelled:
            self._error(call.id, SERVER_ERROR, word("cli.mcp_unreachable", why=why))

    def _forget(self, call: _Call) -> None:
        with self._lock:
            del self._calls[call.id]

    def _exchange(self, connection: http.client.HTTPConnection, call: _Call) -> bool:
        """All that comes back for one request. True when its answer was among that."""
        response = connection.getresponse()
        kind = (response.getheader("content-type") or "").partition(";")[0].strip().lower()
        if kind == "text/event-stream":
            return self._pass_on(_events(response), call)
        content = response.read()
        if kind == "application/json":
            return self._pass_on([content], call)
        self._error(call.id, SERVER_ERROR, word("cli.mcp_refused", why=_reason(response.status, content)))
        return True

    def _pass_on(self, texts: Iterable[bytes], call: _Call) -> bool:
        for text in texts:
            message = json.loads(text)
            if not isinstance(message, dict):
                raise ValueError("the answer is no JSON-RPC message")  # noqa: TRY004 - what came is at fault, not us.
            answer = "result" in message or "error" in message
            if answer:
                if message.get("id") is None:
                    # Refused before its id was read: only the transport knows whose it is.
                    message["id"] = call.id
                    text = json.dumps(message).encode()  # noqa: PLW2901
                if call.method == "initialize":
                    self._version = _agreed(message)
            if not call.cancelled:
                self._write(text if b"\n" not in text else json.dumps(message).encode())
            if answer:
                return True
        return False

    def _cancel(self, message: Mapping[str, Any]) -> bool:
        """Ends the request that a cancel names, where that is how it is told. True: the cancel itself is not sent."""
        wanted = (message.get("params") or {}).get("requestId")
        with self._lock:
            call = self._calls.get(wanted) if isinstance(wanted, str | int) else None
            if call is None or not call.modern:
                # A late cancel finds nothing: in the new era there is nobody to tell.
                return call is None and bool(_own_version(message))
            call.cut()
        return True

    # --- the wire ---

    def _send(self, line: bytes, message: Mapping[str, Any]) -> http.client.HTTPConnection:
        connection = self._connect()
        headers = {
            "Authorization": f"Bearer {self._token()}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **self._headers(message),
        }
        try:
            connection.request("POST", "/mcp", line.strip(), headers)
        except BaseException:
            connection.close()
            raise
        return connection

    def _headers(self, message: Mapping[str, Any]) -> dict[str, str]:
        version = _own_version(message)
        if not version:
            return {"MCP-Protocol-Version": self._version} if self._version else {}
        method = str(message.get("method", ""))
        headers = {"MCP-Protocol-Version": version, "Mcp-Method": method}
        params = message.get("params")
        name = params.get(NAMED_BY.get(method, "")) if isinstance(params, dict) else None
        if isinstance(name, str):
            headers["Mcp-Name"] = _header_value(name)
        return headers

    def _write(self, text: bytes) -> None:
        # A client that went away wants no answer; the end of its input ends us. To a closed file Python says
        # ValueError.
        with self._lock, contextlib.suppress(BrokenPipeError, ValueError):
            if not self._over:
                self._out.write(text.strip() + b"\n")
                self._out.flush()

    def _error(self, call_id: Id | None, code: int, answer: Answer) -> None:
        error = {"code": code, "message": with_code(answer), "data": {"code": answer.code, "spec_id": answer.spec_id}}
        self._write(json.dumps({"jsonrpc": "2.0", "id": call_id, "error": error}).encode())


def _join(calls: Iterable[_Call], seconds: float) -> None:
    until = time.monotonic() + seconds
    for call in calls:
        if call.thread is not None:
            call.thread.join(max(0.0, until - time.monotonic()))


def _own_version(message: Mapping[str, Any]) -> str:
    """The protocol's version as a message of the new era says it itself; empty for the old era."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(PROTOCOL_META) if isinstance(meta, dict) else None
    return version if isinstance(version, str) and _PLAIN.fullmatch(version) else ""


def _agreed(answer: Mapping[str, Any]) -> str:
    """The version that `initialize` agreed on; empty when it did not, or in no form that a header can carry."""
    result = answer.get("result")
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    return version if isinstance(version, str) and _PLAIN.fullmatch(version) else ""


def _header_value(value: str) -> str:
    """A name as a header: as it is, or in the protocol's Base64 form where a header could not carry it."""
    if _PLAIN.fullmatch(value) and not _CODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'surrogatepass')).decode('ascii')}?="


def _events(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The data of each server-sent event; comments (pings) and events without data are passed over."""
    data: list[bytes] = []
    while line := response.readline(LINE_BYTES_MAX):
        line = line.rstrip(b"\r\n")
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            text = b"\n".join(data)
            data = []
            if text:
                yield text


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__


def _reason(status: int, content: bytes) -> str:
    """Why the server refused, from a problem document, else its status."""
    try:
        return str(json.loads(content)["detail"])
    except (ValueError, KeyError, TypeError):
        return f"status {status}"
