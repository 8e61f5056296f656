"""relaybay with the real Claude Code client; what each case does and asserts stands in ``cases_*``."""

from __future__ import annotations

import pytest

from tests.live.conftest import RunCase

pytestmark = pytest.mark.live


@pytest.mark.spec("CTX-1", "DLV-12")
def test_stop_block_is_seen_in_context(live: RunCase) -> None:
    live("stop_block_is_seen_in_context")


@pytest.mark.spec("ACT-7", "CTX-5")
def test_broken_off_turn_is_seen(live: RunCase) -> None:
    live("broken_off_turn_is_seen")


@pytest.mark.spec("CTX-1", "ANS-3", "DLV-1", "DLV-4", "LINK-2", "PACK-6", "RECV-3", "SEND-4")
def test_message_reaches_running_turn(live: RunCase) -> None:
    live("message_reaches_running_turn")


@pytest.mark.spec("ANS-4", "DLV-3", "STOP-4", "STOP-5")
def test_unread_message_blocks_one_stop(live: RunCase) -> None:
    live("unread_message_blocks_one_stop")


@pytest.mark.spec("PROOF-2", "LINK-2", "SEND-6", "TEXT-5")
def test_own_call_is_verified_by_its_tool_use_id(live: RunCase) -> None:
    live("own_call_is_verified_by_its_tool_use_id")


@pytest.mark.spec("PROOF-4", "SEND-1")
def test_made_up_or_used_tool_use_id_proves_nothing(live: RunCase) -> None:
    live("made_up_or_used_tool_use_id_proves_nothing")


@pytest.mark.spec("ANS-4", "CMT-3", "CMT-6", "STOP-4", "STOP-5")
def test_comment_blocks_stop_until_it_is_read(live: RunCase) -> None:
    live("comment_blocks_stop_until_it_is_read")


@pytest.mark.spec("CMT-4", "STOP-5", "STOP-6")
def test_comment_blocks_stop_twice_at_most(live: RunCase) -> None:
    live("comment_blocks_stop_twice_at_most")


@pytest.mark.spec("CTX-1", "RECV-4", "STOP-3", "WAIT-1", "WAIT-2")
def test_message_wakes_idle_terminal(live: RunCase) -> None:
    live("message_wakes_idle_terminal")


@pytest.mark.spec("WAIT-4", "WAIT-6")
def test_one_waiting_hook_per_session(live: RunCase) -> None:
    live("one_waiting_hook_per_session")


@pytest.mark.spec("CMD-2")
def test_server_down_costs_nothing(live: RunCase) -> None:
    live("server_down_costs_nothing")


@pytest.mark.spec("CMD-2")
def test_server_hung_costs_the_hooks_timeout(live: RunCase) -> None:
    live("server_hung_costs_the_hooks_timeout")


@pytest.mark.spec("ANS-2", "ANS-7", "CMD-1", "CMD-2", "DLV-10", "HL-1", "RECV-7", "SPOOL-1", "SPOOL-2")
def test_command_hooks_spool_and_replay_once(live: RunCase) -> None:
    live("command_hooks_spool_and_replay_once")


@pytest.mark.spec("CH-1", "CLI-1", "PUB-5", "TOPIC-7", "DLV-20")
def test_topic_reaches_its_subscriber_alone(live: RunCase) -> None:
    live("topic_reaches_its_subscriber_alone")


@pytest.mark.spec("POLICY-7", "REV-4", "DLV-21", "DLV-26", "CLI-3")
def test_held_message_waits_for_the_owner(live: RunCase) -> None:
    live("held_message_waits_for_the_owner")


@pytest.mark.spec("CTX-5", "SUP-1", "SUP-2")
def test_escape_in_a_tool_call_suppresses(live: RunCase) -> None:
    live("escape_in_a_tool_call_suppresses")


@pytest.mark.spec("SUP-2", "SUP-3", "PROMPT-2", "STOP-3")
def test_wake_ups_own_prompt_lifts_nothing(live: RunCase) -> None:
    live("wake_ups_own_prompt_lifts_nothing")
