"""How a firing of a rule of the owner's ends, and what becomes of the message that it had taken (DLV-36 to 38).

At the server's start everything that was taken goes back: nobody knows how far its rule had come.
"""

from __future__ import annotations

from dataclasses import replace

from relaybay.service import automations, controls, steps
from relaybay.service.relay import Relay
from relaybay.store import automations as stored
from relaybay.store import messages, sessions
from relaybay.store.automations import Firing
from relaybay.store.transaction import Tx

_DAY = 24 * 3600 * 1_000_000


def at_start(tx: Tx, relay: Relay) -> None:
    """DLV-37 and 38 at the server's start: what a rule had taken goes back, and is judged by now. What had begun is
    not begun again. What only waited goes on waiting, if its rule still stands there as it did.
    """
    if not relay.messaging.channels:
        return  # What only channels know neither moves nor is dropped while they are off (page 50, the switch).
    for firing in stored.unfinished(tx):
        gone = _gone(relay, firing)
        if firing.consumed:
            end(tx, relay, firing, "given_back", gone or "server_start")
        elif firing.state == "running":
            end(tx, relay, firing, "failed", "server_start")
        elif gone:
            end(tx, relay, firing, "dropped", gone)
    for key in stored.taken(tx):
        give_back(tx, relay, key)
    forget_old(tx, relay)


def _gone(relay: Relay, firing: Firing) -> str:
    """Why a firing's rule does not stand any more; nothing when it does."""
    if relay.automations.problems:
        return "file_unusable"
    if relay.automations.rule(firing.rule) is None:
        return "rule_gone"
    return "" if relay.automations.rule(firing.rule, firing.rule_digest) else "rule_changed"


def forget_old(tx: Tx, relay: Relay) -> int:
    """The log of firings is kept as long as the history (HIST-1)."""
    return stored.forget(tx, tx.now - relay.messaging.history_days * _DAY)


def give_back(tx: Tx, relay: Relay, delivery_id: int | None) -> bool:
    """DLV-37 and 38: what was taken waits again, judged on the controls of now. Whether there was anything to give."""
    mail = messages.by_key(tx, delivery_id) if delivery_id is not None else None
    if mail is None or mail.state != "taken":
        return False
    row = sessions.get(tx, mail.recipient_id)
    if row is not None:
        row = controls.look(tx, relay, relay.presence.write_back(tx, row))
    deliver, reason = controls.judged(relay, mail, row)
    steps.delivery(tx, mail, "give_back", {"judged_deliver": deliver}, reason=reason)
    return True


def end(tx: Tx, relay: Relay, firing: Firing, state: str, reason: str = "", detail: str = "", sent: int = 0) -> None:
    """Ends a firing. What it had taken is kept for good when it is done (DLV-36), else given back."""
    ended = {"state": state, "reason_code": reason, "detail": detail, "sent": sent, "ended_us": tx.now}
    stored.change(tx, firing.id, **ended)
    if firing.consumed and state == "done":
        mail = messages.by_key(tx, firing.delivery_id) if firing.delivery_id is not None else None
        if mail is not None:
            steps.delivery(tx, mail, "keep", reason="consumed")
    elif firing.consumed:
        give_back(tx, relay, firing.delivery_id)
    automations.tell(tx, replace(firing, state=state, reason_code=reason))
