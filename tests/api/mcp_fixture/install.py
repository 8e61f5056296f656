"""Installs the official MCP conformance suite and its Node: ``python tests/api/mcp_fixture/install.py``.

Both come as npm packages into one folder below ``$RELAYBAY_TEST_CLIENTS`` (default ``~/.cache/relaybay-tests``);
nothing global is touched and no install script is run. The suite needs a newer Node than many machines have, so that
comes as a package too. Standard library only, because it runs before anything else is installed. Prints the path of
the suite.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SUITE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
NODE_MAJOR = 22
INSTALL_SECONDS_MAX = 600


@dataclass(frozen=True)
class Installed:
    """The two files that a run needs."""

    node: Path
    suite: Path


def folder() -> Path:
    """Where the suite is kept between runs."""
    given = os.environ.get("RELAYBAY_TEST_CLIENTS")
    cache = Path(given) if given else Path.home() / ".cache" / "relaybay-tests"
    return cache / f"mcp-conformance-{VERSION}-node{NODE_MAJOR}"


def node_package() -> str | None:
    """The npm package with this platform's Node; None where there is none."""
    system = {"linux": "linux", "darwin": "darwin"}.get(sys.platform)
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine().lower())
    return f"node-{system}-{machine}" if system and machine else None


def find() -> Installed | None:
    """What is installed. Installs nothing."""
    return _in(folder())


def _in(prefix: Path) -> Installed | None:
    node = prefix / "node_modules" / (node_package() or "node") / "bin" / "node"
    suite = prefix / "node_modules" / SUITE / "dist" / "index.js"
    return Installed(node, suite) if os.access(node, os.X_OK) and suite.is_file() else None


def install() -> Installed:
    """The suite, installed if need be.

    Raises:
        RuntimeError: npm is missing or failed, or there is no Node for this platform.
    """
    there = find()
    if there is not None:
        return there
    npm, node = shutil.which("npm"), node_package()
    if npm is None:
        raise RuntimeError("npm is not installed")
    if node is None:
        raise RuntimeError(f"there is no Node package for {sys.platform} on {platform.machine()}")
    target = folder()
    target.parent.mkdir(parents=True, exist_ok=True)
    # Installed aside and moved into place, so that an interrupted download never looks like a suite.
    aside = Path(tempfile.mkdtemp(prefix=".mcp-conformance-", dir=target.parent))
    try:
        command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(aside)]
        done = subprocess.run(
            [*command, f"{SUITE}@{VERSION}", f"{node}@{NODE_MAJOR}"],
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS_MAX,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"npm failed: {done.stderr.strip()[-1000:]}")
        if _in(aside) is None:
            raise RuntimeError("npm brought no suite, or no Node")
        shutil.rmtree(target, ignore_errors=True)
        aside.rename(target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    installed = find()
    assert installed is not None
    return installed


def main() -> int:
    try:
        print(install().suite)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"install: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
