"""Carrying out what the owner's rules do (page 50, table AUTO, common limits): which firing begins, what its command is
told, what is sent once that has ended well.

One firing of a rule runs at a time, in the order of their queue. The command itself is `api/automation_runner.py`'s,
off the writer's thread; everything else is one transaction.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from relaybay.rules import automation
from relaybay.rules.automation_actions import Actions, Run
from relaybay.service import automation_ends, automation_sends, automations, receipts, reviews
from relaybay.service.automation_rules import Rule
from relaybay.service.automation_sends import Failed
from relaybay.service.clock import rfc3339
from relaybay.service.origin import Origin
from relaybay.service.relay import Relay
from relaybay.store import automations as stored
from relaybay.store import messages, sessions
from relaybay.store.automations import Firing
from relaybay.store.messages import Mail
from relaybay.store.transaction import Tx

_SECOND = 1_000_000
_HOUR_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Begun:
    """A firing that runs now: its key, its rule, the command if there is one and the JSON that it gets on stdin."""

    id: int
    rule: str
    run: Run | None
    message: bytes


@dataclass(frozen=True, slots=True)
class Ready:
    """What begins now, and in how many seconds the next firing may, if nothing happens before; None: nothing waits."""

    begun: tuple[Begun, ...]
    seconds: int | None


def begin(tx: Tx, relay: Relay, most: int) -> Ready:
    """Takes up to `most` firings out of their queues, each rule's oldest and one a rule, as their limits allow."""
    open_ = stored.unfinished(tx)
    busy = {firing.rule for firing in open_ if firing.state == "running"}
    begun: list[Begun] = []
    later: list[int] = []
    for firing in open_:
        rule = relay.automations.rule(firing.rule, firing.rule_digest)
        if firing.state == "running" or firing.rule in busy or rule is None or len(begun) >= most:
            continue
        mail = _still(tx, relay, firing)
        if mail is None:
            continue
        seconds = _seconds(tx, rule)
        # Whoever comes first in a rule's queue is first to go: none overtakes it.
        busy.add(firing.rule)
        if seconds:
            later.append(seconds)
            continue
        stored.change(tx, firing.id, state="running", started_us=tx.now)
        tx.emit("automation.fired", **automations.about_of(firing))
        begun.append(Begun(firing.id, rule.name, rule.actions.run, _message(tx, rule, firing, mail)))
    return Ready(tuple(begun), min(later, default=None))


def _seconds(tx: Tx, rule: Rule) -> int:
    """In how many seconds the rule may fire: its hourly number, then its cool-down."""
    since = tx.now - max(_HOUR_SECONDS, rule.cool_down_seconds) * _SECOND
    times = stored.started(tx, rule.name, since)
    return automation.seconds_until_firing(times, tx.now, rule.firings_per_hour, rule.cool_down_seconds)


def _still(tx: Tx, relay: Relay, firing: Firing) -> Mail | None:
    """The delivery that a firing is about. Whatever happened to it meanwhile ends the firing: it has lost its message,
    or what it had taken was given back by the end of the session, or read as the session's own.
    """
    mail = messages.by_key(tx, firing.delivery_id) if firing.delivery_id is not None else None
    if mail is None or mail.recipient_id is None:
        automation_ends.end(tx, relay, firing, "dropped", "message_gone")
        return None
    if firing.consumed and mail.state != "taken":
        automation_ends.end(tx, relay, firing, "given_back", "taken_from_it")
        return None
    return mail


def _message(tx: Tx, rule: Rule, firing: Firing, mail: Mail) -> bytes:
    """What a command reads: one line of JSON in ASCII, so that no text can end it or hide in it."""
    row = sessions.get(tx, mail.recipient_id)
    sender: dict[str, Any] = reviews.sender(mail) | {"folder": mail.sender_folder}
    sender["kind"] = "script" if mail.by_script else "session" if mail.sender_verified else "unverified"
    # Lists show names on one line; a program gets them as they are.
    sender["title"] = mail.sender_title
    said: dict[str, Any] = {
        "v": 1,
        "on": "message_received",
        "automation": rule.name,
        "message_id": mail.mid,
        "audience": receipts.audience(mail),
        "from": sender,
        "to": {
            "ref": f"S-{mail.recipient_id}",
            "title": mail.recipient_title,
            "name": mail.recipient_name,
            "cwd": row.cwd if row is not None else "",
        },
        "text": mail.body,
        "admission": firing.admission,
        "catch_up": bool(firing.catch_up),
        "consumed": bool(firing.consumed),
        "sent_at": rfc3339(mail.sent_us),
    }
    optional = {"task": mail.task_key, "in_reply_to": mail.parent_mid}
    said |= {name: value for name, value in optional.items() if value}
    return json.dumps(said, ensure_ascii=True).encode("ascii") + b"\n"


def finish(tx: Tx, relay: Relay, key: int, failed: Failed | None = None) -> None:
    """The command has ended, or there was none: what is to be sent is sent, and the firing is over. `failed` says why
    the command did not get through.
    """
    firing = stored.get(tx, key)
    if firing is None or firing.state != "running":
        return
    if failed is not None:
        automation_ends.end(tx, relay, firing, "failed", failed.reason, failed.detail)
        return
    mail = _still(tx, relay, firing)
    rule = relay.automations.rule(firing.rule, firing.rule_digest)
    if mail is None or rule is None:
        if mail is not None:
            automation_ends.end(tx, relay, firing, "given_back" if firing.consumed else "dropped", "rule_gone")
        return
    row = sessions.get(tx, mail.recipient_id)
    assert row is not None
    by = automation_sends.source(tx, relay, row, rule.name)
    sent, wrong = _send(tx, relay, by, rule.actions, mail)
    if wrong is not None:
        automation_ends.end(tx, relay, firing, "failed", wrong.reason, wrong.detail, sent)
        return
    automation_ends.end(tx, relay, firing, "done", sent=sent)


def _send(tx: Tx, relay: Relay, by: Origin, actions: Actions, mail: Mail) -> tuple[int, Failed | None]:
    """How many of a rule's texts were sent, and why the next was not: the first that fails is the last."""
    sent = 0
    for name in actions.names:
        what = getattr(actions, name)
        match name:
            case "reply":
                wrong = automation_sends.answer(tx, relay, by, what, mail)
            case "send":
                wrong = automation_sends.send(tx, relay, by, what)
            case "publish":
                wrong = automation_sends.publish(tx, relay, by, what, "topic")
            case "broadcast":
                wrong = automation_sends.publish(tx, relay, by, what, "broadcast")
            case _:
                continue
        if wrong is not None:
            return sent, wrong
        sent += 1
    return sent, None
