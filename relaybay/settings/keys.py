"""The table of configuration keys: name, type and default, range, and which source may set it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from relaybay.errors import SettingsError

#: A project's slug (page 40). It stands here since the configuration names one, and knows nothing above it.
SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_LOOPBACK = re.compile(r"localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1")

Value = str | int | bool


@dataclass(frozen=True, slots=True)
class Key:
    """One configuration key.

    Attributes:
        name: `table.key`, as in the file.
        default: its value without any configuration; its type is the key's type.
        help: what it does, for `relaybay config show`.
        wanted: what a good value is, for the refusal of a bad one.
        check: whether a value of the right type is good.
        in_project: whether `.relaybay.toml` may set it. What decides where this user's server listens, or what
            agents may do, is never taken from a folder that may have been cloned from anywhere.
        tighter: of the user's own value and a project's the one that counts; only where a project may tighten what
            the user has set, and never loosen it (SET-2 to 4).
        limit: the bound of `specs/limits.toml` that this key sets.
    """

    name: str
    default: Value
    help: str
    wanted: str
    check: Callable[[Any], bool] = field(default=lambda _: True)
    in_project: bool = False
    limit: str = ""
    tighter: Callable[[Any, Any], Any] | None = None

    @property
    def attribute(self) -> str:
        """Its name in `Settings`."""
        return self.name.replace(".", "_")

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "RELAYBAY_" + self.attribute.upper()


#: Policies in rising strictness (page 50). The configuration knows nothing above it, so they stand here too.
POLICIES = ("accept", "auto", "hold", "refuse")
_AT_LEAST_ONE = "a whole number, 1 to 1000000"


def _stricter(one: str, other: str) -> str:
    return max(one, other, key=POLICIES.index)


def _lowered(name: str, default: int, help_: str) -> Key:
    """A bound of messaging that a project may lower (SET-3, SET-4)."""
    return Key(name, default, help_, _AT_LEAST_ONE, _within(1, 1_000_000), in_project=True, tighter=min)


def _within(low: int, high: int) -> Callable[[Any], bool]:
    return lambda value: low <= value <= high


KEYS: Mapping[str, Key] = {
    key.name: key
    for key in (
        Key(
            "server.host",
            "127.0.0.1",
            "the address the server listens on",
            "a loopback address, such as 127.0.0.1 or ::1",
            lambda value: _LOOPBACK.fullmatch(value) is not None,
        ),
        Key("server.port", 7717, "the port the server listens on", "a port, 1 to 65535", _within(1, 65_535)),
        Key(
            "messaging.channels",
            default=False,
            help="names, topics, broadcasts, scripts and an inbound policy, beside direct messages",
            wanted="true or false",
        ),
        Key(
            "messaging.inbound",
            "auto",
            "what may reach a session by itself: accept, auto, hold or refuse; a project can only tighten it",
            "accept, auto, hold or refuse",
            lambda value: value in POLICIES,
            in_project=True,
            tighter=_stricter,
        ),
        _lowered("messaging.inbound_per_minute", 64, "how many messages a session is let in within a minute"),
        _lowered("messaging.sender_per_minute", 16, "how many of them from one sender"),
        _lowered("messaging.publish_per_minute", 16, "how many publications a session may make within a minute"),
        _lowered("messaging.max_fanout", 32, "how many sessions and groups one publication reaches at most"),
        Key("messaging.history_days", 30, "how many days messages are kept", _AT_LEAST_ONE, _within(1, 1_000_000)),
        Key(
            "messaging.history_max_messages",
            50_000,
            "how many messages are kept at most",
            "a whole number, 1 to 100000000",
            _within(1, 100_000_000),
        ),
        Key(
            "wake.minutes",
            25,
            "how long an idle session's wait may be woken",
            "whole minutes, 1 to 25 (the hook gives up after 25 by itself)",
            _within(1, 25),
            limit="wait_minutes",
        ),
        Key(
            "sessions.silent_hours",
            24,
            "after how long without any event a session counts as ended",
            "whole hours, 1 to 8760",
            _within(1, 8_760),
            limit="silent_hours",
        ),
        Key(
            "claude_code.folder",
            "",
            "where Claude Code keeps its transcripts, when it is neither CLAUDE_CONFIG_DIR nor ~/.claude",
            "an absolute path, or nothing",
            lambda value: value == "" or value.startswith("/"),
        ),
        Key(
            "project.slug",
            "",
            "the project that task commands mean when none is named",
            "a project's short name: lower-case letters, digits and hyphens, 40 at most",
            lambda value: value == "" or SLUG.fullmatch(value) is not None,
            in_project=True,
        ),
    )
}


def parse(key: Key, text: str) -> Value:
    """A value from text, as the environment and `config set` give it. Raises ValueError when it is of another type."""
    if isinstance(key.default, bool):
        known = {"true": True, "1": True, "false": False, "0": False}
        if text.lower() not in known:
            raise ValueError(text)
        return known[text.lower()]
    if isinstance(key.default, int):
        if not text.isascii() or not text.isdigit():
            raise ValueError(text)
        return int(text)
    return text


def unknown_key(name: str) -> str:
    """Why a key is refused that nobody knows, with the nearest one that is known."""
    from difflib import get_close_matches  # noqa: PLC0415 - only in a refusal.

    near = get_close_matches(name, KEYS, 1)
    hint = f"the nearest that is known is {near[0]}" if near else f"known are {', '.join(KEYS)}"
    return f"unknown key {name}; {hint}"


def checked(where: str, name: str, value: Any, *, project: bool = False) -> Value:
    """A value that a source gives for a key. `where` names the place in it. Raises SettingsError."""
    key = KEYS.get(name)
    if key is None:
        raise SettingsError(where, unknown_key(name))
    if project and not key.in_project:
        raise SettingsError(where, f"{name} is this user's own choice; no project file may set it")
    # bool is an int to Python, and `port = true` is a mistake.
    if type(value) is not type(key.default) or not key.check(value):
        raise SettingsError(where, f"{name} must be {key.wanted}")
    good: Value = value
    return good
