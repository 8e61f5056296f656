"""The palette (`/palette?q=`) and the list of keys (`/keys`): shown in dialogs by a script, and pages without one."""

from __future__ import annotations

from typing import Any, Final

from sanic import HTTPResponse, Request

from relaybay.domain import Outcome
from relaybay.service import views_palette
from relaybay.ui.desk import Desk, Page
from relaybay.ui.paths import has_page, url
from relaybay.ui.ports import RouteTable
from relaybay.ui.shortcuts import SHORTCUTS, Shortcut

_PALETTE: Final = Page("palette.html", "palette", ("palette_results",))
_KEYS: Final = Page("keys.html", "keys", ("keys",))
_QUERY_CHARS_MAX: Final = 100


def register(routes: RouteTable, desk: Desk) -> None:
    """Adds both pages."""

    async def palette(request: Request) -> HTTPResponse:
        query = request.args.get("q", "")[:_QUERY_CHARS_MAX]

        def view(tx: Any, relay: Any) -> Outcome:
            found = views_palette.palette(tx, relay, q=query)
            actions = [
                {"hotkey": one.keys, "shown": one.shown, "words": one.words, "page": one.page, "group": one.group}
                for one in known()
                if views_palette.fits(f"{one.words} {one.group}", query)
            ]
            return Outcome(data={**found.data, "actions": actions})

        return await desk.show(request, _PALETTE, view, url("palette", q=query), "Find and do")

    async def keys(request: Request) -> HTTPResponse:
        listed = [
            {"hotkey": one.keys, "shown": one.shown, "words": one.words, "page": one.page, "group": one.group}
            for one in known()
        ]
        return await desk.show(
            request, _KEYS, lambda _tx, _relay: Outcome(data={"shortcuts": listed}), url("keys"), "Keys"
        )

    for path, name, handler in (("/palette", "palette", palette), ("/keys", "keys", keys)):
        routes.op("GET", path, f"page_{name}", handler, door="board")
        routes.op("GET", f"{path}.json", f"page_{name}_json", handler, door="board")


def known() -> list[Shortcut]:
    """The shortcuts, less those that lead to a page which is not there."""
    return [one for one in SHORTCUTS if not one.page or has_page(one.page)]
