"""A thread: a message with all that it answers and all that answers it, in the order in which one reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relaybay.store.messages import Mail

#: Answers as deep as this, and what answers them, are folded: who follows a chain so far has read how it began.
FOLDED_FROM = 4


def arranged(mails: Sequence[Mail]) -> list[tuple[Mail, int]]:
    """Each message after the one that it answers, the oldest answer first, with how deep it stands (0: it answers
    none of these).
    """
    here = {mail.message_id for mail in mails}
    answers: dict[int, list[Mail]] = {}
    for mail in sorted(mails, key=lambda one: one.id):
        above = mail.parent_id if mail.parent_id in here else None
        answers.setdefault(above or 0, []).append(mail)
    found: list[tuple[Mail, int]] = []
    waiting = [(mail, 0) for mail in reversed(answers.get(0, []))]
    while waiting:
        mail, level = waiting.pop()
        found.append((mail, level))
        waiting += [(answer, level + 1) for answer in reversed(answers.get(mail.message_id, []))]
    return found


def runs(levels: Sequence[int], asked: int) -> list[dict[str, Any]]:
    """Places in a thread that stand together: `{first, end, folded, open}`, `end` exclusive. A folded run is open where
    the message that was `asked` for (its place) is in it.
    """
    found: list[dict[str, Any]] = []
    for place, level in enumerate(levels):
        folded = level >= FOLDED_FROM
        if not found or found[-1]["folded"] is not folded:
            found.append({"first": place, "end": place, "folded": folded, "open": False})
        found[-1]["end"] = place + 1
        found[-1]["open"] |= folded and place == asked
    return found
