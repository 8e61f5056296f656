"""Whom a send means: the parent it answers, the recipient, the task (page 30: SEND-14, 17 to 19, RECV, SEND-8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from relaybay.domain import Refusal
from relaybay.rules import names, recipient, reply
from relaybay.rules.linking import EFFECTS
from relaybay.rules.text import name_literal
from relaybay.service import naming
from relaybay.service.identity import Identity
from relaybay.store import messages, sessions, tasks
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.tasks import TaskRow
from relaybay.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Meant:
    """What the arguments of a send turned out to mean."""

    recipient: SessionRow
    parent: Mail | None
    task: TaskRow | None


@dataclass(frozen=True, slots=True)
class _To:
    """The rows that `to` fits, and whether it means the sender, by a name or an id that is its own only after LINK."""

    text: str
    rows: list[SessionRow]
    own: bool

    @property
    def one(self) -> SessionRow | None:
        return self.rows[0] if len(self.rows) == 1 else None

    @property
    def fits(self) -> Literal["absent", "none", "one", "several"]:
        if not names.is_given(self.text):
            return "absent"
        if self.own or len(self.rows) == 1:
            return "one"
        return "several" if self.rows else "none"


def find(tx: Tx, who: Identity, *, to: str, task: str, in_reply_to: str) -> Meant | Refusal:
    """The parent (SEND-14), the recipient (SEND-17 to 19, RECV), and that it is somebody else (SEND-8)."""
    parent = messages.get(tx, in_reply_to, who.rows) if in_reply_to else None
    states = {parent.recipient_id or 0: parent.state} if parent else None
    verdict = reply.judge_parent(reply.parent_facts(bool(in_reply_to), states, who.rows))
    if verdict.refused:
        return Refusal(verdict.answer, verdict.spec_id, {"state": parent.state if parent else ""})
    meant, asked = _to(tx, who, to), _after(who, sessions.get(tx, parent.sender_id) if parent else None)
    about = tasks.get(tx, task) if names.is_given(task) else None
    bound = sessions.get(tx, about.session_id) if about else None
    verdict = recipient.judge(
        recipient.RecipientFacts(
            to=meant.fits,
            parent=_parent(parent, asked),
            agree=bool(meant.one and asked and meant.one.id == asked.id) or (meant.own and _is_sender(who, asked)),
            task=_task(task, about, bound),
        )
    )
    if verdict.refused:
        return Refusal(verdict.answer, verdict.spec_id, _values(tx, who, meant, task, parent))
    row = {"to": meant.one, "parent": asked, "bound": bound}[verdict.outcome]
    verdict = reply.judge_self(reply.SelfFacts(row is None or _is_sender(who, row)))
    if verdict.refused:
        own = who.speaker or row
        return Refusal(verdict.answer, verdict.spec_id, {"recipient": name_literal(own.title if own else who.title)})
    assert row is not None
    return Meant(row, parent, about)


def _parent(parent: Mail | None, asked: SessionRow | None) -> Literal["absent", "row", "gone", "script"]:
    if parent is None:
        return "absent"
    if parent.by_script:
        return "script"
    return "row" if asked else "gone"


def _is_sender(who: Identity, row: SessionRow | None) -> bool:
    return row is not None and row.id in who.rows


def _after(who: Identity, row: SessionRow | None) -> SessionRow | None:
    """A row as LINK would leave it: the one that is merged is its heir's, if there is one already."""
    if row is not None and who.merged is not None and row.id == who.merged.id:
        return who.speaker or row
    return row


def _task(
    said: str, about: TaskRow | None, bound: SessionRow | None
) -> Literal["absent", "unknown", "unbound", "bound"]:
    if not names.is_given(said):
        return "absent"
    if about is None:
        return "unknown"
    return "bound" if bound else "unbound"


def _to(tx: Tx, who: Identity, text: str) -> _To:
    """Looks `to` up, as a name and as a hook id. Makes no row (ROW-4)."""
    if not names.is_given(text):
        return _To(text, [], own=False)
    rows = naming.resolve(tx, text)
    own_id = text.strip() == who.hook_id
    if not (own_id and who.linked is not None and EFFECTS[who.linked.outcome].a_link):
        # Else the id is the sender's after LINK, whichever row holds it now.
        held = sessions.by_hook(tx, text.strip())
        rows += [held] if held else []
    found = {row.id: row for row in (_after(who, row) for row in rows) if row}
    return _To(text, list(found.values()), own=not found and (own_id or who.answers_to(text)))


def _shown(tx: Tx, who: Identity, text: str) -> str:
    """What a caller wrote, as a refusal quotes it. A hook id is accepted and shown to nobody (page 10)."""
    hidden = text.strip() == who.hook_id or naming.is_hook_id(tx, text)
    return name_literal("…" if hidden and text.strip() else text)


def _values(tx: Tx, who: Identity, to: _To, task: str, parent: Mail | None) -> dict[str, Any]:
    own = who.speaker.id if who.speaker else None
    shown, sender = _shown(tx, who, to.text), name_literal(parent.sender_title) if parent else ""
    meant = name_literal(to.rows[0].title) if to.rows else shown if to.own else sender
    return {
        "to": shown,
        "task": _shown(tx, who, task),
        "candidates": naming.candidates(to.rows),
        "near": "" if to.rows else naming.near(tx, to.text, own),
        "recipient": meant,
        "parent_sender": sender,
    }
