"""`/events` and its `.json` twin: what happened, in words, newest first (page 40)."""

from __future__ import annotations

from typing import Final

from sanic import HTTPResponse, Request

from relaybay.service import views_events
from relaybay.ui.desk import Desk, Page
from relaybay.ui.paths import url
from relaybay.ui.ports import RouteTable

_EVENTS: Final = Page("events.html", "events", ("event_list",))


def register(routes: RouteTable, desk: Desk) -> None:
    """Adds the routes."""

    async def events(request: Request) -> HTTPResponse:
        given = {name: request.args.get(name, "").strip() for name in ("session", "task", "before")}
        kind = request.args.get("type", "").strip()
        address = url("events", type=kind, **given)
        return await desk.show(request, _EVENTS, views_events.events_page, address, "Events", kind=kind, **given)

    routes.op("GET", "/events", "page_events", events, door="board")
    routes.op("GET", "/events.json", "page_events_json", events, door="board")
