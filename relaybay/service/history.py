"""Reading the history: `topic_read` for agents, the log for scripts and the owner, pruning (page 50, § 7)."""

from __future__ import annotations

from typing import Any

from relaybay.answers import word
from relaybay.domain import Caller, Outcome, Refusal
from relaybay.rules import topics, withhold
from relaybay.rules.claim import valid_name
from relaybay.rules.text import literal, name_literal
from relaybay.service import controls, listing, receipts, reviews
from relaybay.service.arguments import invalid
from relaybay.service.clock import rfc3339
from relaybay.service.controls import Controls
from relaybay.service.identity import Identity, identify
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import channels, messages, sessions
from relaybay.store import history as stored
from relaybay.store.messages import Mail
from relaybay.store.transaction import Tx

PAGE_DEFAULT = 20
_DAY = 24 * 3_600 * 1_000_000
#: What did not get through: nobody but its proven sender is given the text of it (CH-9).
NOT_THROUGH = ("held", "taken", "refused", "rate_limited", "rejected")

#: And what was dropped: nobody remembers whether it had been held until then.
NOT_GIVEN = (*NOT_THROUGH, "dropped")


def topic_read(
    tx: Tx,
    relay: Relay,
    caller: Caller,
    *,
    topic: str | None = None,
    broadcast: bool = False,
    before: str = "",
    limit_: int | None = None,
) -> Outcome:
    """`topic_read`: the topics there are, or a page of one topic, of a pattern or of broadcasts, newest first. It goes
    by the policy of the proven session, marks nothing and moves no cursor (READ).
    """
    if not relay.messaging.channels:
        return Outcome(refusal=Refusal("channels.off", "CH-3"))
    who = identify(tx, relay, caller, "read", tx.now, "topic_read", "")
    if isinstance(who, Refusal):
        return Outcome(refusal=who)
    wrong = _arguments(topic, broadcast, before, limit_)
    found = wrong or _before(tx, before)
    if isinstance(found, Refusal):
        return Outcome(refusal=found)
    row = who.speaker
    assert row is not None, "without an identity topic_read is refused (CH-3)"
    reading = _Reader(tx, relay, who, controls.of(relay, row))
    refused = reading.refused()
    if refused is not None:
        return Outcome(refusal=refused)
    if topic is None and not broadcast:
        return Outcome(_topics(tx))
    return Outcome(_page(tx, reading, topic or "", found or 0, limit_ or PAGE_DEFAULT))


def _arguments(topic: str | None, broadcast: bool, before: str, limit_: int | None) -> Refusal | None:
    if topic is not None and broadcast:
        return Refusal("read.both", "READ-4")
    if topic is not None and not topics.is_pattern(topic):
        return Refusal("pattern.invalid", "TOPIC-1", {"pattern": name_literal(topic)})
    if topic is None and not broadcast and (before or limit_ is not None):
        return Refusal("read.no_channel", "READ-4")
    if limit_ is not None and not 1 <= limit_ <= limit("topic_page_max"):
        return invalid("limit", "why.range", least=1, most=limit("topic_page_max"))
    return None


def _before(tx: Tx, before: str) -> int | Refusal | None:
    if not before:
        return 0
    found = messages.by_mid(tx, before)
    return found.message_id if found is not None else Refusal("list.message_unknown", "75")


class _Reader:
    """Who reads, and what the policy makes of each message (table `withhold`)."""

    def __init__(self, tx: Tx, relay: Relay, who: Identity, found: Controls) -> None:
        self._tx, self._relay, self._who, self._found = tx, relay, who, found

    def _facts(self, message: Mail | None) -> withhold.WithholdFacts:
        sent = controls.sent(message) if message is not None else controls.Sent("session", "", "")
        there = messages.at(self._tx, message.message_id, self._found.row.id) if message is not None else None
        return withhold.WithholdFacts(
            identity="proven" if self._who.proven else "unverified",
            policy=self._found.policy,
            sender=sent.kind,
            own=message is not None and message.sender_id in self._who.rows,
            cohort=controls.same_cohort(self._found, sent),
            not_through=there is not None and there.state in NOT_THROUGH,
        )

    def refused(self) -> Refusal | None:
        """Whether the policy reads nothing to this session at all."""
        verdict = withhold.judge(self._facts(None))
        values = {"policy": self._found.policy}
        return Refusal(verdict.answer, verdict.spec_id, values) if verdict.refused else None

    def shows(self, message: Mail) -> bool:
        """Whether this message is shown; else it is counted."""
        return withhold.judge(self._facts(message)).outcome == "show"


def _topics(tx: Tx) -> dict[str, Any]:
    found = [{"topic": one.topic, "count": one.count, "last_at": rfc3339(one.last_us)} for one in channels.topics(tx)]
    shown, cut = listing.cut(found, listing.room())
    answer = "topics.listed_more" if cut else "topics.listed"
    return {"topics": shown, "text": word(answer, count=len(found), shown=len(shown)).text}


def _page(tx: Tx, reading: _Reader, topic: str, before: int, most: int) -> dict[str, Any]:
    exact = topic if topic and topics.is_topic(topic) else ""
    wanted = (lambda one: topics.matches(topic, one)) if topic and not exact else None
    page = stored.published(tx, wanted=wanted, topic=exact, before=before, most=most)
    shown: list[dict[str, Any]] = []
    withheld, used, last = 0, 0, ""
    cut = False
    for message in page.messages:
        view = _message(message) if reading.shows(message) else None
        used += listing.size(view) if view is not None else 0
        if used > listing.room() and shown:
            cut = True
            break
        last = message.mid
        if view is None:
            withheld += 1
        else:
            shown.append(view)
    more = {"before": last} if (page.more or cut) and last else {}
    answer = "topic.read_more" if more else "topic.read"
    text = word(answer, count=len(shown), withheld=withheld, **more).text
    return {**({"topic": topic} if topic else {}), "messages": shown, "withheld": withheld, **more, "text": text}


def _message(message: Mail) -> dict[str, Any]:
    said: dict[str, Any] = {"message_id": message.mid, "from": reviews.sender(message)}
    if message.topic:
        said["topic"] = message.topic
    return said | {"sent_at": rfc3339(message.sent_us), "body": literal(message.body)}


def log(
    tx: Tx,
    relay: Relay,
    *,
    topic: str = "",
    broadcast: bool = False,
    party: str = "",
    count: int = PAGE_DEFAULT,
    before: str = "",
    texts: bool = True,
) -> Outcome:
    """The newest messages with every recipient's outcome, oldest first (CLI-4, OWN-7). `texts` false leaves out what
    did not get through, for shells that agents have (CH-9).
    """
    if sum((bool(topic), broadcast, bool(party))) > 1:
        return Outcome(refusal=Refusal("log.filters", "CLI-4"))
    if topic and not topics.is_pattern(topic):
        return Outcome(refusal=Refusal("pattern.invalid", "TOPIC-1", {"pattern": name_literal(topic)}))
    name = party.removeprefix("@")
    if party and not valid_name(name):
        return Outcome(refusal=Refusal("chosen_name.invalid", "NAME-1", {"name": name_literal(party)}))
    if not 1 <= count <= limit("log_lines_max"):
        return Outcome(refusal=invalid("n", "why.range", least=1, most=limit("log_lines_max")))
    start = _before(tx, before)
    if isinstance(start, Refusal):
        return Outcome(refusal=start)
    if topic or broadcast:
        exact = topic if topic and topics.is_topic(topic) else ""
        wanted = (lambda one: topics.matches(topic, one)) if topic and not exact else None
        page = stored.published(tx, wanted=wanted, topic=exact, before=start or 0, most=count)
    else:
        where, values = stored.with_party(name) if party else ("1 = 1", ())
        page = stored.newest(tx, count, where=where, values=values, before=start or 0)
    lines = [line(tx, relay, message, texts=texts) for message in reversed(page.messages)]
    more = {"before": page.messages[-1].mid} if page.more else {}
    return Outcome({"messages": lines, **more, "text": word("log.listed", count=len(lines)).text})


def line(tx: Tx, relay: Relay, message: Mail, *, texts: bool = True) -> dict[str, Any]:
    """One message of the history with every recipient's outcome, under the name it had then."""
    found = messages.of_message(tx, message.message_id)
    hidden = not texts and any(mail.state in NOT_GIVEN for mail in found)
    said: dict[str, Any] = {
        "message_id": message.mid,
        "sent_at": rfc3339(message.sent_us),
        "audience": receipts.audience(message),
        "from": reviews.sender(message),
        "recipients": [_outcome(tx, relay, mail) for mail in found],
    }
    optional = {
        "in_reply_to": message.parent_mid,
        "task": message.task_key,
        "skipped": messages.skipped(tx, message.message_id),
    }
    said |= {name: value for name, value in optional.items() if value}
    return said | ({"withheld": True} if hidden else {"body": message.body})


def _outcome(tx: Tx, relay: Relay, mail: Mail) -> dict[str, Any]:
    code, reason = receipts.standing(tx, relay, mail)
    said = receipts.party(mail.recipient_title, mail.recipient_name, mail.recipient_id)
    said |= {"state": mail.state, **({"reason_code": code} if code else {}), "reason": reason}
    # What was given back keeps who had it; to say so there would read as if the rule had delivered it.
    return said | ({"automation": mail.taken_by} if mail.state in ("taken", "consumed") else {})


def sessions_list(tx: Tx, relay: Relay, caller: Caller) -> Outcome:
    """`sessions_list`: the live sessions one can write to, with their names and what they hear. Anybody may ask."""
    if not relay.messaging.channels:
        return Outcome(refusal=Refusal("channels.off", "CH-3"))
    who = identify(tx, relay, caller, "read", tx.now, "sessions_list", "")
    if isinstance(who, Refusal):
        return Outcome(refusal=who)
    patterns = channels.all_patterns(tx)
    rows = [sessions.need(tx, row.id) for row in channels.live(tx)]
    found = []
    for row in rows:
        now = controls.of(relay, row)
        one = receipts.party(row.title, row.name or "", row.id)
        one |= {"cwd": now.row.cwd, "activity": now.row.activity, "policy": now.policy}
        if row.id in who.rows:
            one["you"] = True
        if patterns.get(row.id):
            one["topics"] = list(patterns[row.id])
        found.append(one | {"broadcasts": bool(row.broadcasts)})
    shown, cut = listing.cut(found, listing.room())
    answer = "sessions.live_more" if cut else "sessions.live"
    return Outcome({"sessions": shown, "text": word(answer, count=len(found), shown=len(shown)).text})


def prune(tx: Tx, relay: Relay) -> int:
    """HIST: by days, then by number; how many messages went. Only with the switch on."""
    if not relay.messaging.channels:
        return 0
    had = stored.rows_with_open_mail(tx)
    gone = channels.prune(tx, tx.now - relay.messaging.history_days * _DAY, relay.messaging.history_max_messages)
    if gone:
        # What was not read, or published and never handed over, may be among it: the index counts those rows anew.
        for key in had:
            tx.touch(key)
    return gone
