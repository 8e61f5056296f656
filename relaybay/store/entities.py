"""Pony's model of the tables that `migrations/` makes. `define()` gives a fresh Database, since one process may open
several stores (tests, `relaybay demo`).

Held to the traps that were measured: no text is stripped (`autostrip=False`), integers are 64 bits, table names are
lower case on both engines. At start the mapping is checked against the tables (`check_tables`), so that a column
forgotten here or there stops the program.
"""

from __future__ import annotations

from typing import Any

from pony.orm import Database, Optional, PrimaryKey, Required, Set

from relaybay.store import entities_mail

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
    entities_mail.messages(db)
    entities_mail.comments(db)
    entities_mail.channels(db)
    entities_mail.automations(db)
    _feed(db)
    return db
