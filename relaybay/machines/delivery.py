"""One message to one recipient (page 30, table DLV, and page 50, the rows from 20 on).

`new` is "no delivery yet". A message that is admitted is `sent`, or `held` until POLICY delivers it or the owner
decides; `sent` → `delivered` → `read`, or `taken` by an automation on the way; the closed states say why it never
arrived.

Who may hand over, acknowledge or approve has been worked out before: the facts carry it. A replayed hook event is
looked at before everything else and changes nothing (DLV-10).

The effects, which the service carries out in the same transaction:

* `mark:delivered_at`, `mark:read_at` set the time to now; `mark_once:in_context_at` only where none stands yet;
* `clear:delivered_at`, `clear:in_context_at`, `clear:read_at` take the mark back; `clear:recipient_row` drops the
  reference to the row, after `keep:names` has kept title and name with the delivery; `set:recipient_row` points it at
  the row merged into, `void:approval` then forgets an approval (page 50: `controls_changed` follows);
* `read_how:verified`, `read_how:not_verified`, `read_how:own_message` say how the read mark came about;
* `reason:row_gone`, `reason:session_ended` … set the delivery's reason code, `reason:given` the one that the caller has
  from POLICY, ADM or the automation; every move out of the state clears it;
* `count:stop_block`, `uncount:stop_block` count this delivery's Stop blocks up and down; `count:reoffer` the re-offers
  of CTX-2;
* `set:passive`, `clear:passive` say whether it may only ride along with a prompt; `set:approved` that the owner
  approved it in this epoch; `set:taken` that an automation had it, once and for all; `seen:topic` that its topic's
  cursor has passed it, as it has when it is delivered;
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
_OFFER_AGAIN = "reoffers_left and judged_deliver"
_OFFER_HELD = "reoffers_left and not judged_deliver"
_OFFERED_ENOUGH = "not reoffers_left"
_TAKE_BACK = "made_delivered and judged_deliver and not at_stop"
_TAKE_BACK_BLOCK = "made_delivered and judged_deliver and at_stop"
_TAKE_BACK_HELD = "made_delivered and not judged_deliver and not at_stop"
_TAKE_BACK_BLOCK_HELD = "made_delivered and not judged_deliver and at_stop"
_ONLY_BLOCK = "not made_delivered and at_stop"
_NOTHING_TO_TAKE_BACK = "not made_delivered and not at_stop"
_ALONE = "not heir_has_one"
_FURTHER = "heir_has_one and further"
_BEHIND = "heir_has_one and not further"
_PUBLISHED = "published"
_DIRECT = "not published"
_DELIVER = "judged_deliver"
_HOLD = "not judged_deliver"
_LET_IN = "admitted and judged_deliver"
_LET_IN_HELD = "admitted and not judged_deliver"
_LIMITED = "not admitted and rate_limited"
_REFUSED = "not admitted and not rate_limited"
_FIT = "token_fits"
_UNFIT = "not token_fits"
_MAY_APPROVE = "token_fits and not blocked"
_BLOCKED = "token_fits and blocked"
_MAY_TAKE = "rule_matches and not taken_before"
_ENDED_DELIVER = "not published and judged_deliver"
_ENDED_HOLD = "not published and not judged_deliver"
_CATCH_UP = "fits_catch_up and judged_deliver"
_CATCH_UP_HELD = "fits_catch_up and not judged_deliver"
_NO_CATCH_UP = "not fits_catch_up"

_DELIVERED = ("mark:delivered_at", "event:message.delivered")
_OFFERED = ("clear:delivered_at", "event:message.offered_again")
_HELD = ("reason:given", "event:message.held")
_TAKEN_BACK_HELD = ("clear:delivered_at", *_HELD)
_RELEASED = ("event:message.released",)
_READ_VERIFIED = ("mark:read_at", "read_how:verified", "event:message.read")
_READ_UNVERIFIED = ("mark:read_at", "read_how:not_verified", "event:message.read")
_READ_OWN = ("mark:read_at", "read_how:own_message", "event:message.read")
_ROW_GONE = ("keep:names", "clear:recipient_row", "reason:row_gone")

_REPLAY = Row("DLV-10", "repeat")
_NOT_PROVEN = Row("DLV-6", "refuse", answer="message.ack_not_proven")
_NO_HAND_OVER = Row("DLV-13", "refuse")
_IS_HELD = Row("DLV-30", "refuse", answer="message.held")
_IS_TAKEN = Row("DLV-39", "refuse", answer="message.taken")
_IS_CLOSED = Row("DLV-47", "refuse", answer="message.closed")
_STAYS_CLOSED = Row("DLV-48", "repeat")
_STAYS = Row("DLV-46", "repeat")
_NO_DELIVERY_YET = Row("50", "refuse")
_NOT_TAKEN = Row("DLV-45", "refuse")
_NOT_HELD = Row("DLV-44", "refuse", answer="review.not_held")
_CARRIED = ("set:recipient_row", "void:approval")
_CARRIED_OVER: dict[str, Row] = {
    _ALONE: Row("DLV-50", "repeat", effects=_CARRIED),
    _FURTHER: Row("DLV-55", "repeat", effects=_CARRIED),
    _BEHIND: Row("DLV-55", "move", effects=("keep:names", "clear:recipient_row", "clear:read_at", "reason:duplicate")),
}
_REVIEW_EVENTS = ("approve", "reject")
_AUTOMATION_EVENTS = ("take", "keep", "give_back")
_CLOSED = ("refused", "rate_limited", "rejected", "dropped", "consumed")
_OPEN = ("sent", "held", "delivered", "read", "orphaned", "taken")
_EVENTS_AFTER_ADMISSION = (
    "acknowledge", "recipient_row_gone", "context_missing", "context_seen", "answer_not_written", "other_session",
    "carried_over", "own_message", "controls_changed", "session_ended", *_REVIEW_EVENTS, *_AUTOMATION_EVENTS,
    "catch_up",
)  # fmt: skip


class Delivery(Machine):
    """new, sent, held, delivered, read, orphaned, taken; closed: refused, rate_limited, rejected, dropped, consumed."""

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
        "judged_deliver",
        "admitted",
        "rate_limited",
        "published",
        "token_fits",
        "blocked",
        "rule_matches",
        "taken_before",
        "fits_catch_up",
        "heir_has_one",
        "further",
    )

    new = State(initial=True)
    sent = State()
    held = State()
    delivered = State()
    read = State()
    orphaned = State()
    taken = State()
    refused = State()
    rate_limited = State()
    rejected = State()
    dropped = State()
    consumed = State()

    admit = (
        new.to(sent, cond=_LET_IN)
        | new.to(held, cond=_LET_IN_HELD)
        | new.to(rate_limited, cond=_LIMITED)
        | new.to(refused, cond=_REFUSED)
    )
    hand_over = sent.to(delivered, cond=_MAY_HAND_OVER) | sent.to(delivered, cond=_MAY_BLOCK)
    acknowledge = (
        sent.to(read, cond=_PROVEN)
        | delivered.to(read, cond=_PROVEN)
        | sent.to(read, cond=_NEVER_LINKED)
        | delivered.to(read, cond=_NEVER_LINKED)
    )
    recipient_row_gone = (
        delivered.to(orphaned)
        | sent.to(dropped, cond=_PUBLISHED)
        | held.to(dropped, cond=_PUBLISHED)
        | taken.to(dropped, cond=_PUBLISHED)
        | held.to(orphaned, cond=_DIRECT)
        | taken.to(orphaned, cond=_DIRECT)
        | sent.to(orphaned, cond=_DIRECT)
    )
    context_missing = delivered.to(sent, cond=_OFFER_AGAIN) | delivered.to(held, cond=_OFFER_HELD)
    answer_not_written = (
        delivered.to(sent, cond=_TAKE_BACK)
        | delivered.to(sent, cond=_TAKE_BACK_BLOCK)
        | delivered.to(held, cond=_TAKE_BACK_HELD)
        | delivered.to(held, cond=_TAKE_BACK_BLOCK_HELD)
    )
    other_session = delivered.to(held, cond=_HOLD) | delivered.to(sent, cond=_DELIVER)
    own_message = sent.to(read) | delivered.to(read) | held.to(read) | taken.to(read)
    carried_over = (
        sent.to(refused, cond=_BEHIND)
        | held.to(refused, cond=_BEHIND)
        | delivered.to(refused, cond=_BEHIND)
        | read.to(refused, cond=_BEHIND)
        | orphaned.to(refused, cond=_BEHIND)
        | taken.to(refused, cond=_BEHIND)
        | rate_limited.to(refused, cond=_BEHIND)
        | rejected.to(refused, cond=_BEHIND)
        | dropped.to(refused, cond=_BEHIND)
        | consumed.to(refused, cond=_BEHIND)
    )
    controls_changed = held.to(sent, cond=_DELIVER) | sent.to(held, cond=_HOLD)
    session_ended = (
        sent.to(dropped, cond=_PUBLISHED)
        | held.to(dropped, cond=_PUBLISHED)
        | taken.to(dropped, cond=_PUBLISHED)
        | taken.to(sent, cond=_ENDED_DELIVER)
        | taken.to(held, cond=_ENDED_HOLD)
    )
    approve = held.to(sent, cond=_MAY_APPROVE)
    reject = held.to(rejected, cond=_FIT)
    take = sent.to(taken, cond=_MAY_TAKE)
    keep = taken.to(consumed)
    give_back = taken.to(sent, cond=_DELIVER) | taken.to(held, cond=_HOLD)
    catch_up = (
        refused.to(sent, cond=_CATCH_UP)
        | rate_limited.to(sent, cond=_CATCH_UP)
        | dropped.to(sent, cond=_CATCH_UP)
        | refused.to(held, cond=_CATCH_UP_HELD)
        | rate_limited.to(held, cond=_CATCH_UP_HELD)
        | dropped.to(held, cond=_CATCH_UP_HELD)
    )

    ROWS: ClassVar[dict[tuple[str, str, str], Row]] = {
        # Before and at the admission
        ("new", "admit", _LET_IN): Row("DLV-20", "move"),
        ("new", "admit", _LET_IN_HELD): Row("DLV-21", "move", effects=_HELD),
        ("new", "admit", _LIMITED): Row("DLV-22", "move", effects=("reason:given",)),
        ("new", "admit", _REFUSED): Row("DLV-22", "move", effects=("reason:given",)),
        ("new", "hand_over", _REPLAYED): _REPLAY,
        ("new", "hand_over", _LIVE): _NO_DELIVERY_YET,
        **{("new", event, ""): _NO_DELIVERY_YET for event in _EVENTS_AFTER_ADMISSION},
        **{(state, "admit", ""): _NO_DELIVERY_YET for state in (*_OPEN, *_CLOSED)},
        # Every state alike: a merge, and the guard of a replay
        **{(state, "carried_over", guard): row for state in _OPEN for guard, row in _CARRIED_OVER.items()},
        # sent
        ("sent", "hand_over", _REPLAYED): _REPLAY,
        ("sent", "hand_over", _MAY_HAND_OVER): Row("DLV-1", "move", effects=_DELIVERED),
        ("sent", "hand_over", _MAY_BLOCK): Row("DLV-1", "move", effects=(*_DELIVERED, "count:stop_block")),
        ("sent", "hand_over", ""): Row("DLV-18", "refuse"),
        ("sent", "acknowledge", _PROVEN): Row("DLV-2", "move", effects=_READ_VERIFIED),
        ("sent", "acknowledge", _NEVER_LINKED): Row("DLV-5", "move", effects=_READ_UNVERIFIED),
        ("sent", "acknowledge", _UNPROVEN): _NOT_PROVEN,
        ("sent", "recipient_row_gone", _PUBLISHED): Row(
            "DLV-34", "move", effects=(*_ROW_GONE, "event:message.dropped")
        ),
        ("sent", "recipient_row_gone", _DIRECT): Row("DLV-8", "move", effects=_ROW_GONE),
        ("sent", "context_missing", ""): _NO_HAND_OVER,
        ("sent", "context_seen", ""): _NO_HAND_OVER,
        ("sent", "answer_not_written", ""): _NO_HAND_OVER,
        ("sent", "other_session", ""): Row("DLV-52", "repeat"),
        ("sent", "own_message", ""): Row("DLV-51", "move", effects=_READ_OWN),
        ("sent", "controls_changed", _DELIVER): Row("DLV-23", "repeat"),
        ("sent", "controls_changed", _HOLD): Row("DLV-24", "move", effects=_HELD),
        ("sent", "session_ended", _PUBLISHED): Row(
            "DLV-31", "move", effects=("reason:session_ended", "event:message.dropped")
        ),
        ("sent", "session_ended", _DIRECT): Row("DLV-32", "repeat"),
        ("sent", "approve", ""): _NOT_HELD,
        ("sent", "reject", ""): _NOT_HELD,
        ("sent", "take", _MAY_TAKE): Row("DLV-35", "move", effects=("set:taken", "event:message.taken")),
        ("sent", "take", ""): _NOT_TAKEN,
        ("sent", "keep", ""): _NOT_TAKEN,
        ("sent", "give_back", ""): _NOT_TAKEN,
        ("sent", "catch_up", ""): Row("DLV-43", "repeat"),
        # held
        ("held", "hand_over", _REPLAYED): _REPLAY,
        ("held", "hand_over", _LIVE): _IS_HELD,
        **{
            ("held", event, ""): _IS_HELD
            for event in ("acknowledge", "context_missing", "context_seen", "answer_not_written", *_AUTOMATION_EVENTS)
        },
        ("held", "recipient_row_gone", _PUBLISHED): Row(
            "DLV-34", "move", effects=(*_ROW_GONE, "event:message.dropped")
        ),
        ("held", "recipient_row_gone", _DIRECT): Row("DLV-33", "move", effects=_ROW_GONE),
        ("held", "other_session", ""): Row("DLV-52", "repeat"),
        ("held", "own_message", ""): Row("DLV-54", "move", effects=_READ_OWN),
        ("held", "controls_changed", _DELIVER): Row("DLV-23", "move", effects=_RELEASED),
        ("held", "controls_changed", _HOLD): Row("DLV-24", "repeat", effects=("reason:given",)),
        ("held", "session_ended", _PUBLISHED): Row(
            "DLV-31", "move", effects=("reason:session_ended", "event:message.dropped")
        ),
        ("held", "session_ended", _DIRECT): Row("DLV-32", "repeat"),
        ("held", "approve", _UNFIT): Row("DLV-28", "refuse", answer="review.stale"),
        ("held", "approve", _BLOCKED): Row("DLV-29", "refuse", answer="review.blocked"),
        ("held", "approve", _MAY_APPROVE): Row(
            "DLV-26", "move", effects=("set:approved", "clear:passive", "event:message.released")
        ),
        ("held", "reject", _UNFIT): Row("DLV-28", "refuse", answer="review.stale"),
        ("held", "reject", _FIT): Row(
            "DLV-27", "move", effects=("reason:rejected", "event:message.rejected", "seen:topic")
        ),
        ("held", "catch_up", ""): Row("DLV-43", "repeat"),
        # delivered
        ("delivered", "hand_over", _REPLAYED): _REPLAY,
        ("delivered", "hand_over", _MAY_BLOCK): Row("DLV-3", "repeat", effects=("count:stop_block",)),
        ("delivered", "hand_over", ""): Row("DLV-3", "refuse"),
        ("delivered", "acknowledge", _PROVEN): Row("DLV-4", "move", effects=_READ_VERIFIED),
        ("delivered", "acknowledge", _NEVER_LINKED): Row("DLV-5", "move", effects=_READ_UNVERIFIED),
        ("delivered", "acknowledge", _UNPROVEN): _NOT_PROVEN,
        ("delivered", "recipient_row_gone", ""): Row("DLV-8", "move", effects=_ROW_GONE),
        ("delivered", "context_missing", _OFFER_AGAIN): Row(
            "DLV-11", "move", effects=("clear:delivered_at", "count:reoffer", "event:message.offered_again")
        ),
        ("delivered", "context_missing", _OFFER_HELD): Row(
            "DLV-25", "move", effects=("clear:delivered_at", "count:reoffer", *_HELD)
        ),
        ("delivered", "context_missing", _OFFERED_ENOUGH): Row("DLV-19", "repeat", effects=("reason:not_in_context",)),
        ("delivered", "context_seen", ""): Row("DLV-12", "repeat", effects=("mark_once:in_context_at",)),
        ("delivered", "answer_not_written", _TAKE_BACK): Row("DLV-17", "move", effects=_OFFERED),
        ("delivered", "answer_not_written", _TAKE_BACK_BLOCK): Row(
            "DLV-17", "move", effects=(*_OFFERED, "uncount:stop_block")
        ),
        ("delivered", "answer_not_written", _TAKE_BACK_HELD): Row("DLV-25", "move", effects=_TAKEN_BACK_HELD),
        ("delivered", "answer_not_written", _TAKE_BACK_BLOCK_HELD): Row(
            "DLV-25", "move", effects=(*_TAKEN_BACK_HELD, "uncount:stop_block")
        ),
        ("delivered", "answer_not_written", _ONLY_BLOCK): Row("DLV-19", "repeat", effects=("uncount:stop_block",)),
        ("delivered", "answer_not_written", _NOTHING_TO_TAKE_BACK): Row("DLV-19", "repeat"),
        ("delivered", "other_session", _HOLD): Row(
            "DLV-25", "move", effects=("clear:delivered_at", "clear:in_context_at", *_HELD)
        ),
        ("delivered", "other_session", _DELIVER): Row(
            "DLV-49",
            "move",
            effects=("clear:delivered_at", "clear:in_context_at", "event:message.offered_again"),
        ),
        ("delivered", "own_message", ""): Row("DLV-51", "move", effects=_READ_OWN),
        ("delivered", "controls_changed", ""): _STAYS,
        ("delivered", "session_ended", ""): _STAYS,
        **{("delivered", event, ""): _NOT_HELD for event in _REVIEW_EVENTS},
        **{("delivered", event, ""): _NOT_TAKEN for event in _AUTOMATION_EVENTS},
        ("delivered", "catch_up", ""): Row("DLV-43", "repeat"),
        # read
        ("read", "hand_over", _REPLAYED): _REPLAY,
        ("read", "hand_over", _LIVE): Row("DLV-15", "refuse"),
        ("read", "acknowledge", ""): Row("DLV-7", "repeat", answer="message.already_read"),
        ("read", "recipient_row_gone", ""): Row("DLV-14", "repeat", effects=("keep:names", "clear:recipient_row")),
        # orphaned
        ("orphaned", "hand_over", _REPLAYED): _REPLAY,
        ("orphaned", "hand_over", _LIVE): Row("DLV-9", "refuse", answer="message.orphaned"),
        ("orphaned", "acknowledge", ""): Row("DLV-9", "refuse", answer="message.orphaned"),
        ("orphaned", "recipient_row_gone", ""): Row("DLV-16", "repeat"),
        # read and orphaned alike
        **{
            (state, event, ""): row
            for state in ("read", "orphaned")
            for event, row in {
                "context_missing": _NO_HAND_OVER,
                "context_seen": _NO_HAND_OVER,
                "answer_not_written": _NO_HAND_OVER,
                "other_session": Row("DLV-52", "repeat"),
                "own_message": Row("DLV-53", "repeat"),
                "controls_changed": _STAYS,
                "session_ended": _STAYS,
                **dict.fromkeys(_REVIEW_EVENTS, _NOT_HELD),
                **dict.fromkeys(_AUTOMATION_EVENTS, _NOT_TAKEN),
                "catch_up": Row("DLV-43", "repeat"),
            }.items()
        },
        # taken
        ("taken", "hand_over", _REPLAYED): _REPLAY,
        ("taken", "hand_over", _LIVE): _IS_TAKEN,
        **{
            ("taken", event, ""): _IS_TAKEN
            for event in (
                "acknowledge",
                "context_missing",
                "context_seen",
                "answer_not_written",
                *_REVIEW_EVENTS,
                "take",
            )
        },
        ("taken", "recipient_row_gone", _PUBLISHED): Row(
            "DLV-34", "move", effects=(*_ROW_GONE, "event:message.dropped")
        ),
        ("taken", "recipient_row_gone", _DIRECT): Row("DLV-33", "move", effects=_ROW_GONE),
        ("taken", "other_session", ""): Row("DLV-52", "repeat"),
        ("taken", "own_message", ""): Row("DLV-54", "move", effects=_READ_OWN),
        ("taken", "controls_changed", ""): Row("DLV-40", "repeat"),
        ("taken", "session_ended", _PUBLISHED): Row(
            "DLV-31", "move", effects=("reason:session_ended", "event:message.dropped")
        ),
        ("taken", "session_ended", _ENDED_DELIVER): Row("DLV-37", "move", effects=_RELEASED),
        ("taken", "session_ended", _ENDED_HOLD): Row("DLV-38", "move", effects=_HELD),
        ("taken", "keep", ""): Row("DLV-36", "move", effects=("reason:given", "event:message.consumed", "seen:topic")),
        ("taken", "give_back", _DELIVER): Row("DLV-37", "move", effects=_RELEASED),
        ("taken", "give_back", _HOLD): Row("DLV-38", "move", effects=_HELD),
        ("taken", "catch_up", ""): Row("DLV-43", "repeat"),
        # The closed states alike
        **{
            (state, event, guard): row
            for state in _CLOSED
            for (event, guard), row in {
                ("hand_over", _REPLAYED): _REPLAY,
                ("hand_over", _LIVE): _IS_CLOSED,
                ("other_session", ""): Row("DLV-52", "repeat"),
                ("own_message", ""): Row("DLV-53", "repeat"),
                ("recipient_row_gone", ""): Row("DLV-48", "repeat", effects=("keep:names", "clear:recipient_row")),
                ("controls_changed", ""): _STAYS_CLOSED,
                ("session_ended", ""): _STAYS_CLOSED,
                **{
                    (event, ""): _IS_CLOSED
                    for event in (
                        "acknowledge",
                        "context_missing",
                        "context_seen",
                        "answer_not_written",
                        *_REVIEW_EVENTS,
                        *_AUTOMATION_EVENTS,
                    )
                },
            }.items()
        },
        **{
            (state, "carried_over", guard): row
            for state in _CLOSED
            for guard, row in _CARRIED_OVER.items()
            if not (state == "refused" and guard == _BEHIND)
        },
        ("refused", "carried_over", _BEHIND): Row(
            "DLV-55", "repeat", effects=("keep:names", "clear:recipient_row", "reason:duplicate")
        ),
        # Catch-up takes up what did not get in, or was dropped
        **{
            (state, "catch_up", guard): row
            for state in ("refused", "rate_limited", "dropped")
            for guard, row in {
                _CATCH_UP: Row("DLV-41", "move", effects=("set:passive",)),
                _CATCH_UP_HELD: Row("DLV-42", "move", effects=("set:passive", *_HELD)),
                _NO_CATCH_UP: Row("DLV-43", "repeat"),
            }.items()
        },
        ("rejected", "catch_up", ""): Row("DLV-43", "repeat"),
        ("consumed", "catch_up", ""): Row("DLV-43", "repeat"),
    }
