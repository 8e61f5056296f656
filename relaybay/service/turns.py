"""What one hook event does to a session's turn and activity (page 20: PROMPT, STOP; page 10: ACT), as columns.

The same two functions serve the hot path, over what is kept in memory, and the transaction, over the stored row.
"""

from __future__ import annotations

from typing import Protocol

from relaybay.domain import HookEvent
from relaybay.machines.base import step
from relaybay.machines.turn import Turn
from relaybay.rules import activity, prompt

Columns = dict[str, str | int]


class Subject(Protocol):
    """The session an event speaks of: a stored row, or its likeness in memory."""

    @property
    def kind(self) -> str:
        """Kind of the row."""

    @property
    def link_state(self) -> str:
        """State of its link, after the event."""

    @property
    def activity(self) -> str:
        """As it was before the event; so are all that follow."""

    @property
    def last_seen_us(self) -> int:
        """When it was last seen."""

    @property
    def last_event_us(self) -> int:
        """When its last event was."""

    @property
    def turn_state(self) -> str:
        """Stop blocks of its turn, in the machine's words."""

    @property
    def turn_prompt_id(self) -> str:
        """Prompt id of its turn."""

    @property
    def turn_serial(self) -> int:
        """Number of its turn."""


def older(last_event_us: int, event: HookEvent, now: int) -> bool:
    """Whether an event is older than the last one seen (ACT-6, HL-12).

    A last event that lies in the future was stamped before the clock was set back: then nobody can tell.
    """
    return event.at_us < last_event_us <= now


def turn(subject: Subject, event: HookEvent, *, eligible: bool) -> tuple[Columns, bool, tuple[str, ...]]:
    """PROMPT and STOP: the turn's columns, whether the Stop is to be blocked, and the rows met."""
    ignored = event.replayed or bool(event.agent_id)
    if event.name == "UserPromptSubmit":
        return _prompt(subject, event, ignored=ignored)
    if event.name != "Stop":
        return {}, False, ()
    result = step(
        Turn,
        subject.turn_state,
        "stop",
        {
            "ignored": ignored,
            "link_exact_live": subject.link_state == "exact",
            "continuation": event.stop_hook_active,
            "eligible": eligible,
        },
    )
    block = "block" in result.effects
    columns: Columns = {"turn_state": result.state}
    if not ignored and not block:
        # The turn is over: a block of it that turns out to be lost has nothing to give back any more (STOP-9).
        columns["turn_serial"] = subject.turn_serial + 1
    return columns, block, (result.spec_id,)


def _prompt(subject: Subject, event: HookEvent, *, ignored: bool) -> tuple[Columns, bool, tuple[str, ...]]:
    opens = False
    spec_ids: tuple[str, ...] = ()
    if not ignored:
        kind = event.prompt_kind or "local"
        whose = prompt.judge(prompt.PromptFacts(kind, prompt.prompt_id_of(event.prompt_id, subject.turn_prompt_id)))
        opens, spec_ids = whose.outcome != "inside_turn", (whose.spec_id,)
    result = step(Turn, subject.turn_state, "prompt", {"ignored": ignored, "opens_turn": opens})
    columns: Columns = {"turn_state": result.state}
    if opens:
        columns |= {"turn_prompt_id": event.prompt_id, "turn_serial": subject.turn_serial + 1}
    return columns, False, (*spec_ids, result.spec_id)


def life(
    subject: Subject,
    event: HookEvent,
    now: int,
    *,
    blocked: bool = False,
    folder_guess: bool = False,
    unseen: bool = False,
) -> tuple[Columns, str]:
    """ACT, and when the session was last seen: columns and the row met.

    `folder_guess` and `activity` are as the event found them, `unseen` as it leaves them.
    """
    late = older(subject.last_event_us, event, now)
    verdict = activity.judge(
        activity.ActivityFacts(
            event=activity.event_of(event.name, event.source, blocked=blocked),
            subagent=False,
            older=late,
            replayed=event.replayed,
            unseen=unseen,
            folder_guess=folder_guess,
            before=subject.activity,  # type: ignore[arg-type]
        )
    )
    last = 0 if subject.last_event_us > now else subject.last_event_us
    columns: Columns = {
        "last_event_us": max(last, event.at_us),
        "last_seen_us": max(subject.last_seen_us, event.at_us),
    }
    if event.permission_mode and not late:
        columns["permission_mode"] = event.permission_mode
    if verdict.outcome != "unchanged":
        columns["activity"] = verdict.outcome
    return columns, verdict.spec_id
