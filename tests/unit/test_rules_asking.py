"""What a session asks the owner for after each hook event (page 40, Inbox)."""

from __future__ import annotations

from itertools import product

import pytest

from relaybay.rules.asking import KINDS, AskFacts, after

GOES_ON = [
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"),
    *("Stop", "StopFailure", "SessionEnd"),
]
SAYS_NOTHING = ["Notification", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "NotYetInvented"]
BEFORE = ["", "permission", "input"]


def asks(before: str, event: str, notification: str = "", **more: bool) -> str:
    facts = {"exact": True, "replayed": False, "late": False, **more}
    return after(AskFacts(before, event, notification, **facts))


@pytest.mark.spec("40")
def test_two_kinds_of_notification_ask_for_something() -> None:
    assert KINDS == {"permission_prompt": "permission", "idle_prompt": "input"}
    for before, (kind, what) in product(BEFORE, KINDS.items()):
        assert asks(before, "Notification", kind) == what


@pytest.mark.spec("40")
@pytest.mark.parametrize("more", [{"exact": False}, {"replayed": True}, {"late": True}])
def test_of_a_guess_a_replay_or_the_past_no_question_is_believed(more: dict[str, bool]) -> None:
    for before, kind in product(BEFORE, KINDS):
        assert asks(before, "Notification", kind, **more) == before


@pytest.mark.spec("40")
@pytest.mark.parametrize("event", GOES_ON)
def test_a_session_that_goes_on_asks_for_nothing(event: str) -> None:
    for before, exact, replayed in product(BEFORE, (True, False), (True, False)):
        assert asks(before, event, exact=exact, replayed=replayed) == ""
        assert asks(before, event, "idle_prompt", exact=exact, replayed=replayed) == ""
        assert asks(before, event, exact=exact, replayed=replayed, late=True) == before


@pytest.mark.spec("40")
@pytest.mark.parametrize("event", SAYS_NOTHING)
def test_other_events_and_unknown_kinds_change_nothing(event: str) -> None:
    for before, kind in product(BEFORE, ("", "auth_success", "permission_prompt ", "IDLE_PROMPT")):
        assert asks(before, event, kind) == before
    if event != "Notification":
        assert asks("", event, "permission_prompt") == ""
