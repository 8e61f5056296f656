"""In-context proof over the real program: its own timers read a transcript while hooks and calls go on over HTTP."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.api.test_cli_live import Home
from tests.api.wire import Wire
from tests.unit.transcript_rig import Transcript

HOOK = "3f0d4c1e-6f1b-4f52-9f0e-0a3b5c7d9e11"


class Machine:
    """A home with a server, and one session of a client whose transcript lies in that home."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder)
        self.line = self.home.ask("up", "--port", "0")
        self.script = Transcript(folder / ".claude", HOOK)
        self.wire = Wire(folder / "h" / "run" / "relaybay.sock")

    def hook(self, name: str, **more: Any) -> dict[str, Any]:
        body = {
            "session_id": HOOK,
            "hook_event_name": name,
            "cwd": "/src/shop",
            "transcript_path": str(self.script.path),
        }
        return self.wire.post("/hooks/claude-code", body | more).json

    def call(self, tool: str, tool_use_id: str = "", **arguments: Any) -> dict[str, Any]:
        token = Path(self.line["token_file"]).read_text().strip()

        async def main() -> Any:
            headers = {"Authorization": f"Bearer {token}"}
            async with httpx2.AsyncClient(headers=headers, timeout=20, trust_env=False) as http:
                async with Client(streamable_http_client(self.line["mcp_url"], http_client=http)) as client:
                    meta = {"claudecode/toolUseId": tool_use_id} if tool_use_id else None
                    return (await client.call_tool(tool, arguments, meta=meta)).structured_content

        return asyncio.run(main())

    def linked(self) -> None:
        self.hook("SessionStart", source="startup")
        self.hook("PreToolUse", tool_name="mcp__relaybay__message_ack", tool_use_id="toolu_1", tool_input={})
        assert self.call("message_ack", "toolu_1")["acknowledged"] == []

    def handed(self, name: str = "PreToolUse") -> str:
        said = self.hook(name, tool_name="Bash", tool_use_id="toolu_2", tool_input={})
        return said["hookSpecificOutput"]["additionalContext"]

    def until(self, message: str, wanted, what: str) -> dict[str, Any]:
        deadline = time.monotonic() + 15
        while True:
            (listed,) = self.call("messages_list", session="tester", box="out", message_id=message)["messages"]
            if wanted(listed):
                return listed
            assert time.monotonic() < deadline, f"{what}: {listed}"
            time.sleep(0.1)


@pytest.fixture
def machine():
    folder = Path(tempfile.mkdtemp(prefix="rb"))  # Short: a socket's path is limited.
    made = Machine(folder)
    yield made
    made.home.run("down", check=0)
    shutil.rmtree(folder)


@pytest.mark.spec("CTX-1", "CTX-2", "DLV-11", "DLV-12")
def test_a_client_that_drops_the_text_is_offered_it_again_until_it_shows_it(machine) -> None:
    machine.linked()
    message = machine.call("message_send", session="tester", to="S-1", body="the harbour map")["message_id"]
    machine.script.step()
    first = machine.handed()
    machine.script.hook_ran(first)
    machine.script.step()
    machine.script.step()
    machine.hook("PostToolUse", tool_name="Bash", tool_use_id="toolu_2")
    listed = machine.until(message, lambda one: one["state"] == "sent", "the dropped text is not offered again")
    assert "delivered_at" not in listed
    said = machine.home.ask("events", "--all")["events"]
    assert [event["type"] for event in said].count("message.offered_again") == 1
    second = machine.handed()
    assert message in second
    machine.script.shown(second)
    machine.hook("PostToolUse", tool_name="Bash", tool_use_id="toolu_2")
    listed = machine.until(message, lambda one: "in_context_at" in one, "the shown text is not seen")
    assert listed["state"] == "delivered"
    log = (machine.home.folder / "h" / "state" / "server.log").read_text()
    assert "harbour" not in log
    assert str(machine.script.path) not in log
