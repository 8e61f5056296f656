"""The conformance report: every spec id with the tests that executed it. `python -m tests.conformance.report`.

Reads what a run with `--spec-record` wrote over just this tree (`record.py`), and which ids there are (`ids.py`). Prints
the ids that no test executed, each on a line, then the totals; exit code 1 when one of them is due, 2 when nothing is
recorded.

    --write      also write docs/conformance.md
    --recorded   print nothing; exit 0 when a whole, green run over this tree is recorded
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance import ids, record

DOCUMENT = record.ROOT / "docs" / "conformance.md"
TESTS_SHOWN_MAX = 3


@dataclass(frozen=True)
class Line:
    """One spec id: the tests whose code returned it, and those that are marked with it."""

    spec: ids.SpecId
    executed: tuple[str, ...]
    marked: tuple[str, ...]

    @property
    def tests(self) -> tuple[str, ...]:
        return tuple(sorted({*self.executed, *self.marked}))

    @property
    def missing(self) -> bool:
        return not self.tests and not self.spec.later


def short(node_id: str) -> str:
    """A test's name without its parameters: the cases of one test are one test."""
    return node_id.partition("[")[0]


def lines(known: Iterable[ids.SpecId], recorded: record.Record) -> list[Line]:
    """One line per id, in the order of the pages."""
    executed: dict[str, set[str]] = defaultdict(set)
    marked: dict[str, set[str]] = defaultdict(set)
    for node_id, test in recorded.tests.items():
        if not test.passed:
            continue
        for spec_id in test.executed:
            executed[spec_id].add(short(node_id))
        for spec_id in test.marked:
            marked[spec_id].add(short(node_id))
    return [Line(s, tuple(sorted(executed[s.id])), tuple(sorted(marked[s.id]))) for s in known]


def counts(recorded: record.Record) -> dict[str, int]:
    """The figures that tests counted (states explored, pairs reached, …), summed over the tests."""
    total: dict[str, int] = defaultdict(int)
    for test in recorded.tests.values():
        for name, value in test.counts.items() if test.passed else ():
            total[name] += value
    return dict(sorted(total.items()))


def summary(found: Sequence[Line], recorded: record.Record) -> list[str]:
    """What the command prints: the gaps first, the totals last."""
    due = [line for line in found if not line.spec.later]
    by_code = [line for line in due if line.executed]
    failed = sum(not test.passed for test in recorded.tests.values())
    out = [f"{line.spec.id}: no test executed it" for line in found if line.missing]
    out += [f"{name}: {value}" for name, value in counts(recorded).items()]
    out.append(
        f"{len(found)} ids: {len(due)} due, {sum(bool(x.tests) for x in due)} executed ({len(by_code)} returned by the code itself), "
        f"{sum(x.missing for x in found)} without a test; {len(found) - len(due)} later; "
        f"{len(recorded.tests)} tests recorded, {failed} of them failed or skipped"
    )
    return out


def _cell(tests: Sequence[str]) -> str:
    names = [f"`{name.removeprefix('tests/')}`" for name in tests[:TESTS_SHOWN_MAX]]
    more = len(tests) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def document(found: Sequence[Line], recorded: record.Record) -> str:
    """`docs/conformance.md`. The same tree and the same tests give the same bytes."""
    due = [line for line in found if not line.spec.later]
    out = [
        "# Conformance",
        "",
        "Written by `make conformance`; not edited by hand. A test *executes* an id when it passes and the code under test",
        "returned the id, or the test is marked with it. *By code* counts the tests of the first kind.",
        "",
        f"{len(due)} ids are due and {sum(bool(line.tests) for line in due)} have a test that executed them.",
        "",
    ]
    figures = counts(recorded)
    if figures:
        out += ["| Figure | Sum over all tests |", "|---|---|", *(f"| {k} | {v} |" for k, v in figures.items()), ""]
    out += ["| id | Tests | By code | Some of them |", "|---|---|---|---|"]
    for line in due:
        where = _cell(line.tests) if line.tests else "**none**"
        out.append(f"| {line.spec.id} | {len(line.tests)} | {len(line.executed)} | {where} |")
    later: dict[str, list[str]] = defaultdict(list)
    for line in found:
        if line.spec.later:
            later[line.spec.later].append(line.spec.id)
    if later:
        out += ["", "## Not due yet", "", *(f"* {why}: {', '.join(names)}" for why, names in later.items())]
    return "\n".join(out) + "\n"


def main(arguments: Sequence[str] | None = None, *, file: Path = record.RECORD, target: Path = DOCUMENT) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.report", description="The conformance report.")
    parser.add_argument("--write", action="store_true", help="also write docs/conformance.md")
    parser.add_argument("--recorded", action="store_true", help="say by the exit code whether a whole run is recorded")
    options = parser.parse_args(arguments)
    recorded = record.load(file, record.tree_digest())
    if options.recorded:
        return 0 if recorded.whole else 1
    if not recorded.tests:
        print("nothing is recorded over this tree; run: make conformance", file=sys.stderr)
        return 2
    found = lines({**ids.read(), **ids.invariants()}.values(), recorded)
    if options.write:
        target.write_text(document(found, recorded), encoding="utf-8")
    print("\n".join(summary(found, recorded)))
    return 1 if any(line.missing for line in found) else 0


if __name__ == "__main__":
    sys.exit(main())
