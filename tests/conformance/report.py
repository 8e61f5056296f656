"""The conformance report: every spec id with the tests that executed it. `python -m tests.conformance.report`.

Reads what a run with `--spec-record` wrote over just this tree (`record.py`), and which ids there are (`ids.py`). Prints
the ids that no test executed, each on a line, then the totals; exit code 1 when one of them is due, 2 when nothing is
recorded.

    --write      also write docs/conformance.md
    --run        run the tests and the mutation check first, and count in that run alone; the last line is the result
    --check      only say whether docs/conformance.md speaks of this tree: its ids and its tests
    --mutants N  how many changes to the code such a run draws, the same each time; 0, the default: all of them
    --jobs N     how many processes such a run uses
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance import ids, record
from tests.conformance.figures import Mutants, campaigns, mutation, result_line
from tests.conformance.whole_run import whole_run

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


def document(found: Sequence[Line], recorded: record.Record, mutants: Mutants | None = None) -> str:
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
    own = {k: v for k, v in figures.items() if not k.startswith("FLT-")}
    if own:
        out += ["| Figure | Sum over all tests |", "|---|---|", *(f"| {k} | {v} |" for k, v in own.items()), ""]
    out += [*campaigns(figures), *mutation(mutants)]
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


def drift(page: str) -> list[str]:
    """What docs/conformance.md says that is not so in this tree: ids and tests that came or went since it was written."""
    due = [one.id for one in {**ids.read(), **ids.invariants()}.values() if not one.later]
    shown = re.findall(r"^\| ([A-Z]+-\d+) \| \d+ \| \d+ \|", page, re.MULTILINE)
    out = [f"{spec_id} has no line" for spec_id in due if spec_id not in shown]
    out += [f"{spec_id} is no id that is due" for spec_id in shown if spec_id not in due]
    for file, test in sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", page))):
        path = record.ROOT / "tests" / file
        source = path.read_text(encoding="utf-8") if path.is_file() else ""
        # A state machine's test case is an assignment.
        if f"def {test}(" not in source and f"{test} = " not in source:
            out.append(f"tests/{file} has no {test}")
    return out


def main(arguments: Sequence[str] | None = None, *, file: Path = record.RECORD, target: Path = DOCUMENT) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.report", description="The conformance report.")
    parser.add_argument("--write", action="store_true", help="also write docs/conformance.md")
    parser.add_argument("--check", action="store_true", help="only say whether docs/conformance.md speaks of this tree")
    parser.add_argument("--run", action="store_true", help="run the tests and the mutation check first")
    parser.add_argument("--mutants", type=int, default=0, help="how many changes to the code such a run draws; 0: all")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes such a run uses")
    options = parser.parse_args(arguments)
    if options.check:
        found_drift = drift(target.read_text(encoding="utf-8"))
        for each in found_drift:
            print(f"docs/conformance.md: {each}; run: make conformance", file=sys.stderr)
        return 1 if found_drift else 0
    green, mutants = True, None
    if options.run:
        recorded, mutants, green = whole_run(options.jobs, options.mutants)
    else:
        recorded = record.load(file, record.tree_digest())
    if not recorded.tests:
        print("nothing is recorded over this tree; run: make conformance", file=sys.stderr)
        return 2
    found = lines({**ids.read(), **ids.invariants()}.values(), recorded)
    if options.write:
        target.write_text(document(found, recorded, mutants), encoding="utf-8")
    print("\n".join(summary(found, recorded)))
    missing = any(line.missing for line in found)
    if mutants is not None:
        due = [line for line in found if not line.spec.later]
        print(result_line(len(due) - sum(x.missing for x in due), len(due), counts(recorded), mutants))
    return 0 if green and not missing else 1


if __name__ == "__main__":
    sys.exit(main())
