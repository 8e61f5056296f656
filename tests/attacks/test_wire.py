"""Cases 29 to 41: what is sent instead of a well-formed request of the protocol."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from tests.api.wire import Response, read_response
from tests.attacks.conftest import World
from tests.attacks.rig import ACCEPT, LEGACY, MODERN, meta

pytestmark = [pytest.mark.xdist_group("attacks-wire"), pytest.mark.spec("75")]

JSON = {"Content-Type": "application/json"}
ERAS = (MODERN, LEGACY)
LIST = {"name": "tasks_list", "arguments": {}}
MIB = 1 << 20


def post(world: World, body: bytes, version: str = MODERN, **more: str) -> Response:
    headers = {**JSON, **ACCEPT, "MCP-Protocol-Version": version, **more}
    return world.agent.request("POST", "/mcp", headers, body)


def error(answer: Response) -> int:
    code: int = answer.json["error"]["code"]
    return code


# --- 29 to 32: the protocol ---


@pytest.mark.usefixtures("same")
@pytest.mark.parametrize(
    "changed",
    [
        {"MCP_Protocol_Version": "2099-01-01"},
        {"Mcp_Method": "tools/list"},
        {"Mcp_Method": "Tools/Call"},
        {"Mcp_Method": ""},
        {"Mcp_Name": "task_create"},
        {"Mcp_Name": "Tasks_List"},
        {"Mcp_Name": ""},
        {"Mcp_Name": "tasks_list\u00e9"},
        {"Mcp_Name": "=?base64?" + base64.b64encode(b"task_create").decode() + "?="},
        {"Mcp_Name": "=?base64?dGFza3NfbGlzd!!?="},
        {"Mcp_Name": "=?base64?dGFza3NfbGlzdA?="},
    ],
    ids=str,
)
def test_case_29_headers_and_body_must_say_the_same(world: World, changed: dict[str, str]) -> None:
    answer = world.rpc("tools/call", LIST, **changed)
    assert (answer.status, error(answer)) == (400, -32020)


@pytest.mark.usefixtures("same")
def test_case_29_a_good_sentinel_is_a_name(world: World) -> None:
    sentinel = "=?base64?" + base64.b64encode(b"tasks_list").decode() + "?="
    assert world.rpc("tools/call", LIST, Mcp_Name=sentinel).status == 200


@pytest.mark.usefixtures("same")
def test_case_30_unknown_versions_and_methods(world: World) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta("2099-01-01")}}
    answer = post(world, json.dumps(body).encode(), "2099-01-01", **{"Mcp-Method": "tools/list"})
    assert (answer.status, error(answer)) == (400, -32022)
    assert MODERN in answer.json["error"]["data"]["supported"]
    for method in ("no/such", "__proto__", "tools/call/../list", "TOOLS/LIST", "initialize", "ping", "x" * 1_000):
        answer = world.rpc(method)
        assert (answer.status, error(answer)) == (404, -32601), method
    for method in ("GET", "DELETE"):
        assert world.agent.request(method, "/mcp", {**ACCEPT, "MCP-Protocol-Version": MODERN}).status == 405


@pytest.mark.usefixtures("same")
@pytest.mark.parametrize("version", ERAS)
def test_case_31_ids_and_messages_that_are_none(world: World, version: str) -> None:
    call = {"name": "task_create", "arguments": {"project": "evil", "title": "x"}}
    params = {**call, "_meta": meta(version)}
    for wrong in (None, 1.5, 1e3, {"a": 1}, [1], True):
        body = {"jsonrpc": "2.0", "id": wrong, "method": "tools/call", "params": params}
        answer = post(
            world, json.dumps(body).encode(), version, **{"Mcp-Method": "tools/call", "Mcp-Name": "task_create"}
        )
        # The older reader takes what has no usable id for a notification, and a call that is one does nothing.
        assert answer.status == (400 if version == MODERN else 202), wrong
    one = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for wrong in ([], [one], [one, one], 5, "x", None, True, {}, {**one, "jsonrpc": "1.0"}, {**one, "method": 5}):
        assert post(world, json.dumps(wrong).encode(), version).status == 400, wrong
    for sent in ({"result": {}}, {"error": {"code": 1, "message": "x"}}):
        answer = post(world, json.dumps({"jsonrpc": "2.0", "id": 1, **sent}).encode(), version)
        assert answer.status == (400 if version == MODERN else 202)
    long = json.dumps({**one, "id": "x" * (10 * MIB)}).encode()
    assert post(world, long, version).status == 413
    assert world.rpc("tools/list").status == 200


@pytest.mark.usefixtures("same")
def test_case_31_two_calls_in_flight_with_one_id(world: World) -> None:
    cursor = world.tool("events_since")["cursor"]
    call = {"name": "events_since", "arguments": {"cursor": cursor, "wait_s": 1}, "_meta": meta()}
    data = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}).encode()
    names = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "events_since", **JSON, **ACCEPT}
    with contextlib.ExitStack() as stack:
        both = [stack.enter_context(world.agent.connect()) for _ in range(2)]
        for connection in both:
            connection.sendall(_head(world, "POST /mcp", {**world.agent.headers, **names}, len(data)) + data)
        for connection in both:
            assert read_response(connection).json["result"]["structuredContent"]["events"] == []


@pytest.mark.usefixtures("same")
def test_case_32_a_state_that_was_never_given_says_nothing(world: World) -> None:
    """No tool asks for anything in rounds, so none ever gives a state; one that comes all the same opens nothing."""
    known = world.rpc("tools/call", LIST).json["result"]
    assert "requestState" not in json.dumps(known)
    assert known["resultType"] == "complete"
    for state in ("tampered", "", base64.b64encode(os.urandom(64)).decode()):
        assert world.rpc("tools/call", {**LIST, "requestState": state}).json["result"] == known
    assert error(world.rpc("tools/call", {**LIST, "requestState": {"a": 1}})) == -32602
    assert error(world.rpc("tools/call", {**LIST, "inputResponses": {"a": 12_345}})) == -32602


# --- 33 to 35: bytes ---


def _head(world: World, line: str, headers: dict[str, str], length: int | None = None) -> bytes:
    lines = [f"{line} HTTP/1.1", f"Host: 127.0.0.1:{world.port}", *(f"{n}: {v}" for n, v in headers.items())]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


@pytest.mark.usefixtures("same")
def test_case_33_malformed_and_endless_headers(world: World) -> None:
    own = f"127.0.0.1:{world.port}"
    for host in (f"{own}\udcff", "\udcff", f"[{own}", f"{own}:{own}", "a" * 9_000, f"{own}\x00", "\x00"):
        assert world.tcp.get("/healthz", host=host).status in (400, 421), host
    for origin in ("\udcff", "http://[", "http://" + "a" * 9_000, "http://\x00", "\u202e"):
        assert world.tcp.get("/healthz", {"Origin": origin}).status in (400, 403), origin
    for name in ("Cookie", "Authorization", "Accept", "X-Relaybay-Event-Id", "Sec-Fetch-Dest", "If-None-Match"):
        for value in ("\udcff\udcfe", "\x00", "=;=;=", "%", "é" * 500, "q=" + "9" * 400):
            assert world.agent.post("/hooks/claude-code", {}, {name: value}).status in (400, 401), (name, value)
            assert world.tcp.get("/", {name: value}).status in (400, 401), (name, value)
    assert world.tcp.get("/healthz", {"X-Big": "x" * 65_536}).status == 431
    assert world.tcp.get("/healthz", {f"X-{n}": "1" for n in range(3_000)}).status == 431
    assert world.tcp.get("/" + "x" * 60_000).status in (414, 431)


NOT_STRICT: dict[str, bytes] = {
    "deep list": b"[" * 100_000,
    "deep object": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "too large a number": b'{"a": 1e400}',
    "NaN": b'{"a": NaN}',
    "Infinity": b'{"a": -Infinity}',
    "a member twice": b'{"a": 1, "a": 2}',
    "6,000 digits": b'{"a": ' + b"9" * 6_000 + b"}",
    "not UTF-8": b'{"a": "\xff"}',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"a": 1}',
    "nothing": b"",
    "a NUL": b"\x00",
    "two values": b"{}{}",
    "cut off": b'{"a": "',
}


@pytest.mark.usefixtures("same")
@pytest.mark.parametrize("kind", NOT_STRICT)
def test_case_34_json_that_is_none_is_refused_at_every_door(world: World, kind: str) -> None:
    body = NOT_STRICT[kind]
    _, writing = world.browser()
    doors = [one for one in world.operations if one.method == "POST" and one.reads and one.door != "mcp"]
    assert len(doors) > 10
    for one in doors:
        if one.door == "hooks":
            wait = "?wait_id=abcdefgh" if one.path.endswith("/wait") else ""
            # The client's own bodies may name a member twice: the last one counts, and here none names a session.
            assert world.hooks.request("POST", one.path + wait, JSON, body).status in (400, 422), one
            continue
        answer = world.tcp.request("POST", one.path, {**writing, **JSON}, body)
        assert (answer.status, answer.code) == (400, "body_not_json"), one
    for version in ERAS:
        answer = post(world, body, version)
        assert (answer.status, error(answer)) == (400, -32700)


@pytest.mark.usefixtures("same")
def test_case_34_values_that_json_has_and_we_do_not(world: World) -> None:
    for value in (2**63, -(2**63) - 1, 2**64, 1e300, "\ud800", 0.5):
        for name in ("limit", "query"):
            said = _loose(world, {"name": "tasks_list", "arguments": {name: value}})
            assert said in (400, "argument_invalid", "tasks"), (name, value)
        answer = world.owner.post(f"/api/v1/tasks/{world.task}", {"step_done": value})
        assert answer.status in (400, 422), value


def _loose(world: World, params: dict[str, Any]) -> Any:
    answer = world.rpc("tools/call", params)
    if answer.status != 200:
        return answer.status
    content = answer.json["result"]["structuredContent"]
    return content.get("code", "tasks")


SMUGGLED = {
    "length and chunks": b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
    "two lengths": b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "a list of lengths": b"Content-Length: 2, 2\r\n\r\n{}",
    "a length below nothing": b"Content-Length: -2\r\n\r\n{}",
    "a length with a sign": b"Content-Length: +2\r\n\r\n{}",
    "a length with an underscore": b"Content-Length: 1_0\r\n\r\n{}........",
    "a length in words": b"Content-Length: two\r\n\r\n{}",
    "folded": b"X-A: 1\r\n b\r\n\r\n",
    "a space before the colon": b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "another coding": b"Transfer-Encoding: gzip, chunked\r\n\r\n{}",
    "chunks twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a chunk of no size": b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "a chunk of negative size": b"Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n",
    "a header without a name": b": x\r\n\r\n",
    "a line without a colon": b"nonsense\r\n\r\n",
}


@pytest.mark.usefixtures("same")
@pytest.mark.parametrize("kind", SMUGGLED)
def test_case_35_framing_that_can_be_read_in_two_ways(world: World, kind: str) -> None:
    """Refused, and the connection ends: what follows on it can be nobody's second request."""
    keys = f"Authorization: Bearer {world.token}\r\nContent-Type: application/json\r\n"
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{world.port}\r\n{keys}".encode()
    second = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{world.port}\r\n\r\n".encode()
    with world.tcp.connect() as connection:
        connection.sendall(head + SMUGGLED[kind] + second)
        answer = read_response(connection)
        assert answer.status == 400, answer
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1 << 16) == b""


# --- 36 to 39: too much, too slow ---


def _connections(world: World) -> int:
    """How many sockets the server has open. Files apart: readers of the database are opened as they are needed."""
    count = 0
    for descriptor in Path(f"/proc/{world.process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            count += str(descriptor.readlink()).startswith("socket:")
    return count


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors are counted where /proc has them")
@pytest.mark.usefixtures("same")
def test_case_36_a_client_that_goes_at_any_byte_leaves_nothing(world: World) -> None:
    data = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**LIST, "_meta": meta()}}).encode()
    names = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "tasks_list", **JSON, **ACCEPT}
    call = _head(world, "POST /mcp", {**world.agent.headers, **names}, len(data)) + data
    event = json.dumps({"session_id": "gone", "hook_event_name": "Notification"}).encode()
    hook = _head(world, "POST /hooks/claude-code", {**world.hooks.headers, **JSON}, len(event)) + event
    before = _connections(world)
    for request in (call, hook):
        # The last byte would be a whole request, and a hook's event is carried out whoever hears of it.
        for cut in range(len(request)):
            with world.tcp.connect() as connection:
                connection.sendall(request[:cut])
                if cut % 3 == 0:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    for read in range(0, 600, 20):
        with world.tcp.connect() as connection:
            connection.sendall(call)
            connection.recv(read) if read else None
    until = time.monotonic() + 10
    while _connections(world) > before and time.monotonic() < until:
        time.sleep(0.05)
    assert _connections(world) <= before
    assert world.rpc("tools/call", LIST).status == 200


@pytest.mark.usefixtures("same")
def test_case_37_bodies_over_the_limit_and_bombs(world: World) -> None:
    for path, most, wire in (("/mcp", MIB, world.agent), ("/hooks/claude-code", 8 * MIB, world.hooks)):
        answer = wire.request("POST", path, JSON, b" " * (most + 1))
        assert (answer.status, answer.code) == (413, "body_too_large")
        head = _head(world, f"POST {path}", {**wire.headers, **JSON, "Transfer-Encoding": "chunked"})
        answer = world.tcp.raw(head + b"%x\r\n" % (most + 1) + b" " * (most + 1) + b"\r\n0\r\n\r\n")
        assert (answer.status, answer.code) == (413, "body_too_large")
        for coding in ("gzip", "deflate", "br", "gzip, identity"):
            bomb = gzip.compress(b" " * (16 * MIB))
            answer = wire.request("POST", path, {**JSON, "Content-Encoding": coding}, bomb)
            assert (answer.status, answer.code) == (415, "content_type_refused")


@pytest.mark.usefixtures("same")
def test_case_38_half_requests_are_closed_and_hold_nobody_up(world: World) -> None:
    half = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{world.port}\r\nX-Slow: ".encode()
    body = _head(world, "POST /mcp", {**world.agent.headers, **JSON}, 100) + b"{"
    with contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(world.tcp.connect(timeout=30)) for _ in range(500)]
        for number, connection in enumerate(waiting):
            connection.sendall(half if number % 50 else body)
        for _ in range(20):
            assert world.rpc("tools/call", LIST).status == 200
        # Those that have not sent their head are closed by its time limit, whether or not they were told so.
        for number, connection in enumerate(waiting):
            if number % 50:
                with contextlib.suppress(ConnectionResetError):
                    data = connection.recv(1 << 12)
                    assert data == b"" or b" 408 " in data[:20], data


@pytest.mark.usefixtures("same")
def test_case_39_streams_are_counted(world: World) -> None:
    """The board's stream has a number of readers; the one above it is told so, and the others go on."""
    reading, _ = world.browser()
    with contextlib.ExitStack() as stack:
        answers = []
        for _ in range(140):
            connection = stack.enter_context(world.tcp.connect())
            connection.sendall(_head(world, "GET /api/v1/stream", reading))
            answers.append(connection.recv(12))
        assert answers.count(b"HTTP/1.1 200") == 128
        assert answers[-1] == b"HTTP/1.1 503"
        assert world.rpc("tools/call", LIST).status == 200
    until = time.monotonic() + 10
    while b"relaybay_listeners 0" not in world.tcp.get("/metrics").body:
        assert time.monotonic() < until, "streams whose readers are gone still count"
        time.sleep(0.05)


# --- 40 and 41: lists ---


@pytest.mark.usefixtures("same")
def test_case_40_the_tools_are_listed_in_one_order_and_for_one_reader(world: World) -> None:
    listed = [world.rpc("tools/list").json["result"] for _ in range(100)]
    assert all(one == listed[0] for one in listed)
    assert listed[0]["cacheScope"] == "private"


@pytest.mark.usefixtures("same")
def test_case_41_forged_cursors_show_nothing_else(world: World) -> None:
    first = world.rpc("tools/list").json["result"]["tools"]
    for cursor in ("", "forged", "0", "x" * 5_000, "\u202e"):
        answer = world.rpc("tools/list", {"cursor": cursor})
        assert answer.json["result"]["tools"] == first, cursor
        assert "nextCursor" not in answer.json["result"]
    for cursor in ("forged", "0", "-1", "x" * 1_000, "' OR 1=1 --", world.message):
        assert world.tool("events_since", cursor=cursor)["code"] == "cursor_invalid", cursor
    for tool, arguments, code in (
        ("messages_list", {"session": world.victim, "before": "m_forged"}, "message_unknown"),
        ("comments_list", {"task": world.task, "before": "c_forged"}, "comment_unknown"),
        ("tasks_list", {"before": "none-1"}, "task_unknown"),
    ):
        assert world.tool(tool, **arguments)["code"] == code
