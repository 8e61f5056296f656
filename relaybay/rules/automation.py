"""The owner's rules that answer messages (page 50, table AUTO): when one fires, which one may take a message.

A rule comes as the values of one table of `automations.toml`; reading the file and carrying out actions is not done
here. Lists that a rule leaves out ask for nothing in particular.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from relaybay.domain import Refusal, Verdict
from relaybay.rules.claim import valid_name
from relaybay.rules.policy import SenderKind
from relaybay.rules.rates import seconds_until_allowed
from relaybay.rules.script_text import check_label
from relaybay.rules.text import name_literal
from relaybay.rules.topics import is_pattern, matches

LIST_MAX = 16
NAME_CHARS_MAX = 64
FIRINGS_PER_HOUR = 12
FIRINGS_PER_HOUR_MAX = 600
COOL_DOWN_SECONDS_MAX = 24 * 3600
QUEUED_MAX = 16
TURNS_PER_HOUR_MAX = 20
_HOUR_SECONDS = 3600

Kind = Literal["message_received", "work_finished"]
Audience = Literal["direct", "topic", "broadcast"]
Admission = Literal["sent", "held"]

AUDIENCES = ("direct", "topic", "broadcast")
ADMISSIONS = ("sent", "held")
FINISHED = ("completed", "failed", "cancelled")
STATES = (*FINISHED, "paused")
KINDS = ("message_received", "work_finished")

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Trigger:
    """When a rule fires. `session` and `senders` are `@name`, `@prefix-*` or `*`; an empty tuple asks for nothing."""

    kind: Kind
    session: str
    audiences: tuple[str, ...] = AUDIENCES
    topics: tuple[str, ...] = ()
    senders: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    admissions: tuple[str, ...] = ("sent",)
    from_automations: bool = False
    consume: bool = False
    states: tuple[str, ...] = FINISHED


@dataclass(frozen=True, slots=True)
class Received:
    """One message as a rule is told of it, once for each admission: held, then sent, makes two.

    `recipient` and `sender` are messaging names without `@`, empty where there is none; `automation` is the name of
    the sender's rule that wrote it, `label` that of a script. `consumed` is for the others: a rule has taken it.
    """

    message_id: str
    recipient: str
    audience: Audience
    sender_kind: SenderKind
    admission: Admission
    topic: str = ""
    sender: str = ""
    automation: str = ""
    label: str = ""
    title: str = ""
    cwd: str = ""
    text: str = ""
    reply_to: str = ""
    catch_up: bool = False
    consumed: bool = False


@dataclass(frozen=True, slots=True)
class MatchFacts:
    """One rule and one event.

    `event`: whether the rule's trigger is this kind of event at all. `topic` is `other` when the rule names topics and
    a topic message has none of them. `sender` is `other` when the rule asks for senders or scripts and finds neither.
    """

    event: bool
    session: bool
    by_automation: bool
    from_automations: bool
    audience: bool
    topic: Literal["fine", "other"]
    sender: Literal["not_asked", "session", "script", "other"]
    admission: bool


def named(pattern: str, name: str) -> bool:
    """Whether `@name`, `@prefix-*` or `*` names a session, whose name comes without `@` and may be empty (AUTO-3)."""
    if pattern == "*":
        return True
    wanted = pattern.removeprefix("@")
    if wanted.endswith("*"):
        # The prefix ends in a hyphen; a name that is no longer than it is not one with that prefix.
        return name.startswith(wanted[:-1]) and len(name) >= len(wanted)
    return name != "" and name == wanted


def is_session_pattern(text: str) -> bool:
    """Whether it has one of the three forms. The part before `*` is a name's beginning and ends in a hyphen."""
    if text == "*":
        return True
    if not text.startswith("@"):
        return False
    name = text[1:]
    return valid_name(name[:-1]) and name.endswith("-*") if name.endswith("*") else valid_name(name)


def _sender(trigger: Trigger, received: Received) -> Literal["not_asked", "session", "script", "other"]:
    """An unverified sender has no name that anybody vouches for and no label either, so it meets no list (CH-7)."""
    if not trigger.senders and not trigger.scripts:
        return "not_asked"
    if received.sender_kind == "session" and any(named(p, received.sender) for p in trigger.senders):
        return "session"
    if received.sender_kind == "script" and received.label in trigger.scripts:
        return "script"
    return "other"


def match_facts(trigger: Trigger, received: Received) -> MatchFacts:
    """What table `automation_match` asks of a rule and a message. Topics are asked of topic messages only (AUTO-2)."""
    asked = received.audience == "topic" and bool(trigger.topics)
    fine = not asked or any(matches(pattern, received.topic) for pattern in trigger.topics)
    return MatchFacts(
        event=trigger.kind == "message_received",
        session=named(trigger.session, received.recipient),
        by_automation=received.automation != "",
        from_automations=trigger.from_automations,
        audience=received.audience in trigger.audiences,
        topic="fine" if fine else "other",
        sender=_sender(trigger, received),
        admission=received.admission in trigger.admissions,
    )


def judge(facts: MatchFacts) -> Verdict:
    """`fires` or `passes`; the first thing that does not fit passes."""
    if not facts.event or not facts.session:
        return Verdict("50", "passes")
    if facts.by_automation and not facts.from_automations:
        return Verdict("AUTO-6", "passes")
    if not facts.audience:
        return Verdict("AUTO-1", "passes")
    if facts.topic == "other":
        return Verdict("AUTO-2", "passes")
    if facts.sender == "other":
        return Verdict("AUTO-4", "passes")
    if not facts.admission:
        return Verdict("AUTO-5", "passes")
    return Verdict("AUTO-4" if facts.sender == "script" else "AUTO-3", "fires")


def first_to_consume(names_matching: Iterable[str]) -> str:
    """Of the consuming rules that match, by name, the one that gets the message; empty when there is none (AUTO-8)."""
    return min(names_matching, default="")


def seconds_until_firing(firings: Iterable[int], now: int, per_hour: int, cool_down_seconds: int) -> int:
    """Whole seconds until a rule may fire again, 0 when it may now. `firings` are times in microseconds, any order."""
    times = list(firings)
    hourly = seconds_until_allowed(times, now, per_hour, _HOUR_SECONDS)
    if not cool_down_seconds:
        return hourly
    return max(hourly, seconds_until_allowed(times, now, 1, cool_down_seconds))


def seconds_until_turn(turns: Iterable[int], now: int) -> int:
    """Whole seconds until automations may start one more turn of a session, 0 when they may now."""
    return seconds_until_allowed(turns, now, TURNS_PER_HOUR_MAX, _HOUR_SECONDS)


# --- what the owner wrote ---


def valid_rule_name(text: str) -> bool:
    """Lower-case words joined by single hyphens, 64 characters at most (NAME-5)."""
    return len(text) <= NAME_CHARS_MAX and _NAME.fullmatch(text) is not None


_LISTS: Mapping[str, tuple[Callable[[str], bool], str, Kind]] = {
    "audiences": (AUDIENCES.__contains__, "AUTO-1", "message_received"),
    "topics": (is_pattern, "AUTO-2", "message_received"),
    "senders": (is_session_pattern, "AUTO-3", "message_received"),
    "scripts": (lambda label: check_label(label) is None, "AUTO-4", "message_received"),
    "admissions": (ADMISSIONS.__contains__, "AUTO-5", "message_received"),
    "states": (STATES.__contains__, "50", "work_finished"),
}
_FLAGS: Mapping[str, str] = {"from_automations": "AUTO-6", "consume": "AUTO-7"}
_NUMBERS: Mapping[str, tuple[int, int]] = {
    "firings_per_hour": (1, FIRINGS_PER_HOUR_MAX),
    "cool_down_seconds": (0, COOL_DOWN_SECONDS_MAX),
}
KEYS = frozenset({"name", "session", "on", *_LISTS, *_FLAGS, *_NUMBERS})
"""The keys that `check` and `trigger` look at; actions are other keys, and their reader's."""


def _text_faults(rule: Mapping[str, Any]) -> list[Refusal]:
    checks: dict[str, tuple[Callable[[str], bool], str]] = {
        "name": (valid_rule_name, "NAME-5"),
        "session": (is_session_pattern, "50"),
        "on": (KINDS.__contains__, "50"),
    }
    found = []
    for key, (good, spec_id) in checks.items():
        value = rule.get(key)
        if value is None:
            found.append(Refusal("automation.key_missing", spec_id, {"key": key}))
        elif not isinstance(value, str):
            found.append(Refusal("automation.not_text", spec_id, {"key": key}))
        elif not good(value):
            found.append(Refusal(f"automation.{key}_invalid", spec_id, {"value": name_literal(value)}))
    return found


def _list_faults(key: str, value: Any) -> list[Refusal]:
    good, spec_id, _ = _LISTS[key]
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        return [Refusal("automation.not_a_list", spec_id, {"key": key})]
    if len(value) > LIST_MAX:
        values = {"key": key, "count": len(value), "count_max": LIST_MAX}
        return [Refusal("automation.list_too_long", spec_id, values)]
    found = [
        Refusal(f"automation.{key}_invalid", spec_id, {"value": name_literal(one)}) for one in value if not good(one)
    ]
    repeated = [one for at, one in enumerate(value) if one in value[:at]]
    if repeated:
        found.append(Refusal("automation.list_repeats", spec_id, {"key": key, "value": name_literal(repeated[0])}))
    return found


def _number_faults(rule: Mapping[str, Any]) -> list[Refusal]:
    found = []
    for key, (low, high) in _NUMBERS.items():
        value = rule.get(key, low)
        # True is a whole number to Python, and nobody means it as one.
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            found.append(Refusal("automation.number_invalid", "50", {"key": key, "low": low, "high": high}))
    return found


def check(rule: Mapping[str, Any]) -> list[Refusal]:
    """All that is wrong with one rule's `KEYS`, in a fixed order; empty when `trigger` can be made of it."""
    found = _text_faults(rule)
    kind = rule.get("on")
    for key, (_, spec_id, of_kind) in _LISTS.items():
        if key in rule:
            found += _list_faults(key, rule[key])
            if kind in KINDS and kind != of_kind:
                found.append(Refusal("automation.of_other_trigger", spec_id, {"key": key, "on": of_kind}))
    for key, spec_id in _FLAGS.items():
        if not isinstance(rule.get(key, False), bool):
            found.append(Refusal("automation.not_yes_or_no", spec_id, {"key": key}))
        elif rule.get(key) and kind == "work_finished":
            found.append(Refusal("automation.of_other_trigger", spec_id, {"key": key, "on": "message_received"}))
    if rule.get("consume") is True and rule.get("admissions", ["sent"]) != ["sent"]:
        # What is held waits for the owner; a rule that took it would be the way past the review.
        found.append(Refusal("automation.consume_held", "AUTO-7"))
    return found + _number_faults(rule)


def trigger(rule: Mapping[str, Any]) -> Trigger:
    """The trigger of a rule in which `check` finds nothing wrong."""
    lists = {key: tuple(rule[key]) for key in _LISTS if key in rule}
    return Trigger(
        kind=rule["on"],
        session=rule["session"],
        from_automations=rule.get("from_automations", False),
        consume=rule.get("consume", False),
        **lists,
    )
