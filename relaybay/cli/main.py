"""The entry point. `--version` is answered before anything else is imported (PERF-10)."""

from __future__ import annotations

import sys

from relaybay import __version__


def main() -> int:
    """Runs the command line of this process; returns the exit code of page 75."""
    words = sys.argv[1:]
    if words and words[0] in ("--version", "-V") and set(words[1:]) <= {"--json"}:
        print(f'{{"v": 1, "version": "{__version__}"}}' if len(words) > 1 else f"relaybay {__version__}")
        return 0
    from relaybay.cli.root import run

    return run(words)
