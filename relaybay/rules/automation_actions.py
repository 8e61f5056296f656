"""What a rule of the owner's does once it fires (page 50, table AUTO, § 9.3): which actions there are, what each needs.

A rule comes as the values of one table of `automations.toml`. The texts are sent as they stand: nothing in them is a
placeholder, and nothing of a message ever gets into an action, other than into the input of a command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from relaybay.domain import Refusal
from relaybay.rules import automation
from relaybay.rules.claim import valid_name
from relaybay.rules.script_text import BODY_BYTES_MAX, publication_body
from relaybay.rules.text import name_literal
from relaybay.rules.topics import is_topic

TIMEOUT_SECONDS = 60
TIMEOUT_SECONDS_MAX = 600
ARGUMENTS_MAX = 64
ARGUMENT_CHARS_MAX = 4_096

#: In the order in which they are carried out: what the command says decides whether the rest is sent.
ACTIONS = ("run", "reply", "send", "publish", "broadcast")
KEYS: Mapping[str, frozenset[str]] = {
    "run": frozenset({"command", "timeout_seconds"}),
    "reply": frozenset({"text"}),
    "send": frozenset({"to", "text"}),
    "publish": frozenset({"topic", "text"}),
    "broadcast": frozenset({"text"}),
}


@dataclass(frozen=True, slots=True)
class Run:
    """The owner's own command: program and arguments, without a shell, and how long it may take (seconds)."""

    command: tuple[str, ...]
    timeout_seconds: int = TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True)
class Sending:
    """A text for a target that the rule declares: `@name` or a ref for `send`, a topic for `publish`, else nothing."""

    text: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class Actions:
    """The actions of one rule; at least one of them is there."""

    run: Run | None = None
    reply: Sending | None = None
    send: Sending | None = None
    publish: Sending | None = None
    broadcast: Sending | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Those that are there, in the order in which they are carried out."""
        return tuple(name for name in ACTIONS if getattr(self, name) is not None)


def is_target(text: str) -> bool:
    """Whether it is `@name`, or a ref such as `S-12`."""
    if text.startswith("@"):
        return valid_name(text[1:])
    number = text.removeprefix("S-")
    return number != text and number.isascii() and number.isdigit() and not number.startswith("0")


def _command(value: Any) -> list[Refusal]:
    texts = isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)
    if not texts or len(value) > ARGUMENTS_MAX or any("\0" in one or len(one) > ARGUMENT_CHARS_MAX for one in value):
        values = {"count_max": ARGUMENTS_MAX, "chars_max": ARGUMENT_CHARS_MAX}
        return [Refusal("rule.command_invalid", "50", {"key": "run.command"} | values)]
    if not value[0].startswith("/"):
        # What a bare name means depends on the folder and the PATH that a server happens to be started with.
        return [Refusal("rule.command_not_absolute", "50", {"key": "run.command", "value": name_literal(value[0])})]
    return []


def _text(action: str, value: Any) -> list[Refusal]:
    if not isinstance(value, str):
        return [Refusal("automation.not_text", "50", {"key": f"{action}.text"})]
    return [] if isinstance(publication_body(value), str) else [
        Refusal("rule.text_invalid", "50", {"key": f"{action}.text", "bytes_max": BODY_BYTES_MAX})
    ]  # fmt: skip


def _target(action: str, key: str, value: Any, good: Callable[[str], bool]) -> list[Refusal]:
    if isinstance(value, str) and good(value):
        return []
    shown = name_literal(value) if isinstance(value, str) else name_literal(str(value))
    return [Refusal(f"rule.{action}_{key}_invalid", "50", {"key": f"{action}.{key}", "value": shown})]


def _one(action: str, table: Any) -> list[Refusal]:
    if not isinstance(table, dict):
        return [Refusal("rule.not_a_table", "50", {"key": action})]
    found = [
        Refusal("rule.key_unknown", "50", {"key": f"{action}.{key}", "known": ", ".join(sorted(KEYS[action]))})
        for key in table
        if key not in KEYS[action]
    ]
    if action == "run":
        found += _command(table.get("command"))
        most = table.get("timeout_seconds", TIMEOUT_SECONDS)
        if not isinstance(most, int) or isinstance(most, bool) or not 1 <= most <= TIMEOUT_SECONDS_MAX:
            values = {"key": "run.timeout_seconds", "low": 1, "high": TIMEOUT_SECONDS_MAX}
            found.append(Refusal("automation.number_invalid", "50", values))
        return found
    if action == "send":
        found += _target(action, "to", table.get("to"), is_target)
    if action == "publish":
        found += _target(action, "topic", table.get("topic"), is_topic)
    return found + _text(action, table.get("text"))


def check(rule: Mapping[str, Any]) -> list[Refusal]:
    """All that is wrong with a rule, its trigger and its actions; empty when both can be made of it."""
    known = automation.KEYS | set(ACTIONS)
    found = [
        Refusal("rule.key_unknown", "50", {"key": name_literal(key), "known": ", ".join(sorted(known))})
        for key in rule
        if key not in known
    ]
    found += automation.check(rule)
    if rule.get("on") == "work_finished":
        found.append(Refusal("rule.no_groups_yet", "50", {"key": "on"}))
    given = [action for action in ACTIONS if action in rule]
    if not given:
        found.append(Refusal("rule.no_action", "50", {"known": ", ".join(ACTIONS)}))
    for action in given:
        found += _one(action, rule[action])
    if "reply" in rule and rule.get("consume", False) is False:
        # Else the session and its rule would both answer.
        found.append(Refusal("rule.reply_needs_consume", "AUTO-14", {"key": "reply"}))
    return found


def actions(rule: Mapping[str, Any]) -> Actions:
    """The actions of a rule in which `check` finds nothing wrong."""
    run = rule.get("run")
    return Actions(
        run=None if run is None else Run(tuple(run["command"]), run.get("timeout_seconds", TIMEOUT_SECONDS)),
        reply=_sending(rule.get("reply")),
        send=_sending(rule.get("send"), "to"),
        publish=_sending(rule.get("publish"), "topic"),
        broadcast=_sending(rule.get("broadcast")),
    )


def _sending(table: Mapping[str, Any] | None, target: str = "") -> Sending | None:
    if table is None:
        return None
    text = publication_body(table["text"])
    assert isinstance(text, str)
    return Sending(text, table[target] if target else "")
