"""The program with a bug planted in its memory: `python -m tests.faults.planted PLANT up --foreground …`."""

from __future__ import annotations

import sys

from relaybay.cli.main import main
from tests.faults.plants import PLANTS

if __name__ == "__main__":
    PLANTS[sys.argv.pop(1)]()
    sys.exit(main())
