"""Handing text to a session: select → pack → mark (page 30, PACK; page 20, ANSWER, STOP, WAIT), and taking marks back
when the answer could not be written (PACK-7).

One transaction selects and marks, so two hooks of one session at once never deliver the same item twice (PACK-5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from relaybay import frames
from relaybay.machines.base import step
from relaybay.machines.turn import Turn
from relaybay.rules import activity, answer, stop
from relaybay.rules.packing import Item, pack
from relaybay.rules.text import literal, units
from relaybay.service import controls, ids, steps
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import comments, messages, sessions
from relaybay.store.comments import CommentRow
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

At = Literal["prompt", "tool", "stop", "wake"]
_DOORS: dict[str, frames.Door] = {"prompt": "context", "tool": "context", "stop": "stop", "wake": "wake"}


@dataclass(frozen=True, slots=True)
class HandOver:
    """What one answer carries: the text, for a Stop its one-line reason, and what it marked, to take it back by.

    `items` are (kind, key) pairs; `hook_id` and `turn_serial` name the turn whose Stop it blocked. `unproven` are those
    whose frames the session's transcript has to show (CTX-1), with their public ids.
    """

    id: str
    session_id: int
    hook_id: str
    at: At
    text: str
    reason: str
    items: tuple[tuple[Literal["comment", "message"], int], ...]
    turn_serial: int
    unproven: tuple[tuple[Literal["comment", "message"], int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Offer:
    """One thing that may go out, with its frame. What certainly waits for a later answer has none: it is only
    counted.
    """

    item: Item
    frame: str
    sender: frames.Sender | None
    comment: CommentRow | None = None
    mail: Mail | None = None
    pointer: bool = False


def _fresh(comment: CommentRow, now: int) -> bool:
    return comment.held_back(now)


def _comment_goes(at: At, comment: CommentRow, *, fresh: bool) -> bool:
    if at == "stop":
        facts = stop.StopItemFacts("comment", comment.state, min(comment.stop_blocks, 2), fresh, passive=False)  # type: ignore[arg-type]
        return stop.judge(facts).outcome == "eligible"
    item = answer.ItemFacts(at, "comment", comment.state, fresh, passive=False, prompt_turn=False)  # type: ignore[arg-type]
    return answer.judge_item(item).outcome == "text"


def _mail_goes(at: At, mail: Mail, row: SessionRow) -> bool:
    passive = bool(mail.passive)
    if at == "stop":
        facts = stop.StopItemFacts("message", mail.state, min(mail.stop_blocks, 2), fresh=False, passive=passive)  # type: ignore[arg-type]
        return stop.judge(facts).outcome == "eligible"
    item = answer.ItemFacts(
        at,
        "message",
        mail.state,  # type: ignore[arg-type]
        fresh=False,
        passive=passive,
        prompt_turn=bool(mail.passive_turn) and mail.passive_turn == row.turn_serial,
    )
    return answer.judge_item(item).outcome == "text"


def _comment_offer(comment: CommentRow, at: At, now: int, newer: int) -> _Offer:
    frame = frames.comment_frame(
        frames.CommentFacts(
            comment_id=comment.cid,
            task=comment.task_key,
            body=comment.body_md,
            in_reply_to=comment.parent_cid,
            step=comment.step_n,
            attachment=comment.attachment_name,
            waited_us=now - comment.created_us,
            newer=newer,
        )
    )
    size = frames.item_units(frame, door=_DOORS[at])
    return _Offer(Item(comment.cid, "comment", size, comment.id), frame, None, comment=comment)


def _message_offer(tx: Tx, relay: Relay, mail: Mail, at: At) -> _Offer:
    channels = relay.messaging.channels
    pointer = channels and _is_pointer(mail)
    frame = frames.message_frame(
        frames.FrameFacts(
            message_id=mail.mid,
            sender_title=mail.sender_title,
            verified=bool(mail.sender_verified),
            body=mail.body,
            sender_name=mail.sender_name,
            task=mail.task_key,
            in_reply_to=mail.parent_mid,
            waited_us=tx.now - mail.sent_us,
            newer=messages.newer_from(tx, mail),
            audience=mail.audience if channels else "",  # type: ignore[arg-type]
            topic=mail.topic,
            script=mail.by_script,
            automation=mail.automation,
            beginning=pointer,
        )
    )
    sender = frames.Sender(mail.sender_title, bool(mail.sender_verified), mail.by_script)
    size = frames.item_units(frame, door=_DOORS[at], sender=sender)
    item = Item(mail.mid, "message", size, mail.id, passive=bool(mail.passive))
    return _Offer(item, frame, sender, mail=mail, pointer=pointer)


def _is_pointer(mail: Mail) -> bool:
    """CH-4: whether the body would not fit an empty answer, by SEND-11's measure."""
    room = limit("answer_utf16_max") - frames.longest_frame_units(channels=True)
    # Nothing shrinks by being quoted, so a long body need not be quoted to know.
    return len(mail.body) > room or units(literal(mail.body)) > room


def offers(tx: Tx, relay: Relay, row: SessionRow, at: At) -> list[_Offer]:
    """What may go out to a row at this kind of event, comments first, oldest first (PACK-2)."""
    found: list[_Offer] = []
    owner = comments.of_session(tx, row.id, ("sent", "delivered") if at == "stop" else ("sent",))
    for place, comment in enumerate(owner):
        if _comment_goes(at, comment, fresh=_fresh(comment, tx.now)):
            newer = sum(later.task_id == comment.task_id for later in owner[place + 1 :])
            found.append(_comment_offer(comment, at, tx.now, newer))
    mails = [mail for mail in _mails(tx, relay, row, at) if _mail_goes(at, mail, row)]
    shown = limit("messages_per_answer_max")
    found += [_message_offer(tx, relay, mail, at) for mail in mails[:shown]]
    # They come after those that are shown in the packing's order too: both go by passive, then by age.
    later = [(Item(mail.mid, "message", 0, mail.id, passive=bool(mail.passive)), mail) for mail in mails[shown:]]
    return found + [_Offer(item, "", None, mail=mail) for item, mail in later]


def _mails(tx: Tx, relay: Relay, row: SessionRow, at: At) -> list[Mail]:
    """The oldest messages that may go out: more than one answer carries, but bounded however long the queue is. Without
    channels what was published waits until they are on again.
    """
    most, published = limit("offers_per_answer_max"), relay.messaging.channels
    if at == "stop":
        return messages.may_block(tx, row.id, limit("stop_blocks_per_message_max"), most, published=published)
    return messages.waiting(tx, row.id, ("sent",), most, published=published)


def hand_over(tx: Tx, row: SessionRow, at: At, found: Sequence[_Offer]) -> HandOver | None:
    """Packs what fits of `found` and marks it; None when nothing does. The row's link is exact and live."""
    if not found:
        return None
    door = _DOORS[at]
    listed = sum(offer.mail is not None and offer.mail.state == "sent" for offer in found)
    packed = pack(
        [offer.item for offer in found],
        frames.items_room(door),
        max_messages=limit("messages_per_answer_max"),
        tail_room=frames.tail_room(),
        messages_besides=max(_waiting(tx, row, at) - listed, 0),
    )
    by_id = {offer.item.id: offer for offer in found}
    chosen = [by_id[i] for i in packed.chosen]
    if not chosen:
        return None
    assert all(offer.frame for offer in chosen), "nothing is marked that the answer does not show"
    assert row.hook_id is not None, "a live link has its hook id"
    handover_id = ids.handover_id(tx.now)
    by = {"delivered_by": at, "delivered_hook_id": row.hook_id, "handover_id": handover_id}
    for offer in chosen:
        _mark(tx, row, at, offer, by)
    if at == "prompt":
        messages.ride_on(tx, row.id, row.turn_serial)
    return HandOver(
        id=handover_id,
        session_id=row.id,
        hook_id=row.hook_id,
        at=at,
        text=frames.answer_text([offer.frame for offer in chosen], packed, door=door),
        reason=_reason(chosen) if at == "stop" else "",
        items=tuple(
            ("comment", offer.comment.id) if offer.comment else ("message", offer.mail.id)  # type: ignore[union-attr]
            for offer in chosen
        ),
        turn_serial=row.turn_serial,
        unproven=tuple(_unproven(offer) for offer in chosen if not (offer.comment or offer.mail).in_context_us),  # type: ignore[union-attr]
    )


def _waiting(tx: Tx, row: SessionRow, at: At) -> int:
    """How many messages wait for answers of this kind. What only rides along waits for prompts alone."""
    riding = 0 if at == "prompt" else messages.passive_count(tx, row.id)
    return messages.counts(tx, row.id).get("sent", 0) - riding


def _unproven(offer: _Offer) -> tuple[Literal["comment", "message"], int, str]:
    if offer.comment is not None:
        return "comment", offer.comment.id, offer.comment.cid
    assert offer.mail is not None
    return "message", offer.mail.id, offer.mail.mid


def _reason(chosen: Sequence[_Offer]) -> str:
    senders = [offer.sender for offer in chosen if offer.sender is not None]
    return frames.stop_reason(len(chosen) - len(senders), senders)


def _mark(tx: Tx, row: SessionRow, at: At, offer: _Offer, by: dict[str, Any]) -> None:
    """`by` are the columns that say who was handed it, and how."""
    at_stop = at == "stop"
    if offer.comment is not None:
        facts = {
            "replayed": False,
            "link_exact_live": True,
            "in_grace": _fresh(offer.comment, tx.now),
            "at_stop": at_stop,
            "blocks_left": offer.comment.stop_blocks < limit("stop_blocks_per_comment_max"),
        }
        columns = by | {"delivered_to": row.id, "delivered_title": row.title}
        given = columns if offer.comment.state == "sent" else {}
        result, _ = steps.comment(tx, offer.comment, "hand_over", facts, **given)
    else:
        assert offer.mail is not None
        facts = {
            "replayed": False,
            "link_exact_live": True,
            # Selection has left out the passive ones that this event does not bring.
            "passive": False,
            "at_stop": at_stop,
            "blocked_before": offer.mail.stop_blocks >= limit("stop_blocks_per_message_max"),
        }
        given = by | {"pointer": int(offer.pointer)} if offer.mail.state == "sent" else {}
        result, _ = steps.delivery(tx, offer.mail, "hand_over", facts, **given)
    assert result.kind != "refuse", f"selection asked for what {result.spec_id} refuses"


def answer_not_written(tx: Tx, relay: Relay, done: HandOver) -> None:
    """The answer never left: its marks and Stop-block counts are taken back (PACK-7, WAIT-8, STOP-9)."""
    at_stop = done.at == "stop"
    for kind, key in done.items:
        if kind == "comment":
            comment = comments.by_key(tx, key)
            if comment is not None:
                made = comment.handover_id == done.id
                steps.comment(tx, comment, "answer_not_written", {"made_delivered": made, "at_stop": at_stop})
        else:
            mail = messages.by_key(tx, key)
            if mail is not None:
                made = mail.handover_id == done.id
                controls.back(tx, relay, mail, "answer_not_written", {"made_delivered": made, "at_stop": at_stop})
    if at_stop:
        _give_back_block(tx, relay, done)
    tx.touch(done.session_id)


def _give_back_block(tx: Tx, relay: Relay, done: HandOver) -> None:
    """STOP-9 and ACT-3: the Stop was not blocked after all, if that turn is still the session's."""
    row = sessions.get(tx, done.session_id)
    if row is None or row.hook_id != done.hook_id:
        return
    row = relay.presence.write_back(tx, row)
    this_turn = row.turn_serial == done.turn_serial
    turn = step(Turn, row.turn_state, "answer_not_written", {"this_turn": this_turn})
    columns: dict[str, str] = {"turn_state": turn.state}
    if this_turn and row.link_state == "exact":
        seen = activity.ActivityFacts(
            event="stop_not_written",
            subagent=False,
            older=False,
            replayed=False,
            unseen=False,
            folder_guess=False,
            before=row.activity,  # type: ignore[arg-type]
        )
        columns["activity"] = activity.judge(seen).outcome
    sessions.change(tx, row.id, **columns)
