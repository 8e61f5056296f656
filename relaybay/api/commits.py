"""Lets the event loop hear of commits, which the writer thread tells: for long polls and the board's stream."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from sanic import Sanic

from relaybay.service.relay import Relay

NAMES_MAX: Final = 200


class News(Protocol):
    """What one commit changed, as the store tells it."""

    touched: set[int]
    events: list[tuple[str, dict[str, Any]]]


def names_of(news: News) -> set[str]:
    """What a commit changed, by name only: event types, `task:KEY`, `session:S-n`. Never a text."""
    names = {kind for kind, _ in news.events}
    names |= {f"session:S-{key}" for key in news.touched}
    names |= {f"task:{data['task']}" for _, data in news.events if data.get("task")}
    return names


@dataclass(eq=False, slots=True)
class Listener:
    """One reader. `names` collects what changed since it last looked: a slow one gets fewer, larger pieces."""

    names: set[str] = field(default_factory=set)
    rung: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self) -> list[str]:
        """What changed since the last look, sorted; `*` alone when it was too much to name."""
        names, self.names = self.names, set()
        self.rung.clear()
        return sorted(names) if len(names) <= NAMES_MAX else ["*"]


class Commits:
    """The listeners of one server. `closing` is set when it stops: whoever waits ends then."""

    def __init__(self) -> None:
        self.closing = False
        self._listeners: set[Listener] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def count(self) -> int:
        """How many listen."""
        return len(self._listeners)

    def follow(self, app: Sanic, relay: Relay) -> None:  # type: ignore[type-arg]
        """Listens to the relay for as long as `app` runs."""

        def heard(news: News) -> None:
            # In the writer thread: nothing but the hand-over to the loop may happen here.
            loop = self._loop
            if loop is not None and self._listeners:
                with contextlib.suppress(RuntimeError):  # The loop closed between the question and the call.
                    loop.call_soon_threadsafe(self._ring, names_of(news))

        @app.before_server_start
        async def _begin(_: Sanic) -> None:  # type: ignore[type-arg]
            self._loop = asyncio.get_running_loop()
            self.closing = False
            relay.listeners.append(heard)

        @app.before_server_stop
        async def _end(_: Sanic) -> None:  # type: ignore[type-arg]
            self.closing = True
            self._ring(set())
            if heard in relay.listeners:
                relay.listeners.remove(heard)

    @contextlib.contextmanager
    def listening(self) -> Iterator[Listener]:
        """A listener that misses no commit from here on."""
        listener = Listener()
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    async def heard(self, listener: Listener, seconds: float) -> bool:
        """Waits for a commit, at most so long. False when there was none, or the server stops."""
        if self.closing:
            return False
        try:
            async with asyncio.timeout(seconds):
                await listener.rung.wait()
        except TimeoutError:
            return False
        return not self.closing

    def _ring(self, names: set[str]) -> None:
        for listener in self._listeners:
            listener.names |= names
            listener.rung.set()
