"""Schema 1: everything pages 10 to 40 keep.

Keys are 64 bits, times int64 microseconds UTC, states text with a CHECK named after the promise it keeps. Public
ids of messages and comments are ULIDs in text beside the numeric key.
"""

from __future__ import annotations

_LINK_STATES = "'none','guessed_unseen','exact_unseen','guessed','exact','ended_guessed','ended_exact','moved'"

STATEMENTS: tuple[str, ...] = (
    """
    CREATE TABLE project (
      id {key},
      slug TEXT NOT NULL CONSTRAINT project_slug_once UNIQUE,
      title TEXT NOT NULL,
      root TEXT NOT NULL DEFAULT '',
      last_number {big} NOT NULL DEFAULT 0,
      created_us {big} NOT NULL
    )
    """,
    f"""
    CREATE TABLE session (
      id {{key}},
      title TEXT NOT NULL,
      title_key TEXT NOT NULL,
      kind TEXT NOT NULL CONSTRAINT session_kind_known CHECK (kind IN ('hook','agent','desktop')),
      client TEXT NOT NULL DEFAULT 'other',
      client_version TEXT NOT NULL DEFAULT '',
      cwd TEXT NOT NULL DEFAULT '',
      project_id {{big}} REFERENCES project(id) ON DELETE SET NULL,
      activity TEXT NOT NULL CONSTRAINT session_activity_known
        CHECK (activity IN ('working','idle','ended','unknown')),
      link_state TEXT NOT NULL CONSTRAINT session_link_known CHECK (link_state IN ({_LINK_STATES})),
      hook_id TEXT CONSTRAINT session_hook_id_once UNIQUE,
      moved_to {{big}},
      link_named {{big}} NOT NULL DEFAULT 0,
      title_given {{big}} NOT NULL DEFAULT 0,
      unlinked {{big}} NOT NULL DEFAULT 0,
      desktop_id TEXT CONSTRAINT session_desktop_once UNIQUE,
      name TEXT CONSTRAINT session_name_once UNIQUE,
      hook_since_us {{big}} NOT NULL DEFAULT 0,
      first_seen_us {{big}} NOT NULL,
      last_seen_us {{big}} NOT NULL DEFAULT 0,
      last_event_us {{big}} NOT NULL DEFAULT 0,
      ended_us {{big}} NOT NULL DEFAULT 0,
      ended_reason TEXT NOT NULL DEFAULT '',
      turn_state TEXT NOT NULL DEFAULT 'none' CONSTRAINT session_turn_two_blocks
        CHECK (turn_state IN ('none','one','two')),
      turn_prompt_id TEXT NOT NULL DEFAULT '',
      turn_serial {{big}} NOT NULL DEFAULT 0,
      permission_mode TEXT NOT NULL DEFAULT '',
      transcript_path TEXT NOT NULL DEFAULT '',
      process_pid {{big}} NOT NULL DEFAULT 0,
      process_started TEXT NOT NULL DEFAULT '',
      process_ns TEXT NOT NULL DEFAULT '',
      process_host TEXT NOT NULL DEFAULT '',
      process_entry TEXT NOT NULL DEFAULT '',
      CONSTRAINT session_link_has_id CHECK ((hook_id IS NULL) = (link_state IN ('none','moved')))
    )
    """,
    "CREATE INDEX session_by_title ON session(title_key)",
    "CREATE INDEX session_by_cwd ON session(cwd)",
    "CREATE INDEX session_by_desktop_id ON session(lower(desktop_id))",
    """
    CREATE TABLE alias (
      id {key},
      session_id {big} NOT NULL REFERENCES session(id) ON DELETE CASCADE,
      text TEXT NOT NULL,
      text_key TEXT NOT NULL,
      given_by TEXT NOT NULL CONSTRAINT alias_giver_known CHECK (given_by IN ('client','renaming','call','owner')),
      created_us {big} NOT NULL,
      CONSTRAINT alias_once_a_row UNIQUE (session_id, text_key)
    )
    """,
    "CREATE INDEX alias_by_key ON alias(text_key)",
    """
    CREATE TABLE hook_fate (
      hook_id TEXT PRIMARY KEY,
      fate TEXT NOT NULL CONSTRAINT hook_fate_known CHECK (fate IN ('taken_off','replaced')),
      turn_state TEXT NOT NULL DEFAULT 'none',
      turn_prompt_id TEXT NOT NULL DEFAULT '',
      at_us {big} NOT NULL
    )
    """,
    """
    CREATE TABLE tool_use (
      tool_use_id TEXT PRIMARY KEY,
      hook_id TEXT NOT NULL,
      session_id {big},
      tool TEXT NOT NULL,
      digest TEXT NOT NULL,
      answer TEXT NOT NULL DEFAULT '',
      at_us {big} NOT NULL
    )
    """,
    "CREATE TABLE witnessed (tool_use_id TEXT PRIMARY KEY, hook_id TEXT NOT NULL, at_us {big} NOT NULL)",
    """
    CREATE TABLE task (
      id {key},
      project_id {big} NOT NULL REFERENCES project(id) ON DELETE CASCADE,
      number {big} NOT NULL,
      task_key TEXT NOT NULL CONSTRAINT task_key_once UNIQUE,
      title TEXT NOT NULL,
      body_md TEXT NOT NULL DEFAULT '',
      status TEXT NOT NULL CONSTRAINT task_status_known
        CHECK (status IN ('inbox','todo','doing','review','done','dropped')),
      session_id {big} REFERENCES session(id) ON DELETE SET NULL,
      ever_bound {big} NOT NULL DEFAULT 0,
      author TEXT NOT NULL DEFAULT '',
      created_us {big} NOT NULL,
      updated_us {big} NOT NULL,
      CONSTRAINT task_number_once UNIQUE (project_id, number)
    )
    """,
    "CREATE INDEX task_by_session ON task(session_id)",
    """
    CREATE TABLE step (
      id {key},
      task_id {big} NOT NULL REFERENCES task(id) ON DELETE CASCADE,
      n {big} NOT NULL,
      text TEXT NOT NULL,
      done {big} NOT NULL DEFAULT 0,
      CONSTRAINT step_number_once UNIQUE (task_id, n)
    )
    """,
    """
    CREATE TABLE attachment (
      id {key},
      task_id {big} NOT NULL REFERENCES task(id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      media_type TEXT NOT NULL,
      size_bytes {big} NOT NULL,
      sha256 TEXT NOT NULL,
      created_us {big} NOT NULL
    )
    """,
    """
    CREATE TABLE message (
      id {key},
      mid TEXT NOT NULL CONSTRAINT message_id_once UNIQUE,
      audience TEXT NOT NULL DEFAULT 'direct',
      sender_id {big} REFERENCES session(id) ON DELETE SET NULL,
      sender_title TEXT NOT NULL,
      sender_name TEXT NOT NULL DEFAULT '',
      sender_verified {big} NOT NULL,
      sender_hook_id TEXT NOT NULL DEFAULT '',
      task_id {big} REFERENCES task(id) ON DELETE SET NULL,
      task_key TEXT NOT NULL DEFAULT '',
      parent_id {big} REFERENCES message(id) ON DELETE SET NULL,
      parent_mid TEXT NOT NULL DEFAULT '',
      depth {big} NOT NULL DEFAULT 0 CONSTRAINT message_depth_bounded CHECK (depth BETWEEN 0 AND 8),
      body TEXT NOT NULL,
      request_id TEXT,
      digest TEXT NOT NULL,
      sent_us {big} NOT NULL,
      CONSTRAINT message_request_once UNIQUE (sender_id, request_id)
    )
    """,
    "CREATE INDEX message_by_sender ON message(sender_id, sent_us)",
    "CREATE INDEX message_by_task ON message(task_id)",
    """
    CREATE TABLE delivery (
      id {key},
      message_id {big} NOT NULL REFERENCES message(id) ON DELETE CASCADE,
      recipient_id {big} REFERENCES session(id) ON DELETE SET NULL,
      recipient_title TEXT NOT NULL,
      recipient_name TEXT NOT NULL DEFAULT '',
      state TEXT NOT NULL CONSTRAINT delivery_state_known CHECK (state IN ('sent','delivered','read','orphaned')),
      reason_code TEXT NOT NULL DEFAULT '',
      sent_us {big} NOT NULL,
      delivered_us {big} NOT NULL DEFAULT 0,
      delivered_by TEXT NOT NULL DEFAULT '',
      delivered_hook_id TEXT NOT NULL DEFAULT '',
      handover_id TEXT NOT NULL DEFAULT '',
      in_context_us {big} NOT NULL DEFAULT 0,
      read_us {big} NOT NULL DEFAULT 0,
      read_how TEXT NOT NULL DEFAULT '' CONSTRAINT delivery_read_how_known
        CHECK (read_how IN ('','verified','not_verified','own_message')),
      stop_blocks {big} NOT NULL DEFAULT 0 CONSTRAINT delivery_one_stop_block CHECK (stop_blocks BETWEEN 0 AND 1),
      reoffers {big} NOT NULL DEFAULT 0 CONSTRAINT delivery_two_reoffers CHECK (reoffers BETWEEN 0 AND 2),
      given_us {big} NOT NULL DEFAULT 0,
      CONSTRAINT delivery_once_a_recipient UNIQUE (message_id, recipient_id),
      CONSTRAINT delivery_read_says_how CHECK ((state = 'read') = (read_how <> ''))
    )
    """,
    "CREATE INDEX delivery_open ON delivery(recipient_id, state)",
    # Small however long the history is: what waits is counted on every page.
    "CREATE INDEX delivery_waiting ON delivery(recipient_id, state) WHERE state IN ('sent','delivered')",
    """
    CREATE TABLE comment (
      id {key},
      cid TEXT NOT NULL CONSTRAINT comment_id_once UNIQUE,
      task_id {big} NOT NULL REFERENCES task(id) ON DELETE CASCADE,
      author_kind TEXT NOT NULL CONSTRAINT comment_author_known CHECK (author_kind IN ('owner','session')),
      author_id {big} REFERENCES session(id) ON DELETE SET NULL,
      author_title TEXT NOT NULL DEFAULT '',
      author_verified {big} NOT NULL DEFAULT 0,
      body_md TEXT NOT NULL,
      parent_id {big} REFERENCES comment(id) ON DELETE SET NULL,
      parent_cid TEXT NOT NULL DEFAULT '',
      step_n {big} NOT NULL DEFAULT 0,
      state TEXT NOT NULL CONSTRAINT comment_state_known
        CHECK (state IN ('sent','delivered','read','unanswered','answered')),
      created_us {big} NOT NULL,
      grace_until_us {big} NOT NULL DEFAULT 0,
      delivered_us {big} NOT NULL DEFAULT 0,
      delivered_to {big} REFERENCES session(id) ON DELETE SET NULL,
      delivered_title TEXT NOT NULL DEFAULT '',
      delivered_by TEXT NOT NULL DEFAULT '',
      delivered_hook_id TEXT NOT NULL DEFAULT '',
      handover_id TEXT NOT NULL DEFAULT '',
      reason_code TEXT NOT NULL DEFAULT '',
      in_context_us {big} NOT NULL DEFAULT 0,
      read_us {big} NOT NULL DEFAULT 0,
      read_how TEXT NOT NULL DEFAULT '',
      stop_blocks {big} NOT NULL DEFAULT 0 CONSTRAINT comment_two_stop_blocks CHECK (stop_blocks BETWEEN 0 AND 2),
      reoffers {big} NOT NULL DEFAULT 0 CONSTRAINT comment_two_reoffers CHECK (reoffers BETWEEN 0 AND 2)
    )
    """,
    "CREATE INDEX comment_by_task ON comment(task_id, state)",
    """
    CREATE TABLE comment_given (
      id {key},
      comment_id {big} NOT NULL REFERENCES comment(id) ON DELETE CASCADE,
      session_id {big} NOT NULL REFERENCES session(id) ON DELETE CASCADE,
      at_us {big} NOT NULL,
      CONSTRAINT comment_given_once UNIQUE (comment_id, session_id)
    )
    """,
    """
    CREATE TABLE inbox (
      id {key},
      kind TEXT NOT NULL,
      ref TEXT NOT NULL,
      session_id {big},
      created_us {big} NOT NULL,
      seen_us {big} NOT NULL DEFAULT 0,
      CONSTRAINT inbox_once UNIQUE (kind, ref)
    )
    """,
    """
    CREATE TABLE event (
      id {key},
      type TEXT NOT NULL,
      at_us {big} NOT NULL,
      data TEXT NOT NULL
    )
    """,
    "CREATE TABLE spool_seen (event_id TEXT PRIMARY KEY, at_us {big} NOT NULL)",
)
