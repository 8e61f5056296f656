"""Schema 5: channels. A message has an audience, a sender's kind and what POLICY needs of the sender; a delivery has
the states of page 50, when it was admitted, its review and who took it; a session has the owner's controls, its
patterns and how far it has seen each topic; and the tickets of `relaybay run`.

The table of deliveries is made anew, since its states stand in a constraint. Nothing refers to it.
"""

from __future__ import annotations

_DELIVERY_COLUMNS = (
    "id, message_id, recipient_id, recipient_title, recipient_name, state, reason_code, sent_us, delivered_us,"
    " delivered_by, delivered_hook_id, handover_id, in_context_us, read_us, read_how, stop_blocks, reoffers, given_us"
)

STATEMENTS: tuple[str, ...] = (
    # What the owner decides about a session (page 50, CH-10), and what counts its changes.
    "ALTER TABLE session ADD COLUMN name_chosen TEXT NOT NULL DEFAULT ''",
    """
    ALTER TABLE session ADD COLUMN inbound TEXT NOT NULL DEFAULT ''
      CONSTRAINT session_inbound_known CHECK (inbound IN ('','accept','auto','hold','refuse'))
    """,
    "ALTER TABLE session ADD COLUMN broadcasts {big} NOT NULL DEFAULT 0",
    "ALTER TABLE session ADD COLUMN suppressed {big} NOT NULL DEFAULT 0",
    "ALTER TABLE session ADD COLUMN epoch {big} NOT NULL DEFAULT 0",
    "ALTER TABLE session ADD COLUMN controls TEXT NOT NULL DEFAULT ''",
    # What a message says of whom it is for and who it is from.
    """
    ALTER TABLE message ADD COLUMN topic TEXT NOT NULL DEFAULT ''
      CONSTRAINT message_topic_if_published CHECK ((audience = 'topic') = (topic <> ''))
    """,
    """
    ALTER TABLE message ADD COLUMN sender_kind TEXT NOT NULL DEFAULT 'session'
      CONSTRAINT message_sender_kind_known CHECK (sender_kind IN ('session','script'))
    """,
    "ALTER TABLE message ADD COLUMN sender_mode TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE message ADD COLUMN sender_folder TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE message ADD COLUMN automation TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE message ADD COLUMN body_hash TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE message ADD COLUMN skipped {big} NOT NULL DEFAULT 0",
    "CREATE INDEX message_by_topic ON message(topic, id) WHERE audience = 'topic'",
    "CREATE INDEX message_broadcast ON message(id) WHERE audience = 'broadcast'",
    # A script has its label only: its request ids are one sender's like a session's.
    """
    CREATE UNIQUE INDEX message_script_request_once ON message(sender_title, request_id)
      WHERE sender_kind = 'script' AND request_id IS NOT NULL
    """,
    "CREATE INDEX message_by_script ON message(sender_title, sent_us) WHERE sender_kind = 'script'",
    """
    CREATE TABLE delivery_next (
      id {key},
      message_id {big} NOT NULL REFERENCES message(id) ON DELETE CASCADE,
      recipient_id {big} REFERENCES session(id) ON DELETE SET NULL,
      recipient_title TEXT NOT NULL,
      recipient_name TEXT NOT NULL DEFAULT '',
      state TEXT NOT NULL CONSTRAINT delivery_state_known CHECK (state IN ('sent','held','delivered','read','orphaned',
        'taken','refused','rate_limited','rejected','dropped','consumed')),
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
      state_us {big} NOT NULL DEFAULT 0,
      admitted_us {big} NOT NULL DEFAULT 0,
      passive {big} NOT NULL DEFAULT 0 CONSTRAINT delivery_passive_known CHECK (passive IN (0, 1)),
      passive_turn {big} NOT NULL DEFAULT 0,
      pointer {big} NOT NULL DEFAULT 0,
      fetched_us {big} NOT NULL DEFAULT 0,
      approved_epoch {big} NOT NULL DEFAULT -1,
      review_state TEXT NOT NULL DEFAULT 'none' CONSTRAINT delivery_review_known
        CHECK (review_state IN ('none','open','stale','closed')),
      review_token TEXT NOT NULL DEFAULT '',
      review_epoch {big} NOT NULL DEFAULT 0,
      taken_by TEXT NOT NULL DEFAULT '',
      CONSTRAINT delivery_once_a_recipient UNIQUE (message_id, recipient_id),
      CONSTRAINT delivery_read_says_how CHECK ((state = 'read') = (read_how <> '')),
      CONSTRAINT delivery_closed_says_why CHECK (state NOT IN ('held','refused','rate_limited','rejected','dropped',
        'consumed') OR reason_code <> '')
    )
    """,
    # What was accepted before there were channels was admitted when it was sent.
    f"INSERT INTO delivery_next ({_DELIVERY_COLUMNS}, admitted_us) SELECT {_DELIVERY_COLUMNS}, sent_us FROM delivery",  # noqa: S608
    "DROP TABLE delivery",
    "ALTER TABLE delivery_next RENAME TO delivery",
    "CREATE INDEX delivery_open ON delivery(recipient_id, state)",
    # Small however long the history is: what waits is counted on every page.
    "CREATE INDEX delivery_waiting ON delivery(recipient_id, state) WHERE state IN ('sent','delivered')",
    "CREATE INDEX delivery_kept_back ON delivery(recipient_id, state) WHERE state IN ('held','taken')",
    # ADM looks at what a recipient was let in to during the last minute.
    "CREATE INDEX delivery_admitted ON delivery(recipient_id, admitted_us)",
    """
    CREATE TABLE topic_pattern (
      id {key},
      session_id {big} NOT NULL REFERENCES session(id) ON DELETE CASCADE,
      pattern TEXT NOT NULL,
      CONSTRAINT topic_pattern_once UNIQUE (session_id, pattern)
    )
    """,
    """
    CREATE TABLE topic_cursor (
      session_id {big} NOT NULL REFERENCES session(id) ON DELETE CASCADE,
      topic TEXT NOT NULL,
      seen_id {big} NOT NULL,
      PRIMARY KEY (session_id, topic)
    )
    """,
    """
    CREATE TABLE start_ticket (
      ticket TEXT PRIMARY KEY,
      options TEXT NOT NULL,
      created_us {big} NOT NULL,
      used_us {big} NOT NULL DEFAULT 0
    )
    """,
)
