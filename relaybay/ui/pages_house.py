"""`/settings` and `/health` with their `.json` twins: what the server was started with, and whether all is well."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from sanic import HTTPResponse, Request

from relaybay.domain import Outcome
from relaybay.service import figures, views_health, views_settings
from relaybay.service.house import Checkup, House
from relaybay.ui.desk import Desk, Page
from relaybay.ui.paths import url
from relaybay.ui.ports import RouteTable

_SETTINGS: Final = Page("settings.html", "settings", ("setting_list",))
_HEALTH: Final = Page("health.html", "health", ("health_checks", "health_server"))


def register(routes: RouteTable, desk: Desk, house: House) -> None:
    """Adds the routes."""
    checkup = Checkup(desk.relay, house)

    async def settings(request: Request) -> HTTPResponse:
        view, address = views_settings.settings_page, url("settings")
        return await desk.show(request, _SETTINGS, view, address, "Settings", house=house)

    async def health(request: Request) -> HTTPResponse:
        heard = {client: max(events.values()) for client, events in house.told().heard.items() if events}

        def last(tx: Any, relay: Any) -> Outcome:
            return Outcome(data=figures.last_heard(tx, relay, heard))

        outcome, _ = await desk.read(last)
        # Files, a client's program, the whole database: neither in a snapshot nor on the event loop.
        looked = await asyncio.to_thread(checkup.look, outcome.data)
        view, address = views_health.health_page, url("health")
        return await desk.show(request, _HEALTH, view, address, "Health", house=house, looked=looked)

    for name, handler in (("settings", settings), ("health", health)):
        routes.op("GET", f"/{name}", f"page_{name}", handler, door="board")
        routes.op("GET", f"/{name}.json", f"page_{name}_json", handler, door="board")
