"""The fast path over real sockets: what it answers, and above all what it leaves to the gate."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sanic import HTTPResponse, Request

from relaybay.api.bodies import JSON
from relaybay.api.body_reading import BodyLimits
from relaybay.api.fast_path import Generation, KnownHead
from relaybay.api.gate import Gate
from relaybay.api.headers import machine_answer
from relaybay.api.keys import Keys
from relaybay.api.routes import Routes
from relaybay.api.serving import ServerThread, make_app
from tests.api.conftest import Clock
from tests.api.wire import Response, read_response

SLOW, FAST = b'{"by":"handler"}', b'{"by":"short"}'
BODY_MAX = 5_000


@dataclass
class Hot:
    """A server with one hook route whose handler and short function say which of them answered."""

    server: ServerThread
    gate: Gate
    keys: Keys
    unix: Path
    short: list[bytes] = field(default_factory=list)
    slow: list[bytes] = field(default_factory=list)

    def connect(self, *, unix: bool = False) -> socket.socket:
        if not unix:
            return socket.create_connection(("127.0.0.1", self.server.port), timeout=10)
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(10)
        connection.connect(str(self.unix))
        return connection

    def event(self, body: bytes = b"{}", path: str = "/hooks/claude-code", **changed: str) -> bytes:
        headers = {
            "host": f"127.0.0.1:{self.server.port}",
            "authorization": f"Bearer {self.keys.hook_key}",
            "content-type": JSON,
            "content-length": str(len(body)),
            **{name.replace("_", "-"): value for name, value in changed.items()},
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value)
        return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


@pytest.fixture
def hot(keys: Keys, socket_path: Path) -> Iterator[Hot]:
    app = make_app()
    routes = Routes(app)
    gate = Gate(keys, now_us=Clock(), limits=BodyLimits(hook_body_bytes_max=BODY_MAX))
    short: list[bytes] = []
    slow: list[bytes] = []

    async def event(request: Request) -> HTTPResponse:
        slow.append(request.body)
        return HTTPResponse(SLOW, content_type=JSON)

    def at_once(body: bytes) -> bytes | None:
        short.append(body)
        if b"fail" in body:
            raise RuntimeError
        return None if b"usual way" in body else machine_answer(FAST, JSON)

    routes.op("POST", "/hooks/claude-code", "hook", event, door="hooks", short=at_once)
    routes.op("POST", "/hooks/other", "other", event, door="hooks")
    gate.install(app)
    with ServerThread(app, socket_path=socket_path) as server:
        yield Hot(server, gate, keys, socket_path, short, slow)


def ask(connection: socket.socket, data: bytes) -> Response:
    connection.sendall(data)
    return read_response(connection)


@pytest.mark.parametrize("unix", [False, True])
@pytest.mark.spec("PERF-1")
def test_a_repeated_head_is_answered_by_the_short_function(hot: Hot, *, unix: bool) -> None:
    with hot.connect(unix=unix) as connection:
        assert ask(connection, hot.event(b'{"n":1}')).body == SLOW
        for body in (b'{"n":2}', b'{"longer":"' + b"x" * 900 + b'"}', b"{}"):
            answer = ask(connection, hot.event(body))
            assert (answer.status, answer.body) == (200, FAST)
            assert hot.short[-1] == body
        assert hot.slow == [b'{"n":1}']


def test_both_ways_send_the_same_headers(hot: Hot) -> None:
    with hot.connect() as connection:
        slow, fast = (ask(connection, hot.event()) for _ in range(2))
    assert (slow.body, fast.body) == (SLOW, FAST)
    differ = {"content-length", "alt-svc"}
    assert {h for h in slow.headers if h[0] not in differ} == {h for h in fast.headers if h[0] not in differ}


def test_a_connection_knows_only_its_own_heads(hot: Hot) -> None:
    with hot.connect() as first, hot.connect() as second:
        ask(first, hot.event())
        assert ask(second, hot.event()).body == SLOW
        assert hot.short == []


CHANGES = {
    "another key": {"authorization": "Bearer " + secrets.token_urlsafe(32)},
    "no key": {"authorization": ""},
    "a foreign host": {"host": "evil.example"},
    "a foreign origin": {"origin": "http://evil.example"},
    "another site": {"sec_fetch_site": "cross-site"},
    "another type": {"content_type": "text/plain"},
    "an encoding": {"content_encoding": "gzip"},
    "an upgrade": {"upgrade": "websocket"},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.spec("75")
def test_any_other_head_meets_the_gate(hot: Hot, change: str) -> None:
    with hot.connect() as connection:
        ask(connection, hot.event())
        refused = ask(connection, hot.event(**CHANGES[change]))
    assert refused.status >= 400
    assert hot.short == []
    assert len(hot.slow) == 1


def test_another_path_is_another_head(hot: Hot) -> None:
    with hot.connect() as connection:
        ask(connection, hot.event())
        assert ask(connection, hot.event(path="/hooks/other")).body == SLOW
        assert hot.short == []
        # The head of a route without a short function is not remembered; the one before it still is.
        assert ask(connection, hot.event()).body == FAST


@pytest.mark.spec("75")
def test_new_keys_end_what_the_old_ones_let_in(hot: Hot) -> None:
    with hot.connect() as connection:
        ask(connection, hot.event())
        assert ask(connection, hot.event()).body == FAST
        old = hot.event()
        hot.keys = Keys(*(secrets.token_urlsafe(32) for _ in range(3)))
        hot.gate.use(hot.keys)
        assert ask(connection, old).status == 401
        assert len(hot.short) == 1
        assert ask(connection, hot.event()).body == SLOW
        assert ask(connection, hot.event()).body == FAST


@pytest.mark.spec("75")
def test_a_refused_head_is_not_remembered(hot: Hot) -> None:
    wrong = hot.event(authorization="Bearer " + secrets.token_urlsafe(32))
    with hot.connect() as connection:
        assert [ask(connection, wrong).status for _ in range(3)] == [401] * 3
    assert hot.short == hot.slow == []


@pytest.mark.parametrize(
    "more",
    [{"x_relaybay_event_id": "e-1"}, {"X-Relaybay-Client-Pid": "7"}, {"expect": "100-continue"}],
    ids=["event id", "client", "expect"],
)
def test_heads_that_mean_more_are_not_remembered(hot: Hot, more: dict[str, str]) -> None:
    with hot.connect() as connection:
        for _ in range(3):
            connection.sendall(hot.event(**more))
            if "expect" in more:
                assert connection.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
            assert read_response(connection).body == SLOW
    assert hot.short == []


@pytest.mark.parametrize("connection_header", ["close", "Close"])
def test_a_connection_that_is_to_end_ends(hot: Hot, connection_header: str) -> None:
    with hot.connect() as connection:
        ask(connection, hot.event())
        assert ask(connection, hot.event(connection=connection_header)).body == SLOW
        assert connection.recv(1) == b""


def test_too_large_a_body_meets_the_gate(hot: Hot) -> None:
    with hot.connect() as connection:
        ask(connection, hot.event())
        assert ask(connection, hot.event(b" " * (BODY_MAX + 1))).status == 413
    assert hot.short == []


def test_requests_in_parts_and_in_a_row_are_all_answered_in_order(hot: Hot) -> None:
    with hot.connect() as connection:
        ask(connection, hot.event())
        one = hot.event(b'{"n":1}')
        for cut in (1, len(one) // 2, len(one) - 1):
            connection.sendall(one[:cut])
            # Long enough apart to arrive as two pieces.
            connection.settimeout(0.05)
            with pytest.raises(TimeoutError):
                connection.recv(1)
            connection.settimeout(10)
            assert ask(connection, one[cut:]).body == SLOW
        connection.sendall(hot.event(b'{"n":2}') + hot.event(b'{"n":3}'))
        data = b""
        while data.count(SLOW) < 2:
            data += connection.recv(1 << 16)
        assert hot.slow[-2:] == [b'{"n":2}', b'{"n":3}']
        assert ask(connection, one).body == FAST


def test_what_the_short_function_does_not_want_goes_the_usual_way(hot: Hot, caplog: pytest.LogCaptureFixture) -> None:
    with hot.connect() as connection:
        ask(connection, hot.event())
        for body in (b'{"go":"usual way"}', b'{"please":"fail"}'):
            assert ask(connection, hot.event(body)).body == SLOW
            assert hot.slow[-1] == body
    assert "the fast path failed" in caplog.text


WHOLE = KnownHead(
    b"POST /hooks/claude-code HTTP/1.1\r\nhost: a\r\ncontent-length: ",
    b"\r\nauthorization: b\r\n\r\n",
    10_000,
    Generation(),
    lambda _: None,
)


@given(st.binary(max_size=200))
def test_a_body_is_given_back_as_it_came(body: bytes) -> None:
    assert WHOLE.body(WHOLE.before + str(len(body)).encode() + WHOLE.behind + body) == body


@settings(max_examples=500)
@given(st.binary(min_size=1, max_size=60), st.data())
def test_no_changed_head_passes(body: bytes, data: st.DataObject) -> None:
    whole = WHOLE.before + str(len(body)).encode() + WHOLE.behind + body
    at = data.draw(st.integers(0, len(whole) - len(body) - 1))
    changed = whole[:at] + data.draw(st.binary(max_size=3)) + whole[at + 1 :]
    found = WHOLE.body(changed)
    if found is not None:
        # Only another spelling of the same length passes.
        digits = changed[len(WHOLE.before) : changed.index(b"\r\n", len(WHOLE.before))]
        assert changed == WHOLE.before + digits + WHOLE.behind + found
        assert digits.isdigit()
        assert int(digits) == len(found)


@pytest.mark.parametrize("digits", [b"", b"-2", b"+2", b"2 ", b"0x2", b"2_", b"1", b"3", b"000000000002", "²".encode()])
def test_a_length_is_plain_and_right(digits: bytes) -> None:
    assert WHOLE.body(WHOLE.before + digits + WHOLE.behind + b"{}") is None


def test_the_answer_is_http() -> None:
    head, _, body = machine_answer(b"{}", JSON).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"content-length: 2" in head
    assert json.loads(body) == {}
