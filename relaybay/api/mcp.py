"""The MCP surface: the SDK's low-level server over the registry of tools, on the port of everything else.

A call is read by the tool's own strict model, carried out as one use case, and answered twice over: as structured
content and as the same JSON in a text. A refusal is an error result whose text ends with code and spec id, because
with an error the text is all that a model is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError

from relaybay import __version__
from relaybay.answers import Answer, with_code, word
from relaybay.api.arguments import read_arguments
from relaybay.api.calls import UseCase, answered, failure_of, refusal_of, run, run_feed
from relaybay.api.commits import Commits
from relaybay.api.headers import own_hosts, own_origins
from relaybay.api.mcp_bridge import mount
from relaybay.api.mcp_json import StrictJson
from relaybay.api.models import EventsSince
from relaybay.api.routes import Routes
from relaybay.api.strict_json import dumps
from relaybay.api.tools import CHANNEL_TOOLS, TOOLS, Tool
from relaybay.api.use_cases import ON_READER, USE_CASES, live_sessions
from relaybay.domain import Caller, Outcome
from relaybay.rules.text import name_literal
from relaybay.service.relay import Relay

INSTRUCTIONS_CHARS_MAX: Final = 1_500
PEERS_MAX: Final = 5
BODY_BYTES_MAX: Final = 1 << 20
_TOOL_USE_ID: Final = "claudecode/toolUseId"
_TOOL_USE_ID_CHARS_MAX: Final = 200
_ASKS_WHO_WE_ARE: Final = frozenset({"initialize", "server/discover"})

Context = ServerRequestContext[Any, Any]


class McpSurface:
    """The MCP server of one relay.

    Args:
        relay: what the use cases work on.
        commits: whom a long poll listens to.
        use_cases: tool name → `use_case(tx, relay, caller, arguments)`; `events_since` takes cursor, types and limit.
        live_sessions: `use_case(tx, relay)` whose data has `sessions`, live ones first seen last first.
    """

    def __init__(
        self,
        relay: Relay,
        commits: Commits,
        use_cases: Mapping[str, UseCase],
        live_sessions: UseCase,
    ) -> None:
        left_out = frozenset() if relay.messaging.channels else CHANNEL_TOOLS
        self.tools: dict[str, Tool] = {
            tool.name: tool for tool in TOOLS if tool.name in use_cases and tool.name not in left_out
        }
        self.calls: Counter[tuple[str, str]] = Counter()
        self.last_seen_us = 0
        self._relay = relay
        self._commits = commits
        self._use_cases = use_cases
        self._live_sessions = live_sessions
        self._shown = [tool.shown() for tool in self.tools.values()]
        self.server: Server[Any] = Server(
            "relaybay", version=__version__, title="relaybay", on_list_tools=self._list, on_call_tool=self._call
        )
        # Without this the library lists all tools anew for every call of the newer era (measured: half of a send).
        schemas = {tool.name: tool.input_schema for tool in self._shown}
        self.server.get_tool_input_schema = schemas.get
        # What the library puts there traces every message for a telemetry that nobody here reads (measured: 60 µs).
        self.server.middleware.clear()
        self.server.middleware.append(self._introduce)

    def manager(self, port: int) -> StreamableHTTPSessionManager:
        """A session manager for one server start. Without explicit settings the SDK would check no Host at all."""
        security = TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=[*own_hosts(port), "localhost"],
            allowed_origins=list(own_origins(port)),
        )
        return StreamableHTTPSessionManager(
            self.server,
            stateless=True,
            json_response=False,
            security_settings=security,
            max_request_body_size=BODY_BYTES_MAX,
        )

    async def instructions(self) -> str:
        """How to use the server, and whom one can write to at this moment: up to five live sessions (page 75)."""
        outcome = await run(self._relay, self._live_sessions, read=True)
        peers = [_peer(one) for one in outcome.data.get("sessions", ())[:PEERS_MAX]]
        while True:
            named = word("mcp.peers", peers=", ".join(peers)) if peers else word("mcp.no_peers")
            text = word("mcp.instructions", peers=named.text).text
            if len(text) < INSTRUCTIONS_CHARS_MAX:
                return text
            # Escaped names can be long: whom there is no room for is left out.
            assert peers, "the instructions are too long by themselves"
            peers.pop()

    async def _introduce(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        self.last_seen_us = self._relay.clock()
        if ctx.method in _ASKS_WHO_WE_ARE:
            try:
                self.server.instructions = await self.instructions()
            except Exception as error:  # noqa: BLE001 - logged; a client must be able to start without the store.
                failure_of(error, "mcp instructions")
        return await call_next(ctx)

    async def _list(self, _ctx: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._shown)

    async def _call(self, _ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self.tools.get(params.name)
        if tool is None:
            unknown = word("tool.unknown", name=name_literal(params.name), known=", ".join(self.tools))
            raise MCPError(code=types.INVALID_PARAMS, message=with_code(unknown))
        outcome = await self._carry_out(tool, params)
        refused = outcome if isinstance(outcome, Answer) else refusal_of(outcome)
        self.calls[tool.name, "refused" if refused else "done"] += 1
        if refused is not None:
            return _refusal(refused)
        assert isinstance(outcome, Outcome)
        return _result(answered(outcome))

    async def _carry_out(self, tool: Tool, params: types.CallToolRequestParams) -> Outcome | Answer:
        arguments = read_arguments(tool.name, tool.arguments, params.arguments or {})
        if isinstance(arguments, Answer):
            return arguments
        use_case = self._use_cases[tool.name]
        try:
            if isinstance(arguments, EventsSince):
                return await run_feed(
                    self._relay,
                    self._commits,
                    use_case,
                    cursor=arguments.cursor,
                    wait_s=arguments.wait_s,
                    types=tuple(arguments.types),
                    limit=arguments.limit,
                )
            made = getattr(arguments, "caller", None)
            tool_use_id = _tool_use_id(params)
            caller = made(tool_use_id) if made is not None else Caller(tool_use_id=tool_use_id)
            return await run(self._relay, use_case, caller, arguments, read=tool.name in ON_READER)
        except Exception as error:  # noqa: BLE001 - the SDK would tell the client its text.
            return failure_of(error, f"tool {tool.name}")


def register_mcp(
    routes: Routes,
    relay: Relay,
    commits: Commits,
    use_cases: Mapping[str, UseCase] = USE_CASES,
    live_sessions: UseCase = live_sessions,
) -> McpSurface:
    """Serves the tools at `/mcp` for as long as the app of `routes` runs."""
    surface = McpSurface(relay, commits, use_cases, live_sessions)
    mount(routes, lambda: StrictJson(surface.manager(routes.app.ctx.listening.port)))
    return surface


def _tool_use_id(params: types.CallToolRequestParams) -> str:
    # The client's own word for which tool use this is (PROOF-2); anything but a short string is none.
    given = dict(params.meta or {}).get(_TOOL_USE_ID)
    return given if isinstance(given, str) and len(given) <= _TOOL_USE_ID_CHARS_MAX else ""


def _peer(session: Mapping[str, Any]) -> str:
    # The title of a list is escaped and cut already (TEXT-3).
    title, ref, name = f'"{session["title"]}"', session["ref"], session.get("name", "")
    if name:
        return word("mcp.peer_named", title=title, ref=ref, name=name).text
    return word("mcp.peer", title=title, ref=ref).text


def _result(data: dict[str, Any]) -> types.CallToolResult:
    text = types.TextContent(type="text", text=dumps(data).decode("utf-8"))
    return types.CallToolResult(content=[text], structured_content=data)


def _refusal(answer: Answer) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=with_code(answer))],
        structured_content={"code": answer.code, "spec_id": answer.spec_id, "text": answer.text},
        is_error=True,
    )
