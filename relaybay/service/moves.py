"""What becomes of what a row has when its link, or the row itself, changes (page 10, table MOVE), on the store.

`service/linking.py` calls it for calls, and whoever handles hook events and the owner's unlink for HL-3, HL-11 and
LINK-20: `take_off`, `other_session` and `own_words` are the link machine's effects of these names.
"""

from __future__ import annotations

from relaybay.rules import move
from relaybay.service import controls, steps
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import channels, comments, messages, moves, sessions, tasks
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx


def merge(tx: Tx, relay: Relay, b: SessionRow, a: SessionRow) -> None:
    """MOVE-1 and 10: all that B has goes to A. B itself is left for its caller to delete.

    What A was handed under another id is for `other_session` to find; B's keeps the id it was handed over.
    """
    for mail in messages.every(tx, b.id):
        _carry(tx, mail, a)
    messages.move_sender(tx, b.id, a.id)
    for row in comments.of_session(tx, b.id, ("sent", "delivered", "read")):
        steps.comment(tx, row, "bound_again")
    moves.bindings_to(tx, b.id, a.id)
    moves.marks_to(tx, b.id, a.id)
    moves.events_to(tx, b.ref, a.ref, b.first_seen_us)
    changed = _carry_controls(tx, b, a)
    tx.touch(a.id)
    if relay.messaging.channels and changed:
        controls.grow(tx, relay, sessions.need(tx, a.id), changed)
    elif relay.messaging.channels:
        controls.judge_waiting(tx, relay, sessions.need(tx, a.id))


def _carry(tx: Tx, mail: Mail, a: SessionRow) -> None:
    """DLV-50 and 55: a delivery goes to A, unless A has one of the same message that is as far on."""
    own = messages.at(tx, mail.message_id, a.id)
    if own is None:
        steps.delivery(tx, mail, "carried_over", {"heir_has_one": False, "further": False}, recipient_id=a.id)
        return
    ahead = move.further(mail.state, own.state)
    loser, winner = (own, mail) if ahead else (mail, own)
    # First, since a message has one delivery a recipient.
    steps.delivery(tx, loser, "carried_over", {"heir_has_one": True, "further": False})
    steps.delivery(tx, winner, "carried_over", {"heir_has_one": True, "further": True}, recipient_id=a.id)


def _carry_controls(tx: Tx, b: SessionRow, a: SessionRow) -> int:
    """LINK-6: what the owner had set for B is A's now. What A has of its own stays, and goes first: of patterns at most
    16 are kept, and an event names those that stay out. How many of A's controls are others by it.
    """
    own = channels.patterns(tx, a.id)
    wanted = tuple(dict.fromkeys((*own, *channels.patterns(tx, b.id))))
    most = limit("patterns_per_session_max")
    channels.move_to(tx, b.id, a.id, wanted[:most])
    if wanted[most:]:
        tx.emit("session.patterns_left_out", session=a.ref, title=steps.shown(a.title), patterns=list(wanted[most:]))
    kept = {
        "inbound": a.inbound or b.inbound,
        "broadcasts": a.broadcasts or b.broadcasts,
        "name_chosen": a.name_chosen or b.name_chosen,
        "suppressed": a.suppressed or b.suppressed,
    }
    if any(getattr(a, column) != value for column, value in kept.items()):
        sessions.change(tx, a.id, **kept)
    return sum(getattr(a, column) != kept[column] for column in ("inbound", "suppressed"))


def row_gone(tx: Tx, b: SessionRow) -> None:
    """MOVE-3 and 11: B is about to be deleted, and nobody is its heir."""
    for mail in messages.every(tx, b.id):
        steps.delivery(tx, mail, "recipient_row_gone")
    for task in tasks.bound_to(tx, b.id):
        unbind(tx, task)


def unbind(tx: Tx, task: tasks.TaskRow) -> None:
    """CMT-5, MOVE-11: the task is bound to nobody; its comments wait for a binding."""
    if task.session_id is None:
        return
    for row in comments.of_session(tx, task.session_id, ("sent", "delivered", "read")):
        if row.task_id == task.id:
            steps.comment(tx, row, "bound_elsewhere")
    tasks.change(tx, task, session_id=None)
    tx.emit("task.unbound", task=task.task_key, session=f"S-{task.session_id}", reason="row_gone")


def own_words(tx: Tx, a: SessionRow, hook_id: str, merged: int | None = None) -> None:
    """MOVE-12: what A's new id had sent to A, verified, and what the two rows of a merge had sent each other, is read.

    `merged` is the row that is carried into A; to be called before `merge`, which makes both sides one.
    """
    mails = messages.own_words(tx, a.id, hook_id)
    if merged is not None:
        mails += messages.own_words(tx, merged, hook_id) + messages.between(tx, a.id, merged)
    for mail in {mail.id: mail for mail in mails}.values():
        steps.delivery(tx, mail, "own_message")


def other_session(tx: Tx, relay: Relay, row_id: int, hook_id: str) -> None:
    """MOVE-5: what the row was handed under another id than `hook_id` (empty: none) and has not read waits again,
    messages and comments; what lists gave the conversation before counts no more (CMT-8).
    """
    for mail in messages.waiting(tx, row_id, ("delivered",)):
        if not hook_id or mail.delivered_hook_id != hook_id:
            controls.back(tx, relay, mail, "other_session", {})
    if relay.messaging.channels:
        controls.grow(tx, relay, sessions.need(tx, row_id))
    for row in comments.of_session(tx, row_id, ("delivered",)):
        if not hook_id or row.delivered_hook_id != hook_id:
            steps.comment(tx, row, "bound_elsewhere")


def take_off(tx: Tx, row: SessionRow) -> None:
    """HL-7: the row's id is held by nobody from now on; rows whose link had gone here lose its trace (RECV-8)."""
    if row.hook_id:
        sessions.set_fate(tx, row.hook_id, "taken_off", turn_state=row.turn_state, turn_prompt_id=row.turn_prompt_id)
    moves.moved_to(tx, row.id, None)
