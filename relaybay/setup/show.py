"""A plan as a person reads it: unified diffs, without the keys in them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from relaybay.setup.values import FileEdit, Plan

HIDDEN = "********"
_CONTEXT_LINES = 1
"""Few: the lines around may hold other people's secrets, and without a terminal an agent reads this."""
_HUNK = re.compile(r"([-+])(\d+)")
_BEARER = re.compile(r"(Bearer )(?!\$\{)[^\"\\]+")


def diff(plan: Plan) -> str:
    """The unified diffs of all files, and a line for each whose mode changes. Keys and tokens are hidden, those
    of an older install and of other servers in the lines around as well.
    """
    text = "".join(line for edit in plan.edits for line in _lines(edit))
    for secret in plan.secrets:
        if secret:
            text = text.replace(secret, HIDDEN)
    return _BEARER.sub(rf"\g<1>{HIDDEN}", text)


def _lines(edit: FileEdit) -> Iterable[str]:
    if edit.mode_before is not None and edit.after is not None and edit.mode_before != edit.mode:
        yield f"mode {edit.mode_before:04o} -> {edit.mode:04o} {edit.path}\n"
    before, after, skipped = _changed_part(_text(edit.before), _text(edit.after))
    old = edit.path if edit.before is not None else "/dev/null"
    new = edit.path if edit.after is not None else "/dev/null"
    for line in difflib.unified_diff(before, after, old, new, n=_CONTEXT_LINES):
        shown = _HUNK.sub(lambda found: f"{found[1]}{int(found[2]) + skipped}", line) if line.startswith("@@") else line
        yield shown if shown.endswith("\n") else shown + "\n\\ No newline at end of file\n"


def _changed_part(before: list[str], after: list[str]) -> tuple[list[str], list[str], int]:
    """Both texts without what they share at either end, but for the context, and how many lines went at the
    head: comparing all of a `.claude.json` of several megabytes takes minutes.
    """
    head = next((n for n, (one, two) in enumerate(zip(before, after, strict=False)) if one != two), None)
    head = min(len(before), len(after)) if head is None else head
    most = min(len(before), len(after)) - head
    tail = next((n for n in range(most) if before[-1 - n] != after[-1 - n]), most)
    first = max(0, head - _CONTEXT_LINES)
    keep = max(0, tail - _CONTEXT_LINES)
    return before[first : len(before) - keep], after[first : len(after) - keep], first


def _text(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").replace("\r\n", "\n").splitlines(keepends=True)
