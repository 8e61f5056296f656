"""Inside the namespace: ``python -m tests.live.run CASE CLIENT --report FILE``. Started by ``rig.run_case``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.live import (
    cases_channels,
    cases_comments,
    cases_identity,
    cases_messages,
    cases_outage,
    cases_rig,
    cases_wake,
)
from tests.live.rig import Case, run_inside

CASES: dict[str, Case] = {
    case.__name__: case
    for module in (
        cases_rig,
        cases_messages,
        cases_identity,
        cases_comments,
        cases_wake,
        cases_outage,
        cases_channels,
    )
    for case in module.CASES
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=sorted(CASES))
    parser.add_argument("client", type=Path)
    parser.add_argument("--report", type=Path, required=True)
    chosen = parser.parse_args()
    return run_inside(chosen.case, CASES[chosen.case], chosen.client, chosen.report)


if __name__ == "__main__":
    sys.exit(main())
