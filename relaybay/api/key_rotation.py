"""Notices rotated keys while the server runs: an old one is refused within a second (attack case 19)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from sanic import Sanic

from relaybay.api.keys import KeyFileRefused, KeyFolder, Keys

_log = logging.getLogger(__name__)


def follow(app: Sanic, folder: KeyFolder, use: Callable[[Keys], None], *, seconds: float = 0.5) -> None:  # type: ignore[type-arg]
    """Looks at the key files every so often while `app` runs, and hands replaced keys to `use` (`Gate.use`)."""
    running: list[asyncio.Task[None]] = []

    @app.after_server_start
    async def _begin(_: Sanic) -> None:  # type: ignore[type-arg]
        running.append(asyncio.create_task(_poll(folder, use, seconds), name="key-rotation"))

    @app.before_server_stop
    async def _end(_: Sanic) -> None:  # type: ignore[type-arg]
        while running:
            running.pop().cancel()


async def _poll(folder: KeyFolder, use: Callable[[Keys], None], seconds: float) -> None:
    said = ""
    while True:
        await asyncio.sleep(seconds)
        try:
            keys = folder.refresh()
        except (KeyFileRefused, OSError) as error:
            # The keys in use stay: an unsafe file must neither open a door nor shut everybody out.
            if said != str(error):
                said = str(error)
                _log.warning("keys not read again: %s", said)
            continue
        if keys is not None:
            use(keys)
