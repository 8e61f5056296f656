"""Which of the owner's rules a message sets off, in the transaction that lets it in (page 50, table AUTO, § 9.1–9.2).

A matching rule gets one firing a message and admission; what it does then is `automation_runs.py`. The first rule with
`consume` takes the delivery at once, so that no hook can hand it over in between. What was taken comes back when the
rule does not get through with it (`automation_ends.py`), and is never taken again.
"""

from __future__ import annotations

from typing import Literal

from relaybay.rules import automation
from relaybay.rules.automation import Received
from relaybay.rules.text import name_line
from relaybay.service import steps
from relaybay.service.automation_rules import Rule
from relaybay.service.relay import Relay
from relaybay.store import automations as stored
from relaybay.store import sessions
from relaybay.store.automations import Firing
from relaybay.store.messages import Mail
from relaybay.store.transaction import Tx

_HOUR = 3600 * 1_000_000

#: States a firing ends in, and the event that says so.
_EVENTS = {
    "done": "automation.done",
    "failed": "automation.failed",
    "given_back": "automation.given_back",
    "dropped": "automation.dropped",
}


def received(tx: Tx, relay: Relay, mail: Mail, *, catch_up: bool = False) -> Mail:
    """The message was let in at its recipient just now, as `sent` or `held`, or was released: the rules that it sets
    off are queued, and the first that consumes has it. The delivery as it then is.
    """
    if mail.state not in ("sent", "held") or not relay.automations.rules:
        return mail
    about = _received(tx, mail, catch_up)
    fires = [one for one in relay.automations.rules if _fires(one, about)]
    fires = [one for one in fires if not stored.known(tx, one.name, mail.id, mail.state)]
    admission = mail.state
    takes = (one.name for one in fires if one.trigger.consume and _can_serve(one, mail))
    taker = automation.first_to_consume(takes) if admission == "sent" else ""
    for rule in fires:
        mail = _queue(tx, rule, mail, admission, taker, catch_up=catch_up)
    return mail


def _received(tx: Tx, mail: Mail, catch_up: bool) -> Received:
    row = sessions.get(tx, mail.recipient_id)
    kind: Literal["script", "session", "unverified"] = (
        "script" if mail.by_script else "session" if mail.sender_verified else "unverified"
    )
    return Received(
        message_id=mail.mid,
        recipient=(row.name or "") if row is not None else "",
        audience=mail.audience,  # type: ignore[arg-type]
        sender_kind=kind,
        admission=mail.state,  # type: ignore[arg-type]
        topic=mail.topic,
        sender=mail.sender_name,
        automation=mail.automation,
        label=mail.sender_title if mail.by_script else "",
        title=mail.sender_title,
        cwd=mail.sender_folder,
        text=mail.body,
        reply_to=mail.parent_mid,
        catch_up=catch_up,
    )


def _fires(rule: Rule, about: Received) -> bool:
    return automation.judge(automation.match_facts(rule.trigger, about)).outcome == "fires"


def _can_serve(rule: Rule, mail: Mail) -> bool:
    """AUTO-14: whom nobody can answer, no rule answers; the message then goes to its session as ever."""
    return rule.actions.reply is None or mail.sender_id is not None


def _queue(tx: Tx, rule: Rule, mail: Mail, admission: str, taker: str, *, catch_up: bool) -> Mail:
    title = mail.recipient_title
    firing = {
        "rule": rule.name,
        "rule_digest": rule.digest,
        "delivery_id": mail.id,
        "mid": mail.mid,
        "session_id": mail.recipient_id,
        "session_title": title,
        "admission": admission,
        "catch_up": int(catch_up),
        "consume": int(rule.trigger.consume),
    }
    no = _not_queued(tx, rule, mail, taker)
    if no:
        kept = stored.queue(tx, **firing, state="dropped", reason_code=no, ended_us=tx.now)
        tell(tx, kept)
        return mail
    consumed = False
    if rule.name == taker:
        facts = {"rule_matches": True, "taken_before": bool(mail.taken_by)}
        result, mail = steps.delivery(tx, mail, "take", facts, taken_by=rule.name)
        consumed = result.kind == "move"
    kept = stored.queue(tx, **firing, state="waiting", consumed=int(consumed))
    tx.emit("automation.queued", **about_of(kept))
    return mail


def _not_queued(tx: Tx, rule: Rule, mail: Mail, taker: str) -> str:
    """Why a rule that matches does nothing all the same; nothing when it is queued."""
    if not _can_serve(rule, mail):
        return "no_reply_target"
    if rule.actions.reply is not None and (rule.name != taker or mail.taken_by):
        return "not_consumed"
    return "queue_full" if stored.waiting_count(tx, rule.name) >= automation.QUEUED_MAX else ""


def tell(tx: Tx, firing: Firing) -> None:
    """The event of a firing that ended."""
    tx.emit(_EVENTS[firing.state], **about_of(firing))


def about_of(firing: Firing) -> dict[str, object]:
    """What an event says of a firing: names, ids and reasons, never a text."""
    said: dict[str, object] = {
        "automation": firing.rule,
        "message_id": firing.mid,
        "title": name_line(firing.session_title),
        "consumed": bool(firing.consumed),
    }
    if firing.session_id is not None:
        said["session"] = f"S-{firing.session_id}"
    return said | ({"reason": firing.reason_code} if firing.reason_code else {})


def seconds_until_turn(tx: Tx, session_id: int) -> int:
    """Whole seconds until automations may start one more turn of a session, 0 when they may now. Each message of
    theirs that was let in there counts, whether it woke the session or was handed over in a turn that went on.
    """
    return automation.seconds_until_turn(stored.turns(tx, session_id, tx.now - _HOUR), tx.now)
