"""The one checker: a history and the store that was left, and every promise that the two break, in words.

Nothing of the product is imported: the file is read with plain SQL, so that a bug of the product's own reading cannot
hide what it wrote. Each rule has a history that it refuses in `test_checker.py`.

| rule | holds |
|---|---|
| `integrity` | SQLite's own checks: the whole file, and every foreign key |
| `lost` | what was told to be done is there: messages, comments, tasks, read marks, events that a client has read |
| `body` | the stored text is the text that was sent, byte for byte |
| `one_id` | one request id of one sender has one message, and every answer named it |
| `twice` | nothing is stored more often than it was asked for; with a request id, once |
| `refused` | what was only ever refused is not there, and nothing is there that nobody asked for |
| `shown_twice` | a text was shown again only where an event or the Stop explains it |
| `marks` | what was shown is marked delivered; what is marked and was never shown lost its answer (kill after the commit) |
| `receipts` | marks go sent, delivered, read, and back to sent only with an `offered_again`; the events say the same |
| `order` | messages come oldest first in each answer |
| `events` | the feed has no gap and no number twice, each thing has its event, and the times do not go back |
| `counters` | numbers that are kept are the numbers of what there is |
| `replay` | a spooled event is applied once |
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults import history, rules_asked, rules_kept, rules_shown
from tests.faults.history import Told
from tests.faults.left import Event, Left, Violation

__all__ = ["Verdict", "Violation", "check", "read_store"]

PROBLEMS_MAX = 20


@dataclass
class Verdict:
    """What the checker found. `marked_unanswered`: deliveries whose answer was lost between commit and client, each
    explained by a call that got no answer; allowed and counted (docs/promises.md, *Between commit and answer*).
    """

    violations: list[Violation] = field(default_factory=list)
    marked_unanswered: int = 0

    def count(self, rule: str) -> int:
        return sum(one.rule == rule for one in self.violations)

    @property
    def rules(self) -> set[str]:
        return {one.rule for one in self.violations}

    @property
    def words(self) -> str:
        shown = [f"{one.rule}: {one.words}" for one in self.violations[:PROBLEMS_MAX]]
        more = len(self.violations) - len(shown)
        return "\n".join([*shown, *([f"and {more} more"] if more > 0 else [])])


def check(path: Path, database: Path, *, clock_steady: bool = True) -> Verdict:
    """Holds every rule over one history file and the store it left. Without `clock_steady`, times may go back."""
    return judge(history.read(path), database, clock_steady=clock_steady)


def judge(told: Told, database: Path, *, clock_steady: bool = True) -> Verdict:
    """As `check`, for a history that was read."""
    verdict = Verdict()
    try:
        left, problems = read_store(database)
    except sqlite3.DatabaseError as error:
        verdict.violations.append(Violation("integrity", f"the store cannot be read: {error}"))
        return verdict
    verdict.violations += [Violation("integrity", one) for one in problems]
    verdict.violations += rules_asked.hold(told, left)
    verdict.violations += rules_kept.hold(told, left, clock_steady=clock_steady)
    shown, verdict.marked_unanswered = rules_shown.hold(told, left)
    verdict.violations += shown
    return verdict


def read_store(database: Path) -> tuple[Left, list[str]]:
    """What is in the file, and what SQLite finds wrong with it."""
    with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        problems = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({PROBLEMS_MAX})")]
        problems = [one for one in problems if one != "ok"]
        problems += [f"foreign key of {row[0]}" for row in connection.execute("PRAGMA foreign_key_check")]

        def rows(sql: str) -> list[dict[str, Any]]:
            return [dict(row) for row in connection.execute(sql)]

        return Left(
            messages=rows("SELECT * FROM message ORDER BY id"),
            deliveries=rows(
                "SELECT d.*, m.mid FROM delivery d LEFT JOIN message m ON m.id = d.message_id ORDER BY d.id"
            ),
            comments=rows("SELECT * FROM comment ORDER BY id"),
            tasks=rows("SELECT * FROM task ORDER BY id"),
            projects=rows("SELECT * FROM project ORDER BY id"),
            events=[
                Event(row["id"], row["type"], row["at_us"], json.loads(row["data"]))
                for row in rows("SELECT * FROM event ORDER BY id")
            ],
            spooled=Counter(row["event_id"] for row in rows("SELECT event_id FROM spool_seen")),
            sequences={row["name"]: row["seq"] for row in rows("SELECT * FROM sqlite_sequence")},
        ), problems
