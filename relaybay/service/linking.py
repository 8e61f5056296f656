"""Carries table LINK's verdict out, after a use case's last check: rows made, merged and deleted, links and mail moved
(page 10: LINK, MOVE, ROW-3). `rules/linking.py: EFFECTS` says what each outcome does to the rows, the link machine what
becomes of each link; both are asked, and have to agree.
"""

from __future__ import annotations

from typing import Any

from relaybay.domain import Step
from relaybay.machines.base import step
from relaybay.machines.link import Link
from relaybay.rules import names
from relaybay.rules.linking import EFFECTS, Effect
from relaybay.rules.text import name_line
from relaybay.service import moves, naming
from relaybay.service.identity import Identity, identify
from relaybay.service.links import NO_PROCESS
from relaybay.service.relay import Relay
from relaybay.store import moves as stored
from relaybay.store import sessions
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

__all__ = ["Identity", "apply", "identify"]

#: What hangs on the hook id and starts afresh with another (MOVE-9 among it).
_NO_CONVERSATION: dict[str, Any] = {
    "turn_state": "none",
    "turn_prompt_id": "",
    "turn_serial": 0,
    "permission_mode": "",
    "transcript_path": "",
    "last_event_us": 0,
}


def apply(tx: Tx, relay: Relay, identity: Identity, now: int) -> SessionRow | None:
    """Carries out what `identify` found and gives the row the call speaks for, as it now is; None for nobody.

    To be called once, in the same transaction, when nothing can refuse the call any more. Reads and repeats
    (PROOF-6) never come here.
    """
    assert identity.call != "read"
    assert not identity.first_answer
    if identity.nobody:
        return None
    assert identity.linked is not None
    outcome = identity.linked.outcome
    effect = EFFECTS[outcome]
    if effect.takes_id and identity.b is None:
        naming.free_of(tx, identity.hook_id)
    row = _speaker(tx, relay, identity)
    b = relay.presence.write_back(tx, sessions.need(tx, identity.b.id)) if identity.b else None
    if effect.takes_id:
        row = _take(tx, relay, identity, row, b)
    elif outcome == "make_exact":
        row = _linked(
            tx, relay, row, step(Link, row.link_state, "link"), link_named=int(identity.named or row.link_named)
        )
    elif outcome == "rename_b":
        row = naming.rename(tx, row, identity.title)
        row = sessions.change(tx, row.id, link_named=1)
        if identity.alias:
            naming.keep_alias(tx, row, identity.alias, "call")
    elif outcome == "split_folder_guess":
        assert b is not None
        row = _split(tx, relay, identity, b)
    # An accepted call counts as a sign of life when it proves the row's link, or when the row has none to prove.
    if identity.proven or not row.linked_itself:
        row = sessions.change(tx, row.id, last_seen_us=max(now, row.last_seen_us))
    return row


def _speaker(tx: Tx, relay: Relay, identity: Identity) -> SessionRow:
    """The speaking row as it stands; ROW-3's new one where the name is new. LINK-15's is made later, from B."""
    if identity.speaker is not None:
        return relay.presence.write_back(tx, sessions.need(tx, identity.speaker.id))
    if not identity.title:
        assert identity.b is not None
        return sessions.need(tx, identity.b.id)
    row = sessions.add(tx, title=identity.title, title_key=names.key(identity.title), kind="agent", title_given=1)
    if identity.alias:
        naming.keep_alias(tx, row, identity.alias, "call")
    _created(tx, row)
    return row


def _created(tx: Tx, row: SessionRow) -> None:
    tx.emit("session.created", session=row.ref, title=name_line(row.title), kind=row.kind)


def _linked(tx: Tx, relay: Relay, row: SessionRow, result: Step, **columns: Any) -> SessionRow:
    """Writes a link's move with further columns, then name and events, the last effects of the machine's list."""
    row = sessions.change(tx, row.id, link_state=result.state, **columns)
    for effect in result.effects:
        if effect == "claim_name":
            row = naming.claim_name(tx, row, channels=relay.messaging.channels)
        elif effect.startswith("event:"):
            tx.emit(effect.removeprefix("event:"), session=row.ref, title=name_line(row.title), name=row.name)
    return row


def _take(tx: Tx, relay: Relay, identity: Identity, a: SessionRow, b: SessionRow | None) -> SessionRow:
    """LINK-1 and 6 to 10: A gets the call's id, from B if a row holds it."""
    assert identity.linked is not None
    effect, hook_id = EFFECTS[identity.linked.outcome], identity.hook_id
    result = _step_of_a(identity.linked.outcome, a, b)
    said = (identity.linked.spec_id, effect.a_link)
    assert (result.spec_id, result.state) == said, f"the machine says {result.spec_id} {result.state}, LINK {said}"
    stored.forget_given(tx, a.id)
    merged = b.id if b is not None and effect.b == "merged" else None
    moves.own_words(tx, a, hook_id, merged)
    if b is not None:
        _leave(tx, relay, effect, a, b, named=identity.named)
    for word in result.effects:
        if word == "take_off_id":
            moves.take_off(tx, a)
        elif word == "end_waits":
            _end_wait(tx, relay, a.id)
        elif word == "other_session":
            moves.other_session(tx, relay, a.id, hook_id)
    # What lists gave the merged row was given to this very conversation; on any other row nothing was yet.
    since = b.hook_since_us if b is not None and merged else tx.now
    life = _life(effect, a, b)
    if effect.a_life == "unknown":
        # An unseen B never had the id's turn to lose: it still stands with the id (MOVE-9).
        life |= sessions.turn_of(tx, hook_id)
    columns = {**life, "hook_id": hook_id, "hook_since_us": since, "moved_to": None, "link_named": 1}
    return _linked(tx, relay, a, result, **columns)


def _step_of_a(outcome: str, a: SessionRow, b: SessionRow | None) -> Step:
    """What the link machine says of A."""
    facts = {"folder_guess": a.kind != "hook"}
    if outcome == "take_unseen":
        return step(Link, a.link_state, "take_unseen", facts)
    assert b is not None
    facts |= {"b_is_hook": b.kind == "hook", "b_was_guess": b.link_state == "ended_guessed"}
    return step(Link, a.link_state, "take_ended" if b.link_state.startswith("ended") else "take_live", facts)


def _leave(tx: Tx, relay: Relay, effect: Effect, a: SessionRow, b: SessionRow, *, named: bool) -> None:
    """What becomes of B. Its id is free afterwards, so that A can hold it: one id, one row, ever."""
    _end_wait(tx, relay, b.id)
    if effect.b == "merged":
        moves.merge(tx, relay, b, a)
        sessions.remove(tx, b.id)
        tx.emit("session.merged", session=a.ref, title=name_line(a.title), merged_title=name_line(b.title))
    elif effect.b == "orphaned":
        moves.row_gone(tx, b)
        stored.moved_to(tx, b.id, a.id)
        sessions.remove(tx, b.id)
        tx.emit("session.removed", session=b.ref, title=name_line(b.title), taken_over_by=a.ref)
    elif effect.b == "moved":
        result = step(Link, b.link_state, "move_away")
        stored.moved_to(tx, b.id, a.id)
        sessions.change(tx, b.id, link_state=result.state, hook_id=None, moved_to=a.id, **NO_PROCESS)
    else:
        _lose(tx, b, named=named)


def _lose(tx: Tx, b: SessionRow, *, named: bool) -> None:
    """MOVE-2: B stays, with its mail, and loses its id to another row."""
    result = step(Link, b.link_state, "lose", {"folder_guess": b.kind != "hook", "named": named})
    assert result.kind == "move", f"{result.spec_id}: a row in {b.link_state} loses nothing"
    columns = {**NO_PROCESS, **_NO_CONVERSATION, "activity": "unknown", "hook_id": None}
    sessions.change(tx, b.id, link_state=result.state, **columns)


def _life(effect: Effect, a: SessionRow, b: SessionRow | None) -> dict[str, Any]:
    """Activity, client process and what else goes with the id (page 10, Activity; MOVE-9)."""
    if effect.a_life == "unknown" or b is None:
        return {**NO_PROCESS, **_NO_CONVERSATION, "activity": "unknown", "ended_us": 0, "ended_reason": ""}
    kept = {name: getattr(b, name) for name in _NO_CONVERSATION}
    kept |= {"client": b.client, "client_version": b.client_version, "cwd": b.cwd or a.cwd}
    kept["project_id"] = b.project_id if b.cwd else a.project_id
    if effect.a_life == "ended":
        return {**kept, **NO_PROCESS, "activity": "ended", "ended_us": b.ended_us, "ended_reason": b.ended_reason}
    assert effect.a_life == "of_b"
    process = {name: getattr(b, name) for name in NO_PROCESS}
    return {**kept, **process, "activity": b.activity, "ended_us": 0, "ended_reason": ""}


def _split(tx: Tx, relay: Relay, identity: Identity, b: SessionRow) -> SessionRow:
    """LINK-15: the id gets a hook row of its own; B was only guessed from the folder."""
    life = _life(EFFECTS["split_folder_guess"], b, b)
    _end_wait(tx, relay, b.id)
    _lose(tx, b, named=identity.named)
    title = naming.folder_title(tx, b.cwd)
    row = sessions.add(tx, title=title, title_key=names.key(title), kind="hook")
    _created(tx, row)
    result = step(Link, row.link_state, "born_exact")
    return _linked(
        tx, relay, row, result, **life, hook_id=identity.hook_id, hook_since_us=tx.now, last_seen_us=b.last_seen_us
    )


def _end_wait(tx: Tx, relay: Relay, session_id: int) -> None:
    """WAIT-4: the link moved or went; told once the commit is on disk."""
    tx.after(lambda: relay.waits.end(session_id))
