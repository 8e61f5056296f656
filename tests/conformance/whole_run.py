"""One run of everything that the report counts: the tests, then the mutation check. Nothing of an earlier run is used."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conformance import record
from tests.conformance.figures import Mutants, read_mutants


def whole_run(jobs: int, sample: int = 0) -> tuple[record.Record, Mutants, bool]:
    """Runs both in processes of their own; gives what they recorded, and whether both were green. `sample`: how many
    changes to the code are drawn, the same ones each time; 0 for all of them.

    The live tests and the browser's are left out: they need a client or a Chromium, and every id has other tests.
    """
    with tempfile.TemporaryDirectory(prefix="rb-conformance-") as folder:
        executed, verdicts = Path(folder, "executed.json"), Path(folder, "mutants.json")
        tests = [
            sys.executable,
            "-m",
            "pytest",
            "-n",
            str(jobs),
            "--dist",
            "loadgroup",
            "-m",
            "not live",
            "--ignore",
            "tests/browser",
        ]
        tested = _run([*tests, f"--spec-record={executed}"])
        mutation = [sys.executable, "-m", "tests.mutation", "--even-if-red", "--jobs", str(jobs)]
        _run([*mutation, "--json", str(verdicts), *(["--sample", str(sample), "--seed", "90"] if sample else [])])
        mutants = read_mutants(verdicts)
        return record.load(executed, record.tree_digest()), mutants, tested and mutants.enough


def _run(command: list[str]) -> bool:
    return subprocess.run(command, cwd=record.ROOT, stdin=subprocess.DEVNULL, check=False).returncode == 0
