"""The board's own style, scripts and icons, and those vendored: read once at start, under one address that changes
with the content of any of them, so browsers may keep them for ever and scripts find each other by relative names.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from sanic import HTTPResponse, Request

from relaybay.ui.ports import RouteTable

_FOLDER: Final = Path(__file__).parent / "static"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_CACHE: Final = "public, max-age=31536000, immutable"
_DIGEST_CHARS: Final = 12


class Assets:
    """The files of `static/`, by their path in it: `base.css`, `vendor/htmx.min.js`."""

    def __init__(self) -> None:
        self._files = {
            path.relative_to(_FOLDER).as_posix(): path.read_bytes()
            for path in sorted(_FOLDER.rglob("*"))
            if path.suffix in _TYPES and path.is_file()
        }
        whole = hashlib.sha256()
        for name, content in self._files.items():
            whole.update(f"{name}\0{len(content)}\0".encode() + content)
        self.version = whole.hexdigest()[:_DIGEST_CHARS]

    def address(self, name: str) -> str:
        """Where a page finds the file."""
        assert name in self._files, name
        return f"/static/{self.version}/{name}"

    def register(self, routes: RouteTable) -> None:
        """Adds the route. Its door is open: the page that asks for a login has a style too, and no file is secret."""

        async def static(_: Request, version: str, name: str) -> HTTPResponse:
            content = self._files.get(name) if version == self.version else None
            if content is None:
                return HTTPResponse(b"", status=404, content_type="text/plain; charset=utf-8")
            return HTTPResponse(content, content_type=_TYPES[Path(name).suffix])

        routes.op("GET", "/static/<version:str>/<name:path>", "static", static, door="open", cache=_CACHE)
