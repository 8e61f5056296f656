"""Carries out what the machines of a delivery and of a comment say: the effects of one Step, in one transaction.

Their effect words are listed in `machines/delivery.py` and `machines/comment.py`. Whoever drives one of these machines
from `service/` goes through here, so that marks, counts and events are written in one place.
"""

from __future__ import annotations

from typing import Any

from relaybay.domain import Step
from relaybay.machines.base import step
from relaybay.machines.comment import Comment
from relaybay.machines.delivery import Delivery
from relaybay.machines.review import Review
from relaybay.rules.text import name_line
from relaybay.store import channels, comments, messages
from relaybay.store.comments import CommentRow
from relaybay.store.messages import Mail
from relaybay.store.transaction import Tx

#: What an effect sets whatever stood there before; counts and marks set once are in `_counted`.
_CLEARED: dict[str, dict[str, Any]] = {
    "clear:delivered_at": {"delivered_us": 0, "delivered_by": "", "delivered_hook_id": "", "handover_id": ""},
    "clear:in_context_at": {"in_context_us": 0},
    "clear:read_at": {"read_us": 0, "read_how": ""},
    "set:passive": {"passive": 1, "passive_turn": 0},
    "clear:passive": {"passive": 0},
    "void:approval": {"approved_epoch": -1},
}


def _counted(effect: str, before: Mail | CommentRow, now: int) -> dict[str, Any]:
    match effect:
        case "mark:delivered_at":
            return {"delivered_us": now}
        case "mark:read_at":
            return {"read_us": now}
        case "mark_once:in_context_at":
            # A Stop may show once more what was given up: what is seen is not missing any more.
            return {"in_context_us": before.in_context_us or now, "reason_code": ""}
        case "count:stop_block":
            return {"stop_blocks": before.stop_blocks + 1}
        case "uncount:stop_block":
            return {"stop_blocks": max(before.stop_blocks - 1, 0)}
        case "count:reoffer":
            return {"reoffers": before.reoffers + 1}
        case _:
            return {}


def _columns(result: Step, before: Mail | CommentRow, now: int) -> dict[str, Any]:
    """The columns that a Step of either machine sets, without those only one of them has."""
    # A reason speaks of the state it came with; every move out of that state clears it.
    columns: dict[str, Any] = {"state": result.state, "reason_code": ""} if result.kind == "move" else {}
    for effect in result.effects:
        if effect.startswith("reason:") and effect != "reason:given":
            columns["reason_code"] = effect.removeprefix("reason:")
        if effect.startswith("read_how:"):
            columns["read_how"] = effect.removeprefix("read_how:")
        columns |= _CLEARED.get(effect) or _counted(effect, before, now)
    return columns


def _event_types(result: Step) -> list[str]:
    return [effect.removeprefix("event:") for effect in result.effects if effect.startswith("event:")]


def shown(title: str) -> str:
    """A name as events have it."""
    return name_line(title)


def delivery(
    tx: Tx, mail: Mail, event: str, facts: dict[str, bool] | None = None, *, reason: str = "", **columns: Any
) -> tuple[Step, Mail]:
    """Puts one event to one delivery and writes what follows. `columns` go along with a move or a repeat that marks
    (`handover_id`, `recipient_id` …), `reason` is the reason code that the caller has for it. What the caller does not
    say of POLICY, as it need not without channels, is that it delivers. A refusal writes nothing. Gives the Step and
    the delivery as it now is.
    """
    result = step(Delivery, mail.state, event, {"published": mail.published, "judged_deliver": True} | (facts or {}))
    if result.kind == "refuse":
        return result, mail
    changed = _columns(result, mail, tx.now)
    if "reason:given" in result.effects:
        assert reason, f"{result.spec_id} needs the reason that its caller has"
        changed["reason_code"] = reason
    if mail.state == "held" and result.state != "held":
        changed["review_state"] = step(Review, mail.review_state, "left_held").state
    if "void:approval" in result.effects:
        # Another row's controls count for it now: what the owner has open was looked at under other ones (REV-2).
        changed["review_state"] = step(Review, mail.review_state, "controls_grew").state
    if "clear:recipient_row" in result.effects:
        changed["recipient_id"] = None
    if result.effects:
        changed |= columns
    after = messages.set_delivery(tx, mail, **changed) if changed else mail
    for type_ in _event_types(result):
        tx.emit(type_, **mail_data(type_, mail, after))
    if mail.topic and mail.recipient_id and ("seen:topic" in result.effects or result.state == "delivered"):
        # A topic message that was given, or decided on, is seen: an older one never comes any more (CATCHUP-8).
        channels.see(tx, mail.recipient_id, mail.topic, mail.message_id)
    tx.touch(after.recipient_id)
    return result, after


#: Events that say why.
_REASONED = ("message.held", "message.dropped", "message.refused", "message.rejected", "message.consumed")


def mail_data(type_: str, before: Mail, mail: Mail) -> dict[str, Any]:
    """What an event says of a delivery: names, ids, marks and reasons, never a text or a hook id."""
    data: dict[str, Any] = {
        "message_id": mail.mid,
        "from": name_line(mail.sender_title),
        "from_ref": f"S-{mail.sender_id}" if mail.sender_id else None,
        "to": name_line(mail.recipient_title),
        "to_ref": f"S-{before.recipient_id}" if before.recipient_id else None,
        "task": mail.task_key or None,
    }
    if type_ == "message.read":
        data |= {"verified": mail.read_how == "verified", "read_how": mail.read_how}
    if mail.published:
        data |= {"audience": mail.audience, **({"topic": mail.topic} if mail.topic else {})}
    if mail.by_script:
        data["script"] = True
    if type_ in _REASONED:
        data["reason"] = mail.reason_code
    if type_ in ("message.taken", "message.consumed"):
        data["automation"] = mail.taken_by
    return data


def comment(
    tx: Tx, row: CommentRow, event: str, facts: dict[str, bool] | None = None, **columns: Any
) -> tuple[Step, CommentRow]:
    """As `delivery`, for one of the owner's comments."""
    result = step(Comment, row.state, event, facts)
    if result.kind == "refuse":
        return result, row
    changed = _columns(result, row, tx.now)
    if "clear:delivered_at" in result.effects:
        changed |= {"delivered_to": None, "delivered_title": ""}
    if result.effects:
        changed |= columns
    after = comments.change(tx, row, **changed) if changed else row
    for type_ in _event_types(result):
        tx.emit(type_, **_comment_data(type_, row, after))
    return result, after


def _comment_data(type_: str, before: CommentRow, row: CommentRow) -> dict[str, Any]:
    handed = before if type_ == "comment.offered_again" else row
    data: dict[str, Any] = {"comment_id": row.cid, "task": row.task_key}
    if handed.delivered_to is not None:
        # The card keeps every hand-over in its history, also one that was taken back (CMT-5).
        data |= {"session": f"S-{handed.delivered_to}", "title": name_line(handed.delivered_title)}
    if type_ == "comment.read":
        data["verified"] = row.read_how == "verified"
    return data
