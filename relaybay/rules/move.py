"""What happens to what a row has when its link, its task or the row itself changes (page 10, table MOVE).

Naming takes the link, not the mail; mail goes along only where two rows were one conversation all the time (a merge).
What was handed to one conversation is never taken for handed to another: it waits again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict

Case = Literal[
    "merged", "takes_id", "loses_link", "row_deleted", "cleared", "unlinked", "rebound", "unbound", "same",
]  # fmt: skip
Thing = Literal[
    "open_delivery", "delivered_delivery", "settled_delivery", "own_delivery", "sent_comment",
    "delivered_comment", "read_comment", "sent_messages", "task_binding", "subscriptions", "leased_work",
    "paused_work", "stop_budget", "tool_use_ids", "request_ids",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class MoveFacts:
    """A case, from the side of the row whose thing is asked about, and the thing."""

    case: Case
    thing: Thing


#: How far a delivery is on its way, the furthest first (DLV-55); what is not listed is closed otherwise.
_FURTHEST = ("read", "delivered", "rejected", "consumed", "taken", "sent", "held")


def further(state: str, own: str) -> bool:
    """Whether a merged row's delivery of a message is further on than the heir's: of two alike its own counts."""
    rank = {one: place for place, one in enumerate(_FURTHEST)}
    return rank.get(state, len(rank)) < rank.get(own, len(rank))


def judge(facts: MoveFacts) -> Verdict:
    """What becomes of the thing.

    `stays`, `with_row` (goes when the row goes), `to_a`, `waits_again`, `read_as_own`, `with_hook_id` (a new id
    starts at nothing), `with_link` (lapses when the link is gone), `paused`, `row_gone` (to the delivery's machine),
    `keeps_names` (of a row that is gone), `to_nobody`, `to_owner`, `gone`.
    """
    case, thing = facts.case, facts.thing
    if case == "same":
        return Verdict("MOVE-8", "stays")
    if case in ("rebound", "unbound"):
        again = thing == "delivered_comment"
        return Verdict("MOVE-4" if case == "rebound" else "MOVE-11", "waits_again" if again else "stays")
    with_id_or_row = _tied(case, thing)
    if with_id_or_row is not None:
        return with_id_or_row
    if case == "merged":
        return _merged(thing)
    if case == "row_deleted":
        return _DELETED[thing]
    if case == "loses_link":
        return Verdict("MOVE-2", "stays")
    if thing == "own_delivery":
        return Verdict("MOVE-12", "read_as_own")
    if thing in ("delivered_delivery", "delivered_comment"):
        return Verdict("MOVE-5", "waits_again")
    return Verdict("MOVE-6", "stays")


def _tied(case: Case, thing: Thing) -> Verdict | None:
    """What hangs on the hook id, the link or the row as such, in every case alike."""
    if thing == "stop_budget":
        return Verdict("MOVE-9", "with_hook_id")
    if thing == "tool_use_ids":
        return Verdict("MOVE-10", "with_hook_id")
    if thing == "request_ids":
        return Verdict("MOVE-10", "to_a" if case == "merged" else "with_row")
    if thing == "leased_work":
        # After /clear another conversation holds the link: the one that had the item is over (WRK-8).
        return Verdict("WRK-8", "paused") if case == "cleared" else Verdict("MOVE-7", "with_link")
    if thing == "paused_work":
        return Verdict("MOVE-7", {"merged": "to_a", "row_deleted": "to_owner"}.get(case, "with_row"))
    return None


def _merged(thing: Thing) -> Verdict:
    if thing == "own_delivery":
        return Verdict("MOVE-12", "read_as_own")
    delivery = thing in ("open_delivery", "delivered_delivery", "settled_delivery")
    return Verdict("MOVE-1" if delivery else "LINK-6", "to_a")


_DELETED: dict[str, Verdict] = {
    "open_delivery": Verdict("MOVE-3", "row_gone"),
    "delivered_delivery": Verdict("MOVE-3", "row_gone"),
    "settled_delivery": Verdict("MOVE-3", "keeps_names"),
    "sent_messages": Verdict("MOVE-3", "keeps_names"),
    "read_comment": Verdict("MOVE-3", "keeps_names"),
    "task_binding": Verdict("MOVE-3", "to_nobody"),
    "sent_comment": Verdict("MOVE-3", "waits_again"),
    "delivered_comment": Verdict("MOVE-3", "waits_again"),
    "subscriptions": Verdict("MOVE-3", "gone"),
}
