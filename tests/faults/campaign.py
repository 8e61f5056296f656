"""One run of a campaign: its seed, its histories, what it counted, and what is printed when it fails.

    with Campaign("FLT-2", record_property, tmp_path) as run:
        history = run.new_history()
        …
        run.fired += 1
        run.accepted += 1
        run.hold(history, database)

At the end of the block the figures go into the report as `FLT-2 points`, `FLT-2 fired` and so on. A run in which an
injection did not fire as often as it was expected to, or in which nothing fired at all, has failed.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.faults import checker, history
from tests.faults.history import History

#: The build server draws the same plan each time; what it meets still depends on the moment.
FIXED_SEED = 80


def draw_seed() -> int:
    """`RELAYBAY_FAULTS_SEED`, to replay; the same one on the build server; else a new one."""
    given = os.environ.get("RELAYBAY_FAULTS_SEED")
    if given:
        return int(given)
    return FIXED_SEED if os.environ.get("CI") else random.SystemRandom().randrange(2**31)


class Campaign:
    """The figures: `points` that were run, injections that `fired`, answers that said `accepted`, and in `counts` what
    else a campaign counts. `expected` is how often something had to fire; left at 0, as often as there were points.
    """

    def __init__(self, campaign: str, record: Callable[[str, Any], None], folder: Path) -> None:
        self.id = campaign
        self.seed = draw_seed()
        self.chance = random.Random(self.seed)
        self.points = self.fired = self.expected = self.accepted = 0
        self.counts: Counter[str] = Counter()
        self._record = record
        self._folder = folder
        self._histories = 0
        self._last: History | None = None
        self._shown: Path | None = None

    # -- histories -------------------------------------------------------------------------------------------

    @property
    def replay(self) -> str:
        """The command that plays this run again."""
        test = os.environ.get("PYTEST_CURRENT_TEST", "tests/faults").partition(" ")[0].rsplit("@", 1)[0]
        sized = [n for n in ("RELAYBAY_CAMPAIGN", "RELAYBAY_FAULTS_SCALE") if n in os.environ]
        variables = [f"RELAYBAY_FAULTS_SEED={self.seed}", *(f"{name}={os.environ[name]}" for name in sized)]
        return f"{' '.join(variables)} python -m pytest '{test}'"

    def new_history(self) -> History:
        """A history of its own for the next part of the run; the one before is closed."""
        if self._last is not None:
            self._last.close()
        self._histories += 1
        path = self._folder / f"{self.id}-{self._histories}.history"
        self._last = History(path, self.id, self.seed, self.replay)
        return self._last

    def hold(self, told: History | Path, database: Path, *, clock_steady: bool = True) -> checker.Verdict:
        """The checker's rules over a history and the store that was left; fails with every violation in words."""
        path = told.path if isinstance(told, History) else told
        self._shown = path
        verdict = checker.check(path, database, clock_steady=clock_steady)
        self.counts["lost"] += verdict.count("lost")
        self.counts["unexplained"] += verdict.count("twice") + verdict.count("shown_twice")
        self.counts["marked without an answer"] += verdict.marked_unanswered
        assert not verdict.violations, verdict.words
        return verdict

    # -- its beginning and its end ---------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._begun = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._last is not None:
            self._last.close()
        try:
            if error is None:
                self.judge()
        finally:
            if error is not None or sys.exc_info()[0] is not None:
                where = self._shown or (self._last.path if self._last else "none")
                print(f"{self.id} failed: seed {self.seed}, commit {history.commit()}, history {where}")
                print(f"play it again: {self.replay}")
        if error is None:
            self._report()

    def judge(self) -> None:
        """That the run was one: points were run, and every injection was seen to fire."""
        expected = self.expected or self.points
        assert self.points > 0, f"{self.id}: no point was run"
        assert self.fired > 0, f"{self.id}: no injection fired; the run shows nothing"
        assert self.fired == expected, f"{self.id}: {self.fired} injections fired, {expected} were expected"

    def _report(self) -> None:
        figures = {
            "points": self.points,
            "fired": self.fired,
            "accepted": self.accepted,
            "lost": 0,
            "unexplained": 0,
            "seconds": round(time.monotonic() - self._begun),
            **self.counts,
        }
        for name, value in figures.items():
            self._record(f"count:{self.id} {name}", value)
        self._record(f"{self.id} seed", self.seed)
        shown = ", ".join(f"{name} {value}" for name, value in figures.items())
        print(f"{self.id}: {shown}; seed {self.seed}")
