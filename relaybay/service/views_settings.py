"""Read model of `/settings` (page 70): each value with where it comes from, and what a restart would change."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from relaybay.domain import Outcome
from relaybay.errors import SettingsError
from relaybay.rules.text import literal
from relaybay.service.house import House
from relaybay.service.relay import Relay
from relaybay.settings import KEYS, Settings
from relaybay.store.transaction import Tx

_PORT = "server.port"


def settings_page(_tx: Tx, _relay: Relay, *, house: House) -> Outcome:
    """The effective configuration. `pending` is a value that stands in a source and waits for the next start."""
    written: Settings | None = None
    fault = None
    try:
        written = house.written()
    except SettingsError as error:
        fault = {"where": literal(error.where), "why": literal(error.why)}
    rows = [_row(name, house.running, written) for name in KEYS]
    url = house.told().url
    port = urlsplit(url).port if url else None
    for row in rows:
        if row["key"] == _PORT and port not in (None, row["value"]):
            # Asked for at this start alone, and so in no source.
            row |= {"value": port, "source": "flag", "origin": literal("--port")}
            row.pop("pending", None)
    return Outcome(
        data={
            "settings": rows,
            "channels": house.running.messaging_channels,
            "config_file": literal(str(house.paths.config_file)),
            "pending": sum("pending" in row for row in rows),
            "fault": fault,
        }
    )


def _row(name: str, running: Settings, written: Settings | None) -> dict[str, Any]:
    key, origin = KEYS[name], running.origins[name]
    row: dict[str, Any] = {
        "key": name,
        "value": running.value(name),
        "default": key.default,
        "source": origin.source,
        "origin": literal(str(origin)),
        "help": key.help,
        "wanted": key.wanted,
        "variable": key.variable,
        "in_project": key.in_project,
    }
    # What a flag of this start has set is gone with it, and nothing is written that it would be.
    if written is not None and origin.source != "flag" and written.value(name) != running.value(name):
        row["pending"] = {"value": written.value(name), "origin": literal(str(written.origins[name]))}
    return row
