"""Calls in the explored world: PROOF's outcome, the tables LINK, SEND, ACK and WRITE, and what LINK does to rows."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from relaybay.machines.base import step
from relaybay.rules import linking, sender
from tests.explore import channels, hooks, mail
from tests.explore.search import BrokenError
from tests.explore.state import NOBODY, Item, Row, State

ABSENT, NEW = -2, -3


class Call(NamedTuple):
    """`name` is a row's number, ABSENT or NEW; `hook` the proven id or NOBODY. `to` is a send's recipient."""

    call: str
    name: int
    hook: int = NOBODY
    witnessed: bool = False
    to: int = NOBODY

    def __str__(self) -> str:
        who = {ABSENT: "without a name", NEW: "in a new name"}.get(self.name, f"in the name of row {self.name}")
        proof = "" if self.hook == NOBODY else f", {'witnessed' if self.witnessed else 'claimed'} h{self.hook}"
        to = "" if self.to == NOBODY else f" to row {self.to}"
        return f"{self.call}{to} {who}{proof}"


def _view(n: int, row: Row) -> linking.RowView:
    unnamed = row.kind == "hook" and row.link == "exact" and not row.named
    return linking.RowView(n, row.kind, row.link, unnamed)  # type: ignore[arg-type]


@lru_cache(maxsize=50_000)
def _judged(
    call: str, named: tuple[linking.RowView, ...] | None, holder: linking.RowView | None, proven: bool, witnessed: bool
) -> tuple[Any, Any, Any]:
    standing = linking.stand(named, holder, proven, witnessed)
    if call == "send":
        said = sender.judge(sender.sender_facts(standing))
    elif call == "mark":
        said = sender.judge_ack(sender.ack_facts(standing, "message_ack"))
    else:
        said = sender.judge_write(sender.write_facts(standing, "task_update"))
    linked = None if said.refused else linking.judge(linking.facts_of(call, standing))  # type: ignore[arg-type]
    return standing, said, linked


class _Last:
    """What the last state's live tool events came to, by id: all calls of one state that one id proves begin alike."""

    state: State | None = None
    machines: dict[str, type] | None = None
    after: ClassVar[dict[int, State | None]] = {}


def _witnessed(machines: dict[str, type], state: State, h: int) -> State | None:
    if _Last.state is not state or _Last.machines is not machines:
        _Last.state, _Last.machines, _Last.after = state, machines, {}
    if h not in _Last.after:
        _Last.after[h] = hooks.happen(machines, state, hooks.HookEvent("tool", h))
    return _Last.after[h]


def make(machines: dict[str, type], state: State, call: Call, *, messages_max: int) -> State | None:
    """The state after one call. None where the bounds leave no room; a refused call gives the state itself."""
    if call.witnessed:
        # The client's own PreToolUse comes first: only it makes a tool-use id good.
        seen = _witnessed(machines, state, call.hook)
        if seen is None:
            return None
        state = seen
    h_row = state.holder(call.hook) if call.hook != NOBODY else NOBODY
    named = None if call.name == ABSENT else () if call.name == NEW else (_view(call.name, state.row(call.name)),)
    holder = None if h_row == NOBODY else _view(h_row, state.row(h_row))
    standing, said, linked = _judged(call.call, named, holder, call.hook != NOBODY, call.witnessed)
    if said.refused or linked.refused:
        return state
    return _done(machines, state, call, (standing, said, linked), messages_max)


def _done(machines: dict[str, type], state: State, call: Call, judged: Any, messages_max: int) -> State | None:
    standing, said, linked = judged
    sends = call.call == "send"
    if sends and sum(item.kind == "message" for item in state.items) >= messages_max:
        return None
    outcome = linked.outcome
    effect = linking.EFFECTS[outcome]
    a, b = (standing.a.id if standing.a else NOBODY), (standing.b.id if standing.b else NOBODY)
    nobody = call.call == "other" and call.name == ABSENT and call.hook == NOBODY
    if nobody:
        return state
    speaker, made = _speaker(state, call, outcome, a, b)
    if made and outcome != "split_folder_guess":
        speaker = state.free()
        if speaker == NOBODY:
            return None
        state = state.with_row(speaker, Row("agent", named=True))
    before = state.rows[speaker] if speaker != NOBODY else None
    merged = b if effect.b == "merged" else NOBODY
    if sends and call.to in (speaker, merged):
        return None  # to_self
    if effect.takes_id:
        state = _take(machines, state, speaker, b, call.hook, outcome)
    elif outcome == "make_exact":
        state = hooks.take(machines, state, speaker, "link")
        row = state.row(speaker)
        state = state.with_row(speaker, row._replace(named=row.named or call.name != ABSENT))
    elif outcome == "rename_b":
        state = state.with_row(speaker, state.row(speaker)._replace(named=True))
    elif outcome == "split_folder_guess":
        split = _split(machines, state, b, call.hook)
        if split is None:
            return None
        state, speaker = split
    row = state.row(speaker)
    if effect.a_link and row.link != effect.a_link:
        raise BrokenError(f"{linked.spec_id}: the machine says {row.link}, table LINK {effect.a_link}")
    verified = said.outcome == "verified"
    if verified and not (row.link == "exact" and row.hook == call.hook):
        raise BrokenError(f"SEND-5: {said.spec_id} verifies, and the row's link is {row.link}")
    if (verified or row.link == "exact") and row.hook == call.hook != NOBODY and not state.hooks[call.hook].seen:
        raise BrokenError("INV-8: an id that no live event has shown verifies a call")
    if sends:
        item = Item("message", call.to, sender=speaker, said=call.hook if verified else NOBODY)
        return state._replace(items=(*state.items, channels.admit(machines, state, item)))
    if call.call == "mark":
        return _mark(machines, state, speaker, standing, before, verified=_mark_proves(call, standing, outcome, row))
    return state


def _speaker(state: State, call: Call, outcome: str, a: int, b: int) -> tuple[int, bool]:
    """The row that speaks, and whether it still has to be made."""
    if outcome in ("speak_as_b", "rename_b"):
        return b, False
    if outcome == "split_folder_guess":
        return NOBODY, True
    if call.name == ABSENT:
        return b, False
    return (a, False) if a != NOBODY else (NOBODY, True)


def _mark_proves(call: Call, standing: linking.Standing, outcome: str, row: Row) -> bool:
    own = standing.h == "own" or call.name == ABSENT
    return call.hook != NOBODY and own and row.hook == call.hook and not row.link.endswith("_unseen")


def _mark(
    machines: dict[str, type], state: State, n: int, standing: Any, before: Row | None, *, verified: bool
) -> State:
    """`message_ack` of whatever the row has, each judged alone."""
    linked_itself = before is not None and before.linked_itself
    for i, item in enumerate(state.items):
        if mail.owner_of(state, item) != n or item.state not in ("sent", "delivered", "read"):
            continue
        facts = {"link_proven": verified, "linked_itself": linked_itself}
        if item.kind == "comment":
            facts["by_bound"] = True
        result, after = mail.ask(machines, state, item, "acknowledge", facts)
        if result.kind == "move" and not verified and linked_itself:
            raise BrokenError("DLV-6: an unproven call marks the mail of a row that has linked itself")
        state = state.with_item(i, after)
    return state


def _take(machines: dict[str, type], state: State, a: int, b: int, h: int, outcome: str) -> State:
    """LINK-1 and 6 to 10."""
    effect = linking.EFFECTS[outcome]
    row, other = state.row(a), state.rows[b] if b != NOBODY else None
    facts = {"folder_guess": row.kind != "hook"}
    event = "take_unseen"
    if outcome != "take_unseen":
        assert other is not None
        facts |= {"b_is_hook": other.kind == "hook", "b_was_guess": other.link == "ended_guessed"}
        event = "take_ended" if other.link.startswith("ended") else "take_live"
    merged = b if effect.b == "merged" else NOBODY
    state = mail.own_words(machines, state, a, h, merged)
    if b != NOBODY:
        state = _leave(machines, state, effect.b, a, b)
    state = hooks.take(machines, state, a, event, facts, hook=h)
    row = state.row(a)
    life = other if effect.a_life == "of_b" and other is not None else None
    # From B the turn comes along, whatever B's link was; an id that no row held brought its own (MOVE-9).
    turn = row.turn if other is None else other.turn
    row = row._replace(turn=turn, idle=life is not None and life.idle, named=True)
    return state.with_row(a, row)


def _leave(machines: dict[str, type], state: State, what: str, a: int, b: int) -> State:
    state = state.with_row(b, hooks.end_wait(machines, state.row(b)))
    if what == "merged":
        return mail.merge(machines, state, b, a)
    if what == "orphaned":
        return mail.row_gone(machines, state, b)
    row = state.row(b)
    if what == "moved":
        link = step(machines["link"], row.link, "move_away").state
    else:
        result = step(machines["link"], row.link, "lose", {"folder_guess": row.kind != "hook", "named": True})
        link = result.state
    if link not in ("none", "moved"):
        return state  # No machine says so; should one, the id stands on two rows (INV-11).
    return state.with_row(b, row._replace(link=link, hook=NOBODY, turn="none", idle=False))


def _split(machines: dict[str, type], state: State, b: int, h: int) -> tuple[State, int] | None:
    """LINK-15."""
    n = state.free()
    if n == NOBODY:
        return None
    guess = state.row(b)
    link = step(machines["link"], guess.link, "lose", {"folder_guess": True, "named": False}).state
    state = state.with_row(b, guess._replace(link=link, hook=NOBODY, turn="none", idle=False))
    state = state.with_row(n, Row("hook", turn=guess.turn, idle=guess.idle))
    return hooks.take(machines, state, n, "born_exact", hook=h), n
