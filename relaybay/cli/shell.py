"""What every command needs of its surroundings: places, settings, the owner's rights, a terminal, the server."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from relaybay.cli import exits
from relaybay.cli.exits import failure
from relaybay.settings import Paths, Settings, load

if TYPE_CHECKING:
    from relaybay.cli.talk import Server

# Set by an agent client in the shells it opens, and by nothing a person sets: measured for Claude Code, named in
# the programs of the others. A guard against mistakes, no wall (page 75, Doors and keys).
AGENT_VARIABLES = (
    "CLAUDECODE",
    "AI_AGENT",
    "CODEX_THREAD_ID",
    "CODEX_SANDBOX",
    "CODEX_CI",
    "GEMINI_CLI",
    "GEMINI_SESSION_ID",
    "OPENCODE",
    "CURSOR_AGENT",
)
TEXT_BYTES_MAX = 64 << 10


@dataclass
class Shell:
    """The surroundings of one command."""

    env: Mapping[str, str] = field(default_factory=lambda: os.environ)
    debug: bool = False

    @cached_property
    def paths(self) -> Paths:
        """Where relaybay's files are."""
        return Paths.find(self.env)

    @cached_property
    def settings(self) -> Settings:
        """What is configured. Raises SettingsError."""
        return load(self.paths, self.env, Path.cwd())

    @cached_property
    def server(self) -> Server:
        """The running server. Raises Failure when there is none."""
        from relaybay.cli.talk import Server

        return Server.find(self.paths)

    @property
    def of_agent(self) -> str:
        """The variable that says an agent opened this shell; empty for a person's."""
        return next((name for name in AGENT_VARIABLES if self.env.get(name, "") not in ("", "0")), "")

    def need_owner(self) -> None:
        """Refuses inside an agent's own shell (CH-10)."""
        if self.of_agent:
            raise failure("http.owner_only", exits.REFUSED)

    def need_terminal(self, what: str) -> None:
        """Refuses without a terminal, for what only a person may decide (table OWN)."""
        if not has_terminal():
            raise failure("cli.terminal_required", exits.REFUSED, what=what)


def has_terminal() -> bool:
    """Whether a person can be asked."""
    try:
        return sys.stdin.isatty() and sys.stderr.isatty()
    except ValueError:  # Closed.
        return False


def ask(question: str) -> bool:
    """Yes or no, at a terminal; anything but yes is no. The question stands on stderr: stdout is for data."""
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def read_text(given: str) -> str:
    """A text argument: as it is, or with `-` all of stdin without its last line end. Raises Failure."""
    if given != "-":
        return given
    data = sys.stdin.buffer.read(TEXT_BYTES_MAX + 1)
    if len(data) > TEXT_BYTES_MAX:
        raise failure("cli.text_too_long", exits.BAD_INPUT, bytes_max=TEXT_BYTES_MAX)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise failure("cli.text_not_utf8", exits.BAD_INPUT) from None
    return text.removesuffix("\n").removesuffix("\r")
