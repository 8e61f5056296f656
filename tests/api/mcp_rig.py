"""A real relay on a real SQLite file behind the real server, and the official client in both eras."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from relaybay.api.commits import Commits
from relaybay.api.gate import Gate
from relaybay.api.keys import KeyFolder, Keys
from relaybay.api.mcp import McpSurface, register_mcp
from relaybay.api.routes import Routes
from relaybay.api.serving import ServerThread, make_app
from relaybay.api.use_cases import USE_CASES
from relaybay.domain import Outcome
from relaybay.service import clock
from relaybay.service.relay import Relay, open_relay

ERAS = [("auto", "2026-07-28"), ("legacy", "2025-11-25")]


@dataclass
class Served:
    relay: Relay
    server: ServerThread
    surface: McpSurface
    commits: Commits
    keys: Keys

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
        return {"error": bool(result.is_error), **data}


def nobody_live(tx: Any, relay: Relay) -> Outcome:
    return Outcome({"sessions": []})


def serve(folder: Path, **more: Any) -> Served:
    relay = open_relay(folder / "data" / "relaybay.db", clock.system)
    app = make_app()
    routes = Routes(app)
    keys = KeyFolder(folder / "run").load()
    gate = Gate(keys, now_us=relay.clock)
    commits = Commits()
    commits.follow(app, relay)
    surface, _ = register_mcp(
        routes, relay, commits, more.get("use_cases", USE_CASES), more.get("live_sessions", nobody_live)
    )
    gate.install(app)
    return Served(relay, ServerThread(app).start(), surface, commits, keys)


def stop(served: Served) -> None:
    served.server.stop()
    served.relay.close()
