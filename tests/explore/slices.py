"""The slices: which events happen in a world of which size. Each is gone through whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from relaybay.machines.base import step
from relaybay.machines.comment import Comment
from relaybay.machines.delivery import Delivery
from relaybay.machines.link import Link
from relaybay.machines.review import Review
from relaybay.machines.turn import Turn
from relaybay.machines.wait import Wait
from tests.explore import calls, channels, hooks, mail
from tests.explore.calls import ABSENT, NEW, Call
from tests.explore.hooks import HookEvent
from tests.explore.search import BrokenError, Problem
from tests.explore.state import NOBODY, Hook, Item, Row, State, canonical

MACHINES: dict[str, type] = {
    "link": Link,
    "message": Delivery,
    "comment": Comment,
    "turn": Turn,
    "wait": Wait,
    "review": Review,
}
OPEN = ("sent", "held", "taken", "delivered")


@dataclass(frozen=True)
class Slice:
    """A world's size, the names of live and replayed events in it, the calls, and what else there is."""

    rows: int
    hooks: int
    messages: int
    live: tuple[str, ...]
    replayed: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    claims: bool = True
    named: tuple[str, ...] = ("send", "mark", "other")
    comments: int = 0
    wait: bool = False
    flight: bool = False
    context: bool = False
    unlink: bool = False
    clear: bool = False
    acts: tuple[str, ...] = ()
    start: State | None = None
    machines: dict[str, type] = field(default_factory=lambda: dict(MACHINES))

    def problem(self) -> Problem:
        start = self.start or State((None,) * self.rows, (Hook(),) * self.hooks, channels=bool(self.acts))
        return Problem(start, self.events, partial(apply, self), canonical, partial(check, self), say)

    # -- what may happen -----------------------------------------------------------------------------------------

    def events(self, state: State) -> Iterator[Any]:
        for h in _distinct(state):
            held = state.holder(h) != NOBODY
            for name in self.live:
                if held or name in ("start", "tool"):
                    yield HookEvent(name, h)
            for name in self.replayed:
                yield HookEvent(name, h, replayed=True)
        yield from self._calls(state)
        yield from self._owner(state)
        if self.clear:
            free = [h for h in _distinct(state) if state.holder(h) == NOBODY]
            for n, row in enumerate(state.rows):
                if row is not None and row.link in ("guessed", "exact"):
                    yield from (("clear", n, h) for h in free)
        if self.wait:
            for n, row in enumerate(state.rows):
                if row is not None and row.link == "exact":
                    yield ("wait", n)
                if row is not None and row.wait == "waiting":
                    yield from ((word, n) for word in ("look", "look of a gone client", "wait over"))
        if self.acts:
            yield from channels.events(state, self.messages, self.acts)
        if self.flight and state.flight.hook != NOBODY:
            yield ("lost",)
        if self.context:
            for i, item in enumerate(state.items):
                if item.state == "delivered" and not item.in_context:
                    yield ("seen in the context:", i)
                    yield ("missing in the context:", i)
            for n, row in enumerate(state.rows):
                if row is not None and row.link == "exact" and not row.idle:
                    yield ("interrupted:", n)

    def _calls(self, state: State) -> Iterator[Call]:
        rows = [n for n, row in enumerate(state.rows) if row is not None]
        room = sum(item.kind == "message" for item in state.items) < self.messages
        for kind in self.calls:
            if kind == "send" and not room:
                continue
            names = (
                [ABSENT]
                if kind not in self.named
                else [ABSENT, *rows] + ([NEW] if kind != "mark" and None in state.rows else [])
            )
            for name in names:
                for to in rows if kind == "send" else (NOBODY,):
                    if name == to != NOBODY:
                        continue
                    if name != ABSENT:
                        yield Call(kind, name, to=to)
                    for h in _distinct(state):
                        if self.claims:
                            yield Call(kind, name, h, to=to)
                        yield Call(kind, name, h, witnessed=True, to=to)

    def _owner(self, state: State) -> Iterator[Any]:
        if self.unlink:
            yield from (("unlink", n) for n, row in enumerate(state.rows) if row is not None and row.link != "none")
        if not self.comments:
            return
        if sum(item.kind == "comment" for item in state.items) < self.comments:
            yield ("comment",)
        for n, row in enumerate(state.rows):
            if row is not None:
                yield ("bind", n)
        yield ("bind", NOBODY)
        for i, item in enumerate(state.items):
            if item.fresh:
                yield ("5 s are over", i)
                yield ("withdraw", i)


def _distinct(state: State) -> list[int]:
    """Of the ids that nobody has heard of one is enough."""
    blank = Hook()
    used = (
        {row.hook for row in state.rows if row is not None}
        | {i.over for i in state.items}
        | {i.said for i in state.items}
    )
    found, unknown = [], False
    for h, hook in enumerate(state.hooks):
        if hook == blank and h not in used and h != state.flight.hook:
            if unknown:
                continue
            unknown = True
        found.append(h)
    return found


def apply(part: Slice, state: State, event: Any) -> State | None:
    """The state after one event."""
    machines = part.machines
    if isinstance(event, HookEvent):
        return hooks.happen(machines, state, event, flight=part.flight)
    if isinstance(event, Call):
        return calls.make(machines, state, event, messages_max=part.messages)
    match event:
        case ("clear", n, h):
            return hooks.cleared(machines, state, n, h, flight=part.flight)
        case ("unlink", n):
            state = hooks.take(machines, state, n, "unlink")
            return state.with_row(n, state.row(n)._replace(unlinked=True, named=state.row(n).kind != "hook"))
        case ("comment",):
            return state._replace(items=(*state.items, Item("comment", NOBODY, fresh=True)))
        case ("bind", n):
            return _bind(machines, state, n)
        case ("5 s are over", i):
            return state.with_item(i, state.items[i]._replace(fresh=False))
        case ("withdraw", i):
            result = step(machines["comment"], state.items[i].state, "withdraw", {"in_grace": True})
            if result.state != "gone":
                return state
            return state._replace(items=state.items[:i] + state.items[i + 1 :])
        case ("lost",):
            return hooks.answer_lost(machines, state)
        case ("seen in the context:", i):
            return mail.context(machines, state, i, "context_seen")
        case ("missing in the context:", i):
            return mail.context(machines, state, i, "context_missing")
        case ("interrupted:", n):
            return state.with_row(n, state.row(n)._replace(idle=True))
        case ("policy" | "mode" | "open review" | "approve" | "reject" | "take" | "keep" | "give_back", *_):
            return channels.apply(machines, state, event)
        case (str() as word, _) if word.endswith(" row"):
            return channels.apply(machines, state, event)
        case (str() as word, n):
            return _wait(part, state, word, n)
    raise AssertionError(event)


def _bind(machines: dict[str, type], state: State, n: int) -> State:
    word = "bound_again" if state.bound in (NOBODY, n) else "bound_elsewhere"
    for i, item in enumerate(state.items):
        if item.kind == "comment":
            state = state.with_item(i, mail.ask(machines, state, item, word)[1])
    return state._replace(bound=n)


def _wait(part: Slice, state: State, word: str, n: int) -> State:
    machines, row = part.machines, state.row(n)
    if word == "wait":
        opened = step(machines["wait"], "none", "open", {"link_exact_live": row.link == "exact"}).state
        return state.with_row(n, row._replace(wait=opened))
    if word == "wait over":
        return state.with_row(n, hooks.end_wait(machines, row, "time_over"))
    there = bool(mail.eligible(state, n, "wake"))
    facts = {
        "item_there": there, "poll_open": True, "idle": row.idle, "connection_lives": word == "look",
    }  # fmt: skip
    result = step(machines["wait"], row.wait, "look", facts)
    if "hand_over" in result.effects:
        state, out = mail.hand_over(machines, state, n, "wake", flight=part.flight)
        if not out:
            raise BrokenError("WAIT-2: a wait fires with nothing to hand over")
    return state.with_row(n, row._replace(wait=result.state if result.state == "waiting" else "none"))


def say(event: Any, after: State | None) -> str:
    """One line of a trace."""
    told = str(event) if isinstance(event, HookEvent | Call) else " ".join(str(part) for part in event)
    if after is None:
        return told
    rows = [
        f"{n}:{row.kind} {row.link}" + (f" h{row.hook}" if row.hook >= 0 else "")
        for n, row in enumerate(after.rows)
        if row
    ]
    items = [f"{i.kind} {i.state}" + (f" for {i.row}" if i.row >= 0 else "") for i in after.items]
    return f"{told}  →  " + "; ".join([*rows, *items])


# -- what must hold in every state ---------------------------------------------------------------------------------


def check(part: Slice, state: State) -> None:
    """The invariants of one state."""
    held = [row.hook for row in state.rows if row is not None and row.hook != NOBODY]
    if len(held) != len(set(held)):
        raise BrokenError("INV-11: an id stands on two rows")
    for row in state.rows:
        if row is not None:
            _check_row(state, row)
    for item in state.items:
        _check_item(state, item)
    if state.channels:
        channels.check(state)
    if any(hook.blocks > 2 or hook.blocks < 0 for hook in state.hooks):
        raise BrokenError("INV-5: a third Stop block in one turn")


def _check_row(state: State, row: Row) -> None:
    if (row.hook == NOBODY) != (row.link in ("none", "moved")):
        raise BrokenError(f"a row in {row.link} holds {row.hook}")
    if row.link in ("guessed", "exact") and not state.hooks[row.hook].seen:
        raise BrokenError("INV-8: a link is live and no live event has shown its id")
    if row.link.endswith("_unseen") and state.hooks[row.hook].seen:
        raise BrokenError("HL-8: an id is unseen though a live event has shown it")
    if row.link == "ended_guessed" and row.kind != "hook":
        raise BrokenError("HL-11: a folder guess has ended instead of being dropped")
    if row.wait == "waiting" and row.link != "exact":
        raise BrokenError("WAIT-4: a wait outlives its link")


def _check_item(state: State, item: Item) -> None:
    if item.blocks > mail.BLOCKS_MAX[item.kind] or item.blocks < 0:
        raise BrokenError(f"INV-5: a {item.kind} has {item.blocks} Stop blocks")
    if item.in_context and item.state == "sent":
        raise BrokenError("CTX-1: an item stands in a context and waits to be handed over")
    n = mail.owner_of(state, item)
    if item.kind == "message" and (n == NOBODY or state.rows[n] is None) and item.state in OPEN:
        raise BrokenError("INV-1: an open message has no recipient")
    if item.kind == "message" and item.state == "orphaned" and n != NOBODY:
        raise BrokenError("DLV-8: a message is orphaned though its row is there")
    if item.state == "delivered":
        if item.over == NOBODY:
            raise BrokenError("INV-4: delivered over no id")
        if n == NOBODY:
            raise BrokenError("CMT-5: a comment is delivered to nobody")
        row = state.row(n)
        if row.link == "none":
            raise BrokenError("MOVE-5: delivered, and the row has no link any more")
        if row.hook not in (NOBODY, item.over):
            raise BrokenError("MOVE-5: delivered to another conversation than the row's")
