"""Schema 2: a seal beside each text that somebody wrote, so that a bit that flipped on the disk is seen.

The rows that are there are sealed once the columns are (`seals.fill`).
"""

from __future__ import annotations

STATEMENTS: tuple[str, ...] = (
    "ALTER TABLE message ADD COLUMN seal TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE comment ADD COLUMN seal TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE task ADD COLUMN seal TEXT NOT NULL DEFAULT ''",
)
