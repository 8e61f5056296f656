"""The pages that look at everything at once: the Map, and what comes with it. Each has its own module."""

from __future__ import annotations

from relaybay.ui import pages_map
from relaybay.ui.desk import Desk
from relaybay.ui.ports import RouteTable


def register_overview(routes: RouteTable, desk: Desk) -> None:
    """Adds their routes."""
    pages_map.register(routes, desk)
