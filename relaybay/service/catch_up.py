"""Catch-up: of each topic that a row subscribes to, the newest message it has not seen (page 50, table CATCHUP).

At most 16, each passive: it rides along with a prompt and wakes nobody. It is asked for at a prompt, at a start and
when subscriptions change; nothing of it counts in a rate.
"""

from __future__ import annotations

from relaybay.rules import catch_up as rule
from relaybay.rules import topics
from relaybay.service import admission, controls
from relaybay.service.admission import Arriving
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import channels, messages
from relaybay.store.admissions import Author
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

#: States in which a delivery that is there is none for this session to have again.
_TAKEN_UP = ("refused", "rate_limited", "dropped")


def catch_up(tx: Tx, relay: Relay, row: SessionRow) -> int:
    """Offers what the row's topics have brought; how many messages. The row is exactly linked and live."""
    patterns = channels.patterns(tx, row.id) if relay.messaging.channels else ()
    if not patterns:
        return 0
    cursors = channels.cursors(tx, row.id)
    candidates = []
    for topic, newest in channels.newest(tx):
        seen = cursors.get(topic, 0)
        if newest <= seen or topics.how_received(patterns, topic) == "not":
            continue
        number = channels.newest_not_by(tx, topic, row.id)
        if number > seen:
            there = messages.at(tx, number, row.id)
            again = there is not None and there.state in _TAKEN_UP and there.reason_code != "duplicate"
            candidates.append(rule.Candidate(topic, number, None, seen, there is not None and not again))
    chosen = rule.choose(candidates, row.id, limit("catch_up_topics_max"))
    return sum(_offer(tx, relay, row, candidate) for candidate in chosen)


def _offer(tx: Tx, relay: Relay, row: SessionRow, candidate: rule.Candidate) -> bool:
    there = messages.at(tx, candidate.number, row.id)
    if there is not None:
        return admission.take_up(tx, relay, there, row, newest=True).state != there.state
    message = messages.message(tx, candidate.number)
    if message is None:
        return False
    arriving = arriving_of(message)
    found = controls.of(relay, row)
    judged = admission.judge(tx, relay, found, arriving, catch_up=True)
    facts = rule.CatchUpFacts("none", duplicate=False, newest_unseen=True, fits=judged.adm.outcome == "admitted")
    if rule.judge(facts).outcome != "admit":
        return False
    admission.admit(tx, relay, row, arriving, catch_up=True)
    return True


def arriving_of(message: Mail) -> Arriving:
    """A stored message as it comes to one more recipient."""
    author = Author(None if message.by_script else message.sender_id, message.sender_title if message.by_script else "")
    return Arriving(message.message_id, author, controls.sent(message), message.body, message.body_hash)
