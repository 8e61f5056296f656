"""`python -m relaybay`."""

from __future__ import annotations

import sys

from relaybay.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
