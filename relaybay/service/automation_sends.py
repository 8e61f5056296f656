"""What a rule of the owner's sends for the session it is about (page 50, AUTO-14 to 17): judged as the session's own,
counted in its windows, marked with the rule's name.

Each function gives why the sending failed, or nothing. What was recorded stays recorded either way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from relaybay.domain import Refusal
from relaybay.rules import rates, reply
from relaybay.rules.automation_actions import Sending
from relaybay.rules.topics import Audience
from relaybay.service import automations, naming, origin, publishing, receipts, repeats, scripts
from relaybay.service.origin import Origin
from relaybay.service.publishing import Publication
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import messages, sessions
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Failed:
    """Why an action failed: a reason code, and what goes with it."""

    reason: str
    detail: str = ""


def source(tx: Tx, relay: Relay, row: SessionRow, rule: str) -> Origin:
    """The session as the sender. The server itself acts for it, so its name is vouched for where its link is known."""
    row = relay.presence.write_back(tx, row)
    known = row.link_state in ("exact", "ended_exact")
    return origin.of_session(relay, row, verified=known, hook_id=row.hook_id or "", automation=rule)


def answer(tx: Tx, relay: Relay, by: Origin, what: Sending, mail: Mail) -> Failed | None:
    """AUTO-14: to the session that sent the message which the rule has taken."""
    reader = sessions.get(tx, mail.sender_id)
    if reader is None or mail.by_script:
        return Failed("no_reply_target")
    return _direct(tx, relay, by, what.text, reader, mail)


def send(tx: Tx, relay: Relay, by: Origin, what: Sending) -> Failed | None:
    """AUTO-15: to the session that the rule declares, looked up now, among live rows only."""
    found = naming.resolve(tx, what.target)
    if len(found) != 1:
        return Failed("recipient_unknown", what.target)
    return _direct(tx, relay, by, what.text, found[0], None)


def _direct(tx: Tx, relay: Relay, by: Origin, text: str, reader: SessionRow, parent: Mail | None) -> Failed | None:
    assert by.row is not None
    if reader.id == by.row.id:
        return Failed("to_self")
    window = limit("rate_window_seconds")
    times = messages.sent_since(tx, by.row.id, tx.now - window * _SECOND)
    many = rates.seconds_until_allowed(times, tx.now, limit("sends_per_window_max"), window) > 0
    deep = parent is not None and parent.depth + 1 > limit("reply_depth_max")
    verdict = reply.judge_loop(reply.LoopFacts(deep, many))
    if verdict.refused:
        return Failed("reply_too_deep" if verdict.spec_id == "SEND-13" else "rate_limited", verdict.spec_id)
    if automations.seconds_until_turn(tx, reader.id):
        return Failed("too_many_turns", reader.ref)
    content = repeats.digest(body=text, to=reader.ref, automation=by.automation)
    mail = scripts.send_direct(tx, relay, by, reader, text, content=content, parent=parent)
    return Failed(mail.state, mail.reason_code) if mail.state in receipts.CLOSED else None


def publish(tx: Tx, relay: Relay, by: Origin, what: Sending, audience: Audience) -> Failed | None:
    """AUTO-16 and 17: to the topic that the rule declares, or to all that take broadcasts. That nobody received it is
    no failure (PUB).
    """
    assert by.row is not None
    refusal: Refusal | None = publishing.rate(tx, relay, (by.row.id,), by.row.cwd)
    if refusal is not None:
        return Failed("rate_limited", refusal.spec_id)
    publication: Any = Publication(audience, what.target, what.text, "")
    publishing.send_out(tx, relay, by, publication)
    return None
