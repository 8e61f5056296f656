"""Publications: one message to all that subscribe to a topic, or that receive broadcasts (page 50, table PUB).

Recipients are chosen once, in the transaction that records the message; each lets it in or not. A publication that
reaches nobody is a success, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from relaybay.answers import word
from relaybay.domain import Caller, Outcome, Refusal
from relaybay.rules import rates, reply, script_text, topics
from relaybay.service import admission, automations, floors, ids, linking, messages, origin, receipts, repeats, sweep
from relaybay.service.identity import Identity, identify
from relaybay.service.origin import Origin
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import admissions, channels
from relaybay.store import messages as stored
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Publication:
    """What is published, checked: the audience, its topic (empty for a broadcast) and the body as it is stored."""

    audience: topics.Audience
    topic: str
    body: str
    request_id: str

    @property
    def content(self) -> str:
        """What a repeat has to equal (SEND-16, RETRY)."""
        return repeats.digest(body=self.body, topic=self.topic, audience=self.audience)


def publish(
    tx: Tx,
    relay: Relay,
    caller: Caller,
    *,
    body: str,
    topic: str | None = None,
    broadcast: bool = False,
    request_id: str = "",
) -> Outcome:
    """`message_publish`: a session publishes. Checks in the order sender, repeat, audience, body, rate; what is refused
    changes nothing and reaches nobody.
    """
    if not relay.messaging.channels:
        return Outcome(refusal=Refusal("channels.off", "CH-3"))
    mark = repeats.mark(caller, body=body, topic=topic, broadcast=broadcast, request_id=request_id)
    who = identify(tx, relay, caller, "send", tx.now, "message_publish", mark)
    if isinstance(who, Refusal):
        return Outcome(refusal=who)
    return repeats.keep(tx, who, _publish(tx, relay, who, body, topic, broadcast, request_id))


def _publish(
    tx: Tx, relay: Relay, who: Identity, body: str, topic: str | None, broadcast: bool, request_id: str
) -> Outcome:
    again = repeats.first(who)
    if again is not None:
        return _present(tx, relay, again)
    what = _check(body, topic, broadcast, request_id, by_script=False)
    if request_id:
        wanted = what.content if isinstance(what, Publication) else ""
        for row in (who.speaker, who.merged):
            kept = stored.sent_as(tx, row.id, request_id) if row else None
            if kept is not None:
                return _repeated(tx, relay, kept, wanted)
    if isinstance(what, Refusal):
        return Outcome(refusal=what)
    refusal = _rate(tx, relay, who)
    if refusal is not None:
        return Outcome(refusal=refusal)
    sender = linking.apply(tx, relay, who, tx.now)
    assert sender is not None
    source = origin.of_session(relay, sender, verified=who.verified, hook_id=who.hook_id)
    return Outcome(send_out(tx, relay, source, what), warnings=who.warnings)


def publish_as_script(
    tx: Tx,
    relay: Relay,
    *,
    label: str,
    body: str,
    topic: str | None = None,
    broadcast: bool = False,
    request_id: str = "",
) -> Outcome:
    """`relaybay message publish` and `broadcast`: the same by a script, which has no rate of its own (RATE-13)."""
    if not relay.messaging.channels:
        return Outcome(refusal=Refusal("channels.off", "CLI-1"))
    wrong = script_text.check_label(label)
    what = wrong or _check(body, topic, broadcast, request_id, by_script=True)
    kept = stored.sent_by_script(tx, label, request_id) if request_id else None
    if kept is not None:
        return _repeated(tx, relay, kept, what.content if isinstance(what, Publication) else "")
    if isinstance(what, Refusal):
        return Outcome(refusal=what)
    return Outcome(send_out(tx, relay, origin.of_script(label), what))


def _check(body: str, topic: str | None, broadcast: bool, request_id: str, *, by_script: bool) -> Publication | Refusal:
    audience = topics.audience(topic, broadcast=broadcast)
    if isinstance(audience, Refusal):
        return audience
    text = script_text.publication_body(body, limit("publication_bytes_max"), by_script=by_script)
    return text if isinstance(text, Refusal) else Publication(audience, topic or "", text, request_id)


def _rate(tx: Tx, relay: Relay, who: Identity) -> Refusal | None:
    """PUB-2: what `publish_per_minute` says of the call's sender."""
    folder = next((row.cwd for row in (who.speaker, who.merged) if row is not None), "")
    return rate(tx, relay, who.rows, folder)


def rate(tx: Tx, relay: Relay, rows: Iterable[int], folder: str) -> Refusal | None:
    """PUB-2: `publish_per_minute` of the publishing session, lowered by its project. Broadcasts count too."""
    window = limit("rate_window_seconds")
    most = floors.of(folder).lowered("messaging.publish_per_minute", relay.messaging.publish_per_minute)
    times = [t for row in rows for t in admissions.published(tx, row, tx.now - window * _SECOND)]
    seconds = rates.seconds_until_allowed(times, tx.now, most, window)
    if not seconds:
        return None
    return Refusal("publish.rate_limited", "PUB-2", {"most": most, "window_seconds": window, "seconds": seconds})


def send_out(tx: Tx, relay: Relay, source: Origin, what: Publication) -> dict[str, Any]:
    """Chooses the recipients, records the message and lets it in at each (PUB-5 to 9): the publication's receipt."""
    _end_gone(tx, relay)
    chosen, skipped = _recipients(tx, relay, source, what)
    mid = ids.message_id(tx.now)
    message_id = stored.record(
        tx,
        audience=what.audience,
        topic=what.topic,
        mid=mid,
        **source.columns(what.body),
        request_id=what.request_id or None,
        digest=what.content,
        skipped=skipped,
    )
    arriving = source.arriving(message_id, what.body)
    for row in chosen:
        mail = admission.admit(tx, relay, row, arriving)
        if mail.admitted_us:
            messages.told(tx, mail)
    kept = stored.message(tx, message_id)
    assert kept is not None
    tx.emit("message.published", **_told(source, kept, len(chosen), skipped))
    return receipt(tx, relay, kept)


def _told(source: Origin, kept: Mail, reached: int, skipped: int) -> dict[str, Any]:
    said: dict[str, Any] = {"message_id": kept.mid, "audience": kept.audience}
    said |= {"recipients": reached, "skipped": skipped}
    if kept.topic:
        said["topic"] = kept.topic
    if source.row is None:
        return said | {"script": True, "from": receipts.line(kept.sender_title)}
    return said | {"from": receipts.line(kept.sender_title), "from_ref": source.row.ref}


def _end_gone(tx: Tx, relay: Relay) -> None:
    """HL-9, looked at before each publication: a session whose client was killed receives nothing more."""
    gone = sweep.gone_clients(tx)
    if gone:
        sweep.end_gone(tx, relay, gone)


def _recipients(tx: Tx, relay: Relay, source: Origin, what: Publication) -> tuple[list[SessionRow], int]:
    """PUB-5 and 6: live rows that subscribe, or take broadcasts, but the publisher; the first `max_fanout` of them, and
    how many are left out.
    """
    patterns = channels.all_patterns(tx) if what.audience == "topic" else {}
    own = source.row.id if source.row is not None else None
    wanting = [row for row in channels.live(tx) if row.id != own and _wants(row, patterns, what)]
    # Whom automations have started enough turns of is left out, as beyond the fan-out (§ 9, common limits).
    found = [row for row in wanting if not (source.automation and automations.seconds_until_turn(tx, row.id))]
    folder = source.row.cwd if source.row is not None else ""
    most = floors.of(folder).lowered("messaging.max_fanout", relay.messaging.max_fanout)
    return found[:most], len(wanting) - len(found[:most])


def _wants(row: SessionRow, patterns: dict[int, tuple[str, ...]], what: Publication) -> bool:
    if what.audience == "broadcast":
        return bool(row.broadcasts)
    return topics.how_received(patterns.get(row.id, ()), what.topic) != "not"


def receipt(tx: Tx, relay: Relay, kept: Mail, *, repeat: bool = False) -> dict[str, Any]:
    """A publication's receipt in its present state: one entry a recipient, with its own state and reason (page 70)."""
    found = stored.of_message(tx, kept.message_id)
    skipped = stored.skipped(tx, kept.message_id)
    reached = sum(mail.state in ("sent", "delivered", "read", "taken") for mail in found)
    held = sum(mail.state == "held" for mail in found)
    values: dict[str, Any] = {
        "audience": _audience_words(kept),
        "message_id": kept.mid,
        "reached": reached,
        "held": held,
        "closed": len(found) - reached - held,
        "skipped": skipped,
    }
    answer = "publish.repeat" if repeat else "publish.nobody" if not found else "publish.done"
    return {
        "message_id": kept.mid,
        "audience": receipts.audience(kept),
        "recipients": [_recipient(tx, relay, mail) for mail in found],
        "skipped": skipped,
        "queued": [],
        **({"repeat": True} if repeat else {}),
        "text": word(answer, **values).text,
    }


def _audience_words(kept: Mail) -> str:
    return word(f"audience.{kept.audience}", topic=kept.topic).text


def _recipient(tx: Tx, relay: Relay, mail: Mail) -> dict[str, Any]:
    code, sentence = receipts.standing(tx, relay, mail)
    said = receipts.party(mail.recipient_title, mail.recipient_name, mail.recipient_id)
    return {**said, "state": mail.state, **({"reason_code": code} if code else {}), "reach": sentence}


def _repeated(tx: Tx, relay: Relay, kept: Mail, content: str) -> Outcome:
    """RETRY, SEND-16: the same id with the same content gets the first receipt as it now is; with other content no."""
    verdict = reply.judge_repeat(reply.RepeatFacts("same" if kept.digest == content else "other"))
    if verdict.refused:
        return Outcome(refusal=Refusal(verdict.answer, verdict.spec_id, {"message_id": kept.mid}))
    if not kept.published:
        return Outcome(receipts.receipt(tx, relay, stored.of_message(tx, kept.message_id)[0], repeat=True))
    return Outcome(receipt(tx, relay, kept, repeat=True))


def _present(tx: Tx, relay: Relay, again: Outcome) -> Outcome:
    """PROOF-6: the first answer, its receipt in its present state."""
    kept = stored.by_mid(tx, again.data["message_id"]) if again.ok else None
    return Outcome(receipt(tx, relay, kept, repeat=True), warnings=again.warnings) if kept else again
