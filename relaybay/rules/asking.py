"""Whether a session asks the owner for something (page 40, Inbox): what the client's `Notification` hook says of it.

Two kinds of that event were measured: `permission_prompt`, 6 s after the client asked for a permission, and
`idle_prompt`, 60 s after a session went idle. The client tells no end of either; the session's next sign of going on
is the end. Esc at a permission prompt raises no event at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: `notification_type` → what the session asks for. Of a kind that was never seen nothing is believed.
KINDS: Final = {"permission_prompt": "permission", "idle_prompt": "input"}
#: Events after which a session no longer waits for what it asked for: a prompt, a tool, the end of a turn or of it all.
_GOES_ON: Final = frozenset(
    {
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "Stop",
        "StopFailure",
        "SessionEnd",
    }
)


@dataclass(frozen=True, slots=True)
class AskFacts:
    """What the row asks for so far, and the event: name, kind of notification, whether the link is exact and live,
    whether it is replayed, and whether it is older than the last one seen.
    """

    before: str
    event: str
    notification: str
    exact: bool
    replayed: bool
    late: bool


def after(facts: AskFacts) -> str:
    """What the session asks for after the event: `permission`, `input`, or the empty string."""
    if facts.late:
        return facts.before
    if facts.event in _GOES_ON:
        return ""
    # A replayed question is of a time when nobody listened, and may be answered since.
    if facts.event == "Notification" and facts.exact and not facts.replayed:
        return KINDS.get(facts.notification, facts.before)
    return facts.before
