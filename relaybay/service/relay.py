"""`Relay`: what a use case may reach beyond its transaction, put together once by the composition root.

After every commit the rows it touched are looked up anew in memory, waits of those rows are looked at again, and
whoever listens (the board's streams) is told which events there are.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from relaybay.service import automation_rules, search_index
from relaybay.service.clock import Clock
from relaybay.service.contexts import Contexts
from relaybay.service.mailbox import Mailbox
from relaybay.service.presence import Presence
from relaybay.service.waits import Waits
from relaybay.settings import Messaging
from relaybay.store import sessions
from relaybay.store.database import Committed, Store
from relaybay.store.transaction import Tx
from relaybay.transcript import Transcripts

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Relay:
    """The store and what is kept in memory beside it. `listeners` run in the writer thread: they must be quick.
    `messaging` is what the owner configured; without its switch there are no channels. `automations` are the owner's
    rules, set once when a server starts.
    """

    store: Store
    clock: Clock
    presence: Presence
    mailbox: Mailbox
    waits: Waits
    contexts: Contexts
    listeners: list[Callable[[Committed], None]]
    messaging: Messaging
    automations: automation_rules.Book = field(default=automation_rules.EMPTY)

    def close(self) -> None:
        """Ends all waits (WAIT-7), writes what presence still holds, closes the store."""
        self.waits.end_all()
        try:
            self.flush(self.presence.dirty())
        finally:
            # A store that has stopped takes no more of presence; it lets its folder go all the same.
            self.store.close()

    def flush(self, session_ids: list[int]) -> None:
        """Writes the presence of these rows into the store, in one transaction."""

        def write(tx: Tx) -> None:
            for key in session_ids:
                row = sessions.get(tx, key)
                if row is not None:
                    self.presence.write_back(tx, row)

        if session_ids:
            self.store.write(write)


def open_relay(
    path: Path, clock: Clock, transcripts: Transcripts | None = None, messaging: Messaging | None = None
) -> Relay:
    """Opens the store and fills what is kept in memory. Raises the store's errors.

    `transcripts`: where proof is looked for that a text arrived; without it no claim is made (CTX-3).
    """
    presence, waits = Presence(), Waits()
    mailbox = Mailbox(channels=bool(messaging and messaging.channels))
    contexts = Contexts(transcripts or Transcripts())
    listeners: list[Callable[[Committed], None]] = []

    def on_commit(news: Committed, tx: Tx) -> None:
        presence.refresh(tx, news.touched)
        mailbox.refresh(tx, news.touched)
        waits.look_again(news.touched)
        for listener in listeners:
            listener(news)

    store = Store(path, clock, on_commit)
    relay = Relay(store, clock, presence, mailbox, waits, contexts, listeners, messaging or Messaging())
    search_index.complete(store)
    store.read(presence.load)
    store.read(mailbox.load)
    store.read(contexts.load)
    return relay
