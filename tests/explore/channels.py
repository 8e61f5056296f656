"""Channels in the explored world: controls, epochs, reviews, catch-up, what an automation takes (page 50).

POLICY is asked of `rules/policy.py`; `let_through` says the same once more, by other means, for the promises.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from relaybay.domain import Step
from relaybay.machines.base import step
from relaybay.rules import policy
from tests.explore import mail
from tests.explore.search import BrokenError
from tests.explore.state import NOBODY, Item, State

POLICIES = ("", "accept", "hold")
OVER = ("read", "orphaned", "rejected", "consumed")
"""Nothing brings a message back from here: what is kept of its reviews tells two states apart no more."""


def approved(item: Item) -> bool:
    """Whether the owner's approval is one of this epoch."""
    return item.approval == "now"


def kept_back(state: State, item: Item) -> bool:
    """Whether POLICY holds a message at its row as it is now."""
    row = state.rows[item.row] if item.row != NOBODY else None
    if not state.channels or row is None:
        return False
    verified = item.said != NOBODY
    facts = policy.PolicyFacts(
        arrival="inside",
        policy=row.policy or "auto",  # type: ignore[arg-type]
        suppressed=row.suppressed,
        approved=approved(item),
        sender="session" if verified else "script",
        cohort=verified and not row.other_mode,
        project_file=False,
    )
    return policy.judge(facts).outcome != "deliver"


def let_through(state: State, item: Item) -> bool:
    """The same, the other way round and by itself."""
    row = state.row(item.row)
    if row.suppressed:
        return False
    if item.approval == "now" or row.policy == "accept":
        return True
    return row.policy == "" and item.said != NOBODY and not row.other_mode


def admit(machines: dict[str, type], state: State, item: Item) -> Item:
    """A message reaches its row: let in, and judged (DLV-20, 21)."""
    if not state.channels:
        return item
    facts = {"admitted": True, "rate_limited": False, "judged_deliver": not kept_back(state, item)}
    return item._replace(state=step(machines["message"], "new", "admit", facts).state)


def followed(machines: dict[str, type], before: Item, after: Item, result: Step) -> Item:
    """What the effects do to the fields that only channels have, and to the review of what was held."""
    for effect in result.effects:
        if effect in ("set:passive", "clear:passive"):
            after = after._replace(passive=effect == "set:passive", rides=False)
        elif effect == "set:approved":
            after = after._replace(approval="now")
        elif effect == "void:approval":
            after = _older(machines, after)._replace(approval="")
        elif effect == "set:taken":
            after = after._replace(taken=True)
    if before.state == "held" != after.state:
        after = after._replace(review=step(machines["review"], before.review, "left_held").state)
    if after.state in OVER:
        after = after._replace(review="none", approval="", token="", passive=False, rides=False, taken=False)
    return after


def _older(machines: dict[str, type], item: Item) -> Item:
    """Approval and token are of an epoch before; an open review goes stale (REV-2)."""
    review = item.review
    if item.state == "held":
        review = step(machines["review"], review, "controls_grew").state
    return item._replace(
        review=review, approval="old" if item.approval else "", token="old" if item.token else ""
    )  # fmt: skip


def grow(machines: dict[str, type], state: State, n: int) -> State:
    """The row's control epoch grows: what waits is judged anew (DLV-23, 24)."""
    if not state.channels:
        return state
    for i, item in enumerate(state.items):
        if item.kind == "message" and item.row == n and item.state not in OVER:
            state = state.with_item(i, _older(machines, item))
    return judge_waiting(machines, state, n)


def judge_waiting(machines: dict[str, type], state: State, n: int) -> State:
    for i, item in enumerate(state.items):
        if item.kind == "message" and item.row == n and item.state in ("sent", "held"):
            state = state.with_item(i, mail.ask(machines, state, item, "controls_changed")[1])
    return state


def carry_controls(machines: dict[str, type], state: State, b: int, a: int) -> State:
    """LINK-6: what the owner had set for B counts for A, where A has nothing of its own."""
    if not state.channels:
        return state
    row, other = state.row(a), state.row(b)
    heir = row._replace(policy=row.policy or other.policy, suppressed=row.suppressed or other.suppressed)
    state = state.with_row(a, heir)
    return judge_waiting(machines, state, a) if heir == row else grow(machines, state, a)


def session_ended(machines: dict[str, type], state: State, n: int) -> State:
    """DLV-31, 32, 37, 38."""
    if not state.channels:
        return state
    for i, item in enumerate(state.items):
        if item.kind == "message" and item.row == n and item.state in ("sent", "held", "taken"):
            state = state.with_item(i, mail.ask(machines, state, item, "session_ended")[1])
    return state


def over(machines: dict[str, type], state: State, i: int) -> State:
    """What was published and came back to a row that is over is dropped (DLV-31)."""
    item = state.items[i]
    row = state.rows[item.row] if item.row != NOBODY else None
    if not state.channels or not item.published or item.state not in ("sent", "held") or row is None:
        return state
    return state if row.link == "exact" else state.with_item(i, mail.ask(machines, state, item, "session_ended")[1])


def prompted(machines: dict[str, type], state: State, n: int) -> State:
    """A local prompt, before its text is selected: it lifts a suppression, and catches up."""
    if not state.channels:
        return state
    if state.row(n).suppressed:
        state = grow(machines, state.with_row(n, state.row(n)._replace(suppressed=False)), n)
    return caught_up(machines, state, n)


def caught_up(machines: dict[str, type], state: State, n: int) -> State:
    """DLV-41 and 42, each message the newest of a topic of its own."""
    if not state.channels or state.row(n).link != "exact":
        return state
    for i, item in enumerate(state.items):
        if item.kind == "message" and item.row == n and item.state == "dropped":
            state = state.with_item(i, mail.ask(machines, state, item, "catch_up", {"fits_catch_up": True})[1])
    return state


def ride_on(state: State, n: int) -> State:
    """What this prompt left of what only rides along goes with its turn's tool events."""
    for i, item in enumerate(state.items):
        if item.kind == "message" and item.row == n and item.passive and item.state == "sent":
            state = state.with_item(i, item._replace(rides=True))
    return state


def turn_over(state: State, n: int) -> State:
    """Nothing rides along with a turn that is over."""
    if not state.channels or n == NOBODY:
        return state
    items = (item._replace(rides=False) if item.row == n else item for item in state.items)
    return state._replace(items=tuple(items))


# -- the owner, scripts, automations -------------------------------------------------------------------------------


def events(state: State, messages_max: int, acts: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """What else may happen with channels on; `acts` names the kinds of it."""
    room = sum(item.kind == "message" for item in state.items) < messages_max
    for n, row in enumerate(state.rows):
        if row is None:
            continue
        if "policy" in acts or "hold" in acts:
            wanted = POLICIES if "policy" in acts else ("", "hold")
            yield from (("policy", n, one) for one in wanted)
        if "mode" in acts:
            yield ("mode", n)
        if "fail" in acts and row.link == "exact" and not row.suppressed:
            yield ("a failed turn of row", n)
        if "write" in acts and room:
            yield ("a script writes to row", n)
        if "publish" in acts and room and row.link == "exact":
            yield ("a script publishes to row", n)
    for i, item in enumerate(state.items):
        if item.kind == "message" and item.state == "held":
            yield ("open review", i)
            if item.token:
                yield from (("approve", i), ("reject", i))
        if "take" in acts and item.state == "sent":
            yield ("take", i)
        if "take" in acts and item.state == "taken":
            yield from (("keep", i), ("give_back", i))


def apply(machines: dict[str, type], state: State, event: tuple[Any, ...]) -> State:
    """The state after one of them."""
    match event:
        case ("policy", n, wanted):
            return grow(machines, state.with_row(n, state.row(n)._replace(policy=wanted)), n)
        case ("mode", n):
            return grow(machines, state.with_row(n, state.row(n)._replace(other_mode=not state.row(n).other_mode)), n)
        case ("a failed turn of row", n):
            return grow(machines, state.with_row(n, state.row(n)._replace(suppressed=True)), n)
        case ("a script writes to row" | "a script publishes to row" as how, n):
            item = admit(machines, state, Item("message", n, published="publishes" in how))
            return state._replace(items=(*state.items, item))
        case ("open review", i):
            item = state.items[i]
            opened = step(machines["review"], item.review, "open_review", {"held": True}).state
            return state.with_item(i, item._replace(review=opened, token="now"))
        case ("approve" | "reject" as decision, i):
            return _decide(machines, state, decision, i)
        case ("take", i):
            facts = {"rule_matches": True, "taken_before": state.items[i].taken}
            return state.with_item(i, mail.ask(machines, state, state.items[i], "take", facts)[1])
        case (str() as word, i):
            return state.with_item(i, mail.ask(machines, state, state.items[i], word)[1])
    raise AssertionError(event)


def _decide(machines: dict[str, type], state: State, decision: str, i: int) -> State:
    """With the token that was given last, which may be of an epoch before."""
    item, row = state.items[i], state.row(state.items[i].row)
    facts = {"held": True, "token_fits": item.review == "open" and item.token == "now", "blocked": row.suppressed}
    if step(machines["review"], item.review, decision, facts).kind == "refuse":
        return state
    if item.token != "now":
        raise BrokenError(f"DLV-28: {decision} with a token of an epoch that is over")
    return state.with_item(i, mail.ask(machines, state, item, decision, {"token_fits": True, "blocked": False})[1])


# -- what must hold ------------------------------------------------------------------------------------------------


def may_go(state: State, item: Item, at: str) -> None:
    """INV-13, 14 and 18 for one message that an answer carries; what was delivered before a Stop may show once more."""
    if item.state not in ("sent", "delivered"):
        raise BrokenError(f"INV-13: what is {item.state} stands in an answer at {at}")
    if item.state == "delivered":
        return
    if not let_through(state, item):
        raise BrokenError(f"INV-14: handed over at {at} against POLICY")
    if item.passive and at != "prompt" and not (at == "tool" and item.rides):
        raise BrokenError(f"INV-18: what only rides along goes out at {at}")


def check(state: State) -> None:
    """What waits is as POLICY judges it now."""
    for item in state.items:
        if (
            item.kind == "message"
            and item.state in ("sent", "held")
            and let_through(state, item) != (item.state == "sent")
        ):
            raise BrokenError(f"INV-14: a message is {item.state} against POLICY")
