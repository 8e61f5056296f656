"""Who speaks in a call (page 30): SEND 1 to 7 and 20 for sends, ACK for marks, WRITE for other writes, and whose mail
a read is about. All are judged on a `linking.Standing`, on rows as table LINK would leave them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relaybay.domain import Verdict
from relaybay.rules.linking import Standing

Named = Literal["absent", "new", "one", "several"]
Proof = Literal["none", "own_live", "own_dead", "at_hand", "taken", "dead"]


@dataclass(frozen=True, slots=True)
class SenderFacts:
    """The inputs of table SEND's sender part."""

    session: Named
    occupied: bool
    h: Proof


@dataclass(frozen=True, slots=True)
class AckFacts:
    """The inputs of table ACK."""

    comment_ack: bool
    session: Named
    h: Literal["none", "own", "at_hand", "taken", "dead"]


@dataclass(frozen=True, slots=True)
class AckItemFacts:
    """The inputs of ACK-5: whose the thing to be marked is, after LINK."""

    tool: Literal["message_ack", "comment_ack", "work_report"]
    item: Literal["own", "others", "unknown", "gone"]


@dataclass(frozen=True, slots=True)
class WriteFacts:
    """The inputs of table WRITE."""

    comment_add: bool
    session: Named
    h: Proof


@dataclass(frozen=True, slots=True)
class ReadFacts:
    """The inputs of the reader's table."""

    session: Named
    h: Literal["none", "exact", "other_own", "folder_guess", "foreign", "nobody"]


@dataclass(frozen=True, slots=True)
class NameFacts:
    """What decides whether a name can be given to a row (page 10, Names)."""

    too_long: bool
    known: bool
    shape: Literal["ref", "handle", "other"]
    hook_id: bool


def _named(standing: Standing) -> Named:
    return "several" if standing.session == "several_occupied" else standing.session


def _proof(standing: Standing) -> Proof:
    if standing.h == "none":
        return "none"
    if standing.h == "own":
        return "own_dead" if standing.a_link in ("unseen", "ended") else "own_live"
    if standing.taken:
        return "taken"
    return "at_hand" if standing.at_hand else "dead"


def sender_facts(standing: Standing) -> SenderFacts:
    """The inputs of table SEND for one send."""
    return SenderFacts(_named(standing), standing.occupied, _proof(standing))


def ack_facts(standing: Standing, tool: str) -> AckFacts:
    """The inputs of table ACK for one mark."""
    proof = _proof(standing)
    h: Literal["none", "own", "at_hand", "taken", "dead"]
    h = "own" if proof in ("own_live", "own_dead") else proof  # type: ignore[assignment]
    return AckFacts(tool == "comment_ack", _named(standing), h)


def write_facts(standing: Standing, tool: str) -> WriteFacts:
    """The inputs of table WRITE for one other write."""
    return WriteFacts(tool == "comment_add", _named(standing), _proof(standing))


def read_facts(standing: Standing) -> ReadFacts:
    """The inputs of the reader's table. A named row's folder guess counts as its own: the name says who is meant."""
    session = _named(standing)
    if standing.h == "none":
        return ReadFacts(session, "none")
    if session == "absent":
        if standing.h == "nobody":
            return ReadFacts(session, "nobody")
        if standing.h == "folder_guess":
            return ReadFacts(session, "folder_guess")
        return ReadFacts(session, "exact" if standing.h in ("taken", "unnamed") else "other_own")
    if standing.h == "own":
        return ReadFacts(session, "exact" if standing.a_link == "exact" else "other_own")
    return ReadFacts(session, "nobody" if standing.h == "nobody" else "foreign")


def judge(facts: SenderFacts) -> Verdict:
    """SEND-1 to 7 and 20, in the page's order: `verified`, `unverified`, or a refusal."""
    if facts.session == "absent":
        return _judge_without_name(facts.h)
    if facts.h == "taken":
        return Verdict("SEND-3", "refuse", "send.hook_session_taken")
    held_by_the_name = facts.h in ("own_live", "own_dead")
    if facts.occupied and not held_by_the_name:
        return Verdict("SEND-2", "refuse", "send.sender_not_proven")
    if facts.session == "several":
        return Verdict("SEND-20", "refuse", "send.sender_ambiguous")
    if facts.h in ("own_live", "at_hand"):
        return Verdict("SEND-5", "verified")
    return Verdict("SEND-4", "unverified", "send.name_not_verified")


def _judge_without_name(h: Proof) -> Verdict:
    if h == "none":
        return Verdict("SEND-1", "refuse", "send.sender_required")
    if h == "dead":
        return Verdict("SEND-7", "refuse", "send.sender_dead")
    return Verdict("SEND-6", "verified")


def judge_ack(facts: AckFacts) -> Verdict:
    """ACK-1 to 4 and 6: `judge` (the mark is judged on the row's link), `bound` (CMT-14), or a refusal."""
    if facts.session == "absent":
        if facts.h == "none":
            if facts.comment_ack:
                return Verdict("CMT-14", "bound")
            return Verdict("ACK-1", "refuse", "send.sender_required")
        if facts.h == "dead":
            return Verdict("ACK-1", "refuse", "send.sender_dead")
        return Verdict("ACK-6", "judge")
    if facts.session == "new":
        return Verdict("ACK-2", "refuse", "ack.session_unknown")
    if facts.h == "taken":
        return Verdict("ACK-3", "refuse", "send.hook_session_taken")
    if facts.session == "several":
        return Verdict("ACK-4", "refuse", "send.sender_ambiguous")
    return Verdict("ACK-6", "judge")


def judge_ack_item(facts: AckItemFacts) -> Verdict:
    """ACK-5, then ACK-6: `judge`, or a refusal that tells nothing of other rows' things."""
    if facts.item == "own":
        return Verdict("ACK-6", "judge")
    if facts.tool == "message_ack":
        orphaned = facts.item == "gone"
        return Verdict("ACK-5", "refuse", "message.orphaned" if orphaned else "ack.message_unknown")
    if facts.tool == "work_report":
        return Verdict("ACK-5", "refuse", "ack.work_unknown")
    return Verdict("ACK-5", "refuse", "comment.not_bound" if facts.item == "others" else "comment.unknown")


def judge_write(facts: WriteFacts) -> Verdict:
    """WRITE-1 to 4: `unnamed`, `bound` (CMT-14), `verified`, `unverified`, or a refusal."""
    if facts.session == "several":
        return Verdict("WRITE-1", "refuse", "send.sender_ambiguous")
    if facts.session == "absent":
        if facts.h == "dead":
            return Verdict("WRITE-2", "refuse", "send.sender_dead")
        if facts.h == "none":
            return Verdict("CMT-14", "bound") if facts.comment_add else Verdict("WRITE-3", "unnamed")
        return Verdict("WRITE-4", "verified")
    # With a taken H a new name is ignored and the call speaks, verified, as the row that holds H (LINK-5).
    proven = facts.h in ("own_live", "at_hand") or (facts.session == "new" and facts.h == "taken")
    return Verdict("WRITE-4", "verified" if proven else "unverified")


def judge_read(facts: ReadFacts) -> Verdict:
    """Whose mail a read is about: `proven` (its own text may be given, CH-9), `unproven`, or a refusal."""
    if facts.session == "new":
        return Verdict("ACK-2", "refuse", "ack.session_unknown")
    if facts.session == "several":
        return Verdict("ACK-4", "refuse", "send.sender_ambiguous")
    if facts.session == "absent":
        if facts.h in ("none", "nobody"):
            return Verdict("CH-3", "refuse", "read.session_required")
        if facts.h == "folder_guess":
            return Verdict("CH-3", "refuse", "read.session_guessed")
    return Verdict("CH-9", "proven" if facts.h == "exact" else "unproven")


def judge_name(facts: NameFacts) -> Verdict:
    """Page 10, Names: `fine`, or refused `name_invalid`."""
    if facts.too_long:
        return Verdict("ROW-3", "refuse", "name.too_long")
    if facts.hook_id:
        return Verdict("ROW-3", "refuse", "name.hook_id")
    if facts.known:
        return Verdict("ROW-3", "fine")
    if facts.shape == "ref":
        return Verdict("ROW-3", "refuse", "name.ref")
    if facts.shape == "handle":
        return Verdict("ROW-3", "refuse", "name.handle")
    return Verdict("ROW-3", "fine")
