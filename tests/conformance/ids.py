"""Reads `specs/ids.toml` and `specs/invariants.toml`: which ids there are, and which must be executed by now."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from relaybay.specs import specs_folder

DROPPED = "dropped: "


@dataclass(frozen=True)
class SpecId:
    """One spec id. `row` tells whether a machine or decision table holds it; `later` why it need not be executed yet."""

    id: str
    page: str
    table: str
    row: bool
    later: str

    @property
    def dropped(self) -> bool:
        """Whether the reference has the row and relaybay does not."""
        return self.later.startswith(DROPPED)


def read() -> dict[str, SpecId]:
    """Every id, in the order of the pages. A malformed file, or an id that stands twice, is an error."""
    return parse(tomllib.loads((specs_folder() / "ids.toml").read_text(encoding="utf-8")))


def parse(data: Mapping[str, Any]) -> dict[str, SpecId]:
    """The same of a file's values. What relaybay drops is later for ever: its `later` begins with `dropped: `."""
    found: dict[str, SpecId] = {}
    for table in data["table"]:
        ids = table["ids"]
        no_row, dropped = set(table.get("no_row", ())), set(table.get("dropped", ()))
        later_ids = set(table.get("later_ids", ids if table.get("later") else ()))
        assert no_row | later_ids | dropped <= set(ids), (
            f"{table['name']}: an exception names an id that the table has not"
        )
        assert not dropped & (no_row | set(table.get("later_ids", ()))), f"{table['name']}: dropped, and not dropped"
        for key, named in (("no_row", no_row), ("later", later_ids), ("dropped", dropped)):
            assert bool(named) == bool(table.get(f"{key}_why")), f"{table['name']}: {key} needs its reason"
        for spec_id in ids:
            assert spec_id.rpartition("-")[0] == table["name"], spec_id
            assert spec_id not in found, f"{spec_id} stands twice"
            later = table["later_why"] if spec_id in later_ids else ""
            if spec_id in dropped:
                later = f"{DROPPED}{table['dropped_why']}"
            found[spec_id] = SpecId(spec_id, table["page"], table["name"], spec_id not in no_row, later)
    return found


def invariants() -> dict[str, SpecId]:
    """The numbered promises. They stand in no table; tests that are marked with them hold them."""
    data = tomllib.loads((specs_folder() / "invariants.toml").read_text(encoding="utf-8"))
    rows = data["invariant"]
    assert [row["id"] for row in rows] == [f"INV-{n}" for n in range(1, len(rows) + 1)], "numbered without a gap"
    assert all(row["text"].strip() and row["where"].strip() for row in rows)
    return {row["id"]: SpecId(row["id"], "90", "INV", row=False, later=row.get("later_why", "")) for row in rows}
