"""Units of time and size, and the bounds of the service that stand in no table: whoever changes one changes it here too."""

from __future__ import annotations

import importlib

import pytest

from relaybay.domain import HookEvent
from relaybay.service import hooks
from relaybay.service.contexts import Awaited, Watch
from relaybay.service.house import Told
from tests.unit.linking_rig import Rig

_SECOND_US = 1_000_000

BOUNDS = {
    "arguments": {"LIST_MAX": 200, "LIST_DEFAULT": 50, "NEWEST": 2**62},
    "attachments": {"_KEY_DIGITS_MAX": 18},
    "card": {"_OPENING_CHARS": 140},
    "comment_lists": {"_HISTORY_EVENTS_MAX": 1_000},
    "context_proof": {"_KIB": 1_024},
    "contexts": {"_SECOND": _SECOND_US, "_KIB": 1_024},
    "export": {"TASKS_MAX": 1_000},
    "filters": {"_SECOND": _SECOND_US, "_TASKS_OFFERED": 5},
    "filters_sessions": {"_SECOND": _SECOND_US},
    "house": {"LOOK_AGAIN_US": 20 * _SECOND_US, "CHECK_AGAIN_US": 600 * _SECOND_US},
    "listing": {"_AROUND": 3_000, "COMMENT_UNITS_MAX": 17_000},
    "messages": {"_SECOND": _SECOND_US},
    "presence": {"_SECOND": _SECOND_US},
    "processes": {"_STAT_STARTED": 19},
    "reach": {"_SECOND": _SECOND_US, "_MINUTE_SECONDS": 60},
    "receipts": {"_SECOND": _SECOND_US},
    "saved_views": {"NAME_CHARS_MAX": 60, "VIEWS_MAX": 20, "COUNT_MAX": 100},
    "sweep": {"_SECOND": _SECOND_US, "_HOUR": 3_600 * _SECOND_US},
    "threads": {"FOLDED_FROM": 4},
    "views": {"COLUMN_CARDS": 10, "ALL_MAX": 200, "PROJECTS_MAX": 12},
    "views_events": {"PAGE_EVENTS": 100, "PICKER_MAX": 50},
    "views_inbox": {"LISTED_MAX": 40, "LISTED_BEFORE": 10},
    "views_map": {
        "_HOUR_US": 3_600 * _SECOND_US,
        "WINDOWS": {"1h": 3_600 * _SECOND_US, "24h": 86_400 * _SECOND_US, "7d": 604_800 * _SECOND_US, "all": 0},
        "NODES_MAX": 60,
        "CURVES_MAX": 120,
        "EDGES": 30,
        "MATRIX_MAX": 12,
        "TASKS_MAX": 100,
        "_BOW": {"message": 0.1, "client": 0.24},
    },
    "views_messages": {"PAGE_MESSAGES": 30, "PICKER_MAX": 50, "THREAD_MAX": 200},
    "views_palette": {"FOUND_MAX": 8, "WORDS_MAX": 6},
    "views_project_list": {"LISTED_MAX": 60},
    "views_projects": {"STATUS_TASKS": 10, "SESSIONS_MAX": 20, "TIMELINE_MAX": 30},
    "views_sessions": {
        "LISTED_MAX": 30,
        "GROUP_ROOM": 5,
        "ENDED_MAX": 10,
        "CONVERSATIONS_MAX": 40,
        "RECENT_MESSAGES_MAX": 10,
        "TIMELINE_MAX": 40,
    },
    "views_tasks": {
        "RECENT_COMMENTS": 20,
        "PAGE_COMMENTS": 200,
        "PAGE_MESSAGES": 20,
        "TIMELINE_MAX": 40,
        "PICKER_MAX": 100,
        "_HISTORY_EVENTS_MAX": 1_000,
    },
    "waits": {"_SECOND": _SECOND_US},
    "wake": {"_SECOND": _SECOND_US},
}


def test_the_bounds_of_the_service() -> None:
    for name, bounds in BOUNDS.items():
        module = importlib.import_module(f"relaybay.service.{name}")
        assert {bound: getattr(module, bound) for bound in bounds} == bounds, name


def test_what_nothing_is_known_of() -> None:
    assert Told() == Told("", 0, {}, 0, 0)
    awaited = Awaited("comment", 1, "c_1", 9)
    assert (awaited.last_step, awaited.steps, awaited.stop, awaited.found, awaited.missing_us) == (
        "", set(), False, "absent", 0,
    )  # fmt: skip
    assert (Watch("h", "/p", 0).heard_us, Watch("h", "/p", 0).file) == (0, "none")
    assert hooks.HookAnswer("", None, ()) == hooks.NOTHING


@pytest.fixture
def rig(tmp_path):
    made = Rig(tmp_path)
    yield made
    made.relay.close()


def test_the_tools_of_either_way_to_install_vouch_for_their_calls_and_no_others(rig) -> None:
    for number, (tool, vouches) in enumerate(
        (
            ("mcp__relaybay__message_send", True),
            ("mcp__plugin_relaybay_relaybay__message_send", True),
            ("mcp__other__message_send", False),
            ("Bash", False),
        )
    ):
        use = f"toolu_{number}"
        hooks.witness(rig.relay, HookEvent("h1", "PreToolUse", rig.now, tool_name=tool, tool_use_id=use))
        assert (rig.relay.presence.witnessed(use, rig.now) == "h1") is vouches, tool


def test_lists_are_given_to_whoever_asks_and_messages_are_not(rig) -> None:
    for tool in ("comments_list", "task_get", "tasks_list", "events_since", "sessions_list"):
        assert rig.read("Zoe", tool=tool).nobody
    assert rig.read("Zoe", tool="messages_list").answer == "ack.session_unknown"
