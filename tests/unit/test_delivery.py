"""Lives of a delivery, a comment and a reply, told as sequences of events (the single rows are in conformance/)."""

from __future__ import annotations

import pytest

from relaybay.machines.base import step
from relaybay.machines.comment import Comment
from relaybay.machines.delivery import Delivery
from relaybay.machines.reply import Reply
from relaybay.rules.comments import grace_ends_us, in_grace

#: What POLICY says without channels.
DELIVERS = {"judged_deliver": True, "published": False}
AT_TOOL = {"replayed": False, "link_exact_live": True, "passive": False, "at_stop": False, "blocked_before": False}
AT_STOP = AT_TOOL | {"at_stop": True}
PROVEN = {"link_proven": True, "linked_itself": True}
UNPROVEN = {"link_proven": False, "linked_itself": True}
NEVER_LINKED = {"link_proven": False, "linked_itself": False}
COMMENT_TOOL = {"replayed": False, "link_exact_live": True, "in_grace": False, "at_stop": False, "blocks_left": True}
COMMENT_STOP = COMMENT_TOOL | {"at_stop": True}


@pytest.mark.spec("DLV-1", "DLV-3", "DLV-4", "DLV-7")
def test_a_message_is_handed_over_held_up_at_one_stop_and_read() -> None:
    handed = step(Delivery, "sent", "hand_over", AT_TOOL)
    assert handed.state == "delivered"
    again = step(Delivery, "delivered", "hand_over", AT_STOP)
    assert (again.kind, again.effects) == ("repeat", ("count:stop_block",))
    assert "mark:delivered_at" not in again.effects
    assert step(Delivery, "delivered", "hand_over", AT_STOP | {"blocked_before": True}).kind == "refuse"
    assert step(Delivery, "delivered", "hand_over", AT_TOOL).kind == "refuse"
    read = step(Delivery, "delivered", "acknowledge", PROVEN)
    assert read.state == "read"
    assert "read_how:verified" in read.effects
    assert step(Delivery, "read", "acknowledge", UNPROVEN).kind == "repeat"


@pytest.mark.spec("DLV-2", "DLV-15")
def test_what_was_read_before_any_hand_over_is_never_handed_over() -> None:
    assert step(Delivery, "sent", "acknowledge", PROVEN).state == "read"
    assert step(Delivery, "read", "hand_over", {"replayed": False}).kind == "refuse"


@pytest.mark.spec("DLV-5", "DLV-6")
@pytest.mark.parametrize("state", ["sent", "delivered"])
def test_an_unproven_acknowledgement_counts_only_where_nobody_ever_linked(state: str) -> None:
    assert "read_how:not_verified" in step(Delivery, state, "acknowledge", NEVER_LINKED).effects
    refused = step(Delivery, state, "acknowledge", UNPROVEN)
    assert (refused.kind, refused.state, refused.effects) == ("refuse", state, ())


@pytest.mark.spec("DLV-10")
@pytest.mark.parametrize("state", ["sent", "delivered", "read", "orphaned"])
def test_a_replay_delivers_nothing(state: str) -> None:
    replay = step(Delivery, state, "hand_over", AT_STOP | {"replayed": True})
    assert (replay.spec_id, replay.state, replay.effects) == ("DLV-10", state, ())


@pytest.mark.spec("DLV-17", "DLV-19", "PACK-7")
def test_an_answer_that_was_not_written_takes_back_what_it_did_and_no_more() -> None:
    first = step(Delivery, "delivered", "answer_not_written", {"made_delivered": True, "at_stop": True} | DELIVERS)
    assert first.state == "sent"
    assert {"clear:delivered_at", "uncount:stop_block"} <= set(first.effects)
    later = step(Delivery, "delivered", "answer_not_written", {"made_delivered": False, "at_stop": True} | DELIVERS)
    assert (later.state, later.effects) == ("delivered", ("uncount:stop_block",))


@pytest.mark.spec("DLV-11", "DLV-19", "CTX-2")
def test_the_third_time_it_stays_delivered_and_says_so() -> None:
    state, offered = "sent", 0
    for _ in range(4):
        state = step(Delivery, state, "hand_over", AT_TOOL).state
        lost = step(Delivery, state, "context_missing", {"reoffers_left": offered < 2} | DELIVERS)
        offered += lost.effects.count("count:reoffer")
        state = lost.state
        if state == "delivered":
            break
    assert (state, offered) == ("delivered", 2)
    assert lost.effects == ("reason:not_in_context",)


@pytest.mark.spec("DLV-49", "MOVE-5")
def test_another_conversation_is_offered_it_again_and_no_reoffer_is_spent() -> None:
    moved = step(Delivery, "delivered", "other_session", DELIVERS)
    assert moved.state == "sent"
    assert not {"count:reoffer", "uncount:stop_block"} & set(moved.effects)


@pytest.mark.spec("DLV-8", "DLV-9", "DLV-14")
def test_a_row_that_goes_orphans_what_is_open_and_keeps_what_is_read() -> None:
    assert step(Delivery, "delivered", "recipient_row_gone").state == "orphaned"
    assert step(Delivery, "read", "recipient_row_gone").state == "read"
    assert step(Delivery, "orphaned", "acknowledge").answer == "message.orphaned"


@pytest.mark.spec("CMT-3", "CMT-12", "CMT-19")
def test_in_its_first_seconds_a_comment_is_the_owners_alone() -> None:
    facts = {"on_board": True, "created_us": 10_000_000, "grace_seconds": 5}
    assert in_grace(now_us=14_999_999, **facts)
    assert not in_grace(now_us=15_000_000, **facts)
    assert not in_grace(now_us=9_000_000, **facts)
    assert not in_grace(now_us=10_000_001, **facts | {"on_board": False})
    assert grace_ends_us(10_000_000, 5) == 15_000_000
    assert step(Comment, "sent", "hand_over", COMMENT_TOOL | {"in_grace": True}).kind == "refuse"
    assert step(Comment, "sent", "withdraw", {"in_grace": True}).state == "gone"
    assert step(Comment, "delivered", "withdraw", {"in_grace": True}).answer == "comment.too_late"


@pytest.mark.spec("CMT-3", "CMT-4", "CMT-17")
def test_a_comment_holds_the_session_at_two_stops_and_then_no_more() -> None:
    state, blocks = "sent", 0
    for _ in range(3):
        result = step(Comment, state, "hand_over", COMMENT_STOP | {"blocks_left": blocks < 2})
        blocks += result.effects.count("count:stop_block")
        state = result.state
    assert (state, blocks, result.kind) == ("delivered", 2, "refuse")


@pytest.mark.spec("CMT-5", "MOVE-4")
def test_a_rebound_tasks_comment_waits_for_the_new_session_with_its_old_blocks() -> None:
    rebound = step(Comment, "delivered", "bound_elsewhere")
    assert rebound.state == "sent"
    assert "keep:hand_over" in rebound.effects
    assert "uncount:stop_block" not in rebound.effects
    assert step(Comment, "delivered", "bound_again").kind == "repeat"


@pytest.mark.spec("CMT-7", "CMT-8", "CMT-13", "CMT-23")
def test_a_reply_marks_only_what_it_can_mean() -> None:
    bound = {"by_bound": True, "given": False} | PROVEN
    assert step(Comment, "sent", "reply_to_it", {k: v for k, v in bound.items() if k != "given"}).state == "read"
    assert step(Comment, "sent", "reply_on_task", bound).spec_id == "CMT-23"
    assert step(Comment, "sent", "reply_on_task", bound | {"given": True}).state == "read"
    assert step(Comment, "delivered", "reply_on_task", bound).state == "read"
    assert step(Comment, "delivered", "reply_on_task", bound | {"by_bound": False}).spec_id == "CMT-13"
    assert step(Comment, "delivered", "reply_to_it", {"by_bound": True} | UNPROVEN).spec_id == "CMT-13"


@pytest.mark.spec("CMT-6", "CMT-9", "CMT-15", "CMT-24")
def test_only_the_bound_session_acknowledges() -> None:
    assert step(Comment, "sent", "ack", {"by_bound": False} | PROVEN).answer == "comment.not_bound"
    assert step(Comment, "delivered", "ack", {"by_bound": True} | UNPROVEN).answer == "comment.ack_not_proven"
    assert "read_how:not_verified" in step(Comment, "delivered", "ack", {"by_bound": True} | NEVER_LINKED).effects
    assert step(Comment, "read", "ack", {"by_bound": True}).kind == "repeat"


@pytest.mark.spec("CMT-10", "CMT-11")
def test_a_reply_stands_in_the_inbox_until_the_owner_answers() -> None:
    assert step(Reply, "unanswered", "task_changed").state == "unanswered"
    assert step(Reply, "unanswered", "owner_comments").state == "answered"
    assert step(Reply, "answered", "mark_replies_read").kind == "repeat"
