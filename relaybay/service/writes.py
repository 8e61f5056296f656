"""What every write of an agent has in common: who speaks, the use case's own part, and the answer kept for a repeat
of the call (page 10, PROOF-6). The owner's writes pass through here too and meet no table of identity.

`call` says who speaks and hands that to the use case; it checks, calls `settle` after its last check, writes, and ends
with `done`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from relaybay.domain import Caller, Outcome, Refusal
from relaybay.service import repeats
from relaybay.service.identity import Identity
from relaybay.service.linking import apply, identify
from relaybay.service.relay import Relay
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Author:
    """Who writes: the owner, a session (verified as SEND-4 to 6 would have it), or nobody named (WRITE-3)."""

    kind: Literal["owner", "session", "unnamed"]
    row: SessionRow | None = None
    verified: bool = False

    @property
    def label(self) -> str:
        """How rows and events keep an author: `owner`, a ref, or `unnamed`."""
        return self.row.ref if self.row is not None else self.kind


def call(
    tx: Tx,
    relay: Relay,
    caller: Caller,
    kind: Literal["mark", "other", "bind"],
    tool: str,
    arguments: dict[str, Any],
    work: Callable[[Identity | None], Outcome],
) -> Outcome:
    """One write: `work` gets the Identity, None for the owner. A call refused for its identity never gets there, and
    neither does the very same call again, which gets the first one's answer.
    """
    if caller.owner:
        return work(None)
    mark = repeats.mark(caller, **arguments)
    who = identify(tx, relay, caller, kind, tx.now, tool, mark)
    if isinstance(who, Refusal):
        return Outcome(refusal=who)
    return repeats.first(who) or repeats.keep(tx, who, work(who))


def settle(tx: Tx, relay: Relay, who: Identity | None) -> Author:
    """Carries LINK out, after the last check, and says who the author is."""
    if who is None:
        return Author("owner")
    row = apply(tx, relay, who, tx.now)
    return Author("unnamed") if row is None else Author("session", row, who.verified)


def done(who: Identity | None, data: dict[str, Any]) -> Outcome:
    """The outcome of a write that was carried out, with LINK's warnings."""
    return Outcome(data=data, warnings=who.warnings if who is not None else ())


def reader(tx: Tx, relay: Relay, caller: Caller, tool: str) -> SessionRow | None:
    """The row a read is made for, if the call may count as that row's: proven, or the row never linked itself.

    A read is never refused for who it says it is (page 40), and links nothing.
    """
    if caller.owner:
        return None
    found = identify(tx, relay, caller, "read", tx.now, tool, "")
    if isinstance(found, Refusal) or found.speaker is None:
        return None
    return found.speaker if found.said.outcome == "proven" or not found.speaker.linked_itself else None
