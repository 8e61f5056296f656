"""What hot hooks need of a session, kept in memory: link, activity, turn, last seen; and the tool-use ids that live
`PreToolUse` events reported (PROOF-2). A port: another process will need it later.

Events one by one are not stored (page 80). What they change here is written back when a use case opens a transaction
on the row, and otherwise at most every 15 s. A crash loses at most that: never mail, never a link.

The event loop changes (`change`), the writer thread writes back and looks up anew after its commit (`write_back`,
`refresh`). Each change has a number, so that a commit takes away just those columns that it wrote, and a unit that was
undone takes none.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from relaybay.specs import limit
from relaybay.store import sessions, tool_uses
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

_SECOND = 1_000_000
_LIVE_LINKS = ("exact", "guessed")
#: What a hot event may change without a transaction.
_LIVE_FIELDS = (
    "activity",
    "last_seen_us",
    "last_event_us",
    "permission_mode",
    "turn_prompt_id",
    "turn_state",
    "turn_serial",
)


@dataclass(slots=True)
class Live:
    """A session's row as hot hooks see it. `row` is what is stored, the fields named as its columns are what is now.

    `ahead` are the columns that are not stored yet, each with the number of its last change. `stopped_us` is when the
    last Stop event of the session came, whatever its answer; `prompted_us` its last prompt, 0 when none came since the
    server's start. `transcript_size` is how long its transcript was when an interruption was last looked for (CTX-5).
    """

    row: SessionRow
    activity: str
    last_seen_us: int
    last_event_us: int
    permission_mode: str
    turn_prompt_id: str
    turn_state: str
    turn_serial: int
    stopped_us: int = 0
    prompted_us: int = 0
    transcript_size: int = 0
    written_us: int = 0
    changes: int = 0
    ahead: dict[str, int] = field(default_factory=dict)
    # What units of the writer's present group wrote: (its transaction, its mark in there, number of the last change).
    writing: list[tuple[Tx, Callable[[], None], int]] = field(default_factory=list)

    @property
    def link_state(self) -> str:
        """The link as stored: no hot event changes it."""
        return self.row.link_state

    @property
    def kind(self) -> str:
        """The row's kind."""
        return self.row.kind

    def written(self) -> int:
        """The number up to which the units of this group wrote. A unit that was undone has lost its mark."""
        return max((number for tx, mark, number in self.writing if mark in tx.followers()), default=0)


class Presence:
    """hook id → Live, and tool-use id → hook id."""

    def __init__(self) -> None:
        self._by_hook: dict[str, Live] = {}
        self._by_row: dict[int, Live] = {}
        self._in_hand: dict[str, int] = {}
        self._tool_uses: OrderedDict[str, tuple[str, int]] = OrderedDict()
        self._heard: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def load(self, tx: Tx) -> None:
        """Fills the index at start."""
        self.refresh(tx, [row.id for row in sessions.every(tx)])
        since = tx.now - limit("tool_use_minutes_max") * 60 * _SECOND
        for use, hook, at in tool_uses.witnessed_since(tx, since, limit("tool_use_ids_max")):
            self.witness(use, hook, at)

    def refresh(self, tx: Tx, session_ids: Iterable[int]) -> None:
        """Looks rows up anew after a commit. What a hot event changed since it was written back stays."""
        for key in session_ids:
            row = sessions.get(tx, key)
            with self._lock:
                if row is None:
                    self._drop(key)
                else:
                    self._put(row, tx.now)

    def _drop(self, key: int) -> None:
        live = self._by_row.pop(key, None)
        if live is not None:
            self._unindex(live)

    def _unindex(self, live: Live) -> None:
        # The id may stand on another row by now: only an entry that is this row's own goes.
        hook_id = live.row.hook_id
        if hook_id and self._by_hook.get(hook_id) is live:
            del self._by_hook[hook_id]

    def _put(self, row: SessionRow, now: int) -> None:
        live = self._by_row.get(row.id)
        if live is None:
            live = Live(row, **{name: getattr(row, name) for name in _LIVE_FIELDS}, written_us=now)
            self._by_row[row.id] = live
        else:
            self._unindex(live)
            written = live.written()
            same = live.row.hook_id == row.hook_id and row.link_state in _LIVE_LINKS
            live.ahead = {name: n for name, n in live.ahead.items() if n > written} if same else {}
            live.writing.clear()
            live.row = row
            if written:
                live.written_us = now
            for name in _LIVE_FIELDS:
                if name not in live.ahead:
                    setattr(live, name, getattr(row, name))
        if row.hook_id:
            self._by_hook[row.hook_id] = live

    def by_hook(self, hook_id: str) -> Live | None:
        """The session that holds this hook id, whatever its link."""
        return self._by_hook.get(hook_id)

    def by_row(self, session_id: int) -> Live | None:
        """A session by its row."""
        return self._by_row.get(session_id)

    def working(self) -> list[Live]:
        """Sessions that work, over an exact link (CTX-5)."""
        with self._lock:
            found = list(self._by_row.values())
        return [live for live in found if live.activity == "working" and live.link_state == "exact"]

    def change(self, live: Live, *, judged_by: SessionRow | None = None, **columns: str | int) -> bool:
        """What a hot event changes; only columns that may wait to be written. False, and nothing is changed, when a
        commit came between: `judged_by` is the stored row that the event was judged by.
        """
        with self._lock:
            if (judged_by or live.row) is not live.row or self._by_row.get(live.row.id) is not live:
                return False
            live.changes += 1
            for name, value in columns.items():
                assert name in _LIVE_FIELDS, name
                if getattr(live, name) != value:
                    setattr(live, name, value)
                    live.ahead[name] = live.changes
            return True

    def current(self, row: SessionRow) -> SessionRow:
        """A row as it is now, with what has not been written yet."""
        live = self._by_row.get(row.id)
        if live is None or not live.ahead or live.row.hook_id != row.hook_id or row.link_state not in _LIVE_LINKS:
            return row
        if live.last_event_us < row.last_event_us:
            return row
        with self._lock:
            return replace(row, **{name: getattr(live, name) for name in live.ahead})

    def write_back(self, tx: Tx, row: SessionRow) -> SessionRow:
        """Puts what is kept here into the store, inside the caller's transaction, once."""
        live = self._by_row.get(row.id)
        if live is None or live.row.hook_id != row.hook_id or row.link_state not in _LIVE_LINKS:
            return row
        with self._lock:
            written = live.written()
            columns = {name: getattr(live, name) for name, n in live.ahead.items() if n > written}
            if not columns:
                return row

            def mark() -> None:
                """Stands among what follows the commit, and is gone when the unit is undone."""

            tx.after(mark)
            live.writing.append((tx, mark, live.changes))
        return sessions.change(tx, row.id, **columns)

    def due(self, now: int) -> list[int]:
        """Rows that have something to write and whose last write is 15 s old, by a clock that may have been set."""
        seconds = limit("presence_seconds") * _SECOND
        with self._lock:
            return [k for k, live in self._by_row.items() if live.ahead and not 0 <= now - live.written_us < seconds]

    def dirty(self) -> list[int]:
        """All rows that have something to write (at closing)."""
        with self._lock:
            return [key for key, live in self._by_row.items() if live.ahead]

    # -- events in hand ----------------------------------------------------------------------------------------

    def take_in_hand(self, hook_id: str) -> None:
        """An event of this id waits for its transaction: later ones of the same id queue behind it, in their order."""
        with self._lock:
            self._in_hand[hook_id] = self._in_hand.get(hook_id, 0) + 1

    def let_go(self, hook_id: str) -> None:
        """That transaction is over."""
        with self._lock:
            left = self._in_hand[hook_id] - 1
            if left:
                self._in_hand[hook_id] = left
            else:
                del self._in_hand[hook_id]

    def in_hand(self, hook_id: str) -> bool:
        """Whether an event of this id is in its transaction now, or waits for it."""
        return hook_id in self._in_hand

    # -- event ids (SPOOL-1) -----------------------------------------------------------------------------------

    def hear(self, event_id: str) -> None:
        """A live event had this id: should its answer be lost, the same id comes again out of the spool."""
        with self._lock:
            self._heard[event_id] = None
            if len(self._heard) > limit("event_ids_max"):
                self._heard.popitem(last=False)

    def heard(self, event_id: str) -> bool:
        """Whether a live event had this id."""
        return event_id in self._heard

    # -- tool-use ids (PROOF-2) --------------------------------------------------------------------------------

    def witness(self, tool_use_id: str, hook_id: str, now: int) -> None:
        """A live `PreToolUse` of a relaybay tool reported this id for this hook id."""
        with self._lock:
            self._tool_uses.pop(tool_use_id, None)
            self._tool_uses[tool_use_id] = (hook_id, now)
            old = now - limit("tool_use_minutes_max") * 60 * _SECOND
            while self._tool_uses and (
                len(self._tool_uses) > limit("tool_use_ids_max") or next(iter(self._tool_uses.values()))[1] < old
            ):
                self._tool_uses.popitem(last=False)

    def witnessed(self, tool_use_id: str, now: int) -> str | None:
        """The hook id that reported this tool-use id within 60 minutes, or None."""
        found = self._tool_uses.get(tool_use_id)
        if found is None or found[1] < now - limit("tool_use_minutes_max") * 60 * _SECOND:
            return None
        return found[0]
