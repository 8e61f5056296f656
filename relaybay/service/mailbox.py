"""The in-memory index of who has anything waiting, so that a hook with no mail touches no database (PERF-1).

It is looked up anew, from the store, for every row a commit touched; between two commits it cannot change. It may say
"something" where a closer look finds nothing to hand over (a comment in its 5 s), never the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relaybay.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Waiting:
    """How much waits for one row: comments and messages `sent`, and those `delivered` but unread. `passive` messages
    only ride along with a prompt; `subscribed`: a prompt has to look what the row's topics have brought (CATCHUP-1).
    """

    comments_sent: int = 0
    messages_sent: int = 0
    comments_delivered: int = 0
    messages_delivered: int = 0
    passive: int = 0
    subscribed: bool = False

    @property
    def sent(self) -> bool:
        """Whether any event that carries text may have something to carry."""
        return bool(self.comments_sent or self.messages_sent)

    @property
    def anything(self) -> bool:
        """Whether a Stop may have something to show: delivered but unread items count there."""
        return self.sent or bool(self.comments_delivered or self.messages_delivered)

    @property
    def at_prompt(self) -> bool:
        """Whether a prompt's answer may have something to carry, or a tool event's what that one had no room for."""
        return self.sent or bool(self.passive) or self.subscribed


_NOTHING = Waiting()


class Mailbox:
    """Row id → Waiting; rows with nothing are not kept. Without channels nothing published waits for anybody."""

    def __init__(self, *, channels: bool = False) -> None:
        self._channels = channels
        self._waiting: dict[int, Waiting] = {}

    def of(self, session_id: int) -> Waiting:
        """What waits for a row."""
        return self._waiting.get(session_id, _NOTHING)

    def load(self, tx: Tx) -> None:
        """Fills the index at start."""
        rows = tx.rows(
            "SELECT recipient_id FROM delivery WHERE state IN ('sent','delivered') AND recipient_id IS NOT NULL"
            " UNION SELECT t.session_id FROM comment c JOIN task t ON t.id = c.task_id"
            " WHERE c.author_kind = 'owner' AND c.state IN ('sent','delivered') AND t.session_id IS NOT NULL"
            " UNION SELECT session_id FROM topic_pattern"
        )
        self.refresh(tx, (int(r[0]) for r in rows))

    def refresh(self, tx: Tx, session_ids: Iterable[int]) -> None:
        """Looks rows up anew."""
        for key in session_ids:
            messages, passive = self._messages(tx, key)
            comments: dict[str, int] = dict(
                tx.rows(
                    "SELECT c.state, count(*) FROM comment c JOIN task t ON t.id = c.task_id WHERE t.session_id = ?"
                    " AND c.author_kind = 'owner' AND c.state IN ('sent','delivered') GROUP BY c.state",
                    key,
                )
            )
            found = Waiting(
                comments.get("sent", 0),
                messages.get("sent", 0),
                comments.get("delivered", 0),
                messages.get("delivered", 0),
                passive,
                self._channels and tx.value("SELECT 1 FROM topic_pattern WHERE session_id = ?", key) is not None,
            )
            if found == _NOTHING:
                self._waiting.pop(key, None)
            else:
                self._waiting[key] = found

    def _messages(self, tx: Tx, key: int) -> tuple[dict[str, int], int]:
        """A row's messages by state, and how many of those in `sent` only ride along."""
        if not self._channels:
            found = tx.rows(
                "SELECT d.state, count(*) FROM delivery d JOIN message m ON m.id = d.message_id"
                " WHERE d.recipient_id = ? AND d.state IN ('sent','delivered') AND m.audience = 'direct'"
                " GROUP BY d.state",
                key,
            )
            return {str(state): int(count) for state, count in found}, 0
        rows = tx.rows(
            "SELECT state, passive, count(*) FROM delivery WHERE recipient_id = ? AND state IN ('sent','delivered')"
            " GROUP BY state, passive",
            key,
        )
        counts = {(str(state), bool(passive)): int(count) for state, passive, count in rows}
        of = {state: counts.get((state, False), 0) for state in ("sent", "delivered")}
        return of, counts.get(("sent", True), 0)
