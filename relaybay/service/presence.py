"""What hot hooks need of a session, kept in memory: link, activity, turn, last seen; and the tool-use ids that live
`PreToolUse` events reported (PROOF-2). A port: another process will need it later.

Events one by one are not stored (page 80). What they change here is written back when a use case opens a transaction
on the row, and otherwise at most every 15 s. A crash loses at most that: never mail, never a link.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from relaybay.specs import limit
from relaybay.store import sessions
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

_SECOND = 1_000_000
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
    """A session's row as hot hooks see it; `dirty` while it is ahead of the store. `stopped_us` is the last Stop."""

    row: SessionRow
    dirty: bool = False
    stopped_us: int = 0
    written_us: int = 0


class Presence:
    """hook id → Live, and tool-use id → hook id."""

    def __init__(self) -> None:
        self._by_hook: dict[str, Live] = {}
        self._by_row: dict[int, Live] = {}
        self._tool_uses: OrderedDict[str, tuple[str, int]] = OrderedDict()
        self._heard: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def load(self, tx: Tx) -> None:
        """Fills the index at start."""
        self.refresh(tx, [row.id for row in sessions.every(tx)])

    def refresh(self, tx: Tx, session_ids: Iterable[int]) -> None:
        """Looks rows up anew after a commit. What a later hot event changed meanwhile stays."""
        for key in session_ids:
            row = sessions.get(tx, key)
            with self._lock:
                old = self._by_row.pop(key, None)
                if old is not None and old.row.hook_id:
                    self._by_hook.pop(old.row.hook_id, None)
                if row is None:
                    continue
                live = Live(row, stopped_us=old.stopped_us if old else 0, written_us=tx.now)
                if old is not None and old.dirty and old.row.last_event_us > row.last_event_us:
                    live.row = replace(row, **{name: getattr(old.row, name) for name in _LIVE_FIELDS})
                    live.dirty = True
                self._by_row[key] = live
                if row.hook_id:
                    self._by_hook[row.hook_id] = live

    def by_hook(self, hook_id: str) -> Live | None:
        """The session that holds this hook id, whatever its link."""
        return self._by_hook.get(hook_id)

    def by_row(self, session_id: int) -> Live | None:
        """A session by its row."""
        return self._by_row.get(session_id)

    def change(self, live: Live, **columns: str | int) -> None:
        """What a hot event changes; only columns that may wait to be written."""
        assert set(columns) <= set(_LIVE_FIELDS), columns
        with self._lock:
            live.row = replace(live.row, **columns)  # type: ignore[arg-type]
            live.dirty = True

    def current(self, row: SessionRow) -> SessionRow:
        """A row as it is now, with what has not been written yet."""
        live = self._by_row.get(row.id)
        if live is None or not live.dirty or live.row.last_event_us < row.last_event_us:
            return row
        return replace(row, **{name: getattr(live.row, name) for name in _LIVE_FIELDS})

    def write_back(self, tx: Tx, row: SessionRow) -> SessionRow:
        """Puts what is kept here into the store, inside the caller's transaction."""
        now = self.current(row)
        if now == row:
            return row
        return sessions.change(tx, row.id, **{name: getattr(now, name) for name in _LIVE_FIELDS})

    def due(self, now: int) -> list[int]:
        """Rows whose last write is 15 s old and that have something to write."""
        before = now - limit("presence_seconds") * _SECOND
        with self._lock:
            return [key for key, live in self._by_row.items() if live.dirty and live.written_us <= before]

    def dirty(self) -> list[int]:
        """All rows that have something to write (at closing)."""
        with self._lock:
            return [key for key, live in self._by_row.items() if live.dirty]

    # -- event ids (SPOOL-1) ---------------------------------------------------------------------------------

    def hear(self, event_id: str) -> None:
        """A live event had this id: should its answer be lost, the same id comes again out of the spool."""
        with self._lock:
            self._heard[event_id] = None
            if len(self._heard) > limit("event_ids_max"):
                self._heard.popitem(last=False)

    def heard(self, event_id: str) -> bool:
        """Whether a live event had this id."""
        return event_id in self._heard

    # -- tool-use ids (PROOF-2) -----------------------------------------------------------------------------

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
