"""How a row can be reached right now: RECV-3 to 8, for receipts of messages and for the cards of comments.

Whether the row admits the thing at all (RECV-9, 10) is asked elsewhere; here it does.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from relaybay.answers import word
from relaybay.rules.recipient import ReachFacts, judge_reach, reach_of
from relaybay.rules.text import name_literal
from relaybay.service.clock import age
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import sessions
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

_SECOND = 1_000_000
_MINUTE_SECONDS = 60
#: Sentences that speak of messages, and what stands on a card instead.
_OF_COMMENTS = {
    "recv.never_linked": "reach.comment_never_linked",
    "recv.ended": "reach.comment_ended",
    "recv.moved": "reach.comment_moved",
    "recv.moved_on": "reach.comment_moved_on",
}


class Reach(NamedTuple):
    """Why something for a row is not delivered yet: page 75's reason code, the answer and its values.

    `values` has `recipient`, `holder` where the link moved, and `ago` when the row was last seen more than 15
    minutes ago; all are worded already, so that they can be put into any sentence.
    """

    reason_code: str
    answer: str
    values: dict[str, Any]


def reach(tx: Tx, relay: Relay, row: SessionRow) -> Reach:
    """RECV-3 to 8 for one row as it is now, what is kept in memory counted. Changes nothing."""
    now = relay.presence.current(row)
    verdict = judge_reach(
        ReachFacts(
            admission="open",
            link=reach_of(now.link_state),  # type: ignore[arg-type]
            working=now.activity == "working",
            waiting=relay.waits.of_row(now.id, tx.now) is not None,
        )
    )
    answer, values = verdict.answer, {"recipient": name_literal(now.title)}
    if verdict.outcome == "moved":
        holder = sessions.get(tx, now.moved_to)
        if holder is None or holder.hook_id is None:
            answer = "recv.moved_on"
        else:
            values["holder"] = f"{holder.ref} {name_literal(holder.title)}"
    silent = (tx.now - now.last_seen_us) // _SECOND
    if now.last_seen_us and silent > limit("last_seen_minutes_max") * _MINUTE_SECONDS:
        values["ago"] = age(silent)
    return Reach(verdict.outcome, answer, values)


def said(found: Reach, of: Literal["message", "comment"] = "message") -> str:
    """The sentence, and since when the row was not seen (page 10, Activity) where that is long ago."""
    answer = _OF_COMMENTS.get(found.answer, found.answer) if of == "comment" else found.answer
    text = word(answer, **found.values).text
    return f"{text} {word('recv.last_seen', **found.values).text}" if "ago" in found.values else text
