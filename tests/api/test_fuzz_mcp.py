"""Every tool fuzzed from its own schema through the official client in both eras, and the endpoint by hand.

What the schema allows is never an error of the protocol, and a refusal of it has a known code; what the schema forbids
is refused by name and changes nothing. What is no request of the protocol at all is answered, never by a 500.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2
import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from schemathesis import GenerationMode

from relaybay import specs
from relaybay.api.results import output_schema
from relaybay.api.tools import TOOLS
from tests.api.mcp_rig import CHANNELS, ERAS, Served, serve, stop
from tests.api.wire import Wire

CODES = {answer.code for answer in specs.answers().values() if answer.code}
SETTINGS = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))
SECONDS = 30
SHOWN = {tool.name: tool.shown() for tool in TOOLS}
MODERN, LEGACY = ERAS[0][1], ERAS[1][1]


class Talker:
    """The official client in one era, connected once, asked from this thread."""

    def __init__(self, served: Served, mode: str) -> None:
        self._served, self._mode = served, mode
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._ready, self._end = threading.Event(), asyncio.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        self._life = asyncio.run_coroutine_threadsafe(self._live(), self._loop)
        assert self._ready.wait(SECONDS), self._life
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._life.result(SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _live(self) -> None:
        headers = {"Authorization": f"Bearer {self._served.keys.token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=SECONDS, trust_env=False) as http:
            transport = streamable_http_client(f"{self._served.server.url}/mcp", http_client=http)
            async with Client(transport, mode=self._mode) as self.client:
                self._ready.set()
                await self._end.wait()

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """The result; an error of the protocol is raised."""
        asked = asyncio.run_coroutine_threadsafe(self.client.call_tool(tool, arguments), self._loop)
        return asked.result(SECONDS)


@pytest.fixture(scope="module")
def served() -> Iterator[Any]:
    folder = Path(tempfile.mkdtemp(prefix="rb"))  # Short, because a socket's path is limited.
    (folder / "run").mkdir(mode=0o700)
    one = serve(folder, socket_path=folder / "run" / "s", messaging=CHANNELS)
    one.post("sessions", desktop="d-web", title="web")
    one.post("tasks", project="shop", title="Paint the fence")
    # One that no drawn call knows of: its comment stays for the session that it was for.
    one.post("tasks", project="shop", title="Paint the gate")
    one.post("tasks/shop-2/bind", session="web")
    one.comment = one.post("tasks/shop-2/comments", body="Blue.")["id"]
    yield one
    stop(one)
    shutil.rmtree(folder)


@pytest.fixture(scope="module", params=[mode for mode, _ in ERAS])
def talker(served: Served, request: pytest.FixtureRequest) -> Iterator[Talker]:
    with Talker(served, request.param) as one:
        yield one


def arguments(tool: str, mode: GenerationMode) -> st.SearchStrategy[Any]:
    """Bodies of an operation whose schema is the tool's: a generator for schemas that we have already."""
    content = {"application/json": {"schema": SHOWN[tool].input_schema}}
    post = {
        "operationId": tool,
        "requestBody": {"required": True, "content": content},
        "responses": {"200": {"description": "ok"}},
    }
    api = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {f"/{tool}": {"post": post}}}
    operation = schemathesis.openapi.from_dict(api)[f"/{tool}"]["POST"]
    return operation.as_strategy(generation_mode=mode).map(lambda case: case.body)


# What exists, put in the place of what a generator would never hit upon.
KNOWN = {
    "session": ["web", "S-1", "fuzzer"], "to": ["web", "S-1", "fuzzer"], "task": ["shop-1"], "project": ["shop"],
    "message_id": [""], "before": [""], "cursor": [""], "session_title": [""], "hook_session": [""], "in_reply_to": [""],
    "topic": ["ci.fence"], "request_id": [""],
}  # fmt: skip


# One call of each tool that is carried out whatever was called before it.
GOOD: dict[str, dict[str, Any]] = {
    "message_send": {"session": "good", "to": "web", "body": "x", "request_id": "good-1"},
    "message_publish": {"session": "good", "topic": "ci.fence", "body": "x", "request_id": "good-2"},
    "sessions_list": {},
    "topic_read": {"session": "web", "topic": "ci.fence"},
    "messages_list": {"session": "web"},
    "message_ack": {"session": "web"},
    "comment_add": {"session": "web", "task": "shop-1", "body": "x"},
    "comments_list": {"task": "shop-1"},
    "comment_ack": {"session": "web", "id": "c_…"},
    "tasks_list": {},
    "task_get": {"task": "shop-1"},
    "task_create": {"project": "shop", "title": "x"},
    "task_update": {"task": "shop-1", "title": "x"},
    "task_bind_session": {"task": "shop-1", "session": "web"},
    "events_since": {},
}


@st.composite
def sensible(draw: st.DrawFn, tool: str) -> dict[str, Any]:
    """Arguments that the schema allows, some of them replaced by names that are somebody's."""
    given = dict(draw(arguments(tool, GenerationMode.POSITIVE)))
    for name, values in KNOWN.items():
        if name in given and draw(st.booleans()):
            given[name] = draw(st.sampled_from(values))
    return given


def judged(result: Any, tool: str) -> str:
    """The refusal's code, or the empty string; either way the result is as the tool promises."""
    content = result.structured_content
    (text,) = [block.text for block in result.content]
    if result.is_error:
        assert set(content) == {"code", "spec_id", "text"}, content
        assert content["code"] in CODES and content["code"] != "internal", content
        assert re.search(r"\[[a-z_]+ [A-Z0-9-]+\]$", text), text
        return str(content["code"])
    assert json.loads(text) == content
    jsonschema.Draft202012Validator(output_schema(next(t.result for t in TOOLS if t.name == tool))).validate(content)
    return ""


def everything(tx: Any) -> dict[str, Any]:
    """Every row of every table."""
    names = [row["name"] for row in tx.dicts("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    return {name: tx.dicts(f'SELECT * FROM "{name}" ORDER BY 1') for name in names}


def sendable(value: Any) -> bool:
    """Whether the client can put it on the wire at all."""
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, TypeError):
        return False
    return isinstance(value, dict)


@pytest.mark.parametrize("tool", SHOWN)
@pytest.mark.spec("75")
def test_what_the_schema_allows_is_never_an_error_of_the_protocol(served: Any, talker: Talker, tool: str) -> None:
    good = {name: served.comment if value == "c_…" else value for name, value in GOOD[tool].items()}
    assert judged(talker.call(tool, good), tool) == "", "this one exists, and is carried out"

    @settings(SETTINGS, max_examples=16)
    @given(st.one_of(sensible(tool), arguments(tool, GenerationMode.POSITIVE)).filter(sendable))
    def takes(given: dict[str, Any]) -> None:
        assert judged(talker.call(tool, given), tool) != "argument_unknown"

    takes()


@pytest.mark.parametrize("tool", SHOWN)
@pytest.mark.spec("75", "INV-7")
def test_what_the_schema_forbids_is_refused_by_name_and_changes_nothing(
    served: Served, talker: Talker, tool: str
) -> None:
    schema = jsonschema.Draft202012Validator(SHOWN[tool].input_schema)
    before = served.relay.store.read(everything)
    tried = 0

    @settings(SETTINGS, max_examples=12)
    @given(arguments(tool, GenerationMode.NEGATIVE).filter(lambda a: sendable(a) and not schema.is_valid(a)))
    def refuses(given: dict[str, Any]) -> None:
        nonlocal tried
        tried += 1
        code = judged(talker.call(tool, given), tool)
        assert code in ("argument_invalid", "argument_unknown"), (code, given)

    try:
        refuses()
    except Unsatisfiable:
        pytest.skip("nothing that the client could send is wrong")
    assert tried >= 6
    assert served.relay.store.read(everything) == before


# --- by hand ---


META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)
METHODS = st.sampled_from(
    [
        "initialize",
        "ping",
        "server/discover",
        "tools/list",
        "tools/call",
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/progress",
        "subscriptions/listen",
        "resources/list",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
        "tasks/get",
        "no/such",
    ]
)


@st.composite
def messages(draw: st.DrawFn) -> Any:
    """A request of the protocol with up to three things about it changed."""
    params: dict[str, Any] = {"_meta": dict(META)}
    if draw(st.booleans()):
        params |= {"name": draw(st.sampled_from(list(SHOWN))), "arguments": draw(ANYTHING)}
    message = {"jsonrpc": "2.0", "id": 1, "method": draw(METHODS), "params": params}
    for _ in range(draw(st.integers(0, 3))):
        part: dict[str, Any] = draw(
            st.sampled_from([message, params, params["_meta"] if isinstance(params.get("_meta"), dict) else message])
        )
        name = draw(st.sampled_from([*part, "x"]))
        if draw(st.booleans()):
            part.pop(name, None)
        else:
            part[name] = draw(ANYTHING)
    return draw(st.sampled_from([message, message, message, [message], [message, message]]))


HEADER_VALUES = st.sampled_from(
    ["", MODERN, LEGACY, "2024-11-05", "1900-01-01", "tools/list", "tools/call", "task_get", "=?base64?!!?=", "é",
     "x" * 3_000, "application/json", "text/event-stream", "*/*", "application/json, text/event-stream"]
)  # fmt: skip


@settings(SETTINGS, max_examples=250)
@given(
    message=messages(),
    headers=st.dictionaries(
        st.sampled_from(
            ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Accept", "Mcp-Session-Id", "Last-Event-ID"]
        ),
        HEADER_VALUES,
        max_size=4,
    ),
    matching=st.booleans(),
)
@pytest.mark.spec("75")
def test_messages_and_headers_that_are_none(
    served: Served, message: Any, headers: dict[str, str], *, matching: bool
) -> None:
    wire = Wire(served.server.port, {"Authorization": f"Bearer {served.keys.token}"})
    given = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": MODERN, **headers}
    if matching and isinstance(message, dict) and re.fullmatch("[!-~]+", str(message.get("method", ""))):
        given["Mcp-Method"] = str(message["method"])
    answer = wire.post("/mcp", message, given)
    assert answer.status in (200, 202, 400, 404, 405, 406, 415, 422), (answer, message)
    # Whatever it was, an answer is one of the protocol's, or none of it is there.
    for said in _said(answer.body):
        assert said["jsonrpc"] == "2.0"
        if "error" in said:
            assert said["error"]["code"] in (-32700, -32600, -32601, -32602, -32020, -32021, -32022), said
            assert "Traceback" not in said["error"]["message"]
    assert wire.get("/healthz").status in (200, 404)


def _said(body: bytes) -> list[dict[str, Any]]:
    if body.startswith((b"event:", b"data:")):
        lines = [line[5:] for line in body.splitlines() if line.startswith(b"data:")]
        return [json.loads(line) for line in lines if line.strip()]
    return [json.loads(body)] if body else []


@settings(SETTINGS, max_examples=150)
@given(data=st.data())
@pytest.mark.spec("75")
def test_bytes_that_were_a_message(served: Served, data: st.DataObject) -> None:
    call = {"name": "task_get", "arguments": {"task": "shop-1"}, "_meta": META}
    body = bytearray(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body)))
        kind = data.draw(st.sampled_from(["cut", "put", "flip"]))
        if kind == "cut":
            del body[at:]
        elif kind == "put":
            body[at:at] = data.draw(
                st.sampled_from([b"\x00", b"\xff", b"NaN", b"{", b"[" * 2_000, b"1e400", b'"id":1,'])
            )
        elif at < len(body):
            body[at] ^= 1 << data.draw(st.integers(0, 7))
    version = data.draw(st.sampled_from([MODERN, LEGACY]))
    headers = {
        "Authorization": f"Bearer {served.keys.token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": version,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "task_get",
    }
    answer = Wire(served.server.port).request("POST", "/mcp", headers, bytes(body))
    assert answer.status in (200, 202, 400, 404), (answer, body)
    for said in _said(answer.body):
        assert said["jsonrpc"] == "2.0"
