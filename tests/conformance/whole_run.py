"""One run of everything that the report counts: the tests, then the mutation check. Nothing of an earlier run is used."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conformance import record
from tests.conformance.figures import Mutants, read_mutants


def whole_run(jobs: int) -> tuple[record.Record, Mutants, bool]:
    """Runs both in processes of their own; gives what they recorded, and whether both were green.

    The live tests are left out: they need the real client, and every id has other tests.
    """
    with tempfile.TemporaryDirectory(prefix="rb-conformance-") as folder:
        executed, verdicts = Path(folder, "executed.json"), Path(folder, "mutants.json")
        tests = [sys.executable, "-m", "pytest", "-n", str(jobs), "--dist", "loadgroup", "-m", "not live"]
        tested = _run([*tests, f"--spec-record={executed}"])
        mutated = _run([sys.executable, "-m", "tests.mutation", "--jobs", str(jobs), "--json", str(verdicts)])
        return record.load(executed, record.tree_digest()), read_mutants(verdicts), tested and mutated


def _run(command: list[str]) -> bool:
    return subprocess.run(command, cwd=record.ROOT, stdin=subprocess.DEVNULL, check=False).returncode == 0
