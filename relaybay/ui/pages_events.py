"""`/events` and its `.json` twin: what happened, in words, newest first and filtered (page 40)."""

from __future__ import annotations

from typing import Final

from sanic import HTTPResponse, Request

from relaybay.service import views_events
from relaybay.ui import filtered
from relaybay.ui.desk import Desk, Page
from relaybay.ui.ports import RouteTable

_EVENTS: Final = Page("events.html", "events", ("event_list",))


def register(routes: RouteTable, desk: Desk) -> None:
    """Adds the routes."""

    async def events(request: Request) -> HTTPResponse:
        given = {name: request.args.get(name, "").strip() for name in ("session", "task", "before")}
        given["kind"] = request.args.get("type", "").strip()
        view, kept = views_events.events_page, ("before",)
        return await filtered.show(desk, request, _EVENTS, view, "events", "Events", "events", kept=kept, **given)

    routes.op("GET", "/events", "page_events", events, door="board")
    routes.op("GET", "/events.json", "page_events_json", events, door="board")
