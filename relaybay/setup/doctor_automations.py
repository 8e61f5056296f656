"""Doctor's look at the owner's rules: whether `automations.toml` can be used, and else what is wrong on which line."""

from __future__ import annotations

from pathlib import Path

from relaybay.setup.doctor_values import Check, broken, well

_SHOWN_MAX = 3


def automations(path: Path) -> list[Check]:
    """One check when there is such a file, none when there is not: most have no rules."""
    if not path.exists():
        return []
    # Only here: the tables behind it take longer to read than the other checks.
    from relaybay.service.automation_rules import read_book  # noqa: PLC0415

    book = read_book(path)
    if not book.problems:
        return [well("automations", (f"{path}: {len(book.rules)} rules", ""))]
    more = len(book.problems) - _SHOWN_MAX
    detail = "; ".join(book.problems[:_SHOWN_MAX]) + (f"; and {more} more" if more > 0 else "")
    fix = "no rule is used until all are right: mend the file, see that relaybay automation check is content, restart"
    return [broken("automations", (detail, fix))]
