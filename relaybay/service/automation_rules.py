"""The owner's rules as the server goes by them: read once at its start, all of them or none (page 50, Automations)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from relaybay.answers import word_refusal
from relaybay.domain import Refusal
from relaybay.errors import SettingsError
from relaybay.rules import automation, automation_actions
from relaybay.rules.automation import Trigger
from relaybay.rules.automation_actions import Actions
from relaybay.settings.automations import WrittenRule, read


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `digest` is of all that is written in it: a rule that was changed is another one."""

    name: str
    trigger: Trigger
    actions: Actions
    firings_per_hour: int
    cool_down_seconds: int
    digest: str
    line: int


@dataclass(frozen=True, slots=True)
class Book:
    """The rules by name, or what is wrong in the file, each with file and line: then no rule fires at all."""

    file: str = ""
    rules: tuple[Rule, ...] = ()
    problems: tuple[str, ...] = ()

    def rule(self, name: str, digest: str = "") -> Rule | None:
        """A rule by its name; with a digest only if it is still the same."""
        return next((one for one in self.rules if one.name == name and digest in ("", one.digest)), None)


EMPTY = Book()


def read_book(path: Path) -> Book:
    """The rules of the file. Nothing is raised: what is wrong is part of what is told."""
    return book(path, lambda: read(path))


def book(path: Path, written: Callable[[], tuple[WrittenRule, ...]]) -> Book:
    """The same of what `written` gives, which may raise SettingsError."""
    try:
        found = written()
    except SettingsError as error:
        return Book(str(path), problems=(str(error),))
    problems: list[str] = []
    names: set[str] = set()
    for one in found:
        faults = automation_actions.check(one.values)
        name = one.values.get("name")
        if isinstance(name, str) and name in names:
            faults.append(Refusal("rule.name_repeats", "50", {"key": "name"}))
        if isinstance(name, str):
            names.add(name)
        problems += [f"{path}:{one.line_of(_key(fault))}: {word_refusal(fault).text}" for fault in faults]
    if problems:
        return Book(str(path), problems=tuple(problems))
    return Book(str(path), tuple(sorted((_rule(one) for one in found), key=lambda rule: rule.name)))


def _key(fault: Refusal) -> str:
    """The key that a fault speaks of, to find its line: said with it, or part of the answer's id."""
    key = str(fault.values.get("key", "")).strip('"')
    return key or fault.answer.partition(".")[2].removesuffix("_invalid")


def _rule(one: WrittenRule) -> Rule:
    values = one.values
    return Rule(
        name=values["name"],
        trigger=automation.trigger(values),
        actions=automation_actions.actions(values),
        firings_per_hour=values.get("firings_per_hour", automation.FIRINGS_PER_HOUR),
        cool_down_seconds=values.get("cool_down_seconds", 0),
        digest=sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest(),
        line=one.line,
    )
