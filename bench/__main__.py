"""`python -m bench [NAME …] [--full]`: runs the PERF modules that begin so (all without a name).

Prints one table. Exit code 1 when a target is missed or a module fails; the others are run all the same.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from importlib import import_module
from pathlib import Path

from bench.figures import Figure, machine, report


def modules(wanted: list[str]) -> list[str]:
    """The names of the PERF modules to run, in order. Raises SystemExit for a name that none begins with."""
    known = sorted(path.stem for path in Path(__file__).parent.glob("perf_*.py"))
    for name in wanted:
        if not any(module.startswith(name) for module in known):
            sys.exit(f"bench: no module begins with {name}; there are: {', '.join(known) or 'none yet'}")
    return [module for module in known if not wanted or module.startswith(tuple(wanted))]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="The PERF figures, each beside its floor.")
    parser.add_argument("names", nargs="*", help="the beginnings of the modules to run; all without one")
    parser.add_argument("--full", action="store_true", help="as long as the page says (also FULL=1)")
    options = parser.parse_args()
    full = options.full or os.environ.get("FULL") == "1"
    chosen = modules(options.names)
    if not chosen:
        sys.exit("bench: there is no PERF module yet")
    print(machine(), flush=True)
    figures: list[Figure] = []
    failed = False
    for name in chosen:
        print(f"{name} …", file=sys.stderr, flush=True)
        try:
            figures += import_module(f"bench.{name}").run(full)
        except Exception:
            traceback.print_exc()
            print(f"{name}: failed, see above", flush=True)
            failed = True
    print(report(figures))
    return 1 if failed or any(figure.met is False for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
