"""Where relaybay's files lie, and what is configured: flag > environment > `.relaybay.toml` > `config.toml` > default.

What belongs here: the places (`paths.py`), the table of keys (`keys.py`), and reading all sources into one frozen
`Settings` that knows where each value came from. What does not: writing configuration (`cli/config.py`), secrets
(they are files of their own under `run/`), and bounds that nobody may set (`specs/limits.toml`).

Nothing is guessed: an unknown key, a value of another type or out of its range is a `SettingsError` that names the
file and the line, and the program does not start (page 75, exit code 78).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relaybay.errors import SettingsError
from relaybay.settings.keys import KEYS, Key, Value, checked, parse, unknown_key
from relaybay.settings.paths import Paths
from relaybay.settings.toml_file import Layer, Origin, project_file, read_file, read_text

__all__ = [
    "KEYS",
    "Key",
    "Messaging",
    "Origin",
    "Paths",
    "Settings",
    "Value",
    "load",
    "parse",
    "project_file",
    "read_text",
    "unknown_key",
]


@dataclass(frozen=True, slots=True)
class Messaging:
    """The keys of `[messaging]` as the server goes by them (page 50, SET-1 to 5). Without the switch nothing else in
    here counts. Rates are per 60 s, `history_days` are days.
    """

    channels: bool = False
    inbound: str = "auto"
    inbound_per_minute: int = 64
    sender_per_minute: int = 16
    publish_per_minute: int = 16
    max_fanout: int = 32
    history_days: int = 30
    history_max_messages: int = 50_000


@dataclass(frozen=True, slots=True)
class Settings:
    """What is configured. `origins` has one entry per key; `clock_file` stands for the clock, in tests only.

    `messaging` is what a server goes by: without any project's file, since the floor of a project counts for the
    sessions in it and for nobody else (SET-2).

    `client_home` is where Claude Code keeps its files by the environment alone (`CLAUDE_CONFIG_DIR`, else the home).
    """

    server_host: str
    server_port: int
    messaging_channels: bool
    messaging_inbound: str
    messaging_inbound_per_minute: int
    messaging_sender_per_minute: int
    messaging_publish_per_minute: int
    messaging_max_fanout: int
    messaging_history_days: int
    messaging_history_max_messages: int
    wake_minutes: int
    sessions_silent_hours: int
    claude_code_folder: str
    project_slug: str
    messaging: Messaging
    clock_file: Path | None
    origins: Mapping[str, Origin]
    client_home: Path = Path()

    @property
    def claude_code_folders(self) -> tuple[Path, ...]:
        """The folders that hold Claude Code's transcripts: the configured one, else the client's own default."""
        return (Path(self.claude_code_folder) if self.claude_code_folder else self.client_home,)

    def value(self, name: str) -> Value:
        """The value of a key by its name in the file."""
        found: Value = getattr(self, KEYS[name].attribute)
        return found


def load(
    paths: Paths, env: Mapping[str, str], folder: Path | None = None, flags: Mapping[str, Value] | None = None
) -> Settings:
    """All sources as one value.

    Args:
        paths: where `config.toml` is.
        env: the environment; `RELAYBAY_SERVER_PORT` and the like.
        folder: where to look for the nearest `.relaybay.toml`, upwards; None leaves it out.
        flags: key → value given on the command line.

    Raises:
        SettingsError: a source holds what no key takes. Nothing of it is used.
    """
    values: dict[str, Value] = {name: key.default for name, key in KEYS.items()}
    own = dict(values)
    origins = dict.fromkeys(KEYS, Origin("default"))
    layers = [read_file(paths.config_file, project=False)]
    project = None if folder is None else project_file(folder)
    if project is not None:
        layers.append(read_file(project, project=True))
    layers += [_environment(env), _flags(flags or {})]
    for layer in layers:
        for name, (value, origin) in layer.items():
            tighter = KEYS[name].tighter if origin.source == "project" else None
            if tighter is not None and tighter(values[name], value) == values[name]:
                # A project only tightens: what the user has set is as tight already.
                continue
            values[name], origins[name] = value, origin
        own |= {name: value for name, (value, origin) in layer.items() if origin.source != "project"}
    named: dict[str, Any] = {KEYS[name].attribute: value for name, value in values.items()}
    messaging: dict[str, Any] = {
        name.partition(".")[2]: value for name, value in own.items() if name.startswith("messaging.")
    }
    named["messaging"] = Messaging(**messaging)
    return Settings(**named, clock_file=_clock_file(env), origins=origins, client_home=_client_home(env))


def _client_home(env: Mapping[str, str]) -> Path:
    chosen = env.get("CLAUDE_CONFIG_DIR", "")
    return Path(chosen).absolute() if chosen else Path(env.get("HOME") or Path.home()) / ".claude"


def _environment(env: Mapping[str, str]) -> Layer:
    layer: Layer = {}
    for name, key in KEYS.items():
        text = env.get(key.variable, "")
        if not text:
            continue
        try:
            value = parse(key, text)
        except ValueError:
            raise SettingsError(key.variable, f"{name} must be {key.wanted}") from None
        layer[name] = (checked(key.variable, name, value), Origin("environment", key.variable))
    return layer


def _flags(flags: Mapping[str, Value]) -> Layer:
    return {
        name: (checked("--" + name.rpartition(".")[2], name, value), Origin("flag", "--" + name.rpartition(".")[2]))
        for name, value in flags.items()
    }


def _clock_file(env: Mapping[str, str]) -> Path | None:
    given = env.get("RELAYBAY_CLOCK", "")
    if not given:
        return None
    if env.get("RELAYBAY_TEST") != "1":
        raise SettingsError("RELAYBAY_CLOCK", "only tests may stand in for the clock; it needs RELAYBAY_TEST=1")
    return Path(given).absolute()
