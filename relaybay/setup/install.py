"""What this relaybay tells a client about itself."""

from __future__ import annotations

import sys

from relaybay.setup.values import WAIT_S, Folders, Install


def install_for(folders: Folders, *, url: str, token: str, hook_key: str, wait_s: int = WAIT_S) -> Install:
    """The values that setup writes, for a server at `url` (literal loopback address, no path).

    The interpreter is the base one, not that of a virtual environment or of a tool's private folder: those move
    and vanish with an upgrade, and the hook needs the standard library only.
    """
    base = url.rstrip("/")
    return Install(
        url=base,
        mcp_url=base + "/mcp",
        token=token,
        hook_key=hook_key,
        python=getattr(sys, "_base_executable", None) or sys.executable,
        hook_script=str((folders.data / "bin" / "hook.py").absolute()),
        run_dir=str(folders.run.absolute()),
        state_dir=str(folders.state.absolute()),
        wait_s=wait_s,
    )
