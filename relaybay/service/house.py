"""What pages are told of the server that they stand in: its settings, its files, what it heard, and doctor's checks.

The composition root fills it in. Doctor looks at the machine from above the server (`relaybay.setup`), so whoever
starts the server brings it along; a server that was started without one says so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from relaybay.service.relay import Relay
from relaybay.settings import Paths, Settings, load
from relaybay.store import sqlite

#: How long what doctor found stands, and how long the word of the database's own check, which reads all of it.
LOOK_AGAIN_US = 20 * 1_000_000
CHECK_AGAIN_US = 10 * 60 * 1_000_000


class Finding(Protocol):
    """One line of doctor: what was looked at, its verdict (None: worth knowing), what was found, what to do."""

    @property
    def name(self) -> str:
        """Short and stable."""

    @property
    def ok(self) -> bool | None:
        """Whether all is well."""

    @property
    def detail(self) -> str:
        """What was found."""

    @property
    def fix(self) -> str:
        """What to do; empty when there is nothing to do."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the running server knows of itself. Times in µs, 0 for never since its start.

    `heard` has, by client and event name, when a hook event came last; `streams` counts open streams and long polls.
    """

    url: str = ""
    started_us: int = 0
    heard: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    mcp_seen_us: int = 0
    streams: int = 0


Doctor = Callable[[Told, Mapping[str, int], str], Sequence[Finding]]
"""Doctor's checks, given what the server knows of itself, when each client was last heard (in µs; rows remember longer
than the server runs), and what the database's own check said."""


@dataclass(frozen=True, slots=True)
class House:
    """`running` is what the server was started with, `written` reads anew what it would be started with now (raises
    SettingsError).
    """

    paths: Paths
    running: Settings
    written: Callable[[], Settings]
    told: Callable[[], Told] = Told
    doctor: Doctor | None = None

    @classmethod
    def bare(cls) -> House:
        """Of a board without a server around it: the defaults, and nothing heard."""
        nowhere = Paths(*(Path("/nonexistent"),) * 4)
        settings = load(nowhere, {})
        return cls(nowhere, settings, lambda: settings)


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found, and when: `findings` of doctor, `integrity` (`ok`, or what is wrong) of the database."""

    findings: tuple[Finding, ...]
    at_us: int
    integrity: str
    checked_us: int


class Checkup:
    """Doctor and the database's check, each at most so often: a page may be fetched again with every event."""

    def __init__(self, relay: Relay, house: House) -> None:
        self._relay = relay
        self._house = house
        self._lock = threading.Lock()
        self._last: Looked | None = None

    def look(self, heard: Mapping[str, int]) -> Looked:
        """What was found, from lately or anew. Takes as long as the checks do: not for the event loop."""
        with self._lock:
            now, last = self._relay.clock(), self._last
            # A clock that was set back makes nothing stand for longer.
            if last is not None and abs(now - last.checked_us) < CHECK_AGAIN_US:
                integrity, checked_us = last.integrity, last.checked_us
            else:
                integrity, checked_us = "; ".join(sqlite.problems(self._relay.store.path)) or "ok", now
            if last is not None and abs(now - last.at_us) < LOOK_AGAIN_US:
                findings, at_us = last.findings, last.at_us
            else:
                doctor = self._house.doctor
                found = doctor(self._house.told(), heard, integrity) if doctor is not None else ()
                findings, at_us = tuple(found), now
            self._last = Looked(findings, at_us, integrity, checked_us)
            return self._last
