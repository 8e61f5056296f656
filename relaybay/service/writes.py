"""What every write of an agent has in common: who speaks, its own checks, LINK carried out, and the answer kept for a
repeat of the call (page 10, PROOF-6). The owner's writes pass through here too and meet no table of identity.

`begin` says who speaks, or gives the outcome that ends the call; then the use case checks; `settle` comes after the
last check; `finish` gives the outcome.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

from relaybay.domain import Caller, Outcome, Refusal
from relaybay.service.identity import Identity
from relaybay.service.linking import apply, identify
from relaybay.service.relay import Relay
from relaybay.store import sessions
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

Warnings = tuple[tuple[str, dict[str, Any]], ...]


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


def digest(caller: Caller, arguments: dict[str, Any]) -> str:
    """Stands for a call's arguments, those that say who speaks among them: equal calls have equal ones."""
    said = [caller.session, caller.session_title, caller.hook_session]
    text = json.dumps([said, arguments], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def begin(
    tx: Tx, relay: Relay, caller: Caller, call: Literal["mark", "other", "bind"], tool: str, **arguments: Any
) -> Identity | Outcome | None:
    """Who makes the call: an Identity, None for the owner. An Outcome ends the call: a refusal, or the first answer of
    the very same call (PROOF-6).
    """
    if caller.owner:
        return None
    found = identify(tx, relay, caller, call, tx.now, tool, digest(caller, arguments))
    if isinstance(found, Refusal):
        return Outcome(refusal=found)
    if found.first_answer:
        kept = json.loads(found.first_answer)
        return Outcome(
            data={**kept["data"], "repeat": True},
            warnings=tuple((answer, values) for answer, values in kept["warnings"]),
        )
    return found


def settle(tx: Tx, relay: Relay, identity: Identity | None) -> Author:
    """Carries LINK out, after the last check, and says who the author is."""
    if identity is None:
        return Author("owner")
    row = apply(tx, relay, identity, tx.now)
    return Author("unnamed") if row is None else Author("session", row, identity.verified)


def finish(tx: Tx, identity: Identity | None, data: dict[str, Any]) -> Outcome:
    """The outcome of a write that was carried out; its answer is kept with the tool-use id it came with."""
    warnings: Warnings = identity.warnings if identity is not None else ()
    if identity is not None and identity.tool_use_id:
        kept = json.dumps({"data": data, "warnings": warnings}, ensure_ascii=False)
        sessions.answer_tool(tx, identity.tool_use_id, kept)
    return Outcome(data=data, warnings=warnings)


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
