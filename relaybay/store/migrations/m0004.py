"""Schema 4: the file of its task that a comment is about. Its name is kept with the comment, as files come off."""

from __future__ import annotations

STATEMENTS: tuple[str, ...] = (
    "ALTER TABLE comment ADD COLUMN attachment_id {big} REFERENCES attachment(id) ON DELETE SET NULL",
    "ALTER TABLE comment ADD COLUMN attachment_name TEXT NOT NULL DEFAULT ''",
    # Taking a file off must not read every comment.
    "CREATE INDEX comment_by_attachment ON comment(attachment_id) WHERE attachment_id IS NOT NULL",
)
