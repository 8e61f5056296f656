"""The bridge from ASGI to Sanic: the five faults an earlier form of it had, and the SDK's own client on top."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from relaybay.api import mcp_bridge
from relaybay.api.gate import Gate
from relaybay.api.headers import own_hosts, own_origins
from relaybay.api.keys import Keys
from relaybay.api.mcp_bridge import AsgiBridge, mount
from relaybay.api.routes import Routes
from relaybay.api.serving import ServerThread, make_app
from tests.api.conftest import Clock
from tests.api.wire import Wire, read_head


@dataclass
class Mounted:
    """A server whose /mcp is one ASGI application."""

    server: ServerThread
    wire: Wire
    bridge: AsgiBridge
    managers: list[Any] = field(default_factory=list)


@pytest.fixture
def serve_asgi(keys: Keys) -> Iterator[Any]:
    servers: list[ServerThread] = []

    def start(asgi: Any) -> Mounted:
        class Manager:
            def __init__(self) -> None:
                self.asgi_app = asgi

            @asynccontextmanager
            async def run(self):
                yield

        app = make_app()
        routes = Routes(app)
        bridge = mount(routes, Manager)
        Gate(keys, now_us=Clock()).install(app)
        servers.append(ServerThread(app).start())
        headers = {"Authorization": f"Bearer {keys.token}", "Content-Type": "application/json"}
        return Mounted(servers[-1], Wire(servers[-1].port, headers), bridge)

    yield start
    for server in servers:
        server.stop()


def answer(status: int = 200, body: bytes = b"{}", headers: Any = ((b"content-type", b"application/json"),)):
    async def app(scope, receive, send):
        await receive()
        await send({"type": "http.response.start", "status": status, "headers": list(headers)})
        await send({"type": "http.response.body", "body": body})

    return app


def wait_for(condition, seconds: float = 5) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


# --- the faults ---


def test_fault_1_the_application_outlives_a_handler_whose_peer_left(serve_asgi) -> None:
    """Cancelled with the handler, the SDK took a session for never established and the next call got 404."""
    seen: list[str] = []

    async def app(scope, receive, send):
        seen.append((await receive())["type"])
        seen.append((await receive())["type"])
        await asyncio.sleep(0.05)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"late"})
        seen.append("finished")

    mounted = serve_asgi(app)
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{mounted.server.port}\r\n"
    head += "".join(f"{n}: {v}\r\n" for n, v in mounted.wire.headers.items()) + "Content-Length: 2\r\n\r\n{}"
    with mounted.wire.connect() as connection:
        connection.sendall(head.encode())
        wait_for(lambda: seen == ["http.request"])
    wait_for(lambda: len(seen) == 3)
    assert seen == ["http.request", "http.disconnect", "finished"]
    assert mounted.bridge.open_exchanges == 0


def test_fault_2_header_values_lose_the_blanks_on_both_sides_and_keep_their_bytes(serve_asgi) -> None:
    got: dict[bytes, bytes] = {}

    async def app(scope, receive, send):
        got.update(scope["headers"])
        await answer()(scope, receive, send)

    mounted = serve_asgi(app)
    mounted.wire.request("POST", "/mcp", {"Mcp-Name": " \tname \t ", "X-Odd": "→\udcff"}, b"{}")
    assert got[b"mcp-name"] == b"name"
    assert got[b"x-odd"] == "→".encode() + b"\xff"


def test_fault_3_no_content_type_is_never_the_word_none(serve_asgi) -> None:
    got = serve_asgi(answer(202, b"", ())).wire.request("POST", "/mcp", None, b"{}")
    assert (got.status, got.body, got.header("content-length")) == (202, b"", "0")
    assert got.header("content-type") == "application/octet-stream"


def test_fault_4_the_headers_of_a_silent_event_stream_go_out_at_once(serve_asgi) -> None:
    async def app(scope, receive, send):
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await receive()

    mounted = serve_asgi(app)
    head = f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{mounted.server.port}\r\nAuthorization: {mounted.wire.headers['Authorization']}\r\n\r\n"
    begun = time.monotonic()
    with mounted.wire.connect() as connection:
        connection.sendall(head.encode())
        with connection.makefile("rb") as file:
            status, headers = read_head(file)
    assert (status, dict(headers)["content-type"]) == (200, "text/event-stream")
    assert dict(headers)["cache-control"] == "no-store"
    assert time.monotonic() - begun < 10
    wait_for(lambda: mounted.bridge.open_exchanges == 0)


def test_fault_5_each_start_of_the_server_has_a_manager_of_its_own(keys: Keys) -> None:
    """`run()` works once per manager. The low-level server behind it may serve one life after the other."""
    managers: list[StreamableHTTPSessionManager] = []
    lowlevel = Server("fixture")

    def make() -> StreamableHTTPSessionManager:
        managers.append(StreamableHTTPSessionManager(lowlevel, stateless=True))
        return managers[-1]

    for life in (1, 2):
        app = make_app()
        mount(Routes(app), make)
        Gate(keys, now_us=Clock()).install(app)
        assert len(managers) == life - 1
        with ServerThread(app) as server:
            assert len(managers) == life
            wire = Wire(
                server.port, {"Authorization": f"Bearer {keys.token}", "Accept": "application/json, text/event-stream"}
            )
            assert wire.post("/mcp", {}).status == 400
    assert managers[0] is not managers[1]


# --- more of the wire ---


def test_framing_headers_are_sanics_own(serve_asgi) -> None:
    headers = [
        (b"Content-Type", b"application/json"),
        (b"Transfer-Encoding", b"chunked"),
        (b"Connection", b"close"),
        (b"X-Twice", b"1"),
        (b"X-Twice", b"2"),
        (b"X-Bytes", b"\xc3\xa4\xff"),
    ]
    got = serve_asgi(answer(200, b'{"a":1}', headers)).wire.request("POST", "/mcp", None, b"{}")
    assert got.json == {"a": 1}
    assert [value for name, value in got.headers if name == "x-twice"] == ["1", "2"]
    assert got.header("transfer-encoding") is None
    assert got.header("connection") == "keep-alive"
    assert got.header("x-bytes") == "ä\ufffd"


def test_a_body_in_pieces_is_one_body(serve_asgi) -> None:
    async def app(scope, receive, send):
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-length", b"4"), (b"content-type", b"a/b")],
            }
        )
        await send({"type": "http.response.body", "body": b"ab", "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        await send({"type": "http.response.body", "body": b"cd"})
        await send({"type": "http.response.body", "body": b"dropped"})

    got = serve_asgi(app).wire.request("POST", "/mcp", None, b"{}")
    assert (got.body, got.header("content-type")) == (b"abcd", "a/b")


def test_the_application_gets_the_whole_body_once(serve_asgi) -> None:
    got: dict[str, Any] = {}

    async def app(scope, receive, send):
        got.update(scope, first=await receive())
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})
        got.update(second=await receive())

    mounted = serve_asgi(app)
    assert mounted.wire.request("POST", "/mcp?a=%20b", None, b"x" * 300_000).status == 204
    assert got["first"] == {"type": "http.request", "body": b"x" * 300_000, "more_body": False}
    assert (got["method"], got["path"], got["raw_path"], got["query_string"]) == ("POST", "/mcp", b"/mcp", b"a=%20b")
    assert (got["client"][0], got["server"]) == ("127.0.0.1", ("127.0.0.1", mounted.server.port))
    # The answer is complete: an application that still listens is told so, and may return.
    wait_for(lambda: "second" in got)
    assert got["second"] == {"type": "http.disconnect"}


def test_an_exception_before_the_answer_is_a_500_of_ours(serve_asgi) -> None:
    async def app(scope, receive, send):
        raise RuntimeError("hunter2")

    got = serve_asgi(app).wire.request("POST", "/mcp", None, b"{}")
    assert (got.status, got.code) == (500, "internal")
    assert b"hunter2" not in got.body


def test_no_answer_at_all_is_a_500_of_ours(serve_asgi) -> None:
    async def app(scope, receive, send):
        await receive()

    assert serve_asgi(app).wire.request("POST", "/mcp", None, b"{}").code == "internal"


@pytest.mark.parametrize("raises", [True, False])
def test_a_stream_that_breaks_off_does_not_look_complete(serve_asgi, raises: bool) -> None:
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        await asyncio.sleep(0.05)
        if raises:
            raise RuntimeError("hunter2")

    mounted = serve_asgi(app)
    with pytest.raises((ValueError, ConnectionError)):  # The last chunk's size is missing.
        mounted.wire.request("POST", "/mcp", None, b"{}")
    assert mounted.wire.get("/nowhere").status == 404


def test_a_peer_that_resets_in_mid_stream_leaves_nothing_behind(serve_asgi) -> None:
    ended = threading.Event()
    outcomes: list[bool] = []

    async def app(scope, receive, send):
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})

        async def pour():
            while True:
                await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
                await asyncio.sleep(0.001)

        pouring = asyncio.create_task(pour())
        await receive()
        await asyncio.sleep(0.05)
        # Blocked in `send` when the peer left, it must see neither an error nor a cancellation that nobody asked for.
        outcomes.append(pouring.done())
        pouring.cancel()
        ended.set()

    mounted = serve_asgi(app)
    for _ in range(5):
        ended.clear()
        connection = mounted.wire.connect()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        head = f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{mounted.server.port}\r\nAuthorization: {mounted.wire.headers['Authorization']}\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        time.sleep(0.1)
        connection.close()
        assert ended.wait(5)
    assert outcomes == [False] * 5
    wait_for(lambda: mounted.bridge.open_exchanges == 0)


def test_an_application_that_will_not_end_is_cancelled(serve_asgi, monkeypatch) -> None:
    monkeypatch.setattr(mcp_bridge, "LINGER_SECONDS", 0.2)
    cancelled = threading.Event()
    entered = threading.Event()

    async def app(scope, receive, send):
        entered.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    mounted = serve_asgi(app)
    with mounted.wire.connect() as connection:
        lines = "".join(f"{n}: {v}\r\n" for n, v in mounted.wire.headers.items())
        connection.sendall(
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{mounted.server.port}\r\n{lines}Content-Length: 2\r\n\r\n{{}}".encode()
        )
        assert entered.wait(5)
    assert cancelled.wait(5)


def test_without_an_application_it_is_unavailable(serve_asgi) -> None:
    mounted = serve_asgi(answer())
    mounted.bridge.app = None
    got = mounted.wire.request("POST", "/mcp", None, b"{}")
    assert (got.status, got.code) == (503, "unavailable")


def test_a_manager_that_cannot_start_keeps_the_server_from_starting(keys: Keys) -> None:
    class Manager:
        asgi_app = None

        @asynccontextmanager
        async def run(self):
            raise RuntimeError("no manager today")
            yield

    app = make_app()
    mount(Routes(app), Manager)
    with pytest.raises(RuntimeError, match="no manager today"):
        ServerThread(app).start()


# --- the SDK's client ---


class Fixture:
    """A low-level server with a tool that answers, one that reports progress and one that waits for its end."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self.entered = threading.Event()
        self.server = Server("fixture", version="1", on_list_tools=self.tools, on_call_tool=self.call)

    async def tools(self, ctx, params) -> types.ListToolsResult:
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        names = ("echo", "progress", "wait", "fail")
        return types.ListToolsResult(tools=[types.Tool(name=n, description=n, input_schema=schema) for n in names])

    async def call(self, ctx, params) -> types.CallToolResult:
        text = (params.arguments or {}).get("text", "")
        if params.name == "fail":
            raise RuntimeError("inside the tool")
        if params.name == "progress":
            for n in range(3):
                await ctx.session.report_progress(n + 1, 3, f"step {n + 1}")
        if params.name == "wait":
            self.entered.set()
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], structured_content={"text": text}
        )


@pytest.fixture
def sdk(keys: Keys) -> Iterator[tuple[Fixture, ServerThread, dict[str, str]]]:
    fixture = Fixture()
    app = make_app()

    def make() -> StreamableHTTPSessionManager:
        port = app.ctx.listening.port
        security = TransportSecuritySettings(
            allowed_hosts=list(own_hosts(port)), allowed_origins=list(own_origins(port))
        )
        return StreamableHTTPSessionManager(fixture.server, stateless=True, security_settings=security)

    mount(Routes(app), make)
    Gate(keys, now_us=Clock()).install(app)
    with ServerThread(app) as server:
        yield fixture, server, {"Authorization": f"Bearer {keys.token}"}


ERAS = [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")]


async def with_client(server: ServerThread, headers: dict[str, str], mode: str, work, **more: Any) -> Any:
    async with httpx2.AsyncClient(headers=headers, timeout=20, trust_env=False) as http:
        async with Client(streamable_http_client(f"{server.url}/mcp", http_client=http), mode=mode, **more) as client:
            return await work(client)


@pytest.mark.parametrize(("mode", "version"), ERAS)
@pytest.mark.spec("75")
def test_the_official_client_lists_and_calls(sdk, mode: str, version: str) -> None:
    _, server, headers = sdk

    async def work(client: Client) -> None:
        assert client.protocol_version == version
        assert [tool.name for tool in (await client.list_tools()).tools] == ["echo", "progress", "wait", "fail"]
        for text in ("hello", "→ \u2028 𝕏", "x" * 200_000):
            result = await client.call_tool("echo", {"text": text})
            assert result.structured_content == {"text": text}

    asyncio.run(with_client(server, headers, mode, work))


@pytest.mark.parametrize(("mode", "version"), ERAS)
def test_progress_arrives_before_the_result(sdk, mode: str, version: str) -> None:
    _, server, headers = sdk
    steps: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    async def work(client: Client) -> None:
        await client.call_tool("progress", {"text": "a"}, progress_callback=on_progress)

    asyncio.run(with_client(server, headers, mode, work))
    assert steps == [1, 2, 3]


@pytest.mark.parametrize(("mode", "version"), ERAS)
def test_a_client_that_gives_up_cancels_its_tool(sdk, mode: str, version: str) -> None:
    fixture, server, headers = sdk

    async def work(client: Client) -> None:
        with pytest.raises(Exception):  # noqa: B017, PT011 - which one is the SDK's business.
            await client.call_tool("wait", {}, read_timeout_seconds=0.5)

    asyncio.run(with_client(server, headers, mode, work))
    assert fixture.entered.is_set()
    assert fixture.cancelled.wait(8)


@pytest.mark.parametrize(("mode", "version"), ERAS)
def test_an_exception_of_a_tool_ends_that_call_alone(sdk, mode: str, version: str) -> None:
    """What the SDK tells of it differs by era (the older one quotes it): tools catch their own exceptions."""
    _, server, headers = sdk

    async def work(client: Client) -> None:
        with pytest.raises(Exception):  # noqa: B017, PT011
            await client.call_tool("fail", {})
        assert (await client.call_tool("echo", {"text": "a"})).structured_content == {"text": "a"}

    asyncio.run(with_client(server, headers, mode, work))


def test_many_calls_at_once(sdk) -> None:
    _, server, headers = sdk

    async def work(client: Client) -> None:
        results = await asyncio.gather(*(client.call_tool("echo", {"text": str(n)}) for n in range(50)))
        assert [r.structured_content["text"] for r in results] == [str(n) for n in range(50)]

    asyncio.run(with_client(server, headers, "auto", work))


def test_29_30_the_wire_rules_of_the_protocol_pass_through(sdk) -> None:
    """Header and body must agree; unknown versions and methods have their own answers; GET is not for this era."""
    _, server, headers = sdk
    wire = Wire(server.port, {**headers, "Accept": "application/json, text/event-stream"})
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }

    def call(method: str = "tools/list", *, version: str = "2026-07-28", named: str | None = None) -> Any:
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": method,
            "params": {"_meta": {**meta, "io.modelcontextprotocol/protocolVersion": version}},
        }
        return wire.post("/mcp", body, {"MCP-Protocol-Version": version, "Mcp-Method": named or method})

    assert call().status == 200
    assert call(named="  tools/list\t").status == 200
    mismatch = call(named="tools/call")
    assert (mismatch.status, mismatch.json["error"]["code"]) == (400, -32020)
    unknown = call(version="2099-01-01")
    assert (unknown.status, unknown.json["error"]["code"]) == (400, -32022)
    method = call("no/such")
    assert (method.status, method.json["error"]["code"]) == (404, -32601)
    assert wire.get("/mcp", {"MCP-Protocol-Version": "2026-07-28"}).status == 405
    assert wire.post("/mcp", [], {"MCP-Protocol-Version": "2026-07-28"}).status == 400
    assert call().status == 200


def test_a_stop_ends_open_calls_quickly(sdk) -> None:
    fixture, server, headers = sdk

    async def work(client: Client) -> float:
        calling = asyncio.create_task(client.call_tool("wait", {}))
        assert await asyncio.to_thread(fixture.entered.wait, 5)
        begun = time.monotonic()
        await asyncio.to_thread(server.stop)
        took = time.monotonic() - begun
        with pytest.raises(Exception):  # noqa: B017, PT011
            await asyncio.wait_for(calling, 5)
        return took

    assert asyncio.run(with_client(server, headers, "2026-07-28", work)) < 4
    assert fixture.cancelled.is_set()
