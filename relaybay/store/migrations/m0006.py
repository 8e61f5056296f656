"""Schema 6: what set off the owner's rules. One row a rule and admission, from the transaction that let the message in
until the rule's actions are done: so limits outlive a restart, and nothing sets off a rule twice.
"""

from __future__ import annotations

STATEMENTS: tuple[str, ...] = (
    """
    CREATE TABLE automation_firing (
      id {key},
      rule TEXT NOT NULL,
      rule_digest TEXT NOT NULL,
      delivery_id {big} REFERENCES delivery(id) ON DELETE SET NULL,
      mid TEXT NOT NULL,
      session_id {big} REFERENCES session(id) ON DELETE SET NULL,
      session_title TEXT NOT NULL,
      admission TEXT NOT NULL CONSTRAINT automation_admission_known CHECK (admission IN ('sent','held')),
      catch_up {big} NOT NULL DEFAULT 0,
      consume {big} NOT NULL DEFAULT 0,
      consumed {big} NOT NULL DEFAULT 0,
      state TEXT NOT NULL CONSTRAINT automation_state_known
        CHECK (state IN ('waiting','running','done','failed','given_back','dropped')),
      queued_us {big} NOT NULL,
      started_us {big} NOT NULL DEFAULT 0,
      ended_us {big} NOT NULL DEFAULT 0,
      reason_code TEXT NOT NULL DEFAULT '',
      detail TEXT NOT NULL DEFAULT '',
      sent {big} NOT NULL DEFAULT 0,
      CONSTRAINT automation_firing_once UNIQUE (rule, delivery_id, admission),
      CONSTRAINT automation_failed_says_why CHECK (state NOT IN ('failed','given_back','dropped') OR reason_code <> '')
    )
    """,
    # What a rule has waiting and running, and when it fired within the last hour.
    "CREATE INDEX automation_open ON automation_firing(rule, id) WHERE state IN ('waiting','running')",
    "CREATE INDEX automation_started ON automation_firing(rule, started_us)",
    "CREATE INDEX automation_by_delivery ON automation_firing(delivery_id)",
)
