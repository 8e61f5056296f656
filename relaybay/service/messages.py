"""A message's life, in its order: send (table SEND's order of checks), acknowledge.

What lists and receipts say of it is `receipts.py` and `message_lists.py`; handing it over is `handover.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from relaybay import frames
from relaybay.answers import word
from relaybay.domain import Caller, Outcome, Refusal
from relaybay.rules import body as bodies
from relaybay.rules import names, rates, recipient, reply
from relaybay.rules.text import name_literal
from relaybay.service import ids, linking, naming, receipts, repeats, steps
from relaybay.service.identity import Identity, identify
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import events, messages, sessions, tasks
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.tasks import TaskRow
from relaybay.store.transaction import Tx

_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class _Meant:
    """What the arguments of a send turned out to mean."""

    recipient: SessionRow | None
    parent: Mail | None
    task: TaskRow | None
    to_own_name: bool = False


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
    text = bodies.judge(body, _body_limits())
    mark = repeats.digest(body=text.text, to=to, task=task, in_reply_to=in_reply_to, request_id=request_id)
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
    meant = _recipient(tx, who, to, task, in_reply_to)
    if isinstance(meant, Refusal):
        return Outcome(refusal=meant)
    if text.refusal is not None:
        return Outcome(refusal=text.refusal)
    refusal = _loop(tx, who, meant)
    if refusal is not None:
        return Outcome(refusal=refusal)
    sender = linking.apply(tx, relay, who, tx.now)
    assert sender is not None
    assert meant.recipient is not None
    warnings = list(who.warnings)
    if meant.parent is not None and not _mark_parent(tx, who, meant.parent):
        warnings.append(("message.parent_not_marked", {}))
    mail = _store(tx, who, sender, meant, text.text, request_id, content)
    return Outcome(receipts.receipt(tx, relay, mail), warnings=tuple(warnings))


def _body_limits() -> bodies.BodyLimits:
    return bodies.BodyLimits(limit("body_chars_max"), limit("answer_utf16_max"), frames.longest_frame_units())


def _repeated(tx: Tx, relay: Relay, who: Identity, request_id: str, content: str) -> Outcome | None:
    """PROOF-6 and SEND-16: the first receipt in its present state, or a refusal when the content differs."""
    kept = repeats.first(who)
    if kept is not None:
        mail = messages.get(tx, kept.data["message_id"]) if kept.ok else None
        return Outcome(receipts.receipt(tx, relay, mail, repeat=True), warnings=kept.warnings) if mail else kept
    if not request_id:
        return None
    for row in sorted(who.rows):
        mail = messages.repeated(tx, row, request_id)
        if mail is None:
            continue
        verdict = reply.judge_repeat(reply.RepeatFacts("same" if mail.digest == content else "other"))
        if verdict.refused:
            return Outcome(refusal=Refusal(verdict.answer, verdict.spec_id, {"message_id": mail.mid}))
        return Outcome(receipts.receipt(tx, relay, mail, repeat=True))
    return None


def _recipient(tx: Tx, who: Identity, to: str, task: str, in_reply_to: str) -> _Meant | Refusal:
    """The parent (SEND-14), the recipient (SEND-17 to 19, RECV), and that it is somebody else (SEND-8)."""
    parent = messages.get(tx, in_reply_to) if in_reply_to else None
    states = {parent.recipient_id or 0: parent.state} if parent else None
    verdict = reply.judge_parent(reply.parent_facts(bool(in_reply_to), states, who.rows))
    if verdict.refused:
        return Refusal(verdict.answer, verdict.spec_id, {"state": parent.state if parent else ""})
    found, own_name = _named(tx, who, to)
    parent_row = sessions.get(tx, parent.sender_id) if parent else None
    if parent_row is not None and who.merged is not None and parent_row.id == who.merged.id:
        parent_row = who.speaker
    about = tasks.get(tx, task) if names.is_given(task) else None
    bound = sessions.get(tx, about.session_id) if about else None
    given = names.is_given(to)
    one = found[0] if len(found) == 1 else None
    verdict = recipient.judge(
        recipient.RecipientFacts(
            to="absent" if not given else "one" if one or own_name else "several" if found else "none",
            parent="absent" if parent is None else "row" if parent_row else "gone",
            agree=bool(one and parent_row and one.id == parent_row.id),
            task="absent"
            if not names.is_given(task)
            else "unknown"
            if about is None
            else "bound"
            if bound
            else "unbound",
        )
    )
    if verdict.refused:
        return Refusal(verdict.answer, verdict.spec_id, _recipient_values(tx, who, to, task, found, parent))
    row = {"to": one, "parent": parent_row, "bound": bound}[verdict.outcome]
    same = own_name or (row is not None and row.id in who.rows)
    verdict = reply.judge_self(reply.SelfFacts(same))
    if verdict.refused:
        shown = row.title if row else who.title
        return Refusal(verdict.answer, verdict.spec_id, {"recipient": name_literal(shown)})
    return _Meant(row, parent, about)


def _named(tx: Tx, who: Identity, to: str) -> tuple[list[SessionRow], bool]:
    """The rows that `to` fits, a hook id counted, and whether it is the name that the sender's new row will have."""
    if not names.is_given(to):
        return [], False
    found = naming.resolve(tx, to)
    held = sessions.by_hook(tx, to.strip())
    if held is not None and all(row.id != held.id for row in found):
        found = [*found, held]
    if who.merged is not None and who.speaker is not None:
        # After LINK the merged row's names are the speaker's.
        heir = {who.merged.id: who.speaker}
        found = list({(heir.get(r.id, r)).id: heir.get(r.id, r) for r in found}.values())
    return found, not found and who.answers_to(to)


def _recipient_values(
    tx: Tx, who: Identity, to: str, task: str, found: list[SessionRow], parent: Mail | None
) -> dict[str, Any]:
    own = who.speaker.id if who.speaker else None
    values: dict[str, Any] = {
        "to": name_literal(to),
        "task": name_literal(task),
        "candidates": naming.candidates(found),
    }
    values["near"] = naming.near(tx, to, own) if not found else ""
    values["recipient"] = name_literal(found[0].title if found else parent.sender_title if parent else to)
    values["parent_sender"] = name_literal(parent.sender_title) if parent else ""
    return values


def _loop(tx: Tx, who: Identity, meant: _Meant) -> Refusal | None:
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
    """A reply marks its parent as an acknowledgement would, judged on the link as it stood before the call."""
    mail = messages.by_key(tx, parent.id)
    assert mail is not None
    facts = {"link_proven": who.proven_before, "linked_itself": who.linked_itself}
    result, _ = steps.delivery(tx, mail, "acknowledge", facts)
    return result.kind != "refuse"


def _store(tx: Tx, who: Identity, sender: SessionRow, meant: _Meant, text: str, request_id: str, content: str) -> Mail:
    assert meant.recipient is not None
    reader = sessions.need(tx, meant.recipient.id)
    mail = messages.add(
        tx,
        recipient_id=reader.id,
        recipient_title=reader.title,
        recipient_name=reader.name or "",
        mid=ids.message_id(tx.now),
        sender_id=sender.id,
        sender_title=sender.title,
        sender_name=sender.name or "",
        sender_verified=int(who.verified),
        sender_hook_id=who.hook_id if who.verified else "",
        task_id=meant.task.id if meant.task else None,
        task_key=meant.task.task_key if meant.task else "",
        parent_id=meant.parent.message_id if meant.parent else None,
        parent_mid=meant.parent.mid if meant.parent else "",
        depth=meant.parent.depth + 1 if meant.parent else 0,
        body=text,
        request_id=request_id or None,
        digest=content,
    )
    data = {
        "from": sender.title,
        "from_ref": sender.ref,
        "to": reader.title,
        "to_ref": reader.ref,
        "task": mail.task_key or None,
    }
    tx.emit("message.sent", message_id=mail.mid, verified=who.verified, **data)
    tx.emit("session.message", by="message_send", **data)
    if not who.verified:
        # An accepted call that proved nothing still shows that somebody speaks in an unlinked row's name.
        if not sender.linked_itself:
            sessions.change(tx, sender.id, last_seen_us=tx.now)
    else:
        sessions.change(tx, sender.id, last_seen_us=max(sender.last_seen_us, tx.now))
    return mail


def acknowledge(tx: Tx, relay: Relay, caller: Caller, *, message_id: str = "") -> Outcome:
    """Sets read marks: on one message, or without an id on what the reader can have seen (page 30)."""
    mark = repeats.digest(message_id=message_id)
    who = identify(tx, relay, caller, "mark", tx.now, "message_ack", mark)
    if isinstance(who, Refusal):
        return Outcome(refusal=who)
    return repeats.first(who) or repeats.keep(tx, who, _acknowledge(tx, relay, who, message_id))


def _acknowledge(tx: Tx, relay: Relay, who: Identity, message_id: str) -> Outcome:
    if message_id:
        mail = messages.get(tx, message_id)
        if mail is not None and mail.state == "orphaned":
            return Outcome(refusal=Refusal("message.orphaned", "DLV-9"))
        if mail is None or mail.recipient_id not in who.rows:
            return Outcome(refusal=Refusal("ack.message_unknown", "ACK-5", {"message_id": name_literal(message_id)}))
    row = linking.apply(tx, relay, who, tx.now)
    assert row is not None
    facts = {"link_proven": who.proven, "linked_itself": who.linked_itself or who.proven}
    chosen = [messages.get(tx, message_id)] if message_id else _seen(tx, row, who)
    done: list[str] = []
    before: list[str] = []
    if not message_id and not who.proven and who.linked_itself:
        return Outcome(refusal=Refusal("message.ack_not_proven", "DLV-6"))
    for mail in chosen:
        assert mail is not None
        result, _ = steps.delivery(tx, mail, "acknowledge", facts)
        if result.kind == "refuse":
            return Outcome(refusal=Refusal(result.answer, result.spec_id))
        (done if result.kind == "move" else before).append(mail.mid)
    if who.proven:
        sessions.change(tx, row.id, last_seen_us=max(row.last_seen_us, tx.now))
    counts = messages.counts(tx, row.id)
    waiting = counts.get("sent", 0) + counts.get("delivered", 0)
    answer = "ack.done" if who.proven else "ack.done_not_verified"
    text = word(answer, acknowledged=len(done), already_read=len(before), waiting=waiting).text
    data = {"acknowledged": done, "already_read": before, "waiting": waiting, "text": text}
    return Outcome(data, warnings=who.warnings)


def _seen(tx: Tx, row: SessionRow, who: Identity) -> list[Mail]:
    """What the reader can have seen: delivered ones of a proven row, listed ones of a row that never linked itself."""
    if who.proven:
        return messages.waiting(tx, row.id, ("delivered",))
    return [mail for mail in messages.waiting(tx, row.id, ("sent", "delivered")) if mail.given_us]
