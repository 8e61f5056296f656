"""Schema 3: the texts of tasks and comments as full-text search has them (`store/search.py` fills it), the way from a
message to its answers, and the filters that the owner keeps under a name.
"""

from __future__ import annotations

STATEMENTS: tuple[str, ...] = (
    "CREATE {search_text}",
    # Whether a message was answered, and a whole thread.
    "CREATE INDEX message_by_parent ON message(parent_id)",
    """
    CREATE TABLE saved_view (
      id {key},
      page TEXT NOT NULL,
      name TEXT NOT NULL,
      query TEXT NOT NULL,
      created_us {big} NOT NULL,
      CONSTRAINT saved_view_name_once UNIQUE (page, name)
    )
    """,
)
