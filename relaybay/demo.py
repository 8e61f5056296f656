"""`relaybay demo`: the main job in a minute, on a throw-away store, through the real doors.

Two sessions that exist only as hook events and MCP calls, but over the same HTTP endpoints, token and store that real
ones use: a message sent, delivered in the middle of a turn, acknowledged, answered; a comment of the owner that keeps a
turn open once. Then channels: a script's message to a topic reaches two sessions, and one that is held waits for the
owner. Each step is told in one line. Belongs here: the play. Does not: any rule or shortcut of its own.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp import Client

from relaybay.api import app as server
from relaybay.api.serving import ServerThread
from relaybay.service import clock
from relaybay.service.relay import open_relay
from relaybay.settings import Paths, load

Say = Callable[[str], None]
_RELAYBAY = "mcp__relaybay__"


class DemoFailed(Exception):  # noqa: N818 - says what happened.
    """A step did not come out as it must."""


def _expect(held: bool, what: str) -> None:
    if not held:
        raise DemoFailed(what)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("127.0.0.1", timeout=10)
        self._path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Play:
    """The server and how the play reaches it."""

    def __init__(self, paths: Paths, url: str) -> None:
        self.paths, self.url = paths, url
        self.token = paths.token.read_text(encoding="ascii").strip()
        self.hook_key = (paths.run / "hook.key").read_text(encoding="ascii").strip()
        self.owner_key = paths.owner_key.read_text(encoding="ascii").strip()

    def post(self, connection: http.client.HTTPConnection, path: str, body: Any, **headers: str) -> dict[str, Any]:
        """One POST with a JSON body; its JSON answer."""
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **headers})
        response = connection.getresponse()
        text = response.read()
        _expect(response.status < 300, f"{path} answered {response.status}: {text[:300]!r}")  # noqa: PLR2004
        return json.loads(text) if text else {}

    def hook(self, body: dict[str, Any]) -> dict[str, Any]:
        """One hook event over TCP, as the client's http hooks send it."""
        host, _, port = self.url.removeprefix("http://").partition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        return self.post(connection, "/hooks/claude-code", body, Authorization=f"Bearer {self.hook_key}")

    def owner(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """One call of the owner's, over the Unix socket."""
        return self.post(_UnixConnection(self.paths.socket), path, body, **{"X-Relaybay-Owner": self.owner_key})

    def call(self, method: str, path: str) -> dict[str, Any]:
        """One read of the owner's, over the Unix socket."""
        connection = _UnixConnection(self.paths.socket)
        connection.request(method, path, headers={"X-Relaybay-Owner": self.owner_key})
        answer: dict[str, Any] = json.loads(connection.getresponse().read())
        return answer

    def command(self, *words: str) -> str:
        """What `relaybay` prints, as a script or a CI job runs it."""
        environment = {**os.environ, "RELAYBAY_HOME": str(self.paths.home)}
        argv = [sys.executable, "-m", "relaybay", *words, "--json"]
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
        _expect(done.returncode == 0, f"relaybay {' '.join(words)} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    async def tool(self, name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
        """One MCP call by the official client."""
        import httpx2  # noqa: PLC0415
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

        headers = {"Authorization": f"Bearer {self.token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=20) as web:
            transport = streamable_http_client(f"{self.url}/mcp", http_client=web)
            async with Client(transport) as client:
                result = await client.call_tool(name, arguments, meta=meta)  # type: ignore[arg-type]
        _expect(not result.is_error, f"{name} was refused: {result.content}")
        return dict(result.structured_content or {})


class Session:
    """One agent session of the play: its hook id, folder and turn."""

    def __init__(self, play: Play, folder: Path, title: str) -> None:
        self.play, self.folder, self.title = play, folder, title
        self.hook_id = str(uuid.uuid4())
        self.prompt_id = ""
        self.reason = ""
        self.heard = ""

    def event(self, name: str, **members: Any) -> str:
        """Raises one hook event; the text that its answer carries."""
        body = {
            "session_id": self.hook_id,
            "cwd": str(self.folder),
            "hook_event_name": name,
            "permission_mode": "default",
            "session_title": self.title,
            **members,
        }
        if self.prompt_id:
            body.setdefault("prompt_id", self.prompt_id)
        said = self.play.hook(body)
        self.reason = said.get("reason", "")
        return str(said.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def prompt(self) -> str:
        """The user types something: a turn begins."""
        self.prompt_id = str(uuid.uuid4())
        return self.event("UserPromptSubmit", prompt="…")

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """One call of a relaybay tool: the client's hook reports its id first, then the call carries it (PROOF-2)."""
        use = f"toolu_{uuid.uuid4().hex[:20]}"
        self.heard += self.event("PreToolUse", tool_name=_RELAYBAY + tool, tool_use_id=use, tool_input={})
        return await self.play.tool(tool, arguments, {"claudecode/toolUseId": use})


async def play(stage: Play, folder: Path, say: Say) -> None:
    """The steps, each told and each checked."""
    project = folder / "project"
    project.mkdir()
    coordinator, reviewer = (Session(stage, project, name) for name in ("coordinator", "reviewer"))
    for session in (coordinator, reviewer):
        session.event("SessionStart", source="startup")
    say("two agent sessions start in one folder: coordinator, reviewer")
    coordinator.prompt()
    reviewer.prompt()
    await coordinator.call("message_ack")
    await reviewer.call("message_ack")
    say("each makes one call of message_ack: its hooks vouch for it, so it is linked exactly")
    receipt = await coordinator.call("message_send", to="reviewer", body="Please look at the parser change first.")
    _expect(receipt["state"] == "sent" and receipt["sender_verified"], f"receipt: {receipt}")
    say(f"coordinator sends: {receipt['text']}")
    text = reviewer.event("PostToolUse", tool_name="Bash", tool_use_id="toolu_bash", tool_input={})
    _expect(receipt["message_id"] in text, "the reviewer's tool hook did not carry the message")
    say("reviewer, in the middle of its turn, runs a tool: the hook's answer carries the message into the model")
    out = await coordinator.call("messages_list", box="out")
    _expect(out["messages"][0]["state"] == "delivered", f"out box: {out}")
    say("coordinator's list says: delivered, at " + out["messages"][0]["delivered_at"])
    answer = await reviewer.call(
        "message_send", in_reply_to=receipt["message_id"], body="Done: two remarks in the card."
    )
    out = await coordinator.call("messages_list", box="out", message_id=receipt["message_id"])
    _expect(out["messages"][0]["read_how"] == "verified", f"out box: {out}")
    say(f"reviewer answers ({answer['message_id']}), and so marks it read; proof: verified")
    _expect(answer["message_id"] in coordinator.heard, "the coordinator's tool hook did not carry the answer")
    await coordinator.call("message_ack", message_id=answer["message_id"])
    say("that look was coordinator's next tool call, so its hook has brought the answer; it acknowledges it")
    stage.owner("/api/v1/projects", {"slug": "demo", "title": "Demo", "root": str(folder)})
    task = stage.owner("/api/v1/tasks", {"project": "demo", "title": "Ship the parser", "status": "doing"})
    stage.owner(f"/api/v1/tasks/{task['key']}/bind", {"session": "reviewer"})
    comment = stage.owner(f"/api/v1/tasks/{task['key']}/comments", {"body": "Keep the old flag for one release."})
    say(f"the owner comments on {task['key']}, which the reviewer is bound to")
    text = reviewer.event("Stop", stop_hook_active=False)
    _expect(comment["id"] in text and bool(reviewer.reason), "the Stop was not blocked")
    say(f"reviewer wants to finish; its Stop is blocked once: {reviewer.reason}")
    await reviewer.call("comment_ack", id=comment["id"])
    _expect(not reviewer.event("Stop", stop_hook_active=True), "a read comment blocked again")
    say("reviewer reads and acknowledges it, and its next Stop passes")
    await channels(stage, coordinator, reviewer, say)


async def channels(stage: Play, coordinator: Session, reviewer: Session, say: Say) -> None:
    """A CI job tells both sessions of an event; another script's message waits for the owner."""
    for session in (coordinator, reviewer):
        stage.owner(f"/api/v1/sessions/{session.title}/messaging/topics", {"add": ["ci.**"]})
        policy = {"policy": "accept", "confirmed": True}
        stage.owner(f"/api/v1/sessions/{session.title}/messaging/policy", policy)
    say("the owner subscribes both sessions to ci.** and lets scripts write to them (policy accept)")
    told = stage.command("message", "publish", "--topic", "ci.failures", "--from", "nightly-ci", "Build 1042 failed.")
    published = json.loads(told)
    _expect([one["state"] for one in published["recipients"]] == ["sent", "sent"], f"publication: {published}")
    say(f"a CI job runs `relaybay message publish --topic ci.failures`: {published['text']}")
    reviewer.prompt()
    text = coordinator.event("PostToolUse", tool_name="Bash", tool_use_id="toolu_ci", tool_input={})
    _expect(published["message_id"] in text, "the coordinator's tool hook did not carry the publication")
    out = json.loads(stage.command("message", "log", "--topic", "ci.failures"))
    states = [one["state"] for one in out["recipients"]]
    _expect(states == ["delivered", "delivered"], f"log: {out}")
    say("coordinator's next tool call and reviewer's next prompt carry it; the log says delivered, twice")
    stage.owner(f"/api/v1/sessions/{reviewer.title}/messaging/policy", {"policy": "auto"})
    name = stage.call("GET", f"/api/v1/sessions/{reviewer.title}")["name"]
    held = json.loads(stage.command("message", "send", "--to", name, "--from", "deploy", "Production is on 1041."))
    _expect((held["state"], held["reason_code"]) == ("held", "script"), f"receipt: {held}")
    say(f"back under auto, a script's message to @{name} is held: {held['text']}")
    tool = {"tool_name": "Bash", "tool_use_id": "toolu_held", "tool_input": {}}
    _expect(held["message_id"] not in reviewer.event("PostToolUse", **tool), "a held message went out")
    review = stage.owner(f"/api/v1/messages/{held['message_id']}/review", {})
    stage.owner(f"/api/v1/messages/{held['message_id']}/approve", {"review": review["token"]})
    _expect(held["message_id"] in reviewer.event("PostToolUse", **tool), "the approved message was not carried")
    say(f"the owner reads it in its review ({review['body']}) and approves it; reviewer's next tool call carries it")


def run(*, once: bool, url_of: Callable[[str], None], say: Say, wait: threading.Event) -> None:
    """Plays the demo on a free port and a throw-away folder; leaves the board open until `wait` unless `once`.

    `url_of` is told the board's one-time URL. Raises DemoFailed when a step does not come out as it must.
    """
    folder = Path(tempfile.mkdtemp(prefix="relaybay-demo-"))
    try:
        paths = Paths.find({"RELAYBAY_HOME": str(folder / "home")})
        paths.make()
        settings = load(paths, {"RELAYBAY_MESSAGING_CHANNELS": "true"})
        relay = open_relay(paths.database, clock.system, messaging=settings.messaging)
        parts = server.build(settings, paths, relay)
        try:
            with ServerThread(parts.app, socket_path=paths.socket) as running:
                url_of(server.start_line(parts, paths, running.listening)["board_url"])
                asyncio.run(play(Play(paths, running.url), folder, say))
                if not once:
                    say("that was all; look around on the board, and press Ctrl-C to end")
                    wait.wait()
        finally:
            relay.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(*, once: bool) -> int:
    """At a terminal: steps to standard output; the exit code."""
    import signal  # noqa: PLC0415

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    number_of = iter(range(1, 100))

    def say(line: str) -> None:
        sys.stdout.write(f"{next(number_of):>2}  {line}\n")
        sys.stdout.flush()

    def url_of(url: str) -> None:
        how = "" if once else " (it stays open until you press Ctrl-C)"
        sys.stdout.write(f"    board: {url}{how}\n")
        sys.stdout.flush()

    try:
        run(once=once, url_of=url_of, say=say, wait=stop)
    except DemoFailed as failure:
        sys.stderr.write(f"the demo failed: {failure}\n")
        return 1
    return 0
