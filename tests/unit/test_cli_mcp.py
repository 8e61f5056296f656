"""MCP over stdin and stdout, against an HTTP server whose every step the test decides."""

from __future__ import annotations

import http.client
import io
import json
import os
import queue
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from relaybay.cli.mcp_stdio import CALLS_MAX, PROTOCOL_META, Forwarder

pytestmark = pytest.mark.spec("70")
MODERN = "2026-07-28"


class Upstream:
    """Records each POST; answers with what `script` says for its method, by default its own params."""

    def __init__(self) -> None:
        self.posts: list[tuple[dict[str, str], bytes]] = []
        self.script = {}
        self.gone = threading.Event()
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args) -> None:
                pass

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                upstream.posts.append(({name.lower(): value for name, value in self.headers.items()}, raw))
                message = json.loads(raw)
                upstream.script.get(message.get("method"), upstream.echo)(self, message)

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request, client_address) -> None:
                upstream.gone.set()

        self.server = Quiet(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @staticmethod
    def reply(handler, status, kind, data) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def echo(self, handler, message) -> None:
        if "id" not in message:
            self.reply(handler, 202, "application/json", b"")
            return
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": message.get("params", {})}
        self.reply(handler, 200, "text/event-stream", b"event: message\ndata: " + json.dumps(answer).encode() + b"\n\n")

    def stream(self, *parts, hold=0.0, answer=True):
        """A stream of parts, each flushed; then it holds until the peer is gone, or answers."""

        def write(handler, message) -> None:
            handler.send_response(200)
            handler.send_header("Content-Type", "text/event-stream; charset=utf-8")
            handler.send_header("Connection", "close")
            handler.end_headers()
            for part in parts:
                handler.wfile.write(part)
                handler.wfile.flush()
            until = time.monotonic() + hold
            while time.monotonic() < until:
                handler.wfile.write(b": ping\n\n")
                handler.wfile.flush()
                time.sleep(0.02)
            if answer:
                text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"done": True}})
                handler.wfile.write(b"data: " + text.encode() + b"\n\n")
            handler.close_connection = True

        return write


class Client:
    """The forwarder with pipes on both sides, as an MCP client holds it."""

    def __init__(self, upstream) -> None:
        read_end, self.stdin = os.pipe()
        out_read, out_write = os.pipe()
        self.out = os.fdopen(out_write, "wb")
        self.lines: queue.Queue[str] = queue.Queue()
        self.port = upstream.server.server_port
        forwarder = Forwarder(self.connect, lambda: "the-token", self.out)
        source = os.fdopen(read_end, "rb")

        def work() -> None:
            forwarder.run(source)
            source.close()
            self.out.close()

        def read() -> None:
            with os.fdopen(out_read, encoding="utf-8") as output:
                for line in output:
                    self.lines.put(line)

        self.thread = threading.Thread(target=work, daemon=True)
        self.reader = threading.Thread(target=read, daemon=True)
        self.thread.start()
        self.reader.start()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)

    def send(self, message) -> None:
        os.write(self.stdin, (message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")

    def next(self, seconds=5.0):
        return json.loads(self.lines.get(timeout=seconds))

    def close(self) -> None:
        os.close(self.stdin)
        self.thread.join(10)
        self.reader.join(10)
        assert not self.thread.is_alive()


@pytest.fixture
def upstream():
    found = Upstream()
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture
def client(upstream):
    found = Client(upstream)
    yield found
    if found.thread.is_alive():
        found.close()


def request(number, method="tools/list", **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def modern(number, method="tools/list", **params):
    return request(number, method, _meta={PROTOCOL_META: MODERN}, **params)


def test_a_message_goes_through_byte_for_byte(client, upstream):
    raw = b'{"id":1, "jsonrpc":"2.0","method":"tools/call","params":{"_meta":{"claudecode/toolUseId":"t\\u00fc"},"n":1.0}}'
    client.send(raw)
    assert client.next()["result"]["_meta"] == {"claudecode/toolUseId": "tü"}
    headers, body = upstream.posts[0]
    assert body == raw
    assert headers["authorization"] == "Bearer the-token"
    assert headers["content-type"] == "application/json"
    assert "text/event-stream" in headers["accept"] and "application/json" in headers["accept"]


def test_the_old_era_sends_the_agreed_version_from_then_on(client, upstream):
    def initialize(handler, message):
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": "2025-11-25"}}
        upstream.reply(handler, 200, "application/json", json.dumps(answer).encode())

    upstream.script["initialize"] = initialize
    client.send(request(0, "initialize", protocolVersion="2025-11-25"))
    client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    client.send(request(1))
    assert [client.next()["id"], client.next()["id"]] == [0, 1]
    assert [headers.get("mcp-protocol-version") for headers, _ in upstream.posts] == [None, "2025-11-25", "2025-11-25"]
    assert all("mcp-method" not in headers for headers, _ in upstream.posts)


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "message_send"}, "message_send"),
        ("prompts/get", {"name": "a b"}, "a b"),
        ("resources/read", {"uri": "x://ü"}, "=?base64?eDovL8O8?="),
        ("tools/call", {"name": " edge"}, "=?base64?IGVkZ2U=?="),
        ("tools/call", {"name": "=?base64?eA==?="}, "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
        ("tools/list", {"name": "none"}, None),
    ],
)
def test_the_new_era_is_said_by_each_message(client, upstream, method, params, name):
    client.send(modern("a", method, **params))
    assert client.next()["id"] == "a"
    headers, _ = upstream.posts[0]
    assert (headers["mcp-protocol-version"], headers["mcp-method"], headers.get("mcp-name")) == (MODERN, method, name)


def test_the_headers_are_those_the_sdk_checks():
    from mcp.shared.inbound import encode_header_value

    from relaybay.cli.mcp_stdio import _header_value

    for name in ("plain", " edge", "edge ", "ü", "", "a b", "=?base64?eA==?=", "x\ny", "~!"):
        if name:  # No tool has an empty name.
            assert _header_value(name) == encode_header_value(name)


def test_what_comes_before_an_answer_comes_through_in_order(client, upstream):
    note = b'data: {"jsonrpc":"2.0","method":"notifications/message",\ndata: "params":{}}\n\n'
    upstream.script["slow"] = upstream.stream(b"id: 1\ndata:\n\n: ping\n\n", note.replace(b"\n", b"\r\n"))
    client.send(request(1, "slow"))
    first, second = client.next(), client.next()
    assert (first["method"], second) == ("notifications/message", {"jsonrpc": "2.0", "id": 1, "result": {"done": True}})


def test_a_slow_call_holds_no_other_up(client, upstream):
    upstream.script["slow"] = upstream.stream(hold=1.5)
    client.send(request(1, "slow"))
    client.send(request(2))
    assert [client.next()["id"], client.next()["id"]] == [2, 1]


def test_a_cancel_of_the_new_era_ends_the_connection_and_is_not_sent(client, upstream):
    upstream.script["slow"] = upstream.stream(b": begun\n\n", hold=8)
    client.send(modern(1, "slow"))
    while not upstream.posts:
        time.sleep(0.01)
    time.sleep(0.1)
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert upstream.gone.wait(3)
    client.send(modern(2))
    assert client.next()["id"] == 2
    assert len(upstream.posts) == 2


def test_a_cancel_of_the_old_era_is_sent(client, upstream):
    upstream.script["slow"] = upstream.stream(hold=0.5)
    client.send(request(1, "slow"))
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert client.next()["id"] == 1
    assert [json.loads(body)["method"] for _, body in upstream.posts] == ["slow", "notifications/cancelled"]


@pytest.mark.parametrize(
    ("status", "kind", "content", "code"),
    [
        (401, "application/problem+json", b'{"code": "unauthorized", "detail": "no key."}', "mcp_refused"),
        (502, "text/html", b"<html>", "mcp_refused"),
        (200, "application/json", b"not json", "no_server"),
        (200, "application/json", b"[]", "no_server"),
    ],
)
def test_every_call_gets_an_answer(client, upstream, status, kind, content, code):
    upstream.script["x"] = lambda handler, _: upstream.reply(handler, status, kind, content)
    client.send(request(7, "x"))
    answer = client.next()
    assert (answer["id"], answer["error"]["data"]["code"]) == (7, code)
    assert answer["error"]["message"].endswith(f"[{code} 75]")


def test_an_error_of_the_protocol_is_handed_on_and_gets_the_calls_id(client, upstream):
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32022, "message": "no such version"}}
    upstream.script["x"] = lambda handler, _: upstream.reply(
        handler, 400, "application/json", json.dumps(error).encode()
    )
    client.send(request(7, "x"))
    assert client.next() == error | {"id": 7}


def test_a_stream_that_ends_early_is_an_error(client, upstream):
    upstream.script["x"] = upstream.stream(b": begun\n\n", answer=False)
    client.send(request(7, "x"))
    assert client.next()["error"]["data"]["code"] == "no_server"


def test_a_server_that_is_away_is_an_error_and_back_again_is_none(client, upstream):
    port, client.port = client.port, 1
    client.send(request(1))
    answer = client.next()
    assert answer["error"]["data"]["code"] == "no_server" and "relaybay up" in answer["error"]["message"]
    client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    client.port = port
    client.send(request(2))
    assert client.next()["id"] == 2


@pytest.mark.parametrize("line", [b"hello", b"[]", b"1", b'{"a":', b"\xff"])
def test_a_line_that_is_no_message_is_told_and_not_sent(client, upstream, line):
    client.send(line)
    answer = client.next()
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)
    assert upstream.posts == []


def test_an_id_in_flight_and_too_many_calls_are_refused(client, upstream):
    upstream.script["slow"] = upstream.stream(hold=1.5)
    client.send(request(0, "slow"))
    client.send(request(0, "slow"))
    assert client.next()["error"]["data"]["code"] == "too_many_calls"
    for number in range(1, CALLS_MAX + 1):
        client.send(request(number, "slow"))
    answers = [client.next(15) for _ in range(CALLS_MAX + 1)]
    assert [a["id"] for a in answers if "error" in a] == [CALLS_MAX]


def test_at_the_end_of_the_input_open_calls_are_answered_and_streams_are_not_waited_for(client, upstream):
    upstream.script["slow"] = upstream.stream(hold=0.5)
    upstream.script["subscriptions/listen"] = upstream.stream(hold=8)
    client.send(modern(1, "subscriptions/listen"))
    client.send(modern(2, "slow"))
    began = time.monotonic()
    client.close()
    assert client.next()["id"] == 2
    assert time.monotonic() - began < 7


def test_nothing_but_messages_is_written():
    out = io.BytesIO()
    Forwarder(lambda: (_ for _ in ()).throw(OSError("away")), lambda: "t", out).run([b"\n", b"  \n"])
    assert out.getvalue() == b""


def test_after_the_end_no_thread_is_left_that_could_write(client, upstream):
    upstream.script["subscriptions/listen"] = upstream.stream(hold=20)
    before = set(threading.enumerate())
    client.send(modern(1, "subscriptions/listen"))
    while not upstream.posts:
        time.sleep(0.01)
    began = time.monotonic()
    client.close()
    assert time.monotonic() - began < 10
    forwarding = [t for t in set(threading.enumerate()) - before if t.name.endswith("(_receive)")]
    assert forwarding == []
    assert client.lines.empty()


def test_an_output_that_was_closed_ends_a_call_quietly(upstream, monkeypatch):
    raised = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    out = io.BytesIO()
    out.close()
    forwarder = Forwarder(
        lambda: http.client.HTTPConnection("127.0.0.1", upstream.server.server_port, timeout=10), lambda: "t", out
    )
    forwarder.run([json.dumps(request(1)).encode(), b"no message"])
    assert len(upstream.posts) == 1
    assert raised == []
