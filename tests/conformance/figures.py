"""The figures of a run: fault campaigns, the mutation check, and the one line that sums everything up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.faults import numbers
from tests.mutation import argued

_COLUMNS = ("points", "fired", "accepted", "lost", "unexplained", "seconds")
_PREFIX = "FLT-"
#: The share of changes that a run must catch not to fail: what page 90 asks for.
SHARE_HELD = 0.95
_SURVIVED = ("survived", "no test")


@dataclass(frozen=True)
class Mutants:
    """What the mutation check of one run came to: (caught, all) of each folder, and the survivors in words."""

    folders: Mapping[str, tuple[int, int]]
    survivors: tuple[tuple[str, str], ...]

    @property
    def caught(self) -> int:
        return sum(caught for caught, _ in self.folders.values())

    @property
    def enough(self) -> bool:
        """Whether so many were caught as page 90 asks for."""
        return self.all > 0 and self.caught >= SHARE_HELD * self.all

    @property
    def all(self) -> int:
        return sum(count for _, count in self.folders.values())


def read_mutants(file: Path) -> Mutants:
    """The verdicts that a run of `python -m tests.mutation --json` wrote; none when it wrote nothing."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Mutants({}, ())
    folders: dict[str, tuple[int, int]] = {}
    survivors = []
    for each in data["all"]:
        folder = str(Path(each["file"]).parent)
        caught, count = folders.get(folder, (0, 0))
        survived = each["how"] in _SURVIVED
        folders[folder] = (caught + (not survived), count + 1)
        if survived:
            survivors.append((f"{each['file']}:{each['line']}", each["words"]))
    return Mutants(folders, tuple(survivors))


def campaigns(figures: Mapping[str, int]) -> list[str]:
    """The table of the fault campaigns that were run, a row each; what only one of them counts stands in the last cell."""
    rows: dict[str, dict[str, int]] = {}
    for name, value in figures.items():
        if name.startswith(_PREFIX):
            campaign, _, figure = name.partition(" ")
            rows.setdefault(campaign, {})[figure] = value
    if not rows:
        return []
    out = [
        "## Fault campaigns",
        "",
        "With the numbers of the build server; `make campaign` runs the full ones. *Fired* counts the injections that were",
        "seen to happen; *lost* and *unexplained* are what the checker found in the histories.",
        "",
        "| id | What | Full | Points | Fired | Accepted | Lost | Unexplained | Seconds | Besides |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for campaign in sorted(rows, key=lambda name: int(name.removeprefix(_PREFIX))):
        row, size = rows[campaign], numbers.sizes()[campaign]
        cells = [str(row.get(name, 0)) for name in _COLUMNS]
        besides = ", ".join(f"{name} {value}" for name, value in sorted(row.items()) if name not in _COLUMNS)
        out.append(f"| {campaign} | {size.what} | {size.full} {size.unit} | {' | '.join(cells)} | {besides} |")
    return [*out, ""]


def mutation(mutants: Mutants | None) -> list[str]:
    """The table of the mutation check, and each survivor with its argument."""
    if mutants is None:
        return []
    out = [
        "## Code mutation",
        "",
        "Each comparison, constant, transition target and guard of the core changed, one at a time, with the direct comparison",
        "of code and tables left out; the other tests have to notice.",
        "",
        "| Folder | Mutants | Caught |",
        "|---|---|---|",
        *(f"| {folder} | {count} | {caught} |" for folder, (caught, count) in sorted(mutants.folders.items())),
        f"| all | {mutants.all} | {mutants.caught} |",
        "",
    ]
    reasons = [f"* {each}: {each.why}" for each in argued.read()]
    if reasons:
        out += ["Not caught, and why that is no gap:", "", *reasons, ""]
    return out


def result_line(executed: int, due: int, figures: Mapping[str, int], mutants: Mutants) -> str:
    """The last line of `make conformance`."""
    pairs = f"{figures.get('pairs reached', 0)}/{figures.get('pairs that a caller asks', 0)}"
    states = figures.get("states explored", 0)
    caught = f"{mutants.caught}/{mutants.all}"
    return f"conformance: ids {executed}/{due}, pairs {pairs}, states {states}, mutants caught {caught}"
