"""What relaybay writes into the files of Claude Code, and how it knows its own again. Pure.

The mark is the value itself: comments die in the client's rewrites, and unknown keys are not ours to add. So
an entry is ours when it points at relaybay's own door, whatever port and key it has: an older install's entry
is replaced, never doubled. Forms, timeouts and the reasons for them: page 20 "The command client and the
spool", page 75 "Doors and keys".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

from relaybay.setup.json_read import Number
from relaybay.setup.values import WAIT_S, Install, Mode, Role

SERVER_NAME = "relaybay"
TOKEN_VARIABLE = "RELAYBAY_TOKEN"  # noqa: S105 - the variable's name, not its value.
LEAN_MATCHER = "mcp__(plugin_relaybay_)?relaybay__.*"

HTTP_EVENTS = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "StopFailure")
COMMAND_EVENTS = ("SessionStart", "SessionEnd")
"""The client runs no http hook at SessionStart (measured); SessionEnd must not be lost with the server away."""

HTTP_TIMEOUT_S = 2
COMMAND_TIMEOUT_S = 5
WAKE_GRACE_S = 300
"""The client ends a hook at its timeout; the wake-up's own time is over well before (25 of 30 minutes)."""

WAKE_VERSION_MIN = (2, 1, 197)
"""Oldest client on which the wake-up was measured to work (page 20, Wake-up)."""

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_HOOK_PATH = "/hooks/claude-code"

# Python leaves with status 2 when it cannot open the script it is given, and to the client 2 means "block": with
# a deleted data folder every prompt was refused (measured on 2.1.197 and 2.1.332). So the script is opened by
# this line, which leaves with 0 when there is none. Hooks fail open (page 20, Endpoints).
_OPEN_SCRIPT = (
    "import posix,sys;del sys.argv[0];p=sys.argv[0];posix.access(p,4)and "
    "exec(compile(open(p,'rb').read(),p,'exec'),{'__name__':'__main__','__file__':p})"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One hook that setup installs."""

    event: str
    role: Role
    handler: dict[str, Any]
    matcher: str | None = None

    @property
    def group(self) -> dict[str, Any]:
        """The hook as an element of its event's array."""
        return ({} if self.matcher is None else {"matcher": self.matcher}) | {"hooks": [self.handler]}


def command_arguments(install: Install, *, wait: bool) -> list[str]:
    """What the command hook's interpreter is given: absolute paths only, since a hook runs in any folder."""
    script = ["-I", "-S", "-c", _OPEN_SCRIPT, install.hook_script]
    folders = ["--run", install.run_dir, "--state", install.state_dir]
    waiting = ["--wait"] if wait else []
    if wait and install.wait_s != WAIT_S:
        waiting += ["--wait-s", str(install.wait_s)]
    return [*script, *folders, "--client", "claude-code", *waiting]


def _command(install: Install, timeout_s: int, *, wait: bool = False) -> dict[str, Any]:
    handler: dict[str, Any] = {"type": "command", "command": install.python}
    handler["args"] = command_arguments(install, wait=wait)
    handler["timeout"] = timeout_s
    return handler | ({"asyncRewake": True} if wait else {})


def _http(install: Install) -> dict[str, Any]:
    return {
        "type": "http",
        "url": install.hook_url,
        "headers": {"Authorization": f"Bearer {install.hook_key}"},
        "timeout": HTTP_TIMEOUT_S,
    }


def wanted_hooks(install: Install, mode: Mode, *, lean: bool, wake: bool) -> tuple[Wanted, ...]:
    """The hooks to install. `lean` narrows `PreToolUse` to relaybay's own tools (identity only)."""
    found = []
    for event in (*HTTP_EVENTS, *COMMAND_EVENTS):
        http = mode == "http" and event in HTTP_EVENTS
        handler = _http(install) if http else _command(install, COMMAND_TIMEOUT_S)
        matcher = LEAN_MATCHER if lean and event == "PreToolUse" else None
        found.append(Wanted(event, "event", handler, matcher))
    if wake:
        found.append(Wanted("Stop", "wake", _command(install, install.wait_s + WAKE_GRACE_S, wait=True)))
    return tuple(found)


def mcp_entry(install: Install, *, literal: bool) -> dict[str, Any]:
    """The MCP server's entry; without `literal` the token stands as a variable that the client fills in."""
    token = install.token if literal else f"${{{TOKEN_VARIABLE}}}"
    return {
        "type": "http",
        "url": install.mcp_url,
        "headers": {"Authorization": f"Bearer {token}"},
        "alwaysLoad": True,
    }


def _loopback_path(url: object) -> str | None:
    """The path of a URL on this machine; None for every other value."""
    if not isinstance(url, str):
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    here = parts.scheme == "http" and parts.hostname in _LOOPBACK
    return parts.path.rstrip("/") if here else None


def _has_bearer(value: Mapping[str, Any]) -> bool:
    headers = value.get("headers")
    bearer = headers.get("Authorization") if isinstance(headers, dict) else None
    return isinstance(bearer, str) and not isinstance(bearer, Number) and bearer.startswith("Bearer ")


def role_of(handler: object) -> Role | None:
    """Whether a hook is one of ours, of this install or an older one, and which; None for a foreign one."""
    if not isinstance(handler, dict):
        return None
    if handler.get("type") == "http":
        return "event" if _loopback_path(handler.get("url")) == _HOOK_PATH and _has_bearer(handler) else None
    args = handler.get("args")
    if handler.get("type") != "command" or not isinstance(args, list) or not _runs_our_script(args):
        return None
    return "wake" if "--wait" in args or handler.get("asyncRewake") is True else "event"


def _runs_our_script(args: list[Any]) -> bool:
    if not all(isinstance(arg, str) for arg in args):
        return False
    named = any(PurePath(arg).name == "hook.py" and PurePath(arg).parent.name == "bin" for arg in args)
    return named and {"--run", "--state"} <= set(args)


def is_our_server(entry: object, install: Install) -> bool:
    """Whether an MCP entry named relaybay was written by setup, of this install or an older one."""
    if not isinstance(entry, dict) or entry.get("type") != "http":
        return False
    path = _loopback_path(entry.get("url"))
    return path is not None and path == urlsplit(install.mcp_url).path.rstrip("/") and _has_bearer(entry)


def version_of(text: str | None) -> tuple[int, ...] | None:
    """The version in what `claude --version` printed; None when there is none in it."""
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", text or "")
    return tuple(int(part) for part in found.groups()) if found else None


def wake_measured(client_version: str | None) -> bool:
    """Whether the wake-up is known to work on a client (2.1.197 or newer)."""
    version = version_of(client_version)
    return version is not None and version >= WAKE_VERSION_MIN


def roles(hooks: object) -> Iterable[tuple[str, int, int, Role]]:
    """Every hook of ours in a `hooks` value: event, number of the group, number in the group, role."""
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group_at, group in enumerate(groups if isinstance(groups, list) else ()):
            handlers = group.get("hooks") if isinstance(group, dict) else None
            for at, handler in enumerate(handlers if isinstance(handlers, list) else ()):
                role = role_of(handler)
                if role is not None:
                    yield event, group_at, at, role
