"""A message's life, in its order: send (table SEND's order of checks), acknowledge.

Whom a send means is `recipients.py`, what lists and receipts say `receipts.py` and `message_lists.py`; handing it
over is `handover.py`.
"""

from __future__ import annotations

from typing import Any, Literal

from relaybay import frames
from relaybay.answers import word
from relaybay.domain import Caller, Outcome, Refusal
from relaybay.rules import body as bodies
from relaybay.rules import rates, reply
from relaybay.rules.sender import AckItemFacts, judge_ack_item
from relaybay.rules.text import name_line
from relaybay.service import admission, ids, linking, origin, receipts, recipients, repeats, steps
from relaybay.service.admission import Arriving
from relaybay.service.identity import Identity, identify
from relaybay.service.recipients import Meant
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import events, messages, sessions
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

_SECOND = 1_000_000


def send(
    tx: Tx,
    relay: Relay,
    caller: Caller,
    *,
    body: str,
    to: str = "",
    task: str = "",
    in_reply_to: str = "",
    request_id: str = "",
) -> Outcome:
    """Stores one message and one delivery and answers with a receipt (page 30). Nothing is changed when refused."""
    text = bodies.judge(body, _body_limits(relay))
    mark = repeats.mark(caller, body=body, to=to, task=task, in_reply_to=in_reply_to, request_id=request_id)
    who = identify(tx, relay, caller, "send", tx.now, "message_send", mark)
    if isinstance(who, Refusal):
        return Outcome(refusal=who)
    return repeats.keep(tx, who, _send(tx, relay, who, text, (to, task, in_reply_to, request_id)))


def _send(tx: Tx, relay: Relay, who: Identity, text: bodies.JudgedBody, said: tuple[str, str, str, str]) -> Outcome:
    to, task, in_reply_to, request_id = said
    content = repeats.digest(body=text.text, to=to, task=task, in_reply_to=in_reply_to)
    again = _repeated(tx, relay, who, request_id, content)
    if again is not None:
        return again
    meant = recipients.find(tx, who, to=to, task=task, in_reply_to=in_reply_to)
    if isinstance(meant, Refusal):
        return Outcome(refusal=meant)
    if text.refusal is not None:
        return Outcome(refusal=text.refusal)
    refusal = _loop(tx, who, meant)
    if refusal is not None:
        return Outcome(refusal=refusal)
    sender = linking.apply(tx, relay, who, tx.now)
    assert sender is not None
    warnings = list(who.warnings)
    if meant.parent is not None and not _mark_parent(tx, who, meant.parent):
        warnings.append(("message.parent_not_marked", {}))
    mail = _store(tx, relay, who, sender, meant, text.text, request_id, content)
    return Outcome(receipts.receipt(tx, relay, mail), warnings=tuple(warnings))


def _body_limits(relay: Relay) -> bodies.BodyLimits:
    around = frames.longest_frame_units(channels=relay.messaging.channels)
    return bodies.BodyLimits(limit("body_chars_max"), limit("answer_utf16_max"), around)


def _repeated(tx: Tx, relay: Relay, who: Identity, request_id: str, content: str) -> Outcome | None:
    """PROOF-6 and SEND-16: the first receipt in its present state, or a refusal when the content differs."""
    kept = repeats.first(who)
    if kept is not None:
        mail = messages.get(tx, kept.data["message_id"]) if kept.ok else None
        return Outcome(receipts.receipt(tx, relay, mail, repeat=True), warnings=kept.warnings) if mail else kept
    if not request_id:
        return None
    # The speaker's own first: of two rows that become one it keeps the request id that both used (MOVE-10).
    for row in (who.speaker, who.merged):
        before = messages.sent_as(tx, row.id, request_id) if row else None
        if before is None:
            continue
        verdict = reply.judge_repeat(reply.RepeatFacts("same" if before.digest == content else "other"))
        if verdict.refused:
            return Outcome(refusal=Refusal(verdict.answer, verdict.spec_id, {"message_id": before.mid}))
        return Outcome(receipts.receipt(tx, relay, messages.of_message(tx, before.message_id)[0], repeat=True))
    return None


def _loop(tx: Tx, who: Identity, meant: Meant) -> Refusal | None:
    """SEND-13, then SEND-12. A reply that is too deep puts the message it answers into the Inbox."""
    depth = meant.parent.depth + 1 if meant.parent else 0
    window = limit("rate_window_seconds")
    times = [t for row in who.rows for t in messages.sent_since(tx, row, tx.now - window * _SECOND)]
    seconds = rates.seconds_until_allowed(times, tx.now, limit("sends_per_window_max"), window)
    verdict = reply.judge_loop(reply.LoopFacts(depth > limit("reply_depth_max"), seconds > 0))
    if not verdict.refused:
        return None
    if verdict.spec_id == "SEND-13" and meant.parent is not None:
        mid, reader = meant.parent.mid, meant.parent.recipient_id
        tx.trace(lambda later: events.put_inbox(later, "reply_too_deep", mid, reader))
    values = {
        "depth_max": limit("reply_depth_max"),
        "sends_max": limit("sends_per_window_max"),
        "window_seconds": window,
        "seconds": seconds,
    }
    return Refusal(verdict.answer, verdict.spec_id, values)


def _mark_parent(tx: Tx, who: Identity, parent: Mail) -> bool:
    """A reply marks its parent as an acknowledgement would, judged on the link as it stood before the call: that of
    the row the parent was sent to, which may be the one that LINK has just merged.
    """
    proven, linked_itself = who.proven_before, who.linked_itself
    if who.merged is not None and parent.recipient_id == who.merged.id:
        # It is merged because it holds the call's id; a guess alone proves nothing before (LINK-2 to 4 apart).
        proven, linked_itself = who.merged.link_state == "exact", who.merged.linked_itself
    mail = messages.by_key(tx, parent.id)
    assert mail is not None
    if mail.state not in ("sent", "delivered", "read"):
        return False
    result, _ = steps.delivery(tx, mail, "acknowledge", {"link_proven": proven, "linked_itself": linked_itself})
    return result.kind != "refuse"


def _store(
    tx: Tx, relay: Relay, who: Identity, sender: SessionRow, meant: Meant, text: str, request_id: str, content: str
) -> Mail:
    reader = sessions.need(tx, meant.recipient.id)
    source = origin.of_session(relay, sender, verified=who.verified, hook_id=who.hook_id)
    message_id = messages.record(
        tx,
        audience="direct",
        mid=ids.message_id(tx.now),
        **source.columns(text),
        task_id=meant.task.id if meant.task else None,
        task_key=meant.task.task_key if meant.task else "",
        parent_id=meant.parent.message_id if meant.parent else None,
        parent_mid=meant.parent.mid if meant.parent else "",
        depth=meant.parent.depth + 1 if meant.parent else 0,
        request_id=request_id or None,
        digest=content,
    )
    return arrive(tx, relay, reader, source.arriving(message_id, text))


def arrive(tx: Tx, relay: Relay, reader: SessionRow, arriving: Arriving) -> Mail:
    """The message reaches its one recipient: without channels as it is, with them by ADM and POLICY. What was not let
    in is recorded and makes no edge on the Map (DLV-22).
    """
    if not relay.messaging.channels:
        mail = admission.without_channels(tx, reader, arriving.message_id)
    else:
        mail = admission.admit(tx, relay, reader, arriving)
    if mail.admitted_us:
        told(tx, mail)
    return mail


def told(tx: Tx, mail: Mail) -> None:
    """The events of a message that was let in at one recipient: `message.sent`, and the Map's edge."""
    data: dict[str, Any] = {
        "from": name_line(mail.sender_title),
        "from_ref": f"S-{mail.sender_id}" if mail.sender_id else None,
        "to": name_line(mail.recipient_title),
        "to_ref": f"S-{mail.recipient_id}" if mail.recipient_id else None,
        "task": mail.task_key or None,
    }
    if mail.published:
        data |= {"audience": mail.audience, **({"topic": mail.topic} if mail.topic else {})}
    if mail.by_script:
        data["script"] = True
    tx.emit("message.sent", message_id=mail.mid, verified=bool(mail.sender_verified), **data)
    tx.emit("session.message", by="message_publish" if mail.published else "message_send", **data)


def acknowledge(tx: Tx, relay: Relay, caller: Caller, *, message_id: str = "") -> Outcome:
    """Sets read marks: on one message, or without an id on what the reader can have seen (page 30)."""
    mark = repeats.mark(caller, message_id=message_id)
    who = identify(tx, relay, caller, "mark", tx.now, "message_ack", mark)
    if isinstance(who, Refusal):
        return Outcome(refusal=who)
    return repeats.first(who) or repeats.keep(tx, who, _acknowledge(tx, relay, who, message_id))


def _acknowledge(tx: Tx, relay: Relay, who: Identity, message_id: str) -> Outcome:
    one = messages.get(tx, message_id, who.rows) if message_id else None
    if message_id:
        verdict = judge_ack_item(AckItemFacts("message_ack", _whose(who, one)))
        if verdict.refused:
            return Outcome(refusal=Refusal(verdict.answer, verdict.spec_id))
    elif who.linked_itself and not who.proven:
        # Without an id DLV-6 refuses the whole call, even if it would have met no message.
        return Outcome(refusal=Refusal("message.ack_not_proven", "DLV-6"))
    row = linking.apply(tx, relay, who, tx.now)
    assert row is not None
    facts = {"link_proven": who.proven, "linked_itself": who.linked_itself}
    done: list[str] = []
    before: list[str] = []
    for mail in [one] if one else _seen(tx, row, who):
        result, _ = steps.delivery(tx, mail, "acknowledge", facts)
        if result.kind == "refuse":
            return Outcome(refusal=Refusal(result.answer, result.spec_id, {"state": mail.state}))
        (done if result.kind == "move" else before).append(mail.mid)
    counts = messages.counts(tx, row.id)
    waiting = counts.get("sent", 0) + counts.get("delivered", 0)
    answer = "ack.done" if who.proven else "ack.done_not_verified"
    text = word(answer, acknowledged=len(done), already_read=len(before), waiting=waiting).text
    data = {"acknowledged": done, "already_read": before, "waiting": waiting, "text": text}
    return Outcome(data, warnings=who.warnings)


def _whose(who: Identity, mail: Mail | None) -> Literal["own", "others", "unknown", "gone"]:
    """ACK-5's input: whose a message is, after LINK."""
    if mail is None:
        return "unknown"
    if mail.recipient_id is None:
        return "gone"
    return "own" if mail.recipient_id in who.rows else "others"


def _seen(tx: Tx, row: SessionRow, who: Identity) -> list[Mail]:
    """What the reader can have seen: delivered ones of a proven row, listed ones of a row that never linked itself."""
    if who.proven:
        return messages.waiting(tx, row.id, ("delivered",))
    return [mail for mail in messages.waiting(tx, row.id, ("sent", "delivered")) if mail.given_us]
