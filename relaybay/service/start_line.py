"""The one line that SessionStart is answered with (page 20, ANS-1): who it is, whom it can write to, what waits."""

from __future__ import annotations

from typing import Any, Literal

from relaybay.answers import word
from relaybay.domain import HookEvent
from relaybay.rules import start_line
from relaybay.rules.text import name_literal
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import comments, messages, sessions
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

#: Clients that send a tool-use id with each call, and so need no hook id told (PROOF-2).
_VOUCHING_CLIENTS = {"claude-code"}


def compose(
    tx: Tx,
    relay: Relay,
    row: SessionRow,
    event: HookEvent,
    outcome: Literal["start_line", "start_line_guessed", "start_line_folder_guess"],
) -> str:
    """The sentences in their order, joined with a blank."""
    others = [relay.presence.current(r) for r in sessions.live_others(tx, row.id, limit("start_line_peers_max"))]
    unread_comments = [c for c in comments.of_session(tx, row.id, ("sent", "delivered")) if not c.held_back(tx.now)]
    unread = messages.counts(tx, row.id)
    taken = relay.messaging.channels and bool(row.name_chosen) and row.name != row.name_chosen
    facts = start_line.StartFacts(
        outcome=outcome,
        name_taken=taken,
        nameless=not row.name,
        peers=len(others),
        unread_comments=len(unread_comments),
        unread_messages=unread.get("sent", 0) + unread.get("delivered", 0),
        held_messages=messages.held_count(tx, row.id) if relay.messaging.channels else 0,
        work="",
        tells_tool_use_id=event.client in _VOUCHING_CLIENTS,
    )
    values: dict[str, Any] = {
        "title": name_literal(row.title),
        "ref": row.ref,
        "name": f"@{row.name}" if row.name else row.ref,
        "peers": ", ".join(_peer(other) for other in others),
        "comments": facts.unread_comments,
        "messages": facts.unread_messages,
        "held": facts.held_messages,
        "hook_id": row.hook_id,
        "chosen": row.name_chosen,
    }
    return " ".join(word(answer_id, **values).text for answer_id in start_line.sentences(facts))


def _peer(row: SessionRow) -> str:
    if row.name:
        return word("start.peer", title=name_literal(row.title), ref=row.ref, name=f"@{row.name}").text
    return word("start.peer_unnamed", title=name_literal(row.title), ref=row.ref).text
