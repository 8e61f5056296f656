"""Admission: whether one message is let in at one recipient, and in which state it is recorded there (page 50, ADM).

Choosing, admitting and recording are one transaction, so that no delivery is ever pending. Everything is recorded, also
what is not let in: its reason says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from relaybay.domain import Verdict
from relaybay.machines.base import step
from relaybay.machines.delivery import Delivery
from relaybay.rules import admission, rates
from relaybay.service import automations, controls, steps
from relaybay.service.controls import Controls, Sent
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import admissions, messages
from relaybay.store.admissions import Author
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

_SECOND = 1_000_000
_REASONS = {
    "refused_policy": "policy",
    "refused_duplicate": "duplicate",
    "limited_recipient": "recipient",
    "limited_sender": "sender",
    "limited_inbox_full": "inbox_full",
}


def text_hash(body: str) -> str:
    """What two equal texts have in common (ADM-3). The body is normalised already."""
    return sha256(body.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Arriving:
    """A message on its way to one recipient: who counts as its sender, what POLICY needs, and its text."""

    message_id: int
    author: Author
    sent: Sent
    body: str
    body_hash: str


@dataclass(frozen=True, slots=True)
class Judged:
    """ADM's verdict and POLICY's."""

    adm: Verdict
    policy: Verdict

    @property
    def let_in(self) -> bool:
        """Whether ADM lets it in (ADM-8)."""
        return self.adm.outcome == "admitted"

    @property
    def deliver(self) -> bool:
        """Whether POLICY delivers it."""
        return self.policy.outcome == "deliver"


def judge(tx: Tx, relay: Relay, found: Controls, arriving: Arriving, *, catch_up: bool = False) -> Judged:
    """Table ADM for one message at the row whose controls these are. Changes nothing."""
    window = limit("rate_window_seconds")
    since, key = tx.now - window * _SECOND, found.row.id
    most = found.floor.lowered("messaging.inbound_per_minute", relay.messaging.inbound_per_minute)
    most_of_one = found.floor.lowered("messaging.sender_per_minute", relay.messaging.sender_per_minute)

    def full(times: list[int], count_max: int) -> bool:
        return rates.seconds_until_allowed(times, tx.now, count_max, window) > 0

    count, size = admissions.waiting(tx, key)
    verdict = controls.judge(found, arriving.sent, "new")
    adm = admission.judge(
        admission.AdmissionFacts(
            repeat=False,  # A repeat is answered before anybody is asked to let it in (SEND-16).
            catch_up=catch_up,
            refused_by_policy=verdict.refused,
            duplicate=full(admissions.same_text(tx, key, since, arriving.author, arriving.body_hash), 1),
            recipient_full=full(admissions.admitted(tx, key, since), most),
            sender_full=full(admissions.admitted(tx, key, since, arriving.author), most_of_one),
            inbox_full=count >= limit("inbox_deliveries_max"),
            bytes_full=size + len(arriving.body.encode()) > limit("inbox_bytes_max"),
        )
    )
    return Judged(adm, verdict)


def admit(tx: Tx, relay: Relay, row: SessionRow, arriving: Arriving, *, catch_up: bool = False) -> Mail:
    """Records the message at one recipient, let in or not (DLV-20 to 22). Its events go out; the Map's edge is the
    caller's.
    """
    row = controls.look(tx, relay, relay.presence.write_back(tx, row))
    found = controls.of(relay, row)
    judged = judge(tx, relay, found, arriving, catch_up=catch_up)
    facts = {
        "admitted": judged.let_in,
        "judged_deliver": judged.deliver,
        "rate_limited": judged.adm.outcome.startswith("limited"),
    }
    result = step(Delivery, "new", "admit", facts)
    reason = _REASONS.get(judged.adm.outcome, "" if judged.deliver else judged.policy.outcome)
    to: dict[str, Any] = {"recipient_id": row.id, "recipient_title": row.title, "recipient_name": row.name or ""}
    mail = messages.deliver(
        tx,
        arriving.message_id,
        **to,
        state=result.state,
        reason_code=reason,
        admitted_us=tx.now if judged.let_in and not catch_up else 0,
        passive=int(catch_up),
    )
    for effect in result.effects:
        if effect.startswith("event:"):
            type_ = effect.removeprefix("event:")
            tx.emit(type_, **steps.mail_data(type_, mail, mail))
    if not judged.let_in:
        tx.emit("message.refused", **steps.mail_data("message.refused", mail, mail))
        return mail
    return automations.received(tx, relay, mail, catch_up=catch_up)


def without_channels(tx: Tx, row: SessionRow, message_id: int) -> Mail:
    """Records a message at its recipient as the base does: everything is let in, and POLICY delivers."""
    facts = {"admitted": True, "judged_deliver": True, "rate_limited": False}
    state = step(Delivery, "new", "admit", facts).state
    to: dict[str, Any] = {"recipient_id": row.id, "recipient_title": row.title, "recipient_name": row.name or ""}
    return messages.deliver(tx, message_id, **to, state=state, admitted_us=tx.now)
