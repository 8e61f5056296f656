"""The pages that look at everything at once (Map, events, settings, health), and projects with the exports.

Each has its own module.
"""

from __future__ import annotations

from relaybay.service.house import House
from relaybay.ui import pages_events, pages_house, pages_map, pages_projects
from relaybay.ui.desk import Desk
from relaybay.ui.ports import RouteTable


def register_overview(routes: RouteTable, desk: Desk, house: House) -> None:
    """Adds their routes."""
    for pages in (pages_map, pages_events, pages_projects):
        pages.register(routes, desk)
    pages_house.register(routes, desk, house)
