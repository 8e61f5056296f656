"""How large each campaign is: `specs/faults.toml`, the smaller number unless `RELAYBAY_CAMPAIGN=1` asks for the full one.

`RELAYBAY_FAULTS_SCALE=0.1` shrinks (or grows) whichever number applies, for trying something out.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from functools import cache

from relaybay.specs import specs_folder


@dataclass(frozen=True)
class Size:
    """One row. `later` says why the campaign is not due yet; `accepted_full`, how much work the full one must accept."""

    id: str
    what: str
    unit: str
    ci: int
    full: int
    accepted_full: int = 0
    later: str = ""


@cache
def sizes() -> dict[str, Size]:
    """Every campaign of the page, by id."""
    data = tomllib.loads((specs_folder() / "faults.toml").read_text(encoding="utf-8"))
    return {row["id"]: Size(**row) for row in data["campaign"]}


def is_full() -> bool:
    return os.environ.get("RELAYBAY_CAMPAIGN") == "1"


def points(campaign: str) -> int:
    """How many points this run of the campaign has; at least one."""
    size = sizes()[campaign]
    assert not size.later, f"{campaign} is not due: {size.later}"
    return scaled(size.full if is_full() else size.ci)


def accepted_min(campaign: str) -> int:
    """How much a run must have accepted to be worth its name; 0 where the page asks for nothing."""
    return scaled(sizes()[campaign].accepted_full) if is_full() else 0


def scaled(number: int) -> int:
    """A number of this run, shrunk or grown as `RELAYBAY_FAULTS_SCALE` says."""
    factor = float(os.environ.get("RELAYBAY_FAULTS_SCALE", "1"))
    return max(1, round(number * factor)) if number else 0
