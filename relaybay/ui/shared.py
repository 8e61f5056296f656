"""Fragments that many tabs fetch at once are read and rendered once (page 70, Board; PERF-12).

Every tab of a browser hears of a change in the same moment and fetches the same fragments again. What one of them got
is given to the others for as long as nothing was committed since its reading began, and for a second at most: ages and
what presence keeps in memory move without a commit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from sanic import HTTPResponse, Request

SECONDS_MAX: Final = 1.0
_HELD_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class _Made:
    """An answer that is there or on its way, the commits that were known when it was begun, and when that was."""

    answer: asyncio.Future[HTTPResponse]
    commits: int
    at: float


class Shared:
    """The answers of the last second. `changed` is told of every commit, from whatever thread."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._commits = 0
        self._made: dict[tuple[str, ...], _Made] = {}

    def changed(self, _news: object) -> None:
        """Something was committed: what was begun before is given to nobody who asks from now on."""
        self._commits += 1

    async def answer(self, request: Request, make: Callable[[], Awaitable[HTTPResponse]]) -> HTTPResponse:
        """What `make` answers, or what it answered to the same request. The cookies are part of what is the same: they
        hold the login that its forms belong to, and how its owner likes the board to look.
        """
        key = (request.path, request.query_string, request.headers.get("cookie") or "")
        now = self._monotonic()
        made = self._made.get(key)
        if made is None or made.commits != self._commits or now - made.at > SECONDS_MAX:
            self._forget(now)
            made = _Made(asyncio.ensure_future(make()), self._commits, now)
            self._made[key] = made
        # A tab that goes away must not take the answer from the others.
        found = await asyncio.shield(made.answer)
        return HTTPResponse(found.body, found.status, content_type=found.content_type)

    def _forget(self, now: float) -> None:
        old = [key for key, one in self._made.items() if now - one.at > SECONDS_MAX or one.commits != self._commits]
        for key in old if len(self._made) < _HELD_MAX else list(self._made):
            del self._made[key]
