"""A comment of the owner (page 40, table CMT): sent → delivered → read, or gone when taken back in its first seconds.

Which session a call speaks for has been decided before (`rules/comments.py: speaker`, CMT-14); here `by_bound` says
whether that is the bound one. Agents' comments are another machine (`reply.py`).

The effects, which the service carries out in the same transaction:

* `mark:delivered_at`, `mark:read_at` set the time to now, `mark:delivered_to` the bound session;
  `mark_once:in_context_at` sets it only where none stands yet;
* `keep:hand_over` adds time and session of this hand-over to the card's history before `clear:delivered_at` (which
  takes `delivered_to` along) and `clear:in_context_at` take the marks back;
* `read_how:verified`, `read_how:not_verified` say how the read mark came about;
* `reason:not_in_context` sets the reason code, which every move clears;
* `count:stop_block`, `uncount:stop_block` count its Stop blocks, which outlive a rebinding (MOVE-4); `count:reoffer`
  the re-offers of CTX-2;
* `event:TYPE` puts one event of that type into the feed, with ids and marks and never with text.
"""

from __future__ import annotations

from typing import ClassVar

from statemachine import State

from relaybay.machines.base import Machine, Row

_MAY_HAND_OVER = "not replayed and link_exact_live and not in_grace and not at_stop"
_MAY_BLOCK = "not replayed and link_exact_live and not in_grace and at_stop and blocks_left"
_MAY_BLOCK_AGAIN = "not replayed and link_exact_live and at_stop and blocks_left"
_BY_OTHER = "not by_bound"
_BY_BOUND = "by_bound"
_PROVEN = "by_bound and link_proven"
_NEVER_LINKED = "by_bound and not link_proven and not linked_itself"
_UNPROVEN = "by_bound and not link_proven and linked_itself"
_PROVEN_GIVEN = "by_bound and link_proven and given"
_NEVER_LINKED_GIVEN = "by_bound and not link_proven and not linked_itself and given"
_NOT_GIVEN = "by_bound and not given"
_IN_GRACE = "in_grace"
_OFFER_AGAIN = "reoffers_left"
_OFFERED_ENOUGH = "not reoffers_left"
_TAKE_BACK = "made_delivered and not at_stop"
_TAKE_BACK_BLOCK = "made_delivered and at_stop"
_ONLY_BLOCK = "not made_delivered and at_stop"
_NOTHING_TO_TAKE_BACK = "not made_delivered and not at_stop"

_DELIVERED = ("mark:delivered_at", "mark:delivered_to", "event:comment.delivered")
_OFFERED = ("clear:delivered_at", "event:comment.offered_again")
_REOFFERED = ("clear:delivered_at", "count:reoffer", "event:comment.offered_again")
_REBOUND = ("keep:hand_over", "clear:delivered_at", "clear:in_context_at", "event:comment.offered_again")
_VERIFIED = ("mark:read_at", "read_how:verified", "event:comment.read")
_NOT_VERIFIED = ("mark:read_at", "read_how:not_verified", "event:comment.read")

_NOT_ASKED = Row("CMT-17", "refuse")
_NOT_BOUND = Row("CMT-24", "refuse", answer="comment.not_bound")
_NOT_PROVEN = Row("CMT-15", "refuse", answer="comment.ack_not_proven")
_STORED_ONLY = Row("CMT-13", "repeat")
_READ_ALREADY = Row("CMT-9", "repeat")
_UNKNOWN = Row("CMT-12", "refuse", answer="comment.unknown")
_SAME_SESSION = Row("CMT-22", "repeat")
_STAYS = Row("CMT-18", "repeat")
_TOO_LATE = Row("CMT-19", "refuse", answer="comment.too_late")
_NO_HAND_OVER = Row("CMT-21", "refuse")


class Comment(Machine):
    """sent, delivered, read, gone. The last two are final to the library: nothing moves them, all is answered."""

    FACTS = (
        "replayed",
        "link_exact_live",
        "in_grace",
        "at_stop",
        "blocks_left",
        "by_bound",
        "link_proven",
        "linked_itself",
        "given",
        "reoffers_left",
        "made_delivered",
    )

    sent = State(initial=True)
    delivered = State()
    read = State(final=True)
    gone = State(final=True)

    hand_over = sent.to(delivered, cond=_MAY_HAND_OVER) | sent.to(delivered, cond=_MAY_BLOCK)
    ack = (
        sent.to(read, cond=_PROVEN)
        | sent.to(read, cond=_NEVER_LINKED)
        | delivered.to(read, cond=_PROVEN)
        | delivered.to(read, cond=_NEVER_LINKED)
    )
    reply_to_it = (
        sent.to(read, cond=_PROVEN)
        | sent.to(read, cond=_NEVER_LINKED)
        | delivered.to(read, cond=_PROVEN)
        | delivered.to(read, cond=_NEVER_LINKED)
    )
    reply_on_task = (
        sent.to(read, cond=_PROVEN_GIVEN)
        | sent.to(read, cond=_NEVER_LINKED_GIVEN)
        | delivered.to(read, cond=_PROVEN)
        | delivered.to(read, cond=_NEVER_LINKED)
    )
    bound_elsewhere = delivered.to(sent)
    withdraw = sent.to(gone, cond=_IN_GRACE)
    answer_not_written = delivered.to(sent, cond=_TAKE_BACK) | delivered.to(sent, cond=_TAKE_BACK_BLOCK)
    context_missing = delivered.to(sent, cond=_OFFER_AGAIN)

    ROWS: ClassVar[dict[tuple[str, str, str], Row]] = {
        ("sent", "hand_over", _MAY_HAND_OVER): Row("CMT-3", "move", effects=_DELIVERED),
        ("sent", "hand_over", _MAY_BLOCK): Row("CMT-3", "move", effects=(*_DELIVERED, "count:stop_block")),
        ("sent", "hand_over", ""): _NOT_ASKED,
        ("sent", "ack", _BY_OTHER): _NOT_BOUND,
        ("sent", "ack", _PROVEN): Row("CMT-6", "move", effects=_VERIFIED),
        ("sent", "ack", _NEVER_LINKED): Row("CMT-6", "move", effects=_NOT_VERIFIED),
        ("sent", "ack", _UNPROVEN): _NOT_PROVEN,
        ("sent", "reply_to_it", _BY_OTHER): _STORED_ONLY,
        ("sent", "reply_to_it", _PROVEN): Row("CMT-7", "move", effects=_VERIFIED),
        ("sent", "reply_to_it", _NEVER_LINKED): Row("CMT-7", "move", effects=_NOT_VERIFIED),
        ("sent", "reply_to_it", _UNPROVEN): _STORED_ONLY,
        ("sent", "reply_on_task", _BY_OTHER): _STORED_ONLY,
        ("sent", "reply_on_task", _UNPROVEN): _STORED_ONLY,
        ("sent", "reply_on_task", _PROVEN_GIVEN): Row("CMT-8", "move", effects=_VERIFIED),
        ("sent", "reply_on_task", _NEVER_LINKED_GIVEN): Row("CMT-8", "move", effects=_NOT_VERIFIED),
        ("sent", "reply_on_task", _NOT_GIVEN): Row("CMT-23", "repeat"),
        ("sent", "bound_elsewhere", ""): _STAYS,
        ("sent", "bound_again", ""): _SAME_SESSION,
        ("sent", "withdraw", _IN_GRACE): Row("CMT-12", "move", effects=("event:comment.withdrawn",)),
        ("sent", "withdraw", "not in_grace"): _TOO_LATE,
        ("sent", "answer_not_written", ""): _NO_HAND_OVER,
        ("sent", "context_missing", ""): _NO_HAND_OVER,
        ("sent", "context_seen", ""): _NO_HAND_OVER,
        ("delivered", "hand_over", _MAY_BLOCK_AGAIN): Row("CMT-4", "repeat", effects=("count:stop_block",)),
        ("delivered", "hand_over", ""): _NOT_ASKED,
        ("delivered", "ack", _BY_OTHER): _NOT_BOUND,
        ("delivered", "ack", _PROVEN): Row("CMT-6", "move", effects=_VERIFIED),
        ("delivered", "ack", _NEVER_LINKED): Row("CMT-6", "move", effects=_NOT_VERIFIED),
        ("delivered", "ack", _UNPROVEN): _NOT_PROVEN,
        ("delivered", "reply_to_it", _BY_OTHER): _STORED_ONLY,
        ("delivered", "reply_to_it", _PROVEN): Row("CMT-7", "move", effects=_VERIFIED),
        ("delivered", "reply_to_it", _NEVER_LINKED): Row("CMT-7", "move", effects=_NOT_VERIFIED),
        ("delivered", "reply_to_it", _UNPROVEN): _STORED_ONLY,
        ("delivered", "reply_on_task", _BY_OTHER): _STORED_ONLY,
        ("delivered", "reply_on_task", _UNPROVEN): _STORED_ONLY,
        ("delivered", "reply_on_task", _PROVEN): Row("CMT-8", "move", effects=_VERIFIED),
        ("delivered", "reply_on_task", _NEVER_LINKED): Row("CMT-8", "move", effects=_NOT_VERIFIED),
        ("delivered", "bound_elsewhere", ""): Row("CMT-5", "move", effects=_REBOUND),
        ("delivered", "bound_again", ""): _SAME_SESSION,
        ("delivered", "withdraw", ""): _TOO_LATE,
        ("delivered", "answer_not_written", _TAKE_BACK): Row("CMT-16", "move", effects=_OFFERED),
        ("delivered", "answer_not_written", _TAKE_BACK_BLOCK): Row(
            "CMT-16", "move", effects=(*_OFFERED, "uncount:stop_block")
        ),
        ("delivered", "answer_not_written", _ONLY_BLOCK): Row("CMT-16", "repeat", effects=("uncount:stop_block",)),
        ("delivered", "answer_not_written", _NOTHING_TO_TAKE_BACK): Row("CMT-16", "repeat"),
        ("delivered", "context_missing", _OFFER_AGAIN): Row("CMT-16", "move", effects=_REOFFERED),
        ("delivered", "context_missing", _OFFERED_ENOUGH): Row("CMT-16", "repeat", effects=("reason:not_in_context",)),
        ("delivered", "context_seen", ""): Row("CMT-20", "repeat", effects=("mark_once:in_context_at",)),
        ("read", "hand_over", ""): _NOT_ASKED,
        ("read", "ack", _BY_OTHER): _NOT_BOUND,
        ("read", "ack", _BY_BOUND): Row("CMT-9", "repeat", answer="comment.already_read"),
        ("read", "reply_to_it", ""): _READ_ALREADY,
        ("read", "reply_on_task", ""): _READ_ALREADY,
        ("read", "bound_elsewhere", ""): _STAYS,
        ("read", "bound_again", ""): _SAME_SESSION,
        ("read", "withdraw", ""): _TOO_LATE,
        ("read", "answer_not_written", ""): _NO_HAND_OVER,
        ("read", "context_missing", ""): _NO_HAND_OVER,
        ("read", "context_seen", ""): _NO_HAND_OVER,
        ("gone", "hand_over", ""): _NOT_ASKED,
        ("gone", "ack", _BY_OTHER): _NOT_BOUND,
        ("gone", "ack", _BY_BOUND): _UNKNOWN,
        ("gone", "reply_to_it", ""): _UNKNOWN,
        ("gone", "reply_on_task", ""): Row("CMT-12", "repeat"),
        ("gone", "bound_elsewhere", ""): Row("CMT-12", "repeat"),
        ("gone", "bound_again", ""): _SAME_SESSION,
        ("gone", "withdraw", ""): _TOO_LATE,
        ("gone", "answer_not_written", ""): _NO_HAND_OVER,
        ("gone", "context_missing", ""): _NO_HAND_OVER,
        ("gone", "context_seen", ""): _NO_HAND_OVER,
    }
