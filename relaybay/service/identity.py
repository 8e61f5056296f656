"""Who makes a call: facts from the store → PROOF → SEND, ACK, WRITE or the reader's table, and LINK's verdict (pages 10
and 30). Nothing is changed here, a used tool-use id apart, which stays even when the call is refused;
`service/linking.py: apply` carries LINK's verdict out after the use case's last check.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Literal

from relaybay.domain import Caller, Outcome, Refusal, Verdict
from relaybay.rules import linking, names, proof, sender
from relaybay.rules.linking import EFFECTS, RowView, Standing
from relaybay.rules.text import name_literal
from relaybay.service import naming, repeats
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import sessions, tool_uses
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

Call = Literal["send", "mark", "other", "bind", "read"]
log = logging.getLogger(__name__)

#: Reads that take an identity only to know whom they gave a comment to; they are never refused for it (page 40).
_NEVER_REFUSED = ("comments_list", "task_get", "tasks_list", "events_since", "sessions_list")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who makes a call, before anything is changed.

    `said` is the verdict of SEND, ACK, WRITE or the reader's table, `linked` LINK's. `speaker` is the row the call
    speaks for as it stands now: None when it speaks for nobody (`nobody`: WRITE-3, CMT-14) or for a row that `apply`
    makes first (`makes_row`, titled `title`). `merged` is the row that `apply` merges into the speaker: its mail,
    request ids and rate windows count as the speaker's (SEND-8, 12, 14, 16).

    `verified` is how SEND-4 to 6 would have the author, `link_state` that row's link after LINK, `linked_itself`
    whether it had linked itself before the call, `proven_before` whether the call proves the link as it stood before
    (LINK-2 to 4 counted: DLV-2, 4, and replies), `proven` the same after LINK. `repeat` says that the call is its
    tool-use id's first one repeated (PROOF-6); `first_answer` is what that one was answered, in the form of
    `repeats.py`, empty when nothing was kept. `warnings` are (answer id, values).
    """

    call: Call
    proof: Verdict
    said: Verdict
    linked: Verdict | None
    standing: Standing
    hook_id: str
    witnessed: bool
    named: bool
    speaker: SessionRow | None
    a: SessionRow | None
    b: SessionRow | None
    makes_row: bool
    title: str
    alias: str
    verified: bool
    link_state: str
    linked_itself: bool
    proven_before: bool
    proven: bool
    repeat: bool
    first_answer: str
    tool_use_id: str
    warnings: tuple[tuple[str, dict[str, Any]], ...] = ()

    @property
    def nobody(self) -> bool:
        """Whether the call speaks for no row at all (WRITE-3), or for whatever its task says (CMT-14)."""
        return self.speaker is None and not self.makes_row

    @property
    def merged(self) -> SessionRow | None:
        """The row that LINK merges into the speaker."""
        return self.b if self.linked is not None and EFFECTS[self.linked.outcome].b == "merged" else None

    @property
    def rows(self) -> frozenset[int]:
        """The rows whose mail is the speaker's after LINK."""
        return frozenset(row.id for row in (self.speaker, self.merged) if row is not None)

    def answers_to(self, text: str) -> bool:
        """Whether a name that no row has yet will be the speaker's after LINK (`to_self`)."""
        key = names.key(text)
        return bool(key) and key in {names.key(self.title), names.key(self.alias)}


@dataclass(frozen=True, slots=True)
class _Proof:
    verdict: Verdict
    hook_id: str
    tool_use_id: str
    first_answer: str

    @property
    def witnessed(self) -> bool:
        return self.verdict.outcome in ("witnessed", "witnessed_again")


@dataclass(frozen=True, slots=True)
class _Named:
    """The name a call goes by, the rows it fits, and what a new row would be called."""

    text: str
    rows: list[SessionRow] | None
    title: str
    alias: str


_NO_NAME = _Named("", None, "", "")


def identify(tx: Tx, relay: Relay, caller: Caller, call: Call, now: int, tool: str, digest: str) -> Identity | Refusal:
    """Says who makes a call, and refuses it where PROOF-3, `name_invalid`, SEND-1 to 7 and 20, ACK-1 to 4 or WRITE-1
    and 2 do. `digest` stands for the call's arguments (PROOF-6). The owner's own calls never come here.

    A refusal is kept with the call's tool-use id, and its repeat gets it again, whatever has changed meanwhile. So
    does one that a service keeps itself: a first answer with a member `refusal`, its fields.
    """
    assert not caller.owner, "the owner speaks through no table of identity"
    proven = _prove(tx, relay, caller, (call, tool, digest), now)
    if proven.verdict.refused:
        return Refusal(proven.verdict.answer, proven.verdict.spec_id)
    if proven.first_answer:
        refused = repeats.read(proven.first_answer).refusal
        if refused:
            return refused
    found = _judge(tx, caller, call, tool, proven)
    if isinstance(found, Refusal) and proven.witnessed and call != "read":
        kept = repeats.form(Outcome(refusal=found))
        tx.trace(lambda later: tool_uses.keep_answer(later, proven.tool_use_id, kept))
    return found


def _judge(tx: Tx, caller: Caller, call: Call, tool: str, proven: _Proof) -> Identity | Refusal:
    """The checks after PROOF, in the page's order: names, then the table of this kind of call."""
    named = _name(tx, caller, call)
    if call in ("send", "other"):
        invalid = _check_names(tx, named, proven.hook_id)
        if invalid is not None:
            return invalid
    holder = sessions.by_hook(tx, proven.hook_id) if proven.hook_id else None
    standing = linking.stand(
        None if named.rows is None else [_view(row) for row in named.rows],
        _view(holder) if holder else None,
        proven=bool(proven.hook_id),
        witnessed=proven.witnessed,
    )
    said = _say(standing, call, tool)
    if said.refused and not proven.first_answer:
        if call == "read" and tool in _NEVER_REFUSED:
            said = Verdict(said.spec_id, "unknown")
        else:
            return _refuse(tx, said, standing, named, holder)
    return _identity(standing, said, call, proven, named, holder)


def _prove(tx: Tx, relay: Relay, caller: Caller, used_by: tuple[str, str, str], now: int) -> _Proof:
    """Table PROOF on the store; records the use of a tool-use id, which outlives a refusal (SEND's closing note)."""
    call, tool, digest = used_by
    tool_use_id = caller.tool_use_id
    found = tool_uses.get(tx, tool_use_id) if tool_use_id else None
    use = proof.Use(found["hook_id"], found["tool"], found["digest"]) if found else None
    reported = relay.presence.witnessed(tool_use_id, now) if tool_use_id else None
    status = proof.classify_tool_use(bool(tool_use_id), reported is not None, use, tool, digest)
    if status == "useless" and use is not None:
        log.info("a tool-use id proved nothing: another call had used it (PROOF-4)")
    vouched = (use.hook_id if use is not None else reported or "") if status in ("good", "used") else ""
    if tool_use_id and use is None and call != "read":
        # Now, so that its answer can be kept with it; and as a trace, for the case that the call is refused.
        tool_uses.use(tx, tool_use_id, vouched, None, tool, digest)
        tx.trace(lambda later: tool_uses.use(later, tool_use_id, vouched, None, tool, digest))
    verdict = proof.judge(proof.gather(status, vouched, caller.hook_session))
    hook_id = caller.hook_session.strip() if verdict.outcome == "claimed" else vouched
    again = found if verdict.outcome == "witnessed_again" else None
    return _Proof(verdict, hook_id, tool_use_id, str(again["answer"]) if again is not None else "")


def _name(tx: Tx, caller: Caller, call: Call) -> _Named:
    """Which name counts (page 10): `session`, else `session_title`; both title a row that neither of them has."""
    if call == "bind":
        # There `session` is the row to bind, and the call names no row of its own (LINK-12).
        return _NO_NAME
    session = caller.session if names.is_given(caller.session) else ""
    title = caller.session_title if names.is_given(caller.session_title) else ""
    text = session or title
    if not text:
        return _NO_NAME
    rows = naming.resolve(tx, text)
    if session and title and not rows and not naming.resolve(tx, title) and names.key(title) != names.key(session):
        return _Named(text, rows, names.one_line(title), names.one_line(session))
    return _Named(text, rows, names.one_line(text), "")


def _check_names(tx: Tx, named: _Named, hook_id: str) -> Refusal | None:
    for text in (named.title, named.alias):
        if not text:
            continue
        # The call's own id may be new to the board: it becomes known by this very call.
        own_id = bool(hook_id) and names.key(text) == names.key(hook_id)
        verdict = naming.check(tx, text, known=bool(named.rows), hook_id=own_id)
        if verdict.refused:
            values = {"name": name_literal(text), "chars": len(text), "chars_max": limit("name_chars_max")}
            return Refusal(verdict.answer, verdict.spec_id, values)
    return None


def _view(row: SessionRow) -> RowView:
    return RowView(row.id, row.kind, row.link_state, row.unnamed)  # type: ignore[arg-type]


def _say(standing: Standing, call: Call, tool: str) -> Verdict:
    """The verdict of the table that speaks for this kind of call."""
    if call == "send":
        return sender.judge(sender.sender_facts(standing))
    if call == "mark":
        return sender.judge_ack(sender.ack_facts(standing, tool))
    if call == "other":
        return sender.judge_write(sender.write_facts(standing, tool))
    if call == "read":
        return sender.judge_read(sender.read_facts(standing))
    # task_bind_session is done whoever calls it; its author is the row that holds H live and is no folder guess.
    if standing.h in ("taken", "unnamed"):
        return Verdict("LINK-12", "verified")
    return Verdict("LINK-12", "unverified" if standing.h == "hook_guess" else "unnamed")


def _refuse(tx: Tx, said: Verdict, standing: Standing, named: _Named, holder: SessionRow | None) -> Refusal:
    values: dict[str, Any] = {"session": name_literal(named.text)}
    if holder is not None:
        values["holder"] = name_literal(holder.title)
    if said.answer == "send.sender_ambiguous":
        values["candidates"] = naming.candidates(named.rows or [])
    if said.answer == "ack.session_unknown":
        values["near"] = naming.near(tx, named.text)
    assert standing.session != "absent" or not said.answer.endswith("ambiguous")
    return Refusal(said.answer, said.spec_id, values)


def _identity(
    standing: Standing, said: Verdict, call: Call, proven: _Proof, named: _Named, holder: SessionRow | None
) -> Identity:
    linked = None if call == "read" or said.refused else linking.judge(linking.facts_of(call, standing))
    outcome = linked.outcome if linked else "nothing"
    a = next((row for row in named.rows or () if standing.a and row.id == standing.a.id), None)
    b = holder if standing.b is not None else None
    speaks_as_b = outcome in ("speak_as_b", "rename_b") or (
        standing.session == "absent" and outcome != "split_folder_guess"
    )
    speaker = b if speaks_as_b and said.outcome not in ("unnamed", "unknown") else a
    makes_row = call in ("send", "mark", "other") and speaker is None and (
        standing.session == "new" or outcome == "split_folder_guess"
    )  # fmt: skip
    before = speaker.link_state if speaker else "none"
    after = EFFECTS[outcome].a_link or before
    verified = said.outcome in ("verified", "proven") or (said.outcome == "judge" and _holds_exact(standing, after))
    proven_before = _proves_before(standing, outcome, before) if speaker else False
    return Identity(
        call=call,
        proof=proven.verdict,
        said=said,
        linked=linked,
        standing=standing,
        hook_id=proven.hook_id,
        witnessed=proven.witnessed,
        named=named.rows is not None,
        speaker=speaker,
        a=a,
        b=b,
        makes_row=makes_row,
        title=named.title if makes_row or outcome == "rename_b" else "",
        alias=named.alias if makes_row or outcome == "rename_b" else "",
        verified=verified,
        link_state=after,
        linked_itself=speaker.linked_itself if speaker else False,
        proven_before=proven_before,
        proven=proven_before or verified,
        repeat=proven.verdict.outcome == "witnessed_again",
        first_answer=proven.first_answer,
        tool_use_id=proven.tool_use_id,
        warnings=_warnings(linked, named, holder),
    )


def _holds_exact(standing: Standing, after: str) -> bool:
    """Whether the row a mark speaks for then has the call's own id live and exact."""
    own = standing.h == "own" or standing.session == "absent"
    return own and after == "exact"


def _proves_before(standing: Standing, outcome: str, before: str) -> bool:
    """Whether the call proves its row's link as it stood before (DLV-2, 4 to 6): the row's own id, if it was seen."""
    own = standing.h == "own" or outcome == "rename_b" or standing.session == "absent"
    return own and before in ("guessed", "exact", "ended_guessed", "ended_exact")


def _warnings(
    linked: Verdict | None, named: _Named, holder: SessionRow | None
) -> tuple[tuple[str, dict[str, Any]], ...]:
    if linked is None or linked.refused or not linked.answer:
        return ()
    values = {"session": name_literal(named.text)}
    if holder is not None:
        values["holder"] = name_literal(holder.title)
    return ((linked.answer, values),)
