"""Activity, prompts, what an answer carries, and what may block a Stop (pages 10 and 20)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from relaybay import specs
from relaybay.machines.base import step
from relaybay.machines.turn import Turn
from relaybay.rules import activity, answer, move, prompt, start_line, stop
from relaybay.rules.start_line import StartFacts, sentences

ROW = activity.ActivityFacts(
    event="other", subagent=False, older=False, replayed=False, unseen=False, folder_guess=False, before="working"
)


@pytest.mark.spec("ACT-1", "ACT-2", "ACT-3", "ACT-8")
def test_events_have_the_words_of_act() -> None:
    assert activity.event_of("SessionStart", "resume", blocked=False) == "start"
    assert activity.event_of("SessionStart", "compact", blocked=False) == "start_compact"
    assert activity.event_of("Stop", "", blocked=False) == "stop_allowed"
    assert activity.event_of("Stop", "", blocked=True) == "stop_blocked"
    assert activity.event_of("StopFailure", "", blocked=False) == "stop_failure"
    assert {activity.event_of(n, "", blocked=False) for n in ("PreCompact", "Notification", "NotYetInvented")} == {
        "other"
    }
    tools = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch")
    assert {activity.event_of(n, "", blocked=False) for n in tools} == {"tool"} == {answer.event_of(n) for n in tools}
    assert answer.event_of("SubagentStop") == answer.event_of("SessionEnd") == "other"


@pytest.mark.spec("ACT-6", "ACT-5")
def test_a_replay_may_end_a_session_and_never_wakes_one() -> None:
    for before in ("ended", "unknown"):
        facts = replace(ROW, replayed=True, unseen=before == "unknown", before=before)
        for event in ("start", "prompt", "tool", "stop_allowed", "other"):
            assert activity.judge(replace(facts, event=event)).outcome == "unchanged"
        assert activity.judge(replace(facts, event="end")).outcome == "ended"


@pytest.mark.spec("PROMPT-1")
@pytest.mark.parametrize(
    ("text", "source", "kind"),
    [
        ("do it", None, "local"),
        ("do it", "", "local"),
        ("do it", "user", "local"),
        ("do it", "sdk", "local"),
        ("do it", "system", "machine"),
        ("do it", "loop_wakeup", "machine"),
        ("<task-notification>\nx", None, "machine"),
        ("<task-notification>\nx", "user", "machine"),
        ('<cross-session-message from="a">', None, "machine"),
        (" <task-notification>", None, "local"),
        ("say <task-notification>", None, "local"),
        ("", None, "local"),
    ],
)
def test_whose_prompt(text: str, source: str | None, kind: str) -> None:
    assert prompt.kind_of(text, source) == kind


@pytest.mark.spec("PROMPT-2", "PROMPT-3")
def test_prompt_ids_against_the_open_turns() -> None:
    assert prompt.prompt_id_of("", "p1") == "none"
    assert prompt.prompt_id_of("", "") == "none"
    assert prompt.prompt_id_of("p1", "p1") == "open_turn"
    assert prompt.prompt_id_of("p2", "p1") == prompt.prompt_id_of("p2", "") == "another"


@pytest.mark.spec("STOP-5", "STOP-6", "CMT-4", "DLV-3")
def test_a_turn_of_many_unread_items_is_blocked_twice_and_each_item_within_its_own_bound() -> None:
    blocks = {"comment": 0, "message": 0}
    state, shown = "none", 0
    for turn in range(4):
        for stop_number in range(4):
            eligible = [
                k
                for k, n in blocks.items()
                if stop.judge(stop.StopItemFacts(k, "delivered", n, False, False)).outcome == "eligible"
            ]
            facts = {
                "ignored": False, "opens_turn": False, "link_exact_live": True, "continuation": stop_number > 0,
                "eligible": bool(eligible), "this_turn": True,
            }  # fmt: skip
            result = step(Turn, state, "stop", facts)
            state = result.state
            if result.effects == ("allow",):
                break
            shown += 1
            for kind in eligible:
                blocks[kind] += 1
        assert state == "none", turn
    assert blocks == {"comment": 2, "message": 1} and shown == 2
    assert specs.limit("stop_blocks_per_turn_max") == 2
    assert specs.limit("stop_blocks_per_comment_max") == 2
    assert specs.limit("stop_blocks_per_message_max") == 1


@pytest.mark.spec("ANS-9", "WAIT-2")
def test_a_delivered_held_or_passive_item_never_wakes() -> None:
    base = answer.ItemFacts(at="wake", kind="message", state="sent", fresh=False, passive=False, prompt_turn=True)
    assert answer.judge_item(base).outcome == "text"
    for change in ({"state": "delivered"}, {"state": "held"}, {"state": "taken"}, {"passive": True}, {"state": "read"}):
        assert answer.judge_item(replace(base, **change)).outcome == "nothing", change


@pytest.mark.spec("ANS-6", "ANS-7", "ANS-8", "PACK-6")
def test_only_an_exact_link_of_the_session_itself_is_handed_text() -> None:
    carries = {"pack_at_prompt", "pack_at_tool", "stop", "start_line"}
    for combination in specs.decisions()["answer"].combinations():
        if answer.judge(answer.AnswerFacts(**combination)).outcome in carries:
            assert combination["link"] == "exact"
            assert not combination["replayed"] and not combination["subagent"]


@pytest.mark.spec("MOVE-5", "MOVE-2", "MOVE-3")
def test_nothing_that_was_handed_to_one_conversation_is_taken_for_handed_to_another() -> None:
    """Wherever another conversation stands behind what was delivered, it waits again or says that its row is gone."""
    for case in ("takes_id", "cleared", "unlinked", "row_deleted"):
        for thing in ("delivered_delivery", "delivered_comment"):
            outcome = move.judge(move.MoveFacts(case, thing)).outcome
            assert outcome in ("waits_again", "row_gone"), (case, thing)
    for thing in ("open_delivery", "delivered_delivery", "settled_delivery", "task_binding"):
        assert move.judge(move.MoveFacts("loses_link", thing)).outcome == "stays"


START = StartFacts(
    outcome="start_line",
    name_taken=False,
    nameless=False,
    peers=1,
    unread_comments=0,
    unread_messages=0,
    held_messages=0,
    work="",
    tells_tool_use_id=True,
)


@pytest.mark.spec("ANS-1", "ANS-6", "LINK-15")
def test_the_start_lines_sentences_and_their_order() -> None:
    assert sentences(START) == ("start.own", "start.peers")
    full = replace(
        START,
        name_taken=True,
        nameless=True,
        peers=0,
        unread_messages=2,
        held_messages=1,
        work="paused",
        tells_tool_use_id=False,
    )
    assert sentences(full) == (
        "start.own", "start.name_taken", "start.nameless", "start.no_peers", "start.unread", "start.held", "start.work_paused",
        "start.hook_session",
    )  # fmt: skip
    assert sentences(replace(full, outcome="start_line_guessed")) == (
        "start.guessed", "start.no_peers", "start.unread_unlinked", "start.held", "start.hook_session",
    )  # fmt: skip
    # A folder guess may be somebody else's row: its mail is not counted to this session.
    assert sentences(replace(full, outcome="start_line_folder_guess", tells_tool_use_id=True)) == (
        "start.folder_guess", "start.no_peers",
    )  # fmt: skip
    assert specs.limit("start_line_peers_max") == start_line.PEERS_SHOWN_MAX == 5


@pytest.mark.spec("ANS-1", "LINK-2")
def test_the_start_line_says_how_to_become_reachable_in_one_line() -> None:
    answers = specs.answers()
    assert "if you are {title}, pass session={title}" in answers["start.folder_guess"].text
    for guess in ("start.guessed", "start.folder_guess"):
        text = answers[guess].text.lower()
        assert "one call of message_ack" in text
    for id_, spec in answers.items():
        if id_.startswith("start."):
            assert "\n" not in spec.text and ("{hook_id}" in spec.text) == (id_ == "start.hook_session")
