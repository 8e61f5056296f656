"""Installs the real agent client for the live tests: ``python tests/live/install_client.py [VERSION ...]``.

Each version goes into a folder of its own below ``$RELAYBAY_TEST_CLIENTS`` (default
``~/.cache/relaybay-tests``), named ``claude-VERSION``; nothing global is touched and no install script is run. Standard library
only, because it runs before anything else is installed. Prints the path of each native binary, one a line.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VERSIONS = ("2.1.332", "2.1.197")
"""The newest version measured, and the oldest on which the wake-up was measured to work."""

PACKAGE = "@anthropic-ai/claude-code"
INSTALL_SECONDS_MAX = 600


def cache_folder() -> Path:
    """Where installed clients are kept between runs."""
    given = os.environ.get("RELAYBAY_TEST_CLIENTS")
    return Path(given) if given else Path.home() / ".cache" / "relaybay-tests"


def native_binary(folder: Path) -> Path | None:
    """The native client in an npm prefix, or None.

    npm picks the platform's package itself; where it kept several, the one for the common C library goes first.
    """
    found = [path for path in folder.glob(f"node_modules/{PACKAGE}-*/claude") if os.access(path, os.X_OK)]
    return min(found, key=lambda path: ("musl" in path.parent.name, path.parent.name)) if found else None


def version_of(binary: Path) -> str | None:
    """The version that the package around a binary states, read without running it; None when there is none."""
    try:
        stated = json.loads((binary.resolve().parent / "package.json").read_text())["version"]
    except (OSError, ValueError, KeyError):
        return None
    return str(stated)


def given_binaries() -> list[Path]:
    """Binaries named by ``RELAYBAY_CLAUDE_BINS``, separated as in PATH."""
    return [Path(part) for part in os.environ.get("RELAYBAY_CLAUDE_BINS", "").split(os.pathsep) if part]


def find(version: str) -> Path | None:
    """The binary of ``version``: a given one, else the installed one, else None. Installs nothing."""
    for binary in given_binaries():
        if version_of(binary) == version and os.access(binary, os.X_OK):
            return binary
    return native_binary(cache_folder() / f"claude-{version}")


def install(version: str) -> Path:
    """The binary of ``version``, installed if need be.

    Raises:
        RuntimeError: npm is missing or failed, or what it installed has no native client for this platform.
    """
    there = find(version)
    if there is not None:
        return there
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError("npm is not installed; give binaries by RELAYBAY_CLAUDE_BINS instead")
    target = cache_folder() / f"claude-{version}"
    target.parent.mkdir(parents=True, exist_ok=True)
    # Installed aside and moved into place, so that an interrupted download never looks like a client.
    aside = Path(tempfile.mkdtemp(prefix=f".claude-{version}-", dir=target.parent))
    try:
        command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(
            [*command, "--prefix", str(aside), f"{PACKAGE}@{version}"],
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS_MAX,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"npm failed for {PACKAGE}@{version}: {done.stderr.strip()[-1000:]}")
        if native_binary(aside) is None:
            raise RuntimeError(f"{PACKAGE}@{version} brought no native client for this platform")
        shutil.rmtree(target, ignore_errors=True)
        aside.rename(target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    binary = native_binary(target)
    assert binary is not None
    return binary


def main(arguments: list[str]) -> int:
    for version in arguments or VERSIONS:
        try:
            print(install(version))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"install_client: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
