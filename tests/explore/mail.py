"""What happens to messages and comments in the explored world: the machines `delivery` and `comment`, asked for every item
in every state, also for what selection would never ask (page 90).
"""

from __future__ import annotations

from relaybay.domain import Step
from relaybay.machines.base import step
from relaybay.rules import answer, stop
from tests.explore import channels
from tests.explore.search import BrokenError
from tests.explore.state import NOBODY, Flight, Item, Row, State

BLOCKS_MAX = {"message": 1, "comment": 2}
REOFFERS_MAX = 2


def ask(
    machines: dict[str, type], state: State, item: Item, event: str, facts: dict[str, bool] | None = None
) -> tuple[Step, Item]:
    """One event to one item, and the item as the effects leave it."""
    names = {
        "own_message": "bound_again", "other_session": "bound_elsewhere", "carried_over": "bound_again",
        "acknowledge": "ack", "recipient_row_gone": "bound_elsewhere",
    }  # fmt: skip
    message = item.kind == "message"
    given = {}
    if message:
        given = {"judged_deliver": not channels.kept_back(state, item), "published": item.published}
        given |= {"heir_has_one": False, "further": False}
    result = step(machines[item.kind], item.state, event if message else names.get(event, event), given | (facts or {}))
    over, blocks, made, reoffers, in_context = item.over, item.blocks, item.made, item.reoffers, item.in_context
    for effect in result.effects:
        if effect == "clear:delivered_at":
            over, made = NOBODY, False
        elif effect == "clear:in_context_at":
            in_context = False
        elif effect == "mark_once:in_context_at":
            in_context = True
        elif effect == "count:reoffer":
            reoffers += 1
        elif effect == "count:stop_block":
            blocks += 1
        elif effect == "uncount:stop_block":
            blocks -= 1
    row = NOBODY if message and "clear:recipient_row" in result.effects else item.row
    after = item._replace(
        state=result.state, over=over, blocks=blocks, made=made, row=row, reoffers=reoffers, in_context=in_context
    )
    return result, channels.followed(machines, item, after, result) if message else after


def owner_of(state: State, item: Item) -> int:
    """The row that an item is for: its recipient, or the one its task is bound to."""
    return item.row if item.kind == "message" else state.bound


def _may(item: Item, at: str) -> bool:
    if at == "stop":
        facts = stop.StopItemFacts(item.kind, item.state, min(item.blocks, 2), item.fresh, passive=item.passive)  # type: ignore[arg-type]
        return stop.judge(facts).outcome == "eligible"
    return (
        answer.judge_item(
            answer.ItemFacts(at, item.kind, item.state, item.fresh, passive=item.passive, prompt_turn=item.rides)  # type: ignore[arg-type]
        ).outcome
        == "text"
    )


def eligible(state: State, n: int, at: str) -> list[int]:
    """The items that selection would hand over, by number."""
    return [
        i
        for i, item in enumerate(state.items)
        if owner_of(state, item) == n and item.state in ("sent", "delivered") and _may(item, at)
    ]


def hand_over_facts(row: Row, item: Item, at: str, *, replayed: bool = False) -> dict[str, bool]:
    facts = {"replayed": replayed, "link_exact_live": row.link == "exact", "at_stop": at == "stop"}
    if item.kind == "message":
        brings = at == "prompt" or (at == "tool" and item.rides)
        return facts | {"passive": item.passive and not brings, "blocked_before": item.blocks >= BLOCKS_MAX["message"]}
    return facts | {"in_grace": item.fresh, "blocks_left": item.blocks < BLOCKS_MAX["comment"]}


def hand_over(machines: dict[str, type], state: State, n: int, at: str, *, flight: bool) -> tuple[State, bool]:
    """An answer at this event: the machine is asked for every item of the row, at `at`. At a Stop that may not block only
    what refuses is expected. Gives whether anything went out.
    """
    row, out = state.row(n), False
    chosen = eligible(state, n, at)
    if flight and chosen:
        state = state._replace(items=tuple(i._replace(made=False, shown=False) for i in state.items))
    for i, item in enumerate(state.items):
        if owner_of(state, item) != n:
            continue
        result, after = ask(machines, state, item, "hand_over", hand_over_facts(row, item, at))
        if result.kind == "refuse":
            continue
        if state.channels and item.kind == "message":
            channels.may_go(state, item, at)
        if i not in chosen:
            raise BrokenError(f"INV-4: {result.spec_id} hands over a {item.kind} in {item.state} at {at}, unselected")
        if row.link != "exact" or not state.hooks[row.hook].seen:
            raise BrokenError(f"INV-4: a {item.kind} is handed over a link that is {row.link}")
        if at == "wake" and item.state != "sent":
            raise BrokenError("INV-9: an item that was delivered woke its session")
        made = item.state == "sent"
        after = after._replace(over=row.hook if made else item.over, made=flight and made, shown=flight)
        state, out = state.with_item(i, after), True
    if at == "prompt":
        state = channels.ride_on(state, n)
    if flight and out:
        state = state._replace(flight=Flight(row.hook, at, this_turn=True))
    return state, out


def not_handed(machines: dict[str, type], state: State, n: int, at: str, *, replayed: bool = False) -> None:
    """An event that carries nothing: asked all the same, the machine must not move anything."""
    row = state.row(n)
    for item in state.items:
        if owner_of(state, item) == n and (replayed or row.link != "exact"):
            result, _ = ask(machines, state, item, "hand_over", hand_over_facts(row, item, at, replayed=replayed))
            if result.kind == "move" or result.effects:
                raise BrokenError(
                    f"INV-4: a {item.kind} is handed over " + ("by a replay" if replayed else f"at {row.link}")
                )


def context(machines: dict[str, type], state: State, i: int, event: str) -> State:
    """CTX-1 or 2 for one item. Its proof is looked for from its hand-over until the transcript has shown it."""
    item = state.items[i]
    _, after = ask(machines, state, item, event, {"reoffers_left": item.reoffers < REOFFERS_MAX})
    if after.reoffers > REOFFERS_MAX:
        raise BrokenError(f"CTX-2: a {item.kind} is offered again {after.reoffers} times")
    if item.in_context:
        raise BrokenError("CTX-1: what was proven is looked for again")
    state = state.with_item(i, after)
    if event == "context_seen" and item.shown:
        # Nobody hears any more that the answer was lost: it was read.
        items = tuple(each._replace(shown=False, made=False) for each in state.items)
        return state._replace(items=items, flight=Flight())
    return channels.over(machines, state, i)


def lost(machines: dict[str, type], state: State) -> State:
    """The last answer never reached its client (PACK-7): marks and counts go back."""
    at_stop = state.flight.at == "stop"
    for i, item in enumerate(state.items):
        if item.shown:
            _, after = ask(
                machines, state, item, "answer_not_written", {"made_delivered": item.made, "at_stop": at_stop}
            )
            state = channels.over(machines, state.with_item(i, after._replace(shown=False, made=False)), i)
    return state._replace(flight=Flight())


def other_session(machines: dict[str, type], state: State, n: int, hook: int) -> State:
    """MOVE-5: what the row was handed under another id than this waits again."""
    for i, item in enumerate(state.items):
        if owner_of(state, item) == n and item.state == "delivered" and (hook == NOBODY or item.over != hook):
            state = channels.over(machines, state.with_item(i, ask(machines, state, item, "other_session")[1]), i)
    return channels.grow(machines, state, n)


def own_words(machines: dict[str, type], state: State, a: int, hook: int, merged: int) -> State:
    """MOVE-12: nobody is handed its own words."""
    rows = (a, merged) if merged != NOBODY else (a,)
    for i, item in enumerate(state.items):
        if item.kind != "message" or item.row not in rows or item.state not in ("sent", "held", "taken", "delivered"):
            continue
        if item.said == hook or (merged != NOBODY and item.sender in rows):
            state = state.with_item(i, ask(machines, state, item, "own_message")[1])
    return state


def merge(machines: dict[str, type], state: State, b: int, a: int) -> State:
    """MOVE-1: all that B has goes to A."""
    for i, item in enumerate(state.items):
        after = item
        if owner_of(state, item) == b:
            after = ask(machines, state, item, "carried_over")[1]._replace(row=a if item.kind == "message" else NOBODY)
        state = state.with_item(i, after._replace(sender=a if item.sender == b else item.sender))
    state = state._replace(bound=a if state.bound == b else state.bound)
    state = channels.carry_controls(machines, state, b, a)
    return state.with_row(b, None)


def row_gone(machines: dict[str, type], state: State, b: int) -> State:
    """MOVE-3: nobody is B's heir."""
    for i, item in enumerate(state.items):
        after = ask(machines, state, item, "recipient_row_gone")[1] if owner_of(state, item) == b else item
        state = state.with_item(i, after._replace(sender=NOBODY if item.sender == b else item.sender))
    return state._replace(bound=NOBODY if state.bound == b else state.bound).with_row(b, None)
