"""The fixture's server in a process of its own: ``python -m tests.api.mcp_fixture.server`` prints where it is, as JSON.

The suite's names behind the product's own bridge, gate and server. Unlike the product it keeps sessions and stores
events, because half of the older era's scenarios have the server ask the client in mid-call.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time
import warnings
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged, ToolsListChanged
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError

from relaybay.api.gate import Gate
from relaybay.api.headers import own_hosts, own_origins
from relaybay.api.keys import Keys
from relaybay.api.mcp_bridge import mount
from relaybay.api.mcp_json import StrictJson
from relaybay.api.routes import Routes
from relaybay.api.serving import make_app, serve
from tests.api.mcp_fixture import asking, content
from tests.api.mcp_fixture.asking import done

Context = ServerRequestContext[Any, Any]
NAME = "relaybay-fixture"
PAUSE_SECONDS = 0.05
RETRY_MS = 200

NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
TEXT = {"type": "string"}
# Every keyword of this schema has to come through `tools/list` unharmed; the suite compares it member by member.
RICH: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {"$anchor": "addressDef", "type": "object", "properties": {"street": TEXT, "city": TEXT}},
    },
    "properties": {
        "name": TEXT,
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": TEXT,
        "email": TEXT,
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
_ROUNDS = [
    "elicitation",
    "sampling",
    "list_roots",
    "request_state",
    "multiple_inputs",
    "multi_round",
    "tampered_state",
    "capabilities",
]
SCHEMAS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(
        [
            "test_simple_text",
            "test_image_content",
            "test_audio_content",
            "test_embedded_resource",
            "test_multiple_content_types",
            "test_tool_with_logging",
            "test_error_handling",
            "test_tool_with_progress",
            "test_elicitation_sep1034_defaults",
            "test_elicitation_sep1330_enums",
            "test_missing_capability",
            "test_streaming_elicitation",
            "test_logging_tool",
            "test_trigger_tool_change",
            "test_trigger_prompt_change",
            "test_reconnection",
        ],
        NOTHING,
    ),
    **{f"test_input_required_result_{one}": NOTHING for one in _ROUNDS},
    "test_sampling": {"type": "object", "properties": {"prompt": TEXT}, "required": ["prompt"]},
    "test_elicitation": {"type": "object", "properties": {"message": TEXT}, "required": ["message"]},
    "test_header_value": {"type": "object", "properties": {"region": {**TEXT, "x-mcp-header": "Region"}}},
    "json_schema_2020_12_tool": RICH,
}
TOOLS = [types.Tool(name=name, description=f"A fixture: {name}.", input_schema=s) for name, s in SCHEMAS.items()]

_CONTENT: dict[str, list[Any]] = {
    "test_simple_text": [content.text("This is a simple text response for testing.")],
    "test_image_content": [content.image()],
    "test_audio_content": [types.AudioContent(type="audio", data=content.WAV, mime_type="audio/wav")],
    "test_embedded_resource": [content.embedded("test://embedded-resource", "This is an embedded resource content.")],
    "test_multiple_content_types": [
        content.text("Multiple content types test:"),
        content.image(),
        content.embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ],
}


class Fixture:
    """One MCP server with everything the suite names."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self.watched: set[str] = set()
        with warnings.catch_warnings():
            # The suite still scores what the newer revision has deprecated.
            warnings.simplefilter("ignore")
            self.server: Server[Any] = Server(
                NAME,
                version="1.0.0",
                on_list_tools=self.list_tools,
                on_call_tool=self.call,
                on_list_resources=self.list_resources,
                on_list_resource_templates=self.list_templates,
                on_read_resource=self.read,
                on_subscribe_resource=self.watch,
                on_unsubscribe_resource=self.unwatch,
                on_subscriptions_listen=ListenHandler(self.bus),
                on_list_prompts=self.list_prompts,
                on_get_prompt=self.prompt,
                on_completion=self.complete,
                on_set_logging_level=self.set_level,
                get_tool_input_schema=SCHEMAS.get,
            )
        self.server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME))

    async def list_tools(self, ctx: Context, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=TOOLS)

    async def list_resources(self, ctx: Context, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=content.RESOURCES)

    async def list_templates(self, ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=content.TEMPLATES)

    async def read(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return content.read(str(params.uri))

    async def watch(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        self.watched.add(str(params.uri))
        return types.EmptyResult()

    async def unwatch(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self.watched.discard(str(params.uri))
        return types.EmptyResult()

    async def list_prompts(self, ctx: Context, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=content.PROMPTS)

    async def prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> Any:
        if params.name == "test_input_required_result_prompt":
            return asking.prompt_by_rounds(params)
        return content.prompt(params.name, dict(params.arguments or {}))

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        known = ["paris", "park", "party"]
        fits = [one for one in known if one.startswith(params.argument.value)]
        return types.CompleteResult(completion=types.Completion(values=fits, total=len(fits), has_more=False))

    async def set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        return types.EmptyResult()

    async def call(self, ctx: Context, params: types.CallToolRequestParams) -> asking.Answer:
        name, arguments = params.name, dict(params.arguments or {})
        if name not in SCHEMAS:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name}")
        if name in _CONTENT:
            return types.CallToolResult(content=_CONTENT[name])
        if name == "test_error_handling":
            said = [content.text("This tool intentionally returns an error for testing")]
            return types.CallToolResult(content=said, is_error=True)
        if name.startswith("test_input_required_result_"):
            return asking.by_rounds(ctx, params)
        if name in ("test_sampling", "test_elicitation") or "_sep1" in name:
            return await asking.in_mid_call(ctx, name, arguments)
        if name == "test_missing_capability":
            asking.need_sampling(ctx)
        return await self._act(ctx, name)

    async def _act(self, ctx: Context, name: str) -> types.CallToolResult:
        """The tools that do something while they run."""
        if name == "test_trigger_tool_change":
            await self.bus.publish(ToolsListChanged())
        elif name == "test_trigger_prompt_change":
            await self.bus.publish(PromptsListChanged())
        elif name in ("test_tool_with_logging", "test_logging_tool"):
            for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
                await ctx.session.send_log_message("info", said, related_request_id=ctx.request_id)
                await asyncio.sleep(PAUSE_SECONDS)
        elif name in ("test_tool_with_progress", "test_streaming_elicitation"):
            for progress in (0, 50, 100):
                await ctx.session.report_progress(progress, 100)
                await asyncio.sleep(PAUSE_SECONDS)
        elif name == "test_reconnection" and ctx.close_sse_stream is not None:
            await ctx.close_sse_stream()
            await asyncio.sleep(2 * PAUSE_SECONDS)
        return done(f"{name} is done.")


class Events(EventStore):
    """All events of all streams, in memory, numbered."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: Any) -> str:
        self.kept.append((stream_id, message))
        return str(len(self.kept) - 1)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        last = int(last_event_id)
        if not 0 <= last < len(self.kept):
            return None
        stream_id = self.kept[last][0]
        for number, (stream, message) in list(enumerate(self.kept))[last + 1 :]:
            if stream == stream_id and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id


def main() -> None:
    warnings.simplefilter("ignore")
    app = make_app()
    routes = Routes(app)
    keys = Keys(*(secrets.token_urlsafe(32) for _ in range(3)))
    fixture = Fixture()

    def manager() -> StrictJson:
        port = app.ctx.listening.port
        security = TransportSecuritySettings(
            allowed_hosts=list(own_hosts(port)), allowed_origins=list(own_origins(port))
        )
        return StrictJson(
            StreamableHTTPSessionManager(
                fixture.server, event_store=Events(), security_settings=security, retry_interval=RETRY_MS
            )
        )

    mount(routes, manager)
    Gate(keys, now_us=lambda: time.time_ns() // 1_000).install(app)

    def ready(at: Any) -> None:
        print(json.dumps({"url": f"{at.url}/mcp", "token": keys.token}), flush=True)

    serve(app, port=0, socket_path=None, ready=ready)


if __name__ == "__main__":
    sys.exit(main())
