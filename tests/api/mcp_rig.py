"""A real relay on a real SQLite file behind the real server, and the official client in both eras."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from relaybay.api import metrics, rest, stream
from relaybay.api.commits import Commits
from relaybay.api.gate import Gate
from relaybay.api.keys import KeyFolder, Keys
from relaybay.api.mcp import McpSurface, register_mcp
from relaybay.api.openapi import document
from relaybay.api.results import output_schema
from relaybay.api.routes import Routes
from relaybay.api.serving import ServerThread, make_app
from relaybay.api.use_cases import USE_CASES, live_sessions
from relaybay.service import clock
from relaybay.service.relay import Relay, open_relay
from relaybay.settings import Messaging, Paths
from tests.api.wire import Response, Wire

ERAS = [("auto", "2026-07-28"), ("legacy", "2025-11-25")]
CHANNELS = Messaging(channels=True)


@dataclass
class Served:
    relay: Relay
    server: ServerThread
    surface: McpSurface
    commits: Commits
    keys: Keys
    gate: Gate
    paths: Paths
    routes: Routes
    seen: Any

    @property
    def document(self) -> dict[str, Any]:
        return document(self.routes.operations, title="t", version="1")

    @property
    def owner(self) -> Wire:
        """The Unix socket with the owner's key: what the command line uses."""
        return Wire(self.server.listening.socket_path, {"X-Relaybay-Owner": self.keys.owner_key})

    def browser(self) -> Wire:
        """TCP with a login's cookie and its form token."""
        cookie = self.gate.logins.redeem(self.gate.logins.mint_code())
        token = self.gate.logins.csrf_token(cookie)
        return Wire(self.server.port, {"Cookie": f"relaybay_session={cookie}", "X-CSRF-Token": token})

    def get(self, path: str) -> Any:
        return good(self.owner.get(f"/api/v1/{path}"))

    def post(self, path: str, **body: Any) -> Any:
        return good(self.owner.post(f"/api/v1/{path}", body))

    def use(self, mode: str, work: Callable[[Client], Coroutine[Any, Any, Any]]) -> Any:
        """Runs `work` with a client that is connected in this mode."""

        async def main() -> Any:
            headers = {"Authorization": f"Bearer {self.keys.token}"}
            async with httpx2.AsyncClient(headers=headers, timeout=40, trust_env=False) as http:
                transport = streamable_http_client(f"{self.server.url}/mcp", http_client=http)
                async with Client(transport, mode=mode) as client:
                    return await work(client)

        return asyncio.run(main())

    def call(self, mode: str, tool: str, /, *, tool_use_id: str = "", **arguments: Any) -> dict[str, Any]:
        """One call; its structured content, after checking it against the text beside it."""

        async def work(client: Client) -> Any:
            meta = {"claudecode/toolUseId": tool_use_id} if tool_use_id else None
            return await client.call_tool(tool, arguments, meta=meta)

        result = self.use(mode, work)
        data = result.structured_content
        (text,) = [block.text for block in result.content]
        if result.is_error:
            assert set(data) == {"code", "spec_id", "text"}
            assert text == f"{data['text']} [{data['code']} {data['spec_id']}]"
        else:
            assert json.loads(text) == data
            assert data["text"]
            described = self.surface.tools[tool]
            jsonschema.Draft202012Validator(output_schema(described.result)).validate(data)
            described.result.model_validate(data)
        return {"error": bool(result.is_error), **data}


def good(response: Response) -> Any:
    assert response.status in (200, 201), response.body
    return response.json


class Seen:
    def __init__(self) -> None:
        self.last: dict[str, dict[str, int]] = {}


def serve(folder: Path, **more: Any) -> Served:
    """`more`: use_cases, live_sessions, now (a clock), ping_seconds, socket_path, messaging."""
    paths = Paths(folder, folder / "data", folder / "state", folder / "run", folder)
    relay = open_relay(paths.database, more.get("now", clock.system), messaging=more.get("messaging"))
    app = make_app()
    routes = Routes(app)
    key_folder = KeyFolder(paths.run)
    keys = key_folder.load()
    gate = Gate(keys, now_us=relay.clock)
    commits = Commits()
    commits.follow(app, relay)
    surface = register_mcp(
        routes, relay, commits, more.get("use_cases", USE_CASES), more.get("live_sessions", live_sessions)
    )
    seen = Seen()
    rest.register_rest(routes, relay, gate, commits, folder=key_folder, seen=seen, surface=surface, paths=paths)
    stream.register_stream(routes, commits, gate.stands, ping_seconds=more.get("ping_seconds", stream.PING_SECONDS))
    metrics.register_metrics(routes, relay, surface, commits)
    gate.install(app)
    server = ServerThread(app, socket_path=more.get("socket_path")).start()
    return Served(relay, server, surface, commits, keys, gate, paths, routes, seen)


def stop(served: Served) -> None:
    served.server.stop()
    served.relay.close()
