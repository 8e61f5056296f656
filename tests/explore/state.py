"""The state of the explored world, and the renaming that makes two states one when only names differ."""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

NOBODY = -1


class Row(NamedTuple):
    """A session. `hook` is the number of the id it holds; `named` as table LINK's unnamed rows are not. The last three
    are its controls where there are channels: its policy, whether its mode is another than its peers', suppression.
    """

    kind: str
    link: str = "none"
    hook: int = NOBODY
    named: bool = False
    unlinked: bool = False
    turn: str = "none"
    idle: bool = False
    wait: str = "none"
    policy: str = ""
    other_mode: bool = False
    suppressed: bool = False

    @property
    def linked_itself(self) -> bool:
        return self.link in ("exact", "ended_exact", "moved")


class Hook(NamedTuple):
    """A client session's id. `seen`: a live event has shown it since it last was put on a row. `blocks`: Stop blocks
    that its open turn met, counted outside of the machine. `turn`: the machine's state while no row holds the id.
    """

    fate: str = "never"
    seen: bool = False
    blocks: int = 0
    turn: str = "none"


class Item(NamedTuple):
    """A message or one of the owner's comments. `row` is whose it is, `over` the id it was handed over to, `sender` and
    `said` the row and the proven id it came from, `made` whether the answer still in flight made it delivered.
    `reoffers`: how often it did not reach a context; `in_context`: the transcript shows it (CTX).

    With channels: `published`, or direct; `passive`, and `rides` when this turn's prompt left it; `review` is its review,
    `approval` and `token` are whether the owner's approval, or the token that was given last, is of this control epoch
    (`now`) or of one before (`old`); `taken` that an automation had it.
    """

    kind: str
    row: int
    state: str = "sent"
    over: int = NOBODY
    blocks: int = 0
    sender: int = NOBODY
    said: int = NOBODY
    fresh: bool = False
    made: bool = False
    shown: bool = False
    reoffers: int = 0
    in_context: bool = False
    published: bool = False
    passive: bool = False
    rides: bool = False
    review: str = "none"
    approval: str = ""
    token: str = ""
    taken: bool = False


class Flight(NamedTuple):
    """The last answer, whose client may still prove to be gone: `shown` of the items says what it carried."""

    hook: int = NOBODY
    at: str = ""
    this_turn: bool = False


class State(NamedTuple):
    """All there is. `bound` is the row that the one task is bound to, `channels` the switch."""

    rows: tuple[Row | None, ...]
    hooks: tuple[Hook, ...]
    items: tuple[Item, ...] = ()
    bound: int = NOBODY
    flight: Flight = Flight()
    channels: bool = False

    def holder(self, hook: int) -> int:
        for n, row in enumerate(self.rows):
            if row is not None and row.hook == hook:
                return n
        return NOBODY

    def row(self, n: int) -> Row:
        row = self.rows[n]
        assert row is not None
        return row

    def with_row(self, n: int, row: Row | None) -> State:
        rows = (*self.rows[:n], row, *self.rows[n + 1 :])
        return State(rows, self.hooks, self.items, self.bound, self.flight, self.channels)

    def with_hook(self, n: int, **fields: object) -> State:
        old = self.hooks[n]
        if all(getattr(old, name) == value for name, value in fields.items()):
            return self
        hooks = (*self.hooks[:n], old._replace(**fields), *self.hooks[n + 1 :])
        return State(self.rows, hooks, self.items, self.bound, self.flight, self.channels)

    def with_item(self, n: int, item: Item) -> State:
        items = (*self.items[:n], item, *self.items[n + 1 :])
        return State(self.rows, self.hooks, items, self.bound, self.flight, self.channels)

    def free(self) -> int:
        """An empty place for a row, or NOBODY."""
        return self.rows.index(None) if None in self.rows else NOBODY


_EMPTY = ("", "", NOBODY)


def _shape(state: State, n: int) -> tuple[object, ...]:
    """What tells a row from others without any name: itself, its id, and what it has to do with the items."""
    row = state.rows[n]
    if row is None:
        return ((False,),)
    hook = state.hooks[row.hook] if row.hook != NOBODY else Hook()
    roles = sorted(
        (item.kind, item.state, item.blocks, item.fresh, item.made, item.shown, item.reoffers, item.in_context,
         item.published, item.passive, item.rides, item.review, item.approval, item.token, item.taken,
         item.row == n, item.sender == n,
         item.over != NOBODY and item.over == row.hook, item.said != NOBODY and item.said == row.hook)
        for item in state.items
    )  # fmt: skip
    return ((True, *row._replace(hook=row.hook != NOBODY), *hook), state.bound == n, tuple(roles))


def canonical(state: State) -> State:
    """The one of all renamings of rows, ids and items that comes first."""
    shapes = [_shape(state, n) for n in range(len(state.rows))]
    order = sorted(range(len(shapes)), key=lambda n: shapes[n], reverse=True)
    groups: list[list[int]] = []
    for n in order:
        if groups and shapes[groups[-1][0]] == shapes[n]:
            groups[-1].append(n)
        else:
            groups.append([n])
    best = None
    for rows in _orders(groups):
        for hooks in _hook_orders(state, rows):
            renamed = _rename(state, rows, hooks)
            if best is None or renamed < best:
                best = renamed
    assert best is not None
    return best


def _orders(groups: list[list[int]]) -> list[list[int]]:
    """Every order of the rows in which equal ones change places. Empty places are all alike."""
    found: list[list[int]] = [[]]
    for group in groups:
        found = [[*one, *way] for one in found for way in permutations(group)]
    return found


def _hook_orders(state: State, rows: list[int]) -> list[list[int]]:
    held = [state.rows[n].hook for n in rows if state.rows[n] is not None and state.rows[n].hook != NOBODY]  # type: ignore[union-attr]
    loose = [h for h in range(len(state.hooks)) if h not in held]
    if len(loose) < 2:
        return [[*held, *loose]]

    def shape(h: int) -> tuple[object, ...]:
        used = sorted((i.kind, i.state, i.over == h, i.said == h) for i in state.items)
        return (*state.hooks[h], tuple(used), state.flight.hook == h)

    loose.sort(key=shape)
    groups: list[list[int]] = []
    for h in loose:
        if groups and shape(groups[-1][0]) == shape(h):
            groups[-1].append(h)
        else:
            groups.append([h])
    return [[*held, *way] for way in _orders(groups)]


def _rename(state: State, rows: list[int], hooks: list[int]) -> State:
    row_to = {old: new for new, old in enumerate(rows)}
    hook_to = {old: new for new, old in enumerate(hooks)}
    row_to[NOBODY] = hook_to[NOBODY] = NOBODY
    moved = (state.rows[old] for old in rows)
    items = sorted(
        item._replace(
            row=row_to[item.row], over=hook_to[item.over], sender=row_to[item.sender], said=hook_to[item.said]
        )
        for item in state.items
    )
    return State(
        tuple(None if row is None else row._replace(hook=hook_to[row.hook]) for row in moved),
        tuple(state.hooks[old] for old in hooks),
        tuple(items),
        row_to[state.bound],
        state.flight._replace(hook=hook_to[state.flight.hook]),
        state.channels,
    )
