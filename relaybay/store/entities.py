"""Pony's model of the tables that `migrations/` makes. `define()` gives a fresh Database, since one process may open
several stores (tests, `relaybay demo`).

Held to the traps that were measured: no text is stripped (`autostrip=False`), integers are 64 bits, table names are
lower case on both engines. At start the mapping is checked against the tables (`check_tables`), so that a column
forgotten here or there stops the program.
"""

from __future__ import annotations

from typing import Any

from pony.orm import Database, Optional, PrimaryKey, Required, Set

_BIG: dict[str, Any] = {"size": 64}
_TEXT: dict[str, Any] = {"autostrip": False}


def _board(db: Any) -> None:
    """Projects, tasks, steps, attachments."""

    class Project(db.Entity):
        _table_ = "project"
        id = PrimaryKey(int, size=64, auto=True)
        slug = Required(str, unique=True, **_TEXT)
        title = Required(str, **_TEXT)
        root = Optional(str, **_TEXT)
        last_number = Required(int, default=0, **_BIG)
        created_us = Required(int, **_BIG)
        tasks = Set("Task")
        sessions = Set("Session")

    class Task(db.Entity):
        _table_ = "task"
        id = PrimaryKey(int, size=64, auto=True)
        project = Required(Project, column="project_id")
        number = Required(int, **_BIG)
        task_key = Required(str, unique=True, **_TEXT)
        title = Required(str, **_TEXT)
        body_md = Optional(str, **_TEXT)
        status = Required(str, **_TEXT)
        session = Optional("Session", column="session_id")
        ever_bound = Required(int, default=0, **_BIG)
        author = Optional(str, **_TEXT)
        created_us = Required(int, **_BIG)
        updated_us = Required(int, **_BIG)
        seal = Optional(str, **_TEXT)
        steps = Set("Step")
        attachments = Set("Attachment")

    class Step(db.Entity):
        _table_ = "step"
        id = PrimaryKey(int, size=64, auto=True)
        task = Required(Task, column="task_id")
        n = Required(int, **_BIG)
        text = Required(str, **_TEXT)
        done = Required(int, default=0, **_BIG)

    class Attachment(db.Entity):
        _table_ = "attachment"
        id = PrimaryKey(int, size=64, auto=True)
        task = Required(Task, column="task_id")
        name = Required(str, **_TEXT)
        media_type = Required(str, **_TEXT)
        size_bytes = Required(int, **_BIG)
        sha256 = Required(str, **_TEXT)
        created_us = Required(int, **_BIG)

    class AttachmentContent(db.Entity):
        _table_ = "attachment_content"
        sha256 = PrimaryKey(str, **_TEXT)
        content = Required(bytes)


def _rows(db: Any) -> None:
    """Sessions and what belongs to them."""

    class Session(db.Entity):
        _table_ = "session"
        id = PrimaryKey(int, size=64, auto=True)
        title = Required(str, **_TEXT)
        title_key = Required(str, **_TEXT)
        kind = Required(str, **_TEXT)
        client = Required(str, **_TEXT)
        client_version = Optional(str, **_TEXT)
        cwd = Optional(str, **_TEXT)
        project = Optional("Project", column="project_id")
        activity = Required(str, **_TEXT)
        link_state = Required(str, **_TEXT)
        hook_id = Optional(str, unique=True, nullable=True, **_TEXT)
        moved_to = Optional(int, **_BIG)
        link_named = Required(int, default=0, **_BIG)
        title_given = Required(int, default=0, **_BIG)
        unlinked = Required(int, default=0, **_BIG)
        desktop_id = Optional(str, unique=True, nullable=True, **_TEXT)
        name = Optional(str, unique=True, nullable=True, **_TEXT)
        hook_since_us = Required(int, default=0, **_BIG)
        first_seen_us = Required(int, **_BIG)
        last_seen_us = Required(int, default=0, **_BIG)
        last_event_us = Required(int, default=0, **_BIG)
        ended_us = Required(int, default=0, **_BIG)
        ended_reason = Optional(str, **_TEXT)
        turn_state = Required(str, default="none", **_TEXT)
        turn_prompt_id = Optional(str, **_TEXT)
        turn_serial = Required(int, default=0, **_BIG)
        permission_mode = Optional(str, **_TEXT)
        transcript_path = Optional(str, **_TEXT)
        process_pid = Required(int, default=0, **_BIG)
        process_started = Optional(str, **_TEXT)
        process_ns = Optional(str, **_TEXT)
        process_host = Optional(str, **_TEXT)
        process_entry = Optional(str, **_TEXT)
        asks = Optional(str, **_TEXT)
        asks_since_us = Required(int, default=0, **_BIG)
        name_chosen = Optional(str, **_TEXT)
        inbound = Optional(str, **_TEXT)
        broadcasts = Required(int, default=0, **_BIG)
        suppressed = Required(int, default=0, **_BIG)
        epoch = Required(int, default=0, **_BIG)
        controls = Optional(str, **_TEXT)
        aliases = Set("Alias")
        tasks = Set("Task")

    class Alias(db.Entity):
        _table_ = "alias"
        id = PrimaryKey(int, size=64, auto=True)
        session = Required(Session, column="session_id")
        text = Required(str, **_TEXT)
        text_key = Required(str, **_TEXT)
        given_by = Required(str, **_TEXT)
        created_us = Required(int, **_BIG)

    class HookFate(db.Entity):
        _table_ = "hook_fate"
        hook_id = PrimaryKey(str, **_TEXT)
        fate = Required(str, **_TEXT)
        turn_state = Required(str, default="none", **_TEXT)
        turn_prompt_id = Optional(str, **_TEXT)
        at_us = Required(int, **_BIG)

    class ToolUse(db.Entity):
        _table_ = "tool_use"
        tool_use_id = PrimaryKey(str, **_TEXT)
        hook_id = Required(str, **_TEXT)
        session_id = Optional(int, **_BIG)
        tool = Required(str, **_TEXT)
        digest = Required(str, **_TEXT)
        answer = Optional(str, **_TEXT)
        at_us = Required(int, **_BIG)


def _ids(db: Any) -> None:
    """Ids that hooks reported and that a call may still bring."""

    class Witnessed(db.Entity):
        _table_ = "witnessed"
        tool_use_id = PrimaryKey(str, **_TEXT)
        hook_id = Required(str, **_TEXT)
        at_us = Required(int, **_BIG)


def _mail(db: Any) -> None:
    """Messages, deliveries, comments. Their references are kept as plain numbers: hot paths go by SQL."""

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


def _channels(db: Any) -> None:
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


def _automations(db: Any) -> None:
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


def _feed(db: Any) -> None:
    """The Inbox's own entries, the event feed, the spool events that were seen."""

    class Inbox(db.Entity):
        _table_ = "inbox"
        id = PrimaryKey(int, size=64, auto=True)
        kind = Required(str, **_TEXT)
        ref = Required(str, **_TEXT)
        session_id = Optional(int, **_BIG)
        created_us = Required(int, **_BIG)
        seen_us = Required(int, default=0, **_BIG)

    class Event(db.Entity):
        _table_ = "event"
        id = PrimaryKey(int, size=64, auto=True)
        type = Required(str, **_TEXT)
        at_us = Required(int, **_BIG)
        data = Required(str, **_TEXT)

    class EventSubject(db.Entity):
        _table_ = "event_subject"
        subject = Required(str, **_TEXT)
        event_id = Required(int, **_BIG)
        PrimaryKey(subject, event_id)

    class SavedView(db.Entity):
        _table_ = "saved_view"
        id = PrimaryKey(int, size=64, auto=True)
        page = Required(str, **_TEXT)
        name = Required(str, **_TEXT)
        query = Optional(str, **_TEXT)
        created_us = Required(int, **_BIG)

    class SpoolSeen(db.Entity):
        _table_ = "spool_seen"
        event_id = PrimaryKey(str, **_TEXT)
        at_us = Required(int, **_BIG)


def define() -> Database:
    """A Database with all entities defined, not yet bound."""
    db = Database()
    _board(db)
    _rows(db)
    _ids(db)
    _mail(db)
    _channels(db)
    _automations(db)
    _feed(db)
    return db
