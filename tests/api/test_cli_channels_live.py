"""Scripts, the owner's decisions and `relaybay run` against a real server with channels on, and real hooks."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

import relaybay
from tests.api.wire import Wire
from tests.attacks.rig import ACCEPT, MODERN, meta

TREE = str(Path(relaybay.__file__).parent.parent)
HOOK = str(Path(relaybay.__file__).parent / "client" / "hook.py")
KEY = "messaging.channels"


def line_port(line: dict[str, Any]) -> int:
    """The port of the address that `up` printed."""
    return int(line["url"].rpartition(":")[2])


class Home:
    """One RELAYBAY_HOME, commands on it as scripts and as the owner, and sessions by their hooks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "RELAYBAY_HOME": str(folder / "h")}
        self.env |= {"PYTHONPATH": TREE, "TZ": "UTC"}
        (folder / "work").mkdir()

    def run(self, *words: str, piped: str = "", code: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
        """A command as a script runs it: no terminal anywhere."""
        done = subprocess.run(
            [sys.executable, "-m", "relaybay", *words],
            env=self.env | env,
            cwd=self.folder,
            input=piped,
            capture_output=True,
            text=True,
            timeout=40,
            check=False,
        )
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        return done

    def ask(self, *words: str, piped: str = "", code: int = 0, **env: str) -> dict[str, Any]:
        """The one document of a command with --json."""
        (text,) = self.run(*words, "--json", piped=piped, code=code, **env).stdout.splitlines()
        document = json.loads(text)
        assert document["v"] == 1
        return document

    def owner(self, *words: str, typed: bytes = b"", code: int = 0, **env: str) -> str:
        """A command of the owner's at a terminal: all it printed there."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder / "work")
            os.execve(sys.executable, [sys.executable, "-m", "relaybay", *words], self.env | env)
        os.write(terminal, typed)
        said = b""
        while part := _read(terminal):
            said += part
        os.close(terminal)
        got = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert got == code, (words, got, said)
        return said.decode().replace("\r\n", "\n")

    def hook(self, event: str, session: str, **members: Any) -> str:
        """One event by the command hook: what it prints."""
        body = {"hook_event_name": event, "session_id": session, "cwd": str(self.folder / "work")} | members
        done = subprocess.run(
            [sys.executable, "-I", "-S", HOOK, "--home", self.env["RELAYBAY_HOME"]],
            input=json.dumps(body),
            env=self.env,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        assert done.returncode == 0
        return done.stdout

    def up(self) -> None:
        line = self.ask("up", "--port", "0")
        self.mcp = Wire(line_port(line), {"Authorization": f"Bearer {Path(line['token_file']).read_text().strip()}"})

    def session(self, hook_id: str) -> str:
        """A live session, linked by a call of its agent's: its ref."""
        self.hook("SessionStart", hook_id, source="startup", permission_mode="default")
        use = {"tool_name": "mcp__relaybay__message_ack", "tool_use_id": f"toolu_{hook_id}", "tool_input": {}}
        self.hook("PreToolUse", hook_id, permission_mode="default", **use)
        params = {
            "name": "message_ack",
            "arguments": {},
            "_meta": {**meta(), "claudecode/toolUseId": use["tool_use_id"]},
        }
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "message_ack", **ACCEPT}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        assert self.mcp.post("/mcp", body, headers).status == 200
        self.hook("UserPromptSubmit", hook_id, prompt="go on", permission_mode="default")
        self.hook("Stop", hook_id, permission_mode="default")
        return str(self.ask("session", "list")["sessions"][0]["ref"])

    def prompt(self, hook_id: str) -> str:
        """What the next prompt of a session brings it."""
        text = self.hook("UserPromptSubmit", hook_id, prompt="and on", permission_mode="default")
        self.hook("Stop", hook_id, permission_mode="default")
        return text

    def token(self, message: str) -> str:
        said = self.owner("message", "review", message)
        return next(text.split()[1] for text in said.splitlines() if text.startswith("token "))

    def log(self, *words: str, **env: str) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.run("message", "log", "--json", *words, **env).stdout.splitlines()]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # The command has ended.
        return b""


@pytest.fixture
def home():
    folder = Path(tempfile.mkdtemp(prefix="rb"))  # Short: a socket's path is limited.
    found = Home(folder)
    yield found
    found.run("down")
    shutil.rmtree(folder)


@pytest.fixture
def on(home):
    home.run("config", "set", KEY, "true")
    home.up()
    return home


@pytest.mark.spec("CLI-1", "CLI-2", "CLI-3", "CLI-4", "CLI-18", "CLI-21", "CLI-22", "CH-10", "NAME-3")
def test_a_script_writes_and_the_owner_lets_it_through(on) -> None:
    ref = on.session("h1")
    name = on.ask("session", "show", ref)["name"]
    receipt = on.ask("message", "send", "--to", name, "--from", "ci", piped="The build is red.\n")
    (reached,) = receipt["recipients"]
    assert (reached["state"], reached["reason_code"], reached["name"]) == ("held", "script", name)
    message = receipt["message_id"]
    again = on.ask("message", "send", "--to", f"@{name}", "--from", "ci", "--request-id", "r1", "One more.")
    repeated = on.ask("message", "send", "--to", f"@{name}", "--from", "ci", "--request-id", "r1", "One more.")
    assert (repeated["message_id"], repeated["repeat"]) == (again["message_id"], True)
    assert "The build is red." not in on.prompt("h1")
    # An agent's shell may look, but is given no text that did not get through, and decides nothing.
    in_shell = on.log("--with", name, CLAUDECODE="1")
    assert [one["recipients"][0]["state"] for one in in_shell] == ["held", "held"]
    assert all("body" not in one for one in in_shell)
    assert [one["body"] for one in on.log("--with", f"@{name}")] == ["The build is red.", "One more."]
    for words in (["review", message], ["approve", message, "--review", "x"]):
        assert "owner_only" in on.owner("message", *words, code=77, CLAUDECODE="1")
        on.run("message", *words, code=77)
    assert on.ask("message", "held", "--session", ref)["count"] == 2
    said = on.owner("message", "review", message)
    assert "    The build is red.\n" in said and "ci (script)" in said
    assert "review_stale" in on.owner("message", "approve", message, "--review", "no-token", code=1)
    assert "Approved" in on.owner("message", "approve", message, "--review", on.token(message))
    assert "Rejected" in on.owner("message", "reject", again["message_id"], "--review", on.token(again["message_id"]))
    brought = on.prompt("h1")
    assert "The build is red." in brought and "One more." not in brought
    assert [one["recipients"][0]["state"] for one in on.log("--with", name)] == ["delivered", "rejected"]
    assert f"  -> @{name}  rejected  rejected: " in on.run("message", "log").stdout
    assert on.run("message", "held").stderr == "Nothing is held.\n"


@pytest.mark.spec("OWN-1", "OWN-5", "OWN-6", "OWN-8", "OWN-9", "CLI-1", "CLI-2", "CLI-18", "CLI-19")
def test_the_owner_says_what_a_session_hears_and_scripts_publish(on) -> None:
    ref = on.session("h1")
    assert on.ask("message", "publish", "--topic", "ci.failures", "Nobody listens.")["recipients"] == []
    assert "2 of at most 16" in on.owner("session", "subscribe", ref, "ci.*", "docs")
    assert on.owner("session", "broadcasts", ref, "on").strip() == f"{ref} receives broadcasts."
    assert "1 of at most 16" in on.owner("session", "unsubscribe", ref, "docs")
    assert "[pattern_missing " in on.owner("session", "unsubscribe", ref, "docs", code=65)
    (reached,) = on.ask("message", "publish", "--topic", "ci.failures", "Held.")["recipients"]
    assert (reached["ref"], reached["state"]) == (ref, "held")
    # Laxer is asked, and a no changes nothing; a yes releases what waits.
    said = on.owner("session", "policy", ref, "accept", typed=b"n\n", code=1)
    assert "laxer" in said and "[declined 70]" in said
    assert on.ask("session", "show", ref)["messaging"]["policy"]["effective"] == "auto"
    on.owner("session", "policy", ref, "accept", typed=b"y\n")
    assert on.ask("session", "show", ref)["messaging"]["policy"]["own"] == "accept"
    assert "Held." in on.prompt("h1")
    assert on.ask("message", "broadcast", "All of you.")["recipients"][0]["state"] == "sent"
    on.owner("session", "policy", ref, "refuse")
    assert on.ask("message", "broadcast", "Refused.")["recipients"][0]["state"] == "refused"
    refused = on.ask("message", "send", "--to", ref, "Refused too.", code=1)
    assert (refused["state"], refused["reason_code"]) == ("refused", "policy")
    on.owner("session", "policy", ref, "default", "--yes")
    topics = on.ask("topics", "--session", ref)
    assert [(one["topic"], one["count"], one["received"]) for one in topics["topics"]] == [
        ("ci.failures", 2, "pattern")
    ]
    assert (topics["broadcasts"]["count"], topics["broadcasts"]["received"]) == (2, True)
    shown = on.run("session", "show", ref).stdout
    assert "auto (its own: default, the default: auto, floor: none)" in shown and "ci.*, (1 of 16)" in shown
    assert len(on.log("--topic", "ci.**")) == 2 and len(on.log("--broadcast")) == 2
    assert on.log("--topic", "nothing.here") == []


@pytest.mark.spec("CLI-16", "CLI-19", "CLI-20")
def test_what_cannot_be_sent_is_recorded_nowhere(on) -> None:
    assert on.ask("message", "send", "--to", "no-such-name", "x", code=1)["error"]["code"] == "recipient_unknown"
    assert on.ask("message", "send", "--to", "S-99", "x", code=1)["error"]["code"] == "recipient_unknown"
    assert on.ask("message", "broadcast", "", code=1)["error"]["code"] == "body_empty"
    assert on.ask("message", "broadcast", "é" * 16_385, code=1)["error"]["code"] == "body_too_long"
    assert on.ask("message", "broadcast", piped="x" * 40_000, code=1)["error"]["code"] == "body_too_long"
    assert on.ask("message", "publish", "--topic", "a.*", "x", code=2)["error"]["code"] == "topic_invalid"
    assert on.log() == []
    assert on.run("message", "log").stdout == "Nothing recorded.\n"
    assert on.ask("message", "broadcast", piped="é" * 16_384 + "\n")["message_id"]
    assert len(on.log()[0]["body"]) == 16_384


@pytest.mark.spec("OWN-10", "OWN-14", "NAME-2")
def test_a_name_is_chosen_held_and_given_back(on) -> None:
    one, two = on.session("h1"), on.session("h2")
    generated = on.ask("session", "show", one)["name"]
    assert "@ci-watcher" in on.owner("session", "name", one, "@ci-watcher")
    assert on.ask("message", "send", "--to", "ci-watcher", "x")["recipients"][0]["ref"] == one
    said = on.owner("session", "name", two, "ci-watcher", code=77)
    assert "[name_held " in said and f"({one})" in said
    assert "[name_invalid " in on.owner("session", "name", two, "No", code=65)
    # The same name for a start: nothing is started, and its holder is named by title, ref and folder.
    flag = on.folder / "started"
    said = on.owner("run", "--name", "ci-watcher", "--", "touch", str(flag), code=1)
    assert "[name_held " in said and f"({one})" in said and str(on.folder / "work") in said
    on.owner("run", "--group", "builders", "--", "touch", str(flag), code=1)
    many = [word for n in range(17) for word in ("--topic", f"t{n}")]
    on.owner("run", *many, "--", "touch", str(flag), code=1)
    on.owner("run", "--name", "Not One", "--", "touch", str(flag), code=2)
    assert not flag.exists()
    on.owner("session", "name", one, "--clear")
    assert on.ask("session", "show", one)["name"] == generated


CLIENT = """
import json, os, subprocess, sys
def hook(event, session, **more):
    body = {"hook_event_name": event, "session_id": session, "cwd": os.getcwd(), "permission_mode": "default"} | more
    command = [sys.executable, "-I", "-S", sys.argv[1], "--home", os.environ["RELAYBAY_HOME"]]
    subprocess.run(command, input=json.dumps(body), text=True, check=True, stdout=subprocess.DEVNULL)
hook("SessionStart", "first", source="startup")
hook("SessionStart", "nested", source="startup")
print("rest:", sys.argv[2:])
"""


@pytest.mark.spec("OWN-14")
def test_run_gives_the_first_session_of_the_client_what_was_asked_for(on) -> None:
    client = ["--", sys.executable, "-c", CLIENT, HOOK, "--topic", "its own"]
    said = on.owner("run", "--name", "ci-watcher", "--topic", "ci.**", "--receive-broadcasts", *client)
    assert "rest: ['--topic', 'its own']" in said
    nested, first = on.ask("session", "list")["sessions"]
    messaging = on.ask("session", "show", first["ref"])["messaging"]
    assert (first["name"], first["title"]) == ("ci-watcher", "ci-watcher")
    assert (messaging["topics"], messaging["broadcasts"]) == (["ci.**"], True)
    other = on.ask("session", "show", nested["ref"])["messaging"]
    assert (other["name_chosen"], other["topics"], other["broadcasts"]) == ("", [], False)


@pytest.mark.spec("SET-1", "CLI-19")
def test_off_the_commands_name_the_key_and_what_was_is_read(on) -> None:
    on.session("h1")
    on.ask("message", "send", "--to", "S-1", "Before.")
    on.run("down")
    on.run("config", "set", KEY, "false")
    on.ask("up", "--port", "0")
    words = [["send", "--to", "S-1", "x"], ["publish", "--topic", "a", "x"], ["broadcast", "x"]]
    for refused in [*(["message", *one] for one in words), ["topics"]]:
        assert on.ask(*refused, code=1)["error"]["code"] == "channels_off"
    for one in (["message", "review", "m_1"], ["session", "policy", "S-1", "hold"], ["run", "--", "true"]):
        assert f"relaybay config set {KEY} true" in on.owner(*one, code=1)
    done = on.run("message", "log", "--json")
    assert json.loads(done.stdout)["body"] == "Before." and f"relaybay config set {KEY} true" in done.stderr
    assert "messaging" not in on.ask("session", "show", "S-1")


@pytest.mark.spec("CLI-19", "OWN-14", "75")
def test_without_a_server_nothing_is_sent_or_started(home) -> None:
    assert home.ask("message", "broadcast", "x", code=69)["error"]["code"] == "no_server"
    flag = home.folder / "started"
    began = time.monotonic()
    assert "[no_server 75]" in home.owner("run", "--", "touch", str(flag), code=69)
    assert not flag.exists() and time.monotonic() - began < 20
