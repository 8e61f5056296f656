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
_KEY = re.compile(r"(Bearer |\"RELAYBAY_TOKEN\": *\")(?!\$\{)([^\"\\]+)")
_NEW = f"{HIDDEN} (new key)"


def diff(plan: Plan) -> str:
    """The unified diffs of all files, and a line for each whose mode changes. Keys and tokens are hidden, those
    of an older install and of other servers in the lines around as well; where one takes another's place, the
    added line says so, for hidden they look the same.
    """
    return "".join(_hidden(list(_lines(edit)), plan.secrets, edit.before or b"") for edit in plan.edits)


def _hidden(lines: list[str], secrets: Iterable[str], before: bytes) -> str:
    """One file's diff without its keys."""
    replaces = any(line.startswith("-") and _KEY.search(line) for line in lines)
    new = [secret for secret in secrets if replaces and secret and secret.encode() not in before]

    def hide(line: str) -> str:
        # Hidden by a mark first, or the second pass would take the words of the first for a key.
        for secret in filter(None, secrets):
            line = line.replace(secret, _NEW if secret in new else HIDDEN)
        return _KEY.sub(lambda found: found[1] + (_NEW if found[2] == _NEW else HIDDEN), line)

    return "".join(map(hide, lines))


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
