"""Messaging names that the owner chooses (page 50, table NAME): which one may be chosen, and which one a row goes by.

The generated names are `rules/handles.py`. That a name is unique among live rows is the store's to keep; here it is
a fact that the caller looked up in the same transaction.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")


def valid_name(text: str) -> bool:
    """Whether it can be a messaging name (NAME-1), without the `@` that people write before it.

    Nothing is folded or trimmed: `Ci-Watcher` is refused and not taken for `ci-watcher`.
    """
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class ChosenNameFacts:
    """A name that the owner wants for one row.

    `own_already`: it is the row's chosen name now, in use or not. `held_by_other_live`: another live row goes by it,
    chosen or generated. `names_other_live_session`: it is equal, as names are, to a title or alias of one.
    """

    grammar_ok: bool
    own_already: bool
    held_by_other_live: bool
    names_other_live_session: bool


def judge_chosen(facts: ChosenNameFacts) -> Verdict:
    """`allowed`, or refused `name_invalid`, `name_held` or `name_reserved`. What is refused changes no name."""
    if not facts.grammar_ok:
        return Verdict("NAME-1", "refuse", "chosen_name.invalid")
    if facts.own_already:
        return Verdict("NAME-16", "allowed")
    if facts.held_by_other_live:
        return Verdict("NAME-15", "refuse", "chosen_name.held")
    if facts.names_other_live_session:
        return Verdict("50", "refuse", "chosen_name.reserved")
    return Verdict("NAME-14", "allowed")


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """A row that becomes live: it has no chosen name, one that is free, or one that another live row goes by."""

    chosen: Literal["none", "free", "held"]


def judge_claim(facts: ClaimFacts) -> Verdict:
    """The name a row goes by from now on: `chosen`, `generated`, or `generated_with_warning`.

    With the warning the chosen one stays saved and is tried again when the session comes back.
    """
    if facts.chosen == "none":
        return Verdict("NAME-13", "generated")
    if facts.chosen == "free":
        return Verdict("NAME-17", "chosen")
    return Verdict("NAME-18", "generated_with_warning", "claim.held")
