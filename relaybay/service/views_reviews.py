"""Read models of `/messages?tab=review` and of one message's review page (page 50, OWN-2 and 3).

The list has no texts, and neither gives a token: a review is opened by the owner's own act (REV-1). What is shown of an
open one is what that act gave.
"""

from __future__ import annotations

from typing import Any

from relaybay.answers import word
from relaybay.domain import Outcome
from relaybay.service import reviews
from relaybay.service.relay import Relay
from relaybay.store import messages
from relaybay.store.messages import Mail
from relaybay.store.transaction import Tx

_RESUME = "waits_for_resume"
#: Held messages that the tab lists; the others come as those are decided.
LISTED_MAX = 30


def review_list(tx: Tx, relay: Relay) -> Outcome:
    """What is held, oldest first: what waits for the owner, and apart from it what waits for a session's own user."""
    mails = messages.held(tx)
    mine = [mail for mail in mails if mail.reason_code != _RESUME]
    others = [mail for mail in mails if mail.reason_code == _RESUME]
    return Outcome(
        data={
            "on": relay.messaging.channels,
            "held": [reviews.listed(tx, relay, mail) for mail in mine[:LISTED_MAX]],
            "held_count": len(mine),
            "until_resumed": [reviews.listed(tx, relay, mail) for mail in others[:LISTED_MAX]],
            "until_resumed_count": len(others),
            "following": _following(mine if relay.messaging.channels else [], 0),
        }
    )


def held_at(tx: Tx, relay: Relay, message_id: str, session: str) -> dict[str, Any]:
    """What a list says of one held message; nothing when it is gone."""
    for mail in messages.held(tx, int(session.removeprefix("S-"))):
        if mail.mid == message_id:
            shown = reviews.listed(tx, relay, mail)
            return {name: shown[name] for name in ("from", "recipient", "audience", "reason")}
    return {}


def review_page(tx: Tx, relay: Relay, *, message_id: str, session: str = "") -> Outcome:
    """One message's review: `stage` says how far it is.

    `open` has the token and the text. `unopened` and `stale` have neither: what stands there is what a list shows, and
    the form that opens it. `closed` is a message that is not held any more, with what became of it.
    """
    found = reviews.show(tx, relay, message_id=message_id, session=session)
    if found.refusal is not None:
        return found
    shown = dict(found.data)
    shown["cost"] = shown.pop("text")
    stage = _stage(shown)
    if stage in ("unopened", "stale"):
        del shown["body"]
    if shown["blocked_by"]:
        shown["blocked"] = word(f"review.by_{shown['blocked_by']}").text
    ref = shown["recipient"].get("ref", "")
    here = messages.get(tx, message_id, [int(ref.removeprefix("S-"))] if ref else [])
    waiting = messages.for_review(tx) if relay.messaging.channels else []
    return Outcome(
        data={
            "on": relay.messaging.channels,
            "review": shown | {"stage": stage},
            "session": ref,
            "following": _following(waiting, here.id if here is not None else 0),
        }
    )


def _stage(shown: dict[str, Any]) -> str:
    if shown["state"] != "held":
        return "closed"
    if "token" in shown:
        return "open"
    # One that was opened under other controls has a token no more, whether or not anybody has looked at them since.
    return "stale" if shown["review"] in ("stale", "open") else "unopened"


def _following(waiting: list[Mail], delivery_id: int) -> dict[str, str] | None:
    """Where `n` leads: the next one that waits after this, held or not any more; from the last one to the first."""
    others = sorted(
        (mail for mail in waiting if mail.id != delivery_id), key=lambda mail: (mail.id < delivery_id, mail.id)
    )
    return {"message_id": others[0].mid, "session": f"S-{others[0].recipient_id}"} if others else None
