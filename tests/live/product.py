"""The server under test as its user meets it: started, stopped, set up and spoken to from outside.

Only what the product promises to black-box checks is used: the start line, the command line, MCP by the official
client library, and the files under ``RELAYBAY_HOME``.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import select
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.live.client import ClientHome
from tests.live.processes import end_process, is_alive
from tests.live.stub_api import Call

COMMAND = [sys.executable, "-m", "relaybay"]


@dataclass(frozen=True)
class ToolAnswer:
    """A tool's answer: ``structured`` is what the model sees on success, ``text`` what it sees on an error."""

    structured: dict[str, Any]
    text: str
    is_error: bool


def model_call(tool: str, **arguments: Any) -> Call:
    """A call of a relaybay tool by the scripted model, under the name the client gives the tool."""
    return Call(f"mcp__relaybay__{tool}", arguments)


def shell_call(word: str) -> Call:
    """A harmless tool call that is no relaybay tool; its hooks are the way in for text."""
    return Call("Bash", {"command": f"echo {word}", "description": f"print {word}"})


class Product:
    """One ``RELAYBAY_HOME`` and the server that runs on it, if any."""

    def __init__(self, folder: Path, home: ClientHome, repository: Path) -> None:
        self.folder = folder
        self.home = home
        self.repository = repository
        self.line: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log_file(self) -> Path:
        return self.folder / "server-output.txt"

    @property
    def hook_log_file(self) -> Path:
        return self.folder / "state" / "hook.log"

    @property
    def spool_folder(self) -> Path:
        return self.folder / "state" / "spool"

    @property
    def port(self) -> int:
        return int(str(self.line["url"]).rpartition(":")[2].strip("/"))

    def env(self) -> dict[str, str]:
        """The environment of the owner's shell. Python's path only makes the tree under test importable."""
        return {
            "HOME": str(self.home.home),
            "PATH": self.home.env()["PATH"],
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.home.root / "tmp"),
            "RELAYBAY_HOME": str(self.folder),
            "PYTHONPATH": str(self.repository),
        }

    def start(self, *, port: int = 0, seconds: float = 30.0) -> None:
        """Start the server and read its start line; with ``port`` on that port, else on a free one."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [*COMMAND, "up", "--foreground", "--port", str(port), "--json"],
                env=self.env(),
                cwd=self.home.root,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self.line = json.loads(self._first_line(seconds))
        assert self.line["v"] == 1, self.line

    def _first_line(self, seconds: float) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        deadline = time.monotonic() + seconds
        text = b""
        while b"\n" not in text:
            left = deadline - time.monotonic()
            assert left > 0, f"no start line within {seconds:.0f} s"
            if select.select([self._process.stdout], [], [], left)[0]:
                part = os.read(self._process.stdout.fileno(), 1 << 16)
                assert part, "the server closed its output before it gave a start line"
                text += part
        line, _, rest = text.partition(b"\n")
        assert not rest, f"one line, and nothing after it: {rest!r}"
        return line

    def with_channels(self) -> None:
        """Turn the switch on, in the owner's own configuration; before the server starts."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        (self.folder / "config.toml").write_text("[messaging]\nchannels = true\n")

    def owner(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """One write of the owner's, as the board does it: commands that decide need a terminal."""
        return self._owner("POST", path, json.dumps(body))

    def owner_get(self, path: str) -> dict[str, Any]:
        """One read of the owner's."""
        return self._owner("GET", path, None)

    def _owner(self, method: str, path: str, body: str | None) -> dict[str, Any]:
        key = (self.folder / "run" / "owner.key").read_text().strip()
        connection = http.client.HTTPConnection("127.0.0.1", timeout=20)
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.sock.connect(str(self.folder / "run" / "relaybay.sock"))
        headers = {"X-Relaybay-Owner": key, "Content-Type": "application/json"}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status < 300, f"{method} {path}: {answer.status} {text[:500]!r}"
        found: dict[str, Any] = json.loads(text)
        return found

    def stop(self) -> float:
        """End the server by SIGTERM; gives the seconds it took (0.0 when none runs)."""
        if self._process is None or self._process.poll() is not None:
            return 0.0
        began = time.monotonic()
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            end_process(self._process.pid)
            raise AssertionError("the server did not end within 10 s of SIGTERM") from None
        finally:
            self._process = None
        return time.monotonic() - began

    def is_running(self) -> bool:
        return self._process is not None and is_alive(self._process.pid)

    def cli(self, *arguments: str, seconds: float = 30.0) -> str:
        """Run one command as the owner; gives its standard output, fails on any other exit code than 0."""
        done = subprocess.run(
            [*COMMAND, *arguments],
            env=self.env(),
            cwd=self.home.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        said = f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        assert done.returncode == 0, f"relaybay {' '.join(arguments)}: exit {done.returncode}\n{said}"
        return done.stdout

    def set_up_client(self, *options: str) -> None:
        self.cli("setup", "claude-code", *options, "--yes", seconds=60)

    def token(self) -> str:
        return Path(self.line["token_file"]).read_text().strip()

    def hook_key(self) -> str:
        return (self.folder / "run" / "hook.key").read_text().strip()

    def tool(self, name: str, /, *, meta: dict[str, Any] | None = None, **arguments: Any) -> ToolAnswer:
        """Call one MCP tool over a connection of its own, as a client without hooks would."""
        return asyncio.run(self._tool(name, arguments, meta))

    async def _tool(self, name: str, arguments: dict[str, Any], meta: Any) -> ToolAnswer:
        headers = {"Authorization": f"Bearer {self.token()}"}
        async with httpx2.AsyncClient(headers=headers, timeout=20.0, trust_env=False) as http:
            transport = streamable_http_client(self.line["mcp_url"], http_client=http)
            async with Client(transport, read_timeout_seconds=20.0) as client:
                result = await client.call_tool(name, arguments, meta=meta)
        text = "\n".join(part.text for part in result.content if part.type == "text")
        return ToolAnswer(result.structured_content or {}, text, bool(result.is_error))

    def done(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that has to succeed; gives its structured content."""
        answer = self.tool(name, **arguments)
        assert not answer.is_error, f"{name}: {answer.text}"
        return answer.structured

    def post_hook(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """POST to ``/hooks/...`` with the hook key; gives the JSON answer."""
        request = urllib.request.Request(
            str(self.line["url"]).rstrip("/") + path,
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self.hook_key()}"},
            method="POST",
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=20) as response:
            answer: dict[str, Any] = json.loads(response.read() or b"{}")
        return answer

    def spool_text(self) -> str:
        """Everything the spool folder holds, as it stands on disk."""
        if not self.spool_folder.exists():
            return ""
        return "".join(path.read_text() for path in sorted(self.spool_folder.rglob("*")) if path.is_file())

    def spooled(self) -> list[dict[str, Any]]:
        """The events that wait in the spool, in order of arrival, in the shape of a replay's request.

        A record on disk is one line: ``R1 ID AT_US CLIENT LENGTH PAYLOAD``, the payload JSON with headers and body.
        """
        events = []
        for line in self.spool_text().splitlines():
            if line.startswith("R1 "):
                _, event_id, at_us, client, length, payload = line.split(" ", 5)
                assert len(payload) == int(length), line
                body = json.loads(payload)["body"]
                events.append({"id": event_id, "at_us": int(at_us), "client": client, "body": body})
        return events

    def until_in_context(self, session: str, message_id: str, seconds: float = 8.0) -> dict[str, Any]:
        """The message as its sender's list shows it once the recipient's transcript proved it."""
        deadline = time.monotonic() + seconds
        while True:
            listed = self.sent_by(session, message_id)
            if listed.get("in_context_at"):
                return listed
            assert time.monotonic() < deadline, f"not seen in the session's context: {listed}"
            time.sleep(0.1)

    def sent_by(self, session: str, message_id: str) -> dict[str, Any]:
        """One message as its sender's list shows it."""
        listed = self.done("messages_list", session=session, box="out", message_id=message_id)["messages"]
        assert len(listed) == 1, listed
        found: dict[str, Any] = listed[0]
        return found
