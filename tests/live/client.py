"""Runs the real client in a throw-away home: one-shot (``-p``) and as a terminal in a private tmux server.

The home has what the client wants to see before it shows a prompt (onboarding done, folder trusted, the stub's key
approved). Hooks and MCP servers are whatever ``relaybay setup`` writes into that home afterwards; nothing is
handed over by option or environment, so a case also proves that setup.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.live.processes import command_line, descendants, end_process, is_alive

KEY = "stub-key-that-opens-nothing-0123456789"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
PROMPT_SIGN = "\u276f"
"""Stands at the start of the input line, and of what was typed."""


@dataclass(frozen=True)
class ClientHome:
    """A throw-away home of one user with one client binary; sessions of it have their folders below ``root``."""

    root: Path
    binary: Path
    api_url: str

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def bin_folder(self) -> Path:
        """Holds a link named ``claude``: setup finds the client where a user's shell would."""
        return self.root / "bin"

    def env(self) -> dict[str, str]:
        """The whole environment of the client: nothing of the caller's is inherited."""
        tmp = str(self.root / "tmp")
        return {
            "HOME": str(self.home),
            "PATH": f"{self.bin_folder}:{SYSTEM_PATH}",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
            "TERM": "xterm-256color",
            "TMPDIR": tmp,
            "CLAUDE_CODE_TMPDIR": tmp,
            "ANTHROPIC_BASE_URL": self.api_url,
            "ANTHROPIC_API_KEY": KEY,
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",  # Root may skip permission prompts only in what calls itself a sandbox.
        }

    def prepare(self) -> None:
        """Make the folders and the client's own files."""
        for folder in (self.home / ".claude", self.bin_folder, self.root / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)
        (self.bin_folder / "claude").symlink_to(self.binary)
        settings = {"skipDangerousModePermissionPrompt": True}
        (self.home / ".claude" / "settings.json").write_text(json.dumps(settings, indent=2))
        self._write_state({})

    def session(self, folder_name: str) -> Session:
        """A new session in a folder of its own; the folder's name is what its row will be called (ROW-2)."""
        folder = self.root / folder_name
        folder.mkdir()
        path = self.home / ".claude.json"
        state = json.loads(path.read_text())
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        state.setdefault("projects", {})[str(folder)] = trusted
        path.write_text(json.dumps(state, indent=2))
        return Session(self, folder)

    def version(self) -> str:
        command = [str(self.binary), "--version"]
        done = subprocess.run(
            command, env=self.env(), capture_output=True, text=True, timeout=60, check=True, cwd=self.root
        )
        return done.stdout.split()[0]

    def _write_state(self, projects: dict[str, Any]) -> None:
        state = {
            "hasCompletedOnboarding": True,
            "lastOnboardingVersion": "2.1.332",
            "theme": "dark",
            "bypassPermissionsModeAccepted": True,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": projects,
        }
        (self.home / ".claude.json").write_text(json.dumps(state, indent=2))


@dataclass(frozen=True)
class Turn:
    """What a finished one-shot run left: exit code, its JSON result, its errors, seconds it took."""

    code: int
    result: dict[str, Any]
    stderr: str
    seconds: float


@dataclass
class OneShot:
    """A one-shot run in progress."""

    process: subprocess.Popen[str]
    started: float

    def finish(self, seconds: float = 90.0) -> Turn:
        """Wait for the end; past ``seconds`` the run is ended and the case fails."""
        try:
            out, err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            end_process(self.process.pid)
            out, err = self.process.communicate(timeout=10)
            raise AssertionError(f"the client did not end within {seconds:.0f} s: {out[-800:]} {err[-800:]}") from None
        took = time.monotonic() - self.started
        try:
            result = json.loads(out)
        except json.JSONDecodeError:
            raise AssertionError(f"the client gave no JSON result: {out[-800:]} {err[-800:]}") from None
        return Turn(self.process.returncode, result, err, took)


@dataclass
class Session:
    """One session of the client: id chosen by us, so that its script stands before it starts."""

    owner: ClientHome
    folder: Path
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    started: bool = False

    @property
    def title(self) -> str:
        return self.folder.name

    def _options(self) -> list[str]:
        which = ["--resume", self.id] if self.started else ["--session-id", self.id]
        self.started = True
        return [*which, "--dangerously-skip-permissions"]

    def one_shot(self, prompt: str, *options: str) -> OneShot:
        """Start ``claude -p``; a second run of the same session resumes it."""
        command = [
            str(self.owner.binary),
            "-p",
            prompt,
            "--output-format",
            "json",
            *self._options(),
            *options,
        ]
        process = subprocess.Popen(
            command,
            env=self.owner.env(),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return OneShot(process, time.monotonic())

    def terminal(self, *options: str) -> Terminal:
        """Start the interactive client in a tmux server of its own."""
        command = [str(self.owner.binary), *self._options(), *options]
        terminal = Terminal(self.owner, f"live-{uuid.uuid4().hex[:8]}")
        terminal.start(command, self.folder)
        return terminal


class Terminal:
    """The interactive client, typed at through tmux and read by its screen."""

    def __init__(self, owner: ClientHome, name: str) -> None:
        self.owner = owner
        self.name = name
        self.pid = 0

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-f", "/dev/null", "-L", self.name, *arguments]
        env = {
            "PATH": SYSTEM_PATH,
            "TMUX_TMPDIR": str(self.owner.root / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
        }
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode == 0, f"tmux {arguments[0]}: {done.stderr.strip()}"
        return done.stdout

    def start(self, command: list[str], folder: Path) -> None:
        variables = [f"{name}={value}" for name, value in self.owner.env().items()]
        self._tmux(
            "new-session", "-d", "-s", "main", "-x", "160", "-y", "48", "-c", str(folder),
            "--", "env", "-i", *variables, *command,
        )  # fmt: skip
        self.pid = int(self._tmux("display-message", "-p", "-t", "main", "#{pane_pid}"))

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "main")

    def wait_ready(self, seconds: float = 40.0) -> None:
        """Wait until the prompt stands and has stood still for a second (start-up redraws it a few times)."""
        deadline = time.monotonic() + seconds
        last, since = "", time.monotonic()
        while time.monotonic() < deadline:
            screen = self.screen()
            if screen != last:
                last, since = screen, time.monotonic()
            elif PROMPT_SIGN in screen and time.monotonic() - since >= 1.0:
                return
            time.sleep(0.1)
        raise AssertionError(f"the terminal showed no prompt within {seconds:.0f} s:\n{last}")

    def type(self, text: str) -> None:
        """Type a prompt and send it. Enter goes separately: together with the text it would count as pasted."""
        self._tmux("send-keys", "-t", "main", "-l", text)
        time.sleep(0.4)
        self._tmux("send-keys", "-t", "main", "Enter")

    def press(self, key: str) -> None:
        self._tmux("send-keys", "-t", "main", key)

    def is_running(self) -> bool:
        return is_alive(self.pid)

    def started_from(self, folder: Path) -> list[int]:
        """Processes of this case, the server apart, that run a program below ``folder``: waiting hooks.

        Looked for below the case and not below the client, because a hook outlives a client that left.
        """
        place = str(folder)
        return [pid for pid in descendants(os.getpid()) if is_alive(pid) and f" {place}/data/bin/" in command_line(pid)]

    def close(self) -> None:
        """End the client and its tmux server, by process id."""
        try:
            server = int(self._tmux("display-message", "-p", "#{pid}"))
        except (AssertionError, ValueError):
            server = 0
        if Path(f"/proc/{self.pid}").exists():
            end_process(self.pid)
        if server:
            end_process(server)


def have_tmux() -> bool:
    return shutil.which("tmux", path=os.environ.get("PATH", SYSTEM_PATH)) is not None
