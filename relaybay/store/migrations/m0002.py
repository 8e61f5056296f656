"""Schema 2: a seal beside each text that somebody wrote, so that a bit that flipped on the disk is seen; what an event
is about; files with their content; sessions that ask for their user; and indexes for what pages count.

The rows that are there are sealed once the columns are (`seals.fill`), and the events get their subjects
(`events.fill`).
"""

from __future__ import annotations

STATEMENTS: tuple[str, ...] = (
    "ALTER TABLE message ADD COLUMN seal TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE comment ADD COLUMN seal TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE task ADD COLUMN seal TEXT NOT NULL DEFAULT ''",
    """
    ALTER TABLE session ADD COLUMN asks TEXT NOT NULL DEFAULT ''
      CONSTRAINT session_asks_known CHECK (asks IN ('','permission','input'))
    """,
    "ALTER TABLE session ADD COLUMN asks_since_us {big} NOT NULL DEFAULT 0",
    "CREATE INDEX attachment_by_task ON attachment(task_id)",
    "CREATE INDEX attachment_by_content ON attachment(sha256)",
    "CREATE TABLE attachment_content (sha256 TEXT PRIMARY KEY, content {blob} NOT NULL)",
    "CREATE INDEX message_by_time ON message(sent_us)",
    # Counted on every page: what waits for the owner, however long the history is.
    "CREATE INDEX comment_unanswered ON comment(state) WHERE state = 'unanswered'",
    # A kind of event is found without reading the others; within a kind the keys stand in their order.
    "CREATE INDEX event_by_type ON event(type, id)",
    # What an event is about, so that the timeline of one task or session costs what it shows and not the whole feed.
    """
    CREATE TABLE event_subject (
      subject TEXT NOT NULL,
      event_id {big} NOT NULL REFERENCES event(id) ON DELETE CASCADE,
      PRIMARY KEY (subject, event_id)
    )
    """,
)
