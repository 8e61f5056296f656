"""Entities of what sessions are told: messages, comments, subscriptions, the owner's rules (see `entities`).

Their references are kept as plain numbers: hot paths go by SQL.
"""

from __future__ import annotations

from typing import Any

from pony.orm import Optional, PrimaryKey, Required

_BIG: dict[str, Any] = {"size": 64}
_TEXT: dict[str, Any] = {"autostrip": False}


def messages(db: Any) -> None:
    """Messages and their deliveries."""

    class Message(db.Entity):
        _table_ = "message"
        id = PrimaryKey(int, size=64, auto=True)
        mid = Required(str, unique=True, **_TEXT)
        audience = Required(str, **_TEXT)
        sender_id = Optional(int, **_BIG)
        sender_title = Required(str, **_TEXT)
        sender_name = Optional(str, **_TEXT)
        sender_verified = Required(int, **_BIG)
        sender_hook_id = Optional(str, **_TEXT)
        task_id = Optional(int, **_BIG)
        task_key = Optional(str, **_TEXT)
        parent_id = Optional(int, **_BIG)
        parent_mid = Optional(str, **_TEXT)
        depth = Required(int, default=0, **_BIG)
        body = Required(str, **_TEXT)
        request_id = Optional(str, nullable=True, **_TEXT)
        digest = Required(str, **_TEXT)
        sent_us = Required(int, **_BIG)
        seal = Optional(str, **_TEXT)
        topic = Optional(str, **_TEXT)
        sender_kind = Required(str, default="session", **_TEXT)
        sender_mode = Optional(str, **_TEXT)
        sender_folder = Optional(str, **_TEXT)
        automation = Optional(str, **_TEXT)
        body_hash = Optional(str, **_TEXT)
        skipped = Required(int, default=0, **_BIG)

    class Delivery(db.Entity):
        _table_ = "delivery"
        id = PrimaryKey(int, size=64, auto=True)
        message_id = Required(int, **_BIG)
        recipient_id = Optional(int, **_BIG)
        recipient_title = Required(str, **_TEXT)
        recipient_name = Optional(str, **_TEXT)
        state = Required(str, **_TEXT)
        reason_code = Optional(str, **_TEXT)
        sent_us = Required(int, **_BIG)
        delivered_us = Required(int, default=0, **_BIG)
        delivered_by = Optional(str, **_TEXT)
        delivered_hook_id = Optional(str, **_TEXT)
        handover_id = Optional(str, **_TEXT)
        in_context_us = Required(int, default=0, **_BIG)
        read_us = Required(int, default=0, **_BIG)
        read_how = Optional(str, **_TEXT)
        stop_blocks = Required(int, default=0, **_BIG)
        reoffers = Required(int, default=0, **_BIG)
        given_us = Required(int, default=0, **_BIG)
        state_us = Required(int, default=0, **_BIG)
        admitted_us = Required(int, default=0, **_BIG)
        passive = Required(int, default=0, **_BIG)
        passive_turn = Required(int, default=0, **_BIG)
        pointer = Required(int, default=0, **_BIG)
        fetched_us = Required(int, default=0, **_BIG)
        approved_epoch = Required(int, default=-1, **_BIG)
        review_state = Required(str, default="none", **_TEXT)
        review_token = Optional(str, **_TEXT)
        review_epoch = Required(int, default=0, **_BIG)
        taken_by = Optional(str, **_TEXT)


def comments(db: Any) -> None:
    """Comments, and to whom each was given."""

    class Comment(db.Entity):
        _table_ = "comment"
        id = PrimaryKey(int, size=64, auto=True)
        cid = Required(str, unique=True, **_TEXT)
        task_id = Required(int, **_BIG)
        author_kind = Required(str, **_TEXT)
        author_id = Optional(int, **_BIG)
        author_title = Optional(str, **_TEXT)
        author_verified = Required(int, default=0, **_BIG)
        body_md = Required(str, **_TEXT)
        parent_id = Optional(int, **_BIG)
        parent_cid = Optional(str, **_TEXT)
        step_n = Required(int, default=0, **_BIG)
        state = Required(str, **_TEXT)
        created_us = Required(int, **_BIG)
        grace_until_us = Required(int, default=0, **_BIG)
        delivered_us = Required(int, default=0, **_BIG)
        delivered_to = Optional(int, **_BIG)
        delivered_title = Optional(str, **_TEXT)
        delivered_by = Optional(str, **_TEXT)
        delivered_hook_id = Optional(str, **_TEXT)
        handover_id = Optional(str, **_TEXT)
        reason_code = Optional(str, **_TEXT)
        in_context_us = Required(int, default=0, **_BIG)
        read_us = Required(int, default=0, **_BIG)
        read_how = Optional(str, **_TEXT)
        stop_blocks = Required(int, default=0, **_BIG)
        reoffers = Required(int, default=0, **_BIG)
        seal = Optional(str, **_TEXT)
        attachment_id = Optional(int, **_BIG)
        attachment_name = Optional(str, **_TEXT)

    class CommentGiven(db.Entity):
        _table_ = "comment_given"
        id = PrimaryKey(int, size=64, auto=True)
        comment_id = Required(int, **_BIG)
        session_id = Required(int, **_BIG)
        at_us = Required(int, **_BIG)


def channels(db: Any) -> None:
    """What the owner subscribes sessions to, how far each has seen a topic, and the tickets of `relaybay run`."""

    class TopicPattern(db.Entity):
        _table_ = "topic_pattern"
        id = PrimaryKey(int, size=64, auto=True)
        session_id = Required(int, **_BIG)
        pattern = Required(str, **_TEXT)

    class TopicCursor(db.Entity):
        _table_ = "topic_cursor"
        session_id = Required(int, **_BIG)
        topic = Required(str, **_TEXT)
        seen_id = Required(int, **_BIG)
        PrimaryKey(session_id, topic)

    class StartTicket(db.Entity):
        _table_ = "start_ticket"
        ticket = PrimaryKey(str, **_TEXT)
        options = Required(str, **_TEXT)
        created_us = Required(int, **_BIG)
        used_us = Required(int, default=0, **_BIG)


def automations(db: Any) -> None:
    """What set off the owner's rules."""

    class AutomationFiring(db.Entity):
        _table_ = "automation_firing"
        id = PrimaryKey(int, size=64, auto=True)
        rule = Required(str, **_TEXT)
        rule_digest = Required(str, **_TEXT)
        delivery_id = Optional(int, **_BIG)
        mid = Required(str, **_TEXT)
        session_id = Optional(int, **_BIG)
        session_title = Required(str, **_TEXT)
        admission = Required(str, **_TEXT)
        catch_up = Required(int, default=0, **_BIG)
        consume = Required(int, default=0, **_BIG)
        consumed = Required(int, default=0, **_BIG)
        state = Required(str, **_TEXT)
        queued_us = Required(int, **_BIG)
        started_us = Required(int, default=0, **_BIG)
        ended_us = Required(int, default=0, **_BIG)
        reason_code = Optional(str, **_TEXT)
        detail = Optional(str, **_TEXT)
        sent = Required(int, default=0, **_BIG)
