"""One line of doctor."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at and what was found.

    Attributes:
        name: short, stable, for `--json` and for a person.
        ok: True well, False broken (exit code 1), None worth knowing but nothing that is broken.
        detail: what was found.
        fix: what to do; empty when there is nothing to do.
    """

    name: str
    ok: bool | None
    detail: str
    fix: str


Line = tuple[str, str]
"""What was found and what to do, as `doctor_words.py` gives them."""


def judged(name: str, line: Line, *, ok: bool | None) -> Check:
    """A check with its verdict."""
    return Check(name, ok, *line)


def well(name: str, line: Line) -> Check:
    """A check with nothing to mend."""
    return judged(name, line, ok=True)


def warned(name: str, line: Line) -> Check:
    """Worth knowing; nothing is broken."""
    return judged(name, line, ok=None)


def broken(name: str, line: Line) -> Check:
    """To be mended; doctor's exit code is 1."""
    return judged(name, line, ok=False)
