"""What is said of one delivery: the sender's receipt, and the item of a list (pages 30, 70, 75)."""

from __future__ import annotations

from typing import Any, Literal

from relaybay.answers import word
from relaybay.rules.recipient import ReachFacts, judge_reach
from relaybay.rules.text import literal, name_line, name_literal
from relaybay.service import reach, reasons
from relaybay.service.clock import age, rfc3339
from relaybay.service.relay import Relay
from relaybay.store import sessions
from relaybay.store.comments import CommentRow
from relaybay.store.messages import Mail
from relaybay.store.transaction import Tx

_SECOND = 1_000_000


_DELIVERED = {
    "seen": "receipt.delivered_in_context",
    "looked_for": "receipt.delivered",
    "unknown": "receipt.delivered_unchecked",
}
_NOT_READ = {
    "seen": "comment.delivered_in_context",
    "looked_for": "comment.delivered",
    "unknown": "comment.delivered_unchecked",
}


def context_of(
    relay: Relay, kind: Literal["comment", "message"], item: Mail | CommentRow
) -> Literal["seen", "looked_for", "unknown"]:
    """What is known of a delivered item's way into the session's context: no claim is made without a proof (CTX-3)."""
    if item.in_context_us:
        return "seen"
    return "looked_for" if relay.contexts.looked_for(kind, item.id, item.delivered_hook_id) else "unknown"


def not_read(relay: Relay, kind: Literal["comment", "message"], item: Mail | CommentRow) -> str:
    """What stands at a delivered item that is not acknowledged, beside its marks: so without how long ago they were."""
    return word(_NOT_READ[context_of(relay, kind, item)]).text


def standing(tx: Tx, relay: Relay, mail: Mail) -> tuple[str, str]:
    """(reason code, sentence) of a delivery as it is now. The code is empty once there is nothing to explain."""
    only_channels = mail.state in ("held", "taken") or (mail.published and mail.state == "sent")
    if only_channels and not relay.messaging.channels:
        # Nobody delivers, claims or drops it until the switch is on again (page 50).
        return "channels_off", word("receipt.channels_off").text
    if mail.state == "sent":
        row = sessions.get(tx, mail.recipient_id)
        if row is not None:
            found = reach.reach(tx, relay, row)
            said = reach.said(found)
            if mail.passive:
                said = word("receipt.passive", recipient=name_literal(row.title)).text
            if mail.reoffers:
                said = word("receipt.offered_again", count=mail.reoffers, reach=said).text
            return found.reason_code, said
    if mail.state in ("sent", "orphaned"):
        return "row_gone", word("receipt.orphaned").text
    if mail.state == "taken":
        return "", word("receipt.taken", automation=mail.taken_by).text
    if mail.state in ("held", *CLOSED):
        return mail.reason_code, _kept_out(tx, mail)
    if mail.state == "delivered":
        if mail.pointer and not mail.fetched_us:
            return "", word("receipt.pointer", ago=age((tx.now - mail.delivered_us) // _SECOND)).text
        ago = age((tx.now - mail.delivered_us) // _SECOND)
        if mail.reason_code == "not_in_context":
            return "not_in_context", word("receipt.not_in_context", ago=ago).text
        return "", word(_DELIVERED[context_of(relay, "message", mail)], ago=ago).text
    ago = age((tx.now - mail.read_us) // _SECOND)
    how = {"not_verified": "receipt.read_not_verified", "own_message": "receipt.read_own_message"}
    return "", word(how.get(mail.read_how, "receipt.read"), ago=ago).text


#: The states in which a message never arrives any more (page 50).
CLOSED = ("refused", "rate_limited", "rejected", "dropped", "consumed")


def _kept_out(tx: Tx, mail: Mail) -> str:
    """RECV-9 and 10: why a message is held, or closed, and what would change it."""
    reason = reasons.why(tx, mail)
    if mail.state != "held":
        return word("recv.not_admitted", reason=reason).text
    resume = mail.reason_code == "waits_for_resume"
    facts = ReachFacts("held_resume" if resume else "held_review", "live", working=False, waiting=False)
    verdict = judge_reach(facts)
    return word(verdict.answer, reason=reason, recipient=name_literal(mail.recipient_title)).text


def since(tx: Tx, relay: Relay, mail: Mail, reason_code: str) -> int:
    """Since when a reason for not being delivered holds (µs): since when the recipient works, is idle, is over, is
    known; 0 where nobody noted it.
    """
    if reason_code == "not_in_context":
        return mail.delivered_us
    if mail.state in ("held", *CLOSED):
        return mail.state_us
    row = sessions.get(tx, mail.recipient_id)
    if row is None:
        return 0
    live = relay.presence.by_row(row.id)
    wait = relay.waits.of_row(row.id, tx.now)
    known = {
        "working": live.prompted_us if live else 0,
        "idle": live.stopped_us if live else 0,
        "being_woken": wait.opened_us if wait else 0,
        "never_linked": row.first_seen_us,
        "ended": row.ended_us,
    }
    return known.get(reason_code, 0)


def receipt(tx: Tx, relay: Relay, mail: Mail, *, repeat: bool = False) -> dict[str, Any]:
    """The structured receipt of a send; a repeat shows the present state."""
    code, sentence = standing(tx, relay, mail)
    told = "receipt.sent" if mail.sender_verified or mail.by_script else "receipt.sent_unverified"
    answer = "receipt.repeat" if repeat else "receipt.not_let_in" if mail.state in CLOSED else told
    values = {"recipient": name_literal(mail.recipient_title), "message_id": mail.mid, "reach": sentence}
    return {
        "message_id": mail.mid,
        "recipient": party(mail.recipient_title, mail.recipient_name, mail.recipient_id),
        "sender_verified": bool(mail.sender_verified),
        "state": mail.state,
        "reason_code": code or None,
        **({"repeat": True} if repeat else {}),
        "text": word(answer, **values).text,
    }


def party(title: str, name: str, key: int | None) -> dict[str, Any]:
    """A session as lists and receipts name it; never with a hook id."""
    said: dict[str, Any] = {"title": name_line(title)}
    if key is not None:
        said["ref"] = f"S-{key}"
    if name:
        said["name"] = name
    return said


def line(title: str) -> str:
    """A name as lists and events have it."""
    return name_line(title)


def audience(mail: Mail) -> dict[str, Any]:
    """To whom a message was sent: one session, a topic, or all that receive broadcasts."""
    return {"kind": mail.audience, **({"topic": mail.topic} if mail.topic else {})}


def item(tx: Tx, relay: Relay, mail: Mail, direction: str) -> dict[str, Any]:
    """One entry of `messages_list` (page 70). The body is one literal (TEXT-5)."""
    sender: dict[str, Any] = {"title": name_line(mail.sender_title), "verified": bool(mail.sender_verified)}
    if mail.sender_name:
        sender["name"] = mail.sender_name
    if mail.by_script:
        sender["script"] = True
    if mail.automation:
        sender["automation"] = mail.automation
    said: dict[str, Any] = {
        "message_id": mail.mid,
        "direction": direction,
        "from": sender,
        "to": party(mail.recipient_title, mail.recipient_name, mail.recipient_id),
        "audience": audience(mail),
        "depth": mail.depth,
        "state": mail.state,
        "sent_at": rfc3339(mail.sent_us),
    }
    optional = {"task": mail.task_key, "in_reply_to": mail.parent_mid, "read_how": mail.read_how}
    said |= {name: value for name, value in optional.items() if value}
    times = {"delivered_at": mail.delivered_us, "in_context_at": mail.in_context_us, "read_at": mail.read_us}
    said |= {name: rfc3339(value) for name, value in times.items() if value}
    code, _ = standing(tx, relay, mail)
    if code:
        said["reason_code"] = code
    said["body"] = literal(mail.body)
    return said
