"""Catch-up: of each topic that a row subscribes to, the newest message it has not seen (page 50, table CATCHUP).

At most 16, each passive: it rides along with a prompt and wakes nobody. It is asked for at a prompt, at a start and
when subscriptions change; nothing of it counts in a rate.
"""

from __future__ import annotations

from relaybay.domain import Verdict
from relaybay.rules import catch_up as rule
from relaybay.rules import topics
from relaybay.service import admission, automations, controls, steps
from relaybay.service.admission import Arriving
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import channels, messages
from relaybay.store.admissions import Author
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx


def catch_up(tx: Tx, relay: Relay, row: SessionRow) -> int:
    """Offers what the row's topics have brought; how many messages. The row is exactly linked and live."""
    patterns = channels.patterns(tx, row.id) if relay.messaging.channels else ()
    if not patterns:
        return 0
    most = limit("catch_up_topics_max")
    chosen = rule.choose(_unseen(tx, row, patterns, most), row.id, most)
    return sum(_offer(tx, relay, row, candidate.number) for candidate in chosen)


def _unseen(tx: Tx, row: SessionRow, patterns: tuple[str, ...], most: int) -> list[rule.Candidate]:
    """What the row's topics have that it has not seen, down from the newest; no further than `most` of them can reach,
    since there may be any number of topics.
    """
    cursors = channels.cursors(tx, row.id)
    found: list[rule.Candidate] = []
    for topic, newest in channels.newest(tx):
        if len(found) >= most and newest < sorted(one.number for one in found)[-most]:
            break  # The topics come by their newest message: what is left is older than those already found.
        seen = cursors.get(topic, 0)
        if newest <= seen or topics.how_received(patterns, topic) == "not":
            continue
        number = channels.newest_not_by(tx, topic, row.id)
        if number > seen:
            there = messages.at(tx, number, row.id)
            again = there is None or _judge(there, fits=True).outcome == "admit"
            found.append(rule.Candidate(topic, number, None, seen, already_there=not again))
    return found


def _judge(there: Mail | None, *, fits: bool) -> Verdict:
    """Table `catch_up` for the newest unseen message of its topic."""
    state = there.state if there is not None else "none"
    duplicate = there is not None and there.reason_code == "duplicate"
    return rule.judge(rule.CatchUpFacts(state, duplicate, newest_unseen=True, fits=fits))  # type: ignore[arg-type]


def _offer(tx: Tx, relay: Relay, row: SessionRow, number: int) -> bool:
    """DLV-20, 21 and 41 to 43: the message comes in for the first time, or once more, if it fits now."""
    there = messages.at(tx, number, row.id)
    message = there or messages.message(tx, number)
    if message is None:
        return False
    arriving = _arriving(message)
    judged = admission.judge(tx, relay, controls.of(relay, row), arriving, catch_up=True)
    fits = _judge(there, fits=judged.let_in).outcome == "admit"
    if there is None:
        if fits:
            admission.admit(tx, relay, row, arriving, catch_up=True)
        return fits
    facts = {"fits_catch_up": fits, "judged_deliver": judged.deliver}
    result, after = steps.delivery(tx, there, "catch_up", facts, reason=judged.policy.outcome)
    if result.kind == "move":
        automations.received(tx, relay, after, catch_up=True)
    return result.kind == "move"


def _arriving(message: Mail) -> Arriving:
    """A stored message as it comes to one more recipient, or to one once more."""
    author = Author(label=message.sender_title) if message.by_script else Author(message.sender_id)
    return Arriving(message.message_id, author, controls.sent(message), message.body, message.body_hash)
