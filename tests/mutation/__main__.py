"""`python -m tests.mutation`: changes the core's code in one place at a time and runs the tests over each change."""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.mutation import argued, mutants
from tests.mutation.edits import Mutant
from tests.mutation.running import NOT_CAUGHT, Verdict
from tests.mutation.session import Mutation

SHARE_MIN = 0.95
TESTS_SHOWN_MAX = 3


@dataclass
class Result:
    """One run: the mutants with their verdicts, and what is wrong besides."""

    mutants: list[tuple[Mutant, Verdict]]
    same: int = 0
    unargued: list[tuple[Mutant, Verdict]] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @property
    def caught(self) -> int:
        return sum(verdict.caught for _, verdict in self.mutants)

    @property
    def enough(self) -> bool:
        return self.caught >= SHARE_MIN * len(self.mutants)

    @property
    def green(self) -> bool:
        return self.enough and not (self.unargued or self.stale or self.broken)


def wanted(only: Sequence[str]) -> list[Mutant]:
    """The mutants of the files and folders named, of all when none is."""
    files = [f for f in mutants.files() if not only or any(f == o or f.startswith(o.rstrip("/") + "/") for o in only)]
    return [mutant for file in files for mutant in mutants.of_file(file)]


def survivors_of(file: Path, chosen: Sequence[Mutant]) -> list[Mutant]:
    """Those of `chosen` that survived in an earlier run, and those that it did not have; found by words, so lines may have
    moved since.
    """
    caught = {
        (one["file"], one["where"], one["text"], one["words"], one["nth"])
        for one in json.loads(file.read_text(encoding="utf-8"))["all"]
        if one["how"] not in NOT_CAUGHT
    }
    return [mutant for mutant in chosen if mutant.key not in caught]


def run(
    chosen: Sequence[Mutant], jobs: int, *, whole: bool, without: Sequence[str] = (), even_if_red: bool = False
) -> Result:
    """Runs the tests over these mutants. `whole`: no argued survivor may be left that meets no mutant. `without`: files of
    tests that are left out.
    """
    os.environ["CI"] = "1"  # Hypothesis draws the same examples in every run.
    # In the background a shell has it ignored, and so would every program that a test starts and interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    plugin = Mutation(chosen, jobs, lambda text: print(text, flush=True), without)
    arguments = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line", str(mutants.ROOT / "tests")]
    plugin.even_if_red = even_if_red
    pytest.main(arguments, plugins=[plugin])
    if len(plugin.verdicts) != len(chosen):
        raise SystemExit("\n".join([*plugin.broken, "the run over the mutants did not come to its end"]))
    all_ = [(mutant, plugin.verdicts[at]) for at, mutant in enumerate(chosen)]
    found = [(mutant, verdict) for mutant, verdict in all_ if verdict.how != "the same"]
    unargued, stale = argued.compared(found, argued.read(), whole=whole)
    broken = plugin.broken + [
        f"{name}: {why} without any change" for name, why in plugin.unusable.items() if why == "failed"
    ]
    return Result(found, len(all_) - len(found), unargued, stale, broken)


def told(result: Result) -> list[str]:
    """The report's lines; the totals are the last."""
    out = []
    for mutant, verdict in result.unargued:
        shown = ", ".join(verdict.ran[:TESTS_SHOWN_MAX])
        more = len(verdict.ran) - TESTS_SHOWN_MAX
        out.append(f"survived: {mutant}")
        out.append(
            f"    in {mutant.where or 'the module'}; run by {shown or 'no test'}{f' and {more} more' if more > 0 else ''}"
        )
    out += [f"stale: {line}" for line in result.stale]
    out += [f"broken: {line}" for line in result.broken]
    for folder in mutants.FOLDERS:
        inside = [v for m, v in result.mutants if m.file.startswith(folder + "/")]
        if inside:
            out.append(f"{folder}: {len(inside)} mutants, {sum(v.caught for v in inside)} caught")
    hows = Counter(verdict.how for _, verdict in result.mutants)
    out.append(", ".join(f"{how}: {count}" for how, count in sorted(hows.items())))
    if result.same:
        out.append(f"{result.same} changes of machines say the same as the code under all facts, and are not counted")
    all_, caught = len(result.mutants), result.caught
    survived = all_ - caught
    out.append(
        f"{caught}/{all_} mutants caught ({100 * caught / max(all_, 1):.1f} %), "
        f"{survived - len(result.unargued)} survivors argued, {len(result.unargued)} not"
    )
    return out


def as_json(result: Result) -> str:
    return json.dumps(
        {
            "mutants": len(result.mutants),
            "caught": result.caught,
            "green": result.green,
            "stale": result.stale,
            "broken": result.broken,
            "all": [
                {"file": m.file, "line": m.line, "where": m.where, "text": m.text, "words": m.words, "nth": m.nth}
                | {"how": v.how, "test": v.test, "ran": len(v.ran), "cpu": round(v.cpu, 3)}
                for m, v in result.mutants
            ],
        },
        indent=1,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--only", action="append", default=[], metavar="PATH", help="a file or folder; more than once")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    parser.add_argument("--sample", type=int, metavar="N", help="only so many, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--survivors-of", type=Path, metavar="FILE", help="only those not caught by an earlier --json")
    parser.add_argument("--without", action="append", default=[], metavar="FILE", help="leave a file of tests out")
    parser.add_argument("--even-if-red", action="store_true", help="go on without the tests that fail without a change")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every verdict to FILE")
    options = parser.parse_args(arguments)
    chosen = wanted(options.only)
    if options.sample is not None and options.sample < len(chosen):
        chosen = sorted(random.Random(options.seed).sample(chosen, options.sample), key=lambda m: (m.file, m.line))
    if options.survivors_of is not None:
        chosen = survivors_of(options.survivors_of, chosen)
    if options.list:
        print("\n".join(map(str, chosen)))
        return 0
    began = time.monotonic()
    result = run(
        chosen,
        options.jobs,
        whole=not options.only and options.sample is None and options.survivors_of is None,
        without=options.without,
        even_if_red=options.even_if_red,
    )
    if options.json is not None:
        options.json.write_text(as_json(result), encoding="utf-8")
    print("\n".join(told(result)))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{time.monotonic() - began:.0f} s, {used.ru_utime + used.ru_stime:.0f} processor seconds in children")
    return 0 if result.green else 1


if __name__ == "__main__":
    sys.exit(main())
