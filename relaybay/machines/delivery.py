"""One message to one recipient (page 30, table DLV): sent → delivered → read, or orphaned with its recipient's row.

Who may hand over or acknowledge has been worked out before: the facts carry it. A replayed hook event is looked at
before everything else and changes nothing (DLV-10).

The effects, which the service carries out in the same transaction:

* `mark:delivered_at`, `mark:read_at` set the time to now; `mark_once:in_context_at` only where none stands yet;
* `clear:delivered_at`, `clear:in_context_at` take the mark back; `clear:recipient_row` drops the reference to the row,
  after `keep:names` has kept title and name with the delivery; `set:recipient_row` points it at the row merged into
  (page 50: an approval is void then, and `controls_changed` follows);
* `read_how:verified`, `read_how:not_verified`, `read_how:own_message` say how the read mark came about;
* `reason:row_gone`, `reason:not_in_context` set the delivery's reason code; every move out of the state clears it;
* `count:stop_block`, `uncount:stop_block` count this delivery's Stop blocks up and down; `count:reoffer` the re-offers
  of CTX-2;
* `event:TYPE` puts one event of that type into the feed, with names, ids and marks and never with text.
"""

from __future__ import annotations

from typing import ClassVar

from statemachine import State

from relaybay.machines.base import Machine, Row

_REPLAYED = "replayed"
_LIVE = "not replayed"
_MAY_HAND_OVER = "not replayed and link_exact_live and not passive and not at_stop"
_MAY_BLOCK = "not replayed and link_exact_live and not passive and at_stop and not blocked_before"
_PROVEN = "link_proven"
_NEVER_LINKED = "not link_proven and not linked_itself"
_UNPROVEN = "not link_proven and linked_itself"
_OFFER_AGAIN = "reoffers_left"
_OFFERED_ENOUGH = "not reoffers_left"
_TAKE_BACK = "made_delivered and not at_stop"
_TAKE_BACK_BLOCK = "made_delivered and at_stop"
_ONLY_BLOCK = "not made_delivered and at_stop"
_NOTHING_TO_TAKE_BACK = "not made_delivered and not at_stop"

_DELIVERED = ("mark:delivered_at", "event:message.delivered")
_OFFERED = ("clear:delivered_at", "event:message.offered_again")
_READ_VERIFIED = ("mark:read_at", "read_how:verified", "event:message.read")
_READ_UNVERIFIED = ("mark:read_at", "read_how:not_verified", "event:message.read")
_READ_OWN = ("mark:read_at", "read_how:own_message", "event:message.read")
_ORPHANED = ("keep:names", "clear:recipient_row", "reason:row_gone")

_REPLAY = Row("DLV-10", "repeat")
_NOT_PROVEN = Row("DLV-6", "refuse", answer="message.ack_not_proven")
_NO_HAND_OVER = Row("DLV-13", "refuse")
_CARRIED = Row("DLV-50", "repeat", effects=("set:recipient_row",))


class Delivery(Machine):
    """sent, delivered, read, orphaned. The last two are final to the library: nothing moves them, all is answered."""

    FACTS = (
        "replayed",
        "link_exact_live",
        "at_stop",
        "blocked_before",
        "passive",
        "link_proven",
        "linked_itself",
        "reoffers_left",
        "made_delivered",
    )

    sent = State(initial=True)
    delivered = State()
    read = State(final=True)
    orphaned = State(final=True)

    hand_over = sent.to(delivered, cond=_MAY_HAND_OVER) | sent.to(delivered, cond=_MAY_BLOCK)
    acknowledge = (
        sent.to(read, cond=_PROVEN)
        | delivered.to(read, cond=_PROVEN)
        | sent.to(read, cond=_NEVER_LINKED)
        | delivered.to(read, cond=_NEVER_LINKED)
    )
    recipient_row_gone = sent.to(orphaned) | delivered.to(orphaned)
    context_missing = delivered.to(sent, cond=_OFFER_AGAIN)
    answer_not_written = delivered.to(sent, cond=_TAKE_BACK) | delivered.to(sent, cond=_TAKE_BACK_BLOCK)
    other_session = delivered.to(sent)
    own_message = sent.to(read) | delivered.to(read)

    ROWS: ClassVar[dict[tuple[str, str, str], Row]] = {
        ("sent", "hand_over", _REPLAYED): _REPLAY,
        ("sent", "hand_over", _MAY_HAND_OVER): Row("DLV-1", "move", effects=_DELIVERED),
        ("sent", "hand_over", _MAY_BLOCK): Row("DLV-1", "move", effects=(*_DELIVERED, "count:stop_block")),
        ("sent", "hand_over", ""): Row("DLV-18", "refuse"),
        ("sent", "acknowledge", _PROVEN): Row("DLV-2", "move", effects=_READ_VERIFIED),
        ("sent", "acknowledge", _NEVER_LINKED): Row("DLV-5", "move", effects=_READ_UNVERIFIED),
        ("sent", "acknowledge", _UNPROVEN): _NOT_PROVEN,
        ("sent", "recipient_row_gone", ""): Row("DLV-8", "move", effects=_ORPHANED),
        ("sent", "context_missing", ""): _NO_HAND_OVER,
        ("sent", "context_seen", ""): _NO_HAND_OVER,
        ("sent", "answer_not_written", ""): _NO_HAND_OVER,
        ("sent", "other_session", ""): Row("DLV-52", "repeat"),
        ("sent", "carried_over", ""): _CARRIED,
        ("sent", "own_message", ""): Row("DLV-51", "move", effects=_READ_OWN),
        ("delivered", "hand_over", _REPLAYED): _REPLAY,
        ("delivered", "hand_over", _MAY_BLOCK): Row("DLV-3", "repeat", effects=("count:stop_block",)),
        ("delivered", "hand_over", ""): Row("DLV-3", "refuse"),
        ("delivered", "acknowledge", _PROVEN): Row("DLV-4", "move", effects=_READ_VERIFIED),
        ("delivered", "acknowledge", _NEVER_LINKED): Row("DLV-5", "move", effects=_READ_UNVERIFIED),
        ("delivered", "acknowledge", _UNPROVEN): _NOT_PROVEN,
        ("delivered", "recipient_row_gone", ""): Row("DLV-8", "move", effects=_ORPHANED),
        ("delivered", "context_missing", _OFFER_AGAIN): Row(
            "DLV-11", "move", effects=("clear:delivered_at", "count:reoffer", "event:message.offered_again")
        ),
        ("delivered", "context_missing", _OFFERED_ENOUGH): Row("DLV-19", "repeat", effects=("reason:not_in_context",)),
        ("delivered", "context_seen", ""): Row("DLV-12", "repeat", effects=("mark_once:in_context_at",)),
        ("delivered", "answer_not_written", _TAKE_BACK): Row("DLV-17", "move", effects=_OFFERED),
        ("delivered", "answer_not_written", _TAKE_BACK_BLOCK): Row(
            "DLV-17", "move", effects=(*_OFFERED, "uncount:stop_block")
        ),
        ("delivered", "answer_not_written", _ONLY_BLOCK): Row("DLV-19", "repeat", effects=("uncount:stop_block",)),
        ("delivered", "answer_not_written", _NOTHING_TO_TAKE_BACK): Row("DLV-19", "repeat"),
        ("delivered", "other_session", ""): Row(
            "DLV-49",
            "move",
            effects=("clear:delivered_at", "clear:in_context_at", "event:message.offered_again"),
        ),
        ("delivered", "carried_over", ""): _CARRIED,
        ("delivered", "own_message", ""): Row("DLV-51", "move", effects=_READ_OWN),
        ("read", "hand_over", _REPLAYED): _REPLAY,
        ("read", "hand_over", _LIVE): Row("DLV-15", "refuse"),
        ("read", "acknowledge", ""): Row("DLV-7", "repeat", answer="message.already_read"),
        ("read", "recipient_row_gone", ""): Row("DLV-14", "repeat", effects=("keep:names", "clear:recipient_row")),
        ("read", "context_missing", ""): _NO_HAND_OVER,
        ("read", "context_seen", ""): _NO_HAND_OVER,
        ("read", "answer_not_written", ""): _NO_HAND_OVER,
        ("read", "other_session", ""): Row("DLV-52", "repeat"),
        ("read", "carried_over", ""): _CARRIED,
        ("read", "own_message", ""): Row("DLV-53", "repeat"),
        ("orphaned", "hand_over", _REPLAYED): _REPLAY,
        ("orphaned", "hand_over", _LIVE): Row("DLV-9", "refuse", answer="message.orphaned"),
        ("orphaned", "acknowledge", ""): Row("DLV-9", "refuse", answer="message.orphaned"),
        ("orphaned", "recipient_row_gone", ""): Row("DLV-16", "repeat"),
        ("orphaned", "context_missing", ""): _NO_HAND_OVER,
        ("orphaned", "context_seen", ""): _NO_HAND_OVER,
        ("orphaned", "answer_not_written", ""): _NO_HAND_OVER,
        ("orphaned", "other_session", ""): Row("DLV-52", "repeat"),
        ("orphaned", "carried_over", ""): _CARRIED,
        ("orphaned", "own_message", ""): Row("DLV-53", "repeat"),
    }
