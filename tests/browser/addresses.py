"""Which pages there are: the app's own routes, their parameters filled by following the links of a seeded board."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from typing import Any
from unittest.mock import MagicMock
from urllib.parse import urlsplit

from relaybay.api.routes import Operation, Routes
from relaybay.api.serving import make_app
from relaybay.ui.pages import register_board
from tests.browser.world import World

_PARAMETER = re.compile(r"<(\w+)(?::[^>]*)?>")
_NO_PAGE = re.compile(r"\.[a-z]+>?$")
"""Twins of a page (`.json`, `.md`) and files."""


@lru_cache(maxsize=1)
def pages() -> tuple[str, ...]:
    """The path of every page in Sanic's form. Nothing is opened and nothing listens: routes alone are asked for."""
    nobody: Any = MagicMock()
    routes = Routes(make_app())
    register_board(routes, nobody, nobody)
    return tuple(sorted(o.path for o in routes.operations if is_page(o)))


def is_page(operation: Operation) -> bool:
    """Whether a browser with a login reads a page there. `test_every_page.py` holds the name against what comes."""
    named = operation.operation_id.startswith("page_") and operation.door == "board"
    return named and operation.method == "GET" and not _NO_PAGE.search(operation.path)


def _hrefs(html: str) -> Iterator[str]:
    for found in re.finditer(r"""<a\s[^>]*?href=("[^"]*"|'[^']*')""", html):
        yield unescape(found[1][1:-1])


class Addresses:
    """The addresses of one world's board, found as a reader finds them."""

    def __init__(self, world: World, deep: int = 3) -> None:
        self._seen: dict[str, str] = {}
        self._kinds: set[str] = set()
        self._world = world
        todo = ["/"]
        for _ in range(deep):
            todo = [found for address in todo for found in self._links_of(address)]

    def _links_of(self, address: str) -> list[str]:
        answer = self._world.get(address)
        if answer.status != 200 or "text/html" not in answer.headers["content-type"]:
            return []
        fresh = []
        for href in _hrefs(answer.body):
            target = urlsplit(href)
            if target.netloc or not target.path.startswith("/"):
                continue
            where = target.path + (f"?{target.query}" if target.query else "")
            # One of each kind is enough: which parts the path has, and which names the query.
            names = ",".join(sorted(part.partition("=")[0] for part in target.query.split("&") if part))
            kind = f"{re.sub('[A-Za-z0-9._-]*[0-9][A-Za-z0-9._-]*', '<>', target.path)}?{names}"
            if kind not in self._kinds:
                self._kinds.add(kind)
                self._seen[where] = address
                fresh.append(where)
        return fresh

    def of(self, path: str) -> str:
        """The address of a page. Raises AssertionError when no link leads to a page with parameters."""
        if "<" not in path:
            return path
        pattern = re.compile(_PARAMETER.sub("[^/?]+", path))
        found = next((where for where in self._seen if pattern.fullmatch(where)), None)
        assert found, f"no link of the board leads to {path}; links: {sorted(self._seen)}"
        return found

    def views(self) -> list[str]:
        """Addresses with a query that the board itself offers: filters, chosen messages, a card that is being moved."""
        return [where for where in self._seen if "?" in where]
