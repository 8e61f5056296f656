"""Reads `specs/ids.toml` and `specs/invariants.toml`: which ids there are, and which must be executed by now."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

from relaybay.specs import specs_folder


@dataclass(frozen=True)
class SpecId:
    """One spec id. `row` tells whether a machine or decision table holds it; `later` why it need not be executed yet."""

    id: str
    page: str
    table: str
    row: bool
    later: str


def read() -> dict[str, SpecId]:
    """Every id, in the order of the pages. A malformed file, or an id that stands twice, is an error."""
    data = tomllib.loads((specs_folder() / "ids.toml").read_text(encoding="utf-8"))
    found: dict[str, SpecId] = {}
    for table in data["table"]:
        ids = table["ids"]
        no_row, later_ids = set(table.get("no_row", ())), set(table.get("later_ids", ids if table.get("later") else ()))
        assert no_row | later_ids <= set(ids), f"{table['name']}: an exception names an id that the table has not"
        assert bool(no_row) == bool(table.get("no_row_why")), f"{table['name']}: no_row needs its reason"
        assert bool(later_ids) == bool(table.get("later_why")), f"{table['name']}: later needs its reason"
        for spec_id in ids:
            assert spec_id.rpartition("-")[0] == table["name"], spec_id
            assert spec_id not in found, f"{spec_id} stands twice"
            later = table["later_why"] if spec_id in later_ids else ""
            found[spec_id] = SpecId(spec_id, table["page"], table["name"], spec_id not in no_row, later)
    return found


def invariants() -> dict[str, SpecId]:
    """The numbered promises. They stand in no table; tests that are marked with them hold them."""
    data = tomllib.loads((specs_folder() / "invariants.toml").read_text(encoding="utf-8"))
    rows = data["invariant"]
    assert [row["id"] for row in rows] == [f"INV-{n}" for n in range(1, len(rows) + 1)], "numbered without a gap"
    assert all(row["text"].strip() and row["where"].strip() for row in rows)
    return {row["id"]: SpecId(row["id"], "90", "INV", row=False, later=row.get("later_why", "")) for row in rows}
