"""Starts the children of this folder's tests, if need be inside a file system of their own."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import missing

ROOT = Path(__file__).parents[2]


def command(*args: object) -> list[str]:
    return [sys.executable, "-m", "tests.store.child", *map(str, args)]


def start(*args: object) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(command(*args), cwd=ROOT, stdin=pipe, stdout=pipe, text=True)


def run(*args: object) -> list[str]:
    """What a child said, in lines; it has to end well."""
    return _said(command(*args))


def run_mounted(script: str, *args: object) -> list[str]:
    """As `run`, after `script` in a mount namespace that ends with the child. Needs the right to mount."""
    unshare = shutil.which("unshare")
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    line = [unshare or "", *user, "--mount", "sh", "-c"]
    trial = [*line, "mount -t tmpfs tmpfs /mnt"]
    if unshare is None or subprocess.run(trial, capture_output=True, check=False).returncode:
        missing("mount", "no mount namespace can be made here")
    return _said([*line, f"set -e\n{script}\nexec {shlex.join(command(*args))}"])


def _said(line: list[str]) -> list[str]:
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
