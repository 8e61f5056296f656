"""Hook events in the explored world: ROW and HL, the link's machine, the turn's, the wait's, and what an answer carries."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from relaybay.machines.base import step
from relaybay.rules import hook_link
from tests.explore import channels, mail
from tests.explore.search import BrokenError
from tests.explore.state import NOBODY, Row, State

_NAMES = {"start": "SessionStart", "end": "SessionEnd"}


class HookEvent(NamedTuple):
    """`name` is start, prompt, inside (a machine's prompt within the turn), tool, stop, continued or end."""

    name: str
    hook: int
    replayed: bool = False

    def __str__(self) -> str:
        said = "a replayed " if self.replayed else ""
        return f"{said}{self.name} of session h{self.hook}"


@lru_cache(maxsize=10_000)
def _judged(link: str, kind: str, fate: str, name: str, replayed: bool, alone: bool) -> str:
    """ROW's or HL's outcome for an event of an id on a row in `link`, or on none. `alone`: ROW-1 has one row to guess."""
    facts = hook_link.HookLinkFacts(
        holder=hook_link.holder_of(link, kind) if link else "no_row",
        fate=fate,  # type: ignore[arg-type]
        event=hook_link.event_of(_NAMES.get(name, name), ""),
        replayed=replayed,
        subagent=False,
        older=False,
        clear_pair=False,
        one_folder_row=alone,
    )
    return str(hook_link.judge(facts).outcome)


def happen(machines: dict[str, type], state: State, event: HookEvent, *, flight: bool = False) -> State | None:
    """The state after one event; None where there is no place for the row that it would make."""
    h, n = event.hook, state.holder(event.hook)
    row = state.rows[n] if n != NOBODY else None
    if row is None:
        alone = len(_folder_rows(state)) == 1
        outcome = _judged("", "", state.hooks[h].fate, event.name, event.replayed, alone)
        return _unheld(machines, state, event, outcome)
    outcome = _judged(row.link, row.kind, "never", event.name, event.replayed, alone=False)
    facts = {"folder_guess": _guess(row), "older_than_last": False, "reason_clear": False}
    state = take(machines, state, n, outcome, facts)
    if event.replayed:
        return _replayed(machines, state, n, event)
    return _answered(machines, _live(state, event), n, event, flight=flight)


def _guess(row: Row) -> bool:
    return row.link == "guessed" and row.kind != "hook"


def _folder_rows(state: State) -> list[int]:
    """Rows that ROW-1 may guess: they all have one folder here."""
    return [
        n
        for n, row in enumerate(state.rows)
        if row is not None and hook_link.may_be_guessed(row.link, row.kind, ended=False, unlinked=row.unlinked)
    ]


def take(
    machines: dict[str, type],
    state: State,
    n: int,
    event: str,
    facts: dict[str, bool] | None = None,
    hook: int = NOBODY,
) -> State:
    """One event to the link of one row, and what its effects do."""
    row = state.row(n)
    result = step(machines["link"], row.link, event, facts)
    holds = result.state not in ("none", "moved")
    new = (hook if hook != NOBODY else row.hook) if holds else NOBODY
    for effect in result.effects:
        if effect in ("take_off_id", "drop_id") and row.hook != NOBODY:
            state = state.with_hook(row.hook, fate="taken_off", turn=row.turn)
        elif effect == "replace_id":
            state = state.with_hook(row.hook, fate="replaced", turn=row.turn)
        elif effect == "other_session":
            state = mail.other_session(machines, state, n, hook)
        elif effect == "end_waits":
            row = end_wait(machines, row)
        elif effect in {"activity_ended", "activity_unknown"}:
            row = row._replace(idle=False)
    if result.state.endswith("_unseen") and new != row.hook:
        state = state.with_hook(new, seen=False)
    if new != row.hook:
        # MOVE-9: the budget goes with the id.
        row = row._replace(turn=state.hooks[new].turn if new != NOBODY else "none")
        state = state.with_hook(new, turn="none") if new != NOBODY else state
    state = state.with_row(n, row._replace(link=result.state, hook=new))
    return channels.session_ended(machines, state, n) if "drop_published" in result.effects else state


def end_wait(machines: dict[str, type], row: Row, event: str = "own_event") -> Row:
    if row.wait == "none":
        return row
    after = step(machines["wait"], row.wait, event).state
    # What is over is told to whoever asks, and then is nothing more to the session.
    return row._replace(wait=after if after == "waiting" else "none")


def _live(state: State, event: HookEvent) -> State:
    return state if event.name == "end" else state.with_hook(event.hook, seen=True)


def _unheld(machines: dict[str, type], state: State, event: HookEvent, outcome: str) -> State | None:
    if outcome in ("no_row", "ignore"):
        return state
    if outcome == "guess_folder_row":
        n = _folder_rows(state)[0]
        state = take(machines, state, n, "guess", hook=event.hook)
    else:
        n = state.free()
        if n == NOBODY:
            return None
        state = state.with_row(n, Row("hook"))
        born = "born_by_replay" if event.replayed else "born"
        state = take(machines, state, n, born, {"fork": False}, hook=event.hook)
    if event.replayed:
        return _replayed(machines, state, n, event)
    return _answered(machines, _live(state, event), n, event, flight=False)


def cleared(machines: dict[str, type], state: State, n: int, h: int, *, flight: bool) -> State | None:
    """HL-3: a SessionStart(source=clear) of an id that no row holds, from the process of row `n`."""
    verdict = hook_link.judge(
        hook_link.HookLinkFacts(
            "no_row", state.hooks[h].fate, "start_clear", replayed=False, subagent=False, older=False,  # type: ignore[arg-type]
            clear_pair=True, one_folder_row=False,
        )
    )  # fmt: skip
    assert verdict.outcome == "same_row_new_id"
    state = take(machines, state, n, "replaced_by_clear", hook=h)
    event = HookEvent("start", h)
    return _answered(machines, _live(state, event), n, event, flight=flight)


def _replayed(machines: dict[str, type], state: State, n: int, event: HookEvent) -> State:
    """ANS-7, STOP-2, DLV-10: a replay is only kept books of."""
    row = state.row(n)
    for name in ("prompt", "stop"):
        ignored = step(machines["turn"], row.turn, name, {"ignored": True})
        if ignored.state != row.turn or "block" in ignored.effects:
            raise BrokenError("INV-5: a replayed event counts for a turn")
    mail.not_handed(machines, state, n, "tool", replayed=True)
    return state


def _answered(machines: dict[str, type], state: State, n: int, event: HookEvent, *, flight: bool) -> State:
    """A live event of a row: turn, hand-over, activity, wait."""
    name, row = event.name, state.row(n)
    if name in ("start", "end"):
        mail.not_handed(machines, state, n, "tool")
        row = end_wait(machines, row)
        state = state.with_row(n, row._replace(idle=name == "start"))
        return channels.caught_up(machines, state, n) if name == "start" else state
    if name in ("stop", "continued"):
        return _stop(machines, state, n, event, flight=flight)
    if name in ("prompt", "inside"):
        opens = name == "prompt"
        turn = step(machines["turn"], row.turn, "prompt", {"ignored": False, "opens_turn": opens}).state
        state = state.with_row(n, row._replace(turn=turn))
        if opens:
            state = channels.prompted(machines, _turn_over(state, event.hook), n)
    mail.not_handed(machines, state, n, "tool")
    if state.row(n).link == "exact":
        state, _ = mail.hand_over(machines, state, n, "prompt" if name == "prompt" else "tool", flight=flight)
    return state.with_row(n, end_wait(machines, state.row(n))._replace(idle=False))


def _turn_over(state: State, h: int) -> State:
    state = channels.turn_over(state.with_hook(h, blocks=0), state.holder(h))
    return state._replace(flight=state.flight._replace(this_turn=False)) if state.flight.hook == h else state


def _stop(machines: dict[str, type], state: State, n: int, event: HookEvent, *, flight: bool) -> State:
    row = state.row(n)
    some = mail.eligible(state, n, "stop")
    result = step(
        machines["turn"], row.turn, "stop",
        {
            "ignored": False, "link_exact_live": row.link == "exact", "continuation": event.name == "continued",
            "eligible": bool(some),
        },
    )  # fmt: skip
    blocked = "block" in result.effects
    mail.not_handed(machines, state, n, "stop")
    state = state.with_row(n, row._replace(turn=result.state, idle=not blocked))
    if not blocked:
        return _turn_over(state, event.hook)
    blocks = state.hooks[event.hook].blocks + 1
    if blocks > 2:
        raise BrokenError("INV-5: a third Stop block in one turn")
    state, out = mail.hand_over(machines, state, n, "stop", flight=flight)
    if not out:
        raise BrokenError("STOP-5: a Stop is blocked and nothing is shown")
    return state.with_hook(event.hook, blocks=blocks)


def answer_lost(machines: dict[str, type], state: State) -> State | None:
    """PACK-7 and STOP-9 for the last answer."""
    flight = state.flight
    if flight.hook == NOBODY:
        return None
    state = mail.lost(machines, state)
    n = state.holder(flight.hook)
    if flight.at != "stop" or n == NOBODY:
        return state
    row = state.row(n)
    turn = step(machines["turn"], row.turn, "answer_not_written", {"this_turn": flight.this_turn}).state
    idle = row.idle or (flight.this_turn and row.link == "exact")
    state = state.with_row(n, row._replace(turn=turn, idle=idle))
    if not flight.this_turn:
        return state
    return state.with_hook(flight.hook, blocks=state.hooks[flight.hook].blocks - 1)
