"""The pages that look at everything at once (Map, events), and projects with the exports. Each has its own module."""

from __future__ import annotations

from relaybay.ui import pages_events, pages_map, pages_projects
from relaybay.ui.desk import Desk
from relaybay.ui.ports import RouteTable


def register_overview(routes: RouteTable, desk: Desk) -> None:
    """Adds their routes."""
    for pages in (pages_map, pages_events, pages_projects):
        pages.register(routes, desk)
