"""What the owner is shown of the rules and of what they did (page 50, Automations): never a message's text."""

from __future__ import annotations

from typing import Any

from relaybay.answers import word
from relaybay.domain import Outcome, Refusal
from relaybay.rules.text import name_line, name_literal
from relaybay.service.arguments import LIST_DEFAULT, NEWEST, check_limit, invalid
from relaybay.service.automation_rules import Rule
from relaybay.service.clock import rfc3339
from relaybay.service.relay import Relay
from relaybay.store import automations as stored
from relaybay.store.automations import Firing
from relaybay.store.transaction import Tx

_STATES = ("waiting", "running", "done", "failed", "given_back", "dropped")


def listed(tx: Tx, relay: Relay) -> Outcome:
    """The rules that the server goes by, with how many firings each has in each state, or what is wrong in the file."""
    if not relay.messaging.channels:
        return Outcome(refusal=Refusal("channels.off", "SET-1"))
    book, counts = relay.automations, stored.counts(tx)
    rules = [_rule(rule, counts.get(rule.name, {})) for rule in book.rules]
    if book.problems:
        text = word("automations.unusable", file=book.file).text
    else:
        text = word("automations.listed" if rules else "automations.none", count=len(rules), file=book.file).text
    problems = [name_line(problem) for problem in book.problems]
    return Outcome({"file": book.file, "automations": rules, "problems": problems, "text": text})


def _rule(rule: Rule, counts: dict[str, int]) -> dict[str, Any]:
    return {
        "name": rule.name,
        "session": rule.trigger.session,
        "on": rule.trigger.kind,
        "actions": list(rule.actions.names),
        "consume": rule.trigger.consume,
        "firings_per_hour": rule.firings_per_hour,
        "cool_down_seconds": rule.cool_down_seconds,
        "line": rule.line,
        "firings": {state: counts[state] for state in _STATES if state in counts},
    }


def log(tx: Tx, relay: Relay, *, rule: str = "", limit: int = LIST_DEFAULT, before: str = "") -> Outcome:
    """What set off the rules, newest first, and how each ended."""
    if not relay.messaging.channels:
        return Outcome(refusal=Refusal("channels.off", "SET-1"))
    refusal = check_limit(limit)
    if refusal is not None:
        return Outcome(refusal=refusal)
    if before and not (before.isascii() and before.isdigit()):
        return Outcome(refusal=invalid("before", "why.firing"))
    number = min(int(before), NEWEST) if before else NEWEST
    found = stored.log(tx, rule=rule, before=number, most=limit + 1)
    if rule and not found and not before and relay.automations.rule(rule) is None:
        return Outcome(refusal=Refusal("automations.rule_unknown", "50", {"rule": name_literal(rule)}))
    shown = [_firing(one) for one in found[:limit]]
    more = {"before": str(found[limit - 1].id)} if len(found) > limit else {}
    return Outcome({"firings": shown, **more, "text": word("automations.log", count=len(shown)).text})


def _firing(firing: Firing) -> dict[str, Any]:
    said: dict[str, Any] = {
        "id": str(firing.id),
        "automation": firing.rule,
        "message_id": firing.mid,
        "session": {"title": name_line(firing.session_title)},
        "admission": firing.admission,
        "catch_up": bool(firing.catch_up),
        "consumed": bool(firing.consumed),
        "state": firing.state,
        "sent": firing.sent,
        "queued_at": rfc3339(firing.queued_us),
    }
    if firing.session_id is not None:
        said["session"]["ref"] = f"S-{firing.session_id}"
    times = {"started_at": firing.started_us, "ended_at": firing.ended_us}
    said |= {name: rfc3339(value) for name, value in times.items() if value}
    if firing.reason_code:
        reason = word(f"firing.{firing.reason_code}", detail=name_line(firing.detail)).text
        said |= {"reason_code": firing.reason_code, "reason": reason}
    return said
