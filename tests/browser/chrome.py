"""The system's Chromium: where it is, and how it is started. Nothing is ever downloaded."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
"""Without a sandbox because build servers run as root; the rest keeps the browser from calling home by itself."""


def chromium() -> str:
    """The browser's path, or the empty string. `RELAYBAY_CHROMIUM` names another than the system's."""
    named = os.environ.get("RELAYBAY_CHROMIUM", "")
    return named or shutil.which("chromium") or shutil.which("chromium-browser") or ""


def what_is_missing() -> str:
    """Why no browser test can run here, or the empty string."""
    for module in ("playwright", "axe_playwright_python"):
        if find_spec(module) is None:
            return f"the package {module.replace('_', '-')} is not installed"
    return "" if chromium() else "there is no chromium on PATH: apt-get install chromium"
