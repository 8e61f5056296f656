"""Direct messages of scripts: `relaybay message send` (page 50, table CLI). Publications of theirs are `publishing.py`.

A script has a label and nothing else. Who it writes to is looked up as for a session, but `@name` may be written
without the `@`; nobody can answer it.
"""

from __future__ import annotations

from typing import Any

from relaybay.domain import Outcome, Refusal
from relaybay.rules import names, reply, script_text
from relaybay.rules.claim import valid_name
from relaybay.rules.text import name_literal
from relaybay.service import ids, messages, naming, origin, receipts, repeats
from relaybay.service.origin import Origin
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import messages as stored
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx


def send(tx: Tx, relay: Relay, *, label: str, to: str, body: str, request_id: str = "") -> Outcome:
    """One message to one session: recorded, and let in or not. A receipt, or a refusal that changes nothing."""
    if not relay.messaging.channels:
        return Outcome(refusal=Refusal("channels.off", "CLI-3"))
    wrong = script_text.check_label(label)
    if wrong is not None:
        return Outcome(refusal=wrong)
    text = script_text.publication_body(body, limit("publication_bytes_max"), by_script=True)
    content = repeats.digest(body=text if isinstance(text, str) else "", to=to)
    kept = stored.sent_by_script(tx, label, request_id) if request_id else None
    if kept is not None:
        return _repeated(tx, relay, kept, content if isinstance(text, str) else "")
    found = _recipient(tx, to)
    if isinstance(found, Refusal):
        return Outcome(refusal=found)
    if isinstance(text, Refusal):
        return Outcome(refusal=text)
    mail = send_direct(tx, relay, origin.of_script(label), found, text, content=content, request_id=request_id)
    return Outcome(receipts.receipt(tx, relay, mail))


def send_direct(
    tx: Tx,
    relay: Relay,
    source: Origin,
    reader: SessionRow,
    text: str,
    *,
    content: str,
    request_id: str = "",
    parent: Mail | None = None,
) -> Mail:
    """Records one direct message that no tool sent, and lets it in or not."""
    answered: dict[str, Any] = {}
    if parent is not None:
        answered = {"parent_id": parent.message_id, "parent_mid": parent.mid, "depth": parent.depth + 1}
    message_id = stored.record(
        tx,
        audience="direct",
        mid=ids.message_id(tx.now),
        **source.columns(text),
        **answered,
        request_id=request_id or None,
        digest=content,
    )
    return messages.arrive(tx, relay, reader, source.arriving(message_id, text))


def _recipient(tx: Tx, to: str) -> SessionRow | Refusal:
    """CLI-3: a name with or without its `@`, or a ref. Titles are no address here: a script knows roles, not titles."""
    given = names.one_line(to)
    handle = given.removeprefix("@")
    ref = given[:2].upper() == "S-" and given[2:].isascii() and given[2:].isdigit()
    if not ref and not valid_name(handle):
        return Refusal("chosen_name.invalid", "NAME-27", {"name": name_literal(given)})
    rows = naming.resolve(tx, given if ref else f"@{handle}")
    if len(rows) == 1:
        return rows[0]
    shown = name_literal(given)
    return Refusal("recv.unknown", "RECV-1", {"to": shown, "near": naming.near(tx, given)})


def _repeated(tx: Tx, relay: Relay, kept: Mail, content: str) -> Outcome:
    verdict = reply.judge_repeat(reply.RepeatFacts("same" if kept.digest == content else "other"))
    if verdict.refused:
        return Outcome(refusal=Refusal(verdict.answer, verdict.spec_id, {"message_id": kept.mid}))
    return Outcome(receipts.receipt(tx, relay, stored.of_message(tx, kept.message_id)[0], repeat=True))
