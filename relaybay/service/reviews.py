"""The owner's review of one held message (page 50, table REV): open it, then approve or reject with its token.

A token is for one delivery and one control epoch. Lists and refreshes give none; there is no batch.
"""

from __future__ import annotations

import secrets
from typing import Any

from relaybay.answers import word
from relaybay.domain import Outcome, Refusal
from relaybay.machines.base import step
from relaybay.machines.review import Review
from relaybay.rules.text import literal, name_line, name_literal
from relaybay.service import automations, controls, receipts, steps
from relaybay.service.arguments import one_session
from relaybay.service.clock import rfc3339
from relaybay.service.controls import Controls
from relaybay.service.relay import Relay
from relaybay.store import messages, sessions
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

_TOKEN_BYTES = 9


def held(tx: Tx, relay: Relay, *, session: str = "") -> Outcome:
    """What waits for the owner's decision, oldest first, without any text and without a token (OWN-2)."""
    row: SessionRow | None = None
    if session:
        found = one_session(tx, session)
        if isinstance(found, Refusal):
            return Outcome(refusal=found)
        row = found
    mails = messages.held(tx, row.id if row else None)
    shown = [listed(tx, relay, mail) for mail in mails]
    return Outcome({"held": shown, "count": len(shown), "text": word("review.listed", count=len(shown)).text})


def listed(tx: Tx, relay: Relay, mail: Mail) -> dict[str, Any]:
    """One entry: who wrote it, to whom, why it is held and since when."""
    code, reason = receipts.standing(tx, relay, mail)
    return {
        "message_id": mail.mid,
        "recipient": receipts.party(mail.recipient_title, mail.recipient_name, mail.recipient_id),
        "from": sender(mail),
        "audience": receipts.audience(mail),
        "state": mail.state,
        "reason_code": code,
        "reason": reason,
        "passive": bool(mail.passive),
        "sent_at": rfc3339(mail.sent_us),
        "held_at": rfc3339(mail.state_us),
    }


def sender(mail: Mail) -> dict[str, Any]:
    """Who wrote it, as lists say it; a script is marked as one."""
    said: dict[str, Any] = {"title": name_line(mail.sender_title), "verified": bool(mail.sender_verified)}
    optional = {"name": mail.sender_name, "script": mail.by_script, "automation": mail.automation}
    said |= {name: value for name, value in optional.items() if value}
    return said | ({"ref": f"S-{mail.sender_id}"} if mail.sender_id else {})


def show(tx: Tx, relay: Relay, *, message_id: str, session: str = "") -> Outcome:
    """The review page's data, with the token of a review that is open and fits; opens none (REV-1)."""
    found = _one(tx, message_id, session)
    if isinstance(found, Refusal):
        return Outcome(refusal=found)
    return Outcome(_shown(tx, relay, found))


def open_review(tx: Tx, relay: Relay, *, message_id: str, session: str = "") -> Outcome:
    """REV-1 and 8: the owner opens one held message: its literal body, and a token for this delivery and this epoch."""
    found = _decidable(tx, relay, message_id, session)
    if isinstance(found, Refusal):
        return Outcome(refusal=found)
    row = _row(tx, relay, found)
    mail = messages.by_key(tx, found.id)
    assert mail is not None
    result = step(Review, mail.review_state, "open_review", {"held": mail.state == "held"})
    if result.kind == "refuse":
        return Outcome(refusal=_not_held(mail, result.answer, result.spec_id))
    assert row is not None
    opened = {"review_state": result.state, "review_token": secrets.token_urlsafe(_TOKEN_BYTES)}
    mail = messages.set_delivery(tx, mail, **opened, review_epoch=row.epoch)
    return Outcome(_shown(tx, relay, mail))


def approve(tx: Tx, relay: Relay, *, message_id: str, token: str, session: str = "") -> Outcome:
    """REV-4: this one message goes to its session, once, under the controls of now (DLV-26, or 28 and 29)."""
    return _decide(tx, relay, "approve", message_id, token, session)


def reject(tx: Tx, relay: Relay, *, message_id: str, token: str, session: str = "") -> Outcome:
    """REV-5: final. The message never reaches its session (DLV-27)."""
    return _decide(tx, relay, "reject", message_id, token, session)


def _decide(tx: Tx, relay: Relay, event: str, message_id: str, token: str, session: str) -> Outcome:
    found = _decidable(tx, relay, message_id, session)
    if isinstance(found, Refusal):
        return Outcome(refusal=found)
    row = _row(tx, relay, found)
    # What the look at the controls has changed counts: an epoch that grew makes the token stale.
    mail = messages.by_key(tx, found.id)
    assert mail is not None
    now = controls.of(relay, row) if row is not None else None
    facts = {
        "held": mail.state == "held",
        "token_fits": _fits(mail, token, row),
        "blocked": now is not None and bool(now.blocked_by),
    }
    result = step(Review, mail.review_state, event, facts)
    if result.kind == "refuse":
        return Outcome(refusal=_refused(mail, result.answer, result.spec_id, now))
    assert row is not None
    decided = {"token_fits": True, "blocked": False}
    columns: dict[str, Any] = {"approved_epoch": row.epoch} if event == "approve" else {}
    _, after = steps.delivery(tx, mail, event, decided, **columns)
    if after.state == "sent":
        after = automations.received(tx, relay, after)
    _, reason = receipts.standing(tx, relay, after)
    text = word(f"review.{event}d" if event.endswith("e") else f"review.{event}ed", message_id=mail.mid, reason=reason)
    nexts = messages.held(tx)
    following = {"next": {"message_id": nexts[0].mid, "session": f"S-{nexts[0].recipient_id}"}} if nexts else {}
    return Outcome({"message_id": mail.mid, "state": after.state, "reason": reason, **following, "text": text.text})


def _fits(mail: Mail, token: str, row: SessionRow | None) -> bool:
    same = row is not None and mail.review_epoch == row.epoch
    return mail.review_state == "open" and same and bool(token) and secrets.compare_digest(
        mail.review_token.encode(), token.encode("utf-8", "surrogatepass")
    )  # fmt: skip


def _row(tx: Tx, relay: Relay, mail: Mail) -> SessionRow | None:
    """The recipient's row, its controls looked at."""
    row = sessions.get(tx, mail.recipient_id)
    return None if row is None else controls.look(tx, relay, relay.presence.write_back(tx, row))


def _not_held(mail: Mail, answer: str, spec_id: str) -> Refusal:
    """REV-7 and 8: what is said goes by the message (DLV-39, 44, 47)."""
    if mail.state == "taken":
        return Refusal("message.taken", "DLV-39")
    if mail.state in receipts.CLOSED:
        return Refusal("message.closed", "DLV-47", {"state": mail.state})
    return Refusal(answer, spec_id)


def _refused(mail: Mail, answer: str, spec_id: str, now: Controls | None) -> Refusal:
    if mail.state != "held":
        return _not_held(mail, answer, spec_id)
    if answer == "review.blocked" and now is not None:
        return Refusal(answer, "DLV-29", {"by": word(f"review.by_{now.blocked_by}").text})
    return Refusal(answer, "DLV-28" if mail.review_state == "open" else spec_id)


def _decidable(tx: Tx, relay: Relay, message_id: str, session: str) -> Mail | Refusal:
    """The delivery that is meant, for a decision. Without the switch what is held can be read and stays as it is."""
    return _one(tx, message_id, session) if relay.messaging.channels else Refusal("channels.off", "SET-1")


def _one(tx: Tx, message_id: str, session: str) -> Mail | Refusal:
    """The delivery that is meant: the message's only held one, or the one at a session that is named."""
    found = messages.by_mid(tx, message_id)
    if found is None:
        return Refusal("list.message_unknown", "75")
    mails = messages.of_message(tx, found.message_id)
    if session:
        row = one_session(tx, session)
        if isinstance(row, Refusal):
            return row
        mails = [mail for mail in mails if mail.recipient_id == row.id]
    waiting = [mail for mail in mails if mail.state == "held"]
    if len(waiting) > 1:
        named = ", ".join(f"S-{mail.recipient_id} {name_literal(mail.recipient_title)}" for mail in waiting)
        return Refusal("review.several", "REV-1", {"sessions": named})
    chosen = waiting or mails
    return chosen[0] if chosen else Refusal("list.message_unknown", "75")


def _shown(tx: Tx, relay: Relay, mail: Mail) -> dict[str, Any]:
    """What the owner decides on (OWN-3): literal body, sender, audience, folder, mode, reason, cost."""
    row = sessions.get(tx, mail.recipient_id)
    now = controls.of(relay, row) if row is not None else None
    fits = row is not None and mail.review_state == "open" and mail.review_epoch == row.epoch
    said = listed(tx, relay, mail) | {
        "body": literal(mail.body),
        # Uncut: the end of a path tells which folder it is.
        "folder": literal(mail.sender_folder)[1:-1],
        "mode": name_line(mail.sender_mode),
        "review": mail.review_state,
        "blocked_by": now.blocked_by if now is not None else "",
        "policy": now.policy if now is not None else "",
    }
    if fits and mail.state == "held":
        said["token"] = mail.review_token
    optional = {"task": mail.task_key, "in_reply_to": mail.parent_mid}
    said |= {name: value for name, value in optional.items() if value}
    return said | {"text": word("review.cost").text}
