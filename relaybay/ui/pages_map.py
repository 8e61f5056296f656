"""`/map` and its `.json` twin: who writes to whom, as picture, matrix and table (page 70)."""

from __future__ import annotations

from typing import Final

from sanic import HTTPResponse, Request

from relaybay.service import views_map
from relaybay.ui.desk import Desk, Page, wants_json
from relaybay.ui.paths import url
from relaybay.ui.ports import RouteTable

_MAP: Final = Page("map.html", "map", ("map_graph",))


def register(routes: RouteTable, desk: Desk) -> None:
    """Adds the routes."""

    async def the_map(request: Request) -> HTTPResponse:
        window, view = request.args.get("window", "24h"), request.args.get("view", "graph")
        task = request.args.get("task", "").strip()
        all_of = "edges" if wants_json(request) else request.args.get("all_of", "")
        short = {"window": "" if window == "24h" else window, "view": "" if view == "graph" else view}
        address = url("map", task=task, all_of=all_of, **short)
        given = {"window": window, "task": task, "form": view, "all_of": all_of}
        return await desk.show(request, _MAP, views_map.map_page, address, "Map", **given)

    routes.op("GET", "/map", "page_map", the_map, door="board")
    routes.op("GET", "/map.json", "page_map_json", the_map, door="board")
