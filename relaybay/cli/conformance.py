"""`relaybay conformance`: runs the report over the project's own tests, in a source tree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click

import relaybay
from relaybay.cli import exits, output
from relaybay.cli.exits import failure

STDERR = 2  # The descriptor: what a child process writes to.


@click.command("conformance", hidden=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def conformance_command(as_json: bool) -> int:
    """Write docs/conformance.md: for each spec id the tests that executed it. Uses the last recorded run."""
    tree = Path(relaybay.__file__).resolve().parent.parent
    report = tree / "tests" / "conformance" / "report.py"
    if not report.is_file():
        raise failure("cli.source_tree_needed", exits.FAILED)
    # By its path, and this tree before all others: by name the report of another tree that is installed for editing
    # would be found, and would write into that one.
    words = [sys.executable, "-P", str(report), "--write"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(tree), os.environ.get("PYTHONPATH")]))}
    # Its own words are for a person: with --json stdout is ours alone.
    done = subprocess.run(words, cwd=tree, env=env, check=False, stdout=STDERR if as_json else None)  # noqa: S603
    if as_json:
        output.document({"ok": done.returncode == 0, "file": str(tree / "docs" / "conformance.md")})
    return exits.FAILED if done.returncode else 0
