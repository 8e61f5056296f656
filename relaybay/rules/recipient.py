"""Who is meant, and what the receipt says of it (page 30: SEND-17 to 19, table RECV)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from relaybay.domain import Verdict
from relaybay.rules.linking import LinkState

_NEAR_ENOUGH = 0.6


@dataclass(frozen=True, slots=True)
class RecipientFacts:
    """The inputs of the table that finds the recipient."""

    to: Literal["absent", "none", "one", "several"]
    parent: Literal["absent", "row", "gone", "script"]
    agree: bool
    task: Literal["absent", "unknown", "unbound", "bound"]


@dataclass(frozen=True, slots=True)
class ReachFacts:
    """The inputs of RECV-3 to 10."""

    admission: Literal["open", "held_review", "held_resume", "closed"]
    link: Literal["live", "never_linked", "ended", "moved"]
    working: bool
    waiting: bool


def judge(facts: RecipientFacts) -> Verdict:
    """SEND-17 to 19 and RECV-1, 2, 11: which argument gives the recipient (`to`, `parent`, `bound`), or a refusal."""
    if facts.to == "absent" and facts.parent == "absent" and facts.task == "absent":
        return Verdict("SEND-17", "refuse", "send.recipient_required")
    if facts.to == "one" and facts.parent != "absent" and not facts.agree:
        return Verdict("SEND-18", "refuse", "send.recipient_conflict")
    if facts.task == "unknown":
        return Verdict("SEND-19", "refuse", "send.task_unknown")
    if facts.to == "none":
        return Verdict("RECV-1", "refuse", "recv.unknown")
    if facts.to == "several":
        return Verdict("RECV-2", "refuse", "recv.ambiguous")
    if facts.to == "one":
        return Verdict("SEND-17", "to")
    return _without_to(facts)


def _without_to(facts: RecipientFacts) -> Verdict:
    if facts.parent == "gone":
        return Verdict("RECV-11", "refuse", "recv.gone")
    if facts.parent == "script":
        return Verdict("RECV-11", "refuse", "recv.script")
    if facts.parent == "row":
        return Verdict("SEND-17", "parent")
    if facts.task == "unbound":
        return Verdict("SEND-19", "refuse", "send.task_unbound")
    return Verdict("SEND-17", "bound")


def reach_of(link_state: LinkState) -> Literal["live", "never_linked", "ended", "moved"]:
    """How a row can be reached: a guess or an unseen id counts as never linked (RECV-6)."""
    if link_state == "exact":
        return "live"
    if link_state == "ended_exact":
        return "ended"
    return "moved" if link_state == "moved" else "never_linked"


def judge_reach(facts: ReachFacts) -> Verdict:
    """RECV-3 to 10. The outcome is the reason code; `held` and `closed` have finer ones that the caller knows."""
    if facts.admission == "closed":
        return Verdict("RECV-10", "closed", "recv.not_admitted")
    if facts.admission == "held_review":
        return Verdict("RECV-9", "held", "recv.held_review")
    if facts.admission == "held_resume":
        return Verdict("RECV-9", "held", "recv.held_resume")
    if facts.link == "never_linked":
        return Verdict("RECV-6", "never_linked", "recv.never_linked")
    if facts.link == "ended":
        return Verdict("RECV-7", "ended", "recv.ended")
    if facts.link == "moved":
        return Verdict("RECV-8", "moved", "recv.moved")
    if facts.working:
        return Verdict("RECV-3", "working", "recv.working")
    if facts.waiting:
        return Verdict("RECV-4", "being_woken", "recv.being_woken")
    return Verdict("RECV-5", "idle", "recv.idle")


def near_names(wanted: str, names: Sequence[tuple[str, bool]], names_max: int) -> tuple[str, ...]:
    """The names to offer for one that no row has (RECV-1): the nearest first, then live ones even if none is near.

    `names` are (name, live) pairs; both sides are compared after case folding. At most `names_max` are given.
    """
    folded = wanted.casefold()
    scored = []
    for position, (name, live) in enumerate(names):
        score = _score(folded, name.casefold())
        near = score >= _NEAR_ENOUGH
        if near or live:
            scored.append((not near, -score if near else 0.0, not live, position, name))
    ordered = dict.fromkeys(name for *_, name in sorted(scored))
    return tuple(ordered)[:names_max]


def _score(wanted: str, name: str) -> float:
    """How alike two names are, 0 to 1; 0 at once where two quick upper bounds say that it is not enough."""
    if wanted and (name.startswith(wanted) or wanted.startswith(name)):
        return 1.0
    pair = SequenceMatcher(None, wanted, name)
    if pair.real_quick_ratio() < _NEAR_ENOUGH or pair.quick_ratio() < _NEAR_ENOUGH:
        return 0.0
    return pair.ratio()
