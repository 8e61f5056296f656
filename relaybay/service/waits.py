"""The wake-up waits that are open, in memory (page 20, table WAIT): one of a session, ever. A port, as presence is.

A wait belongs to a row. Its long poll is answered by the surface that holds the connection; whoever changes
something that may end or fire it *kicks* that surface, which then looks at the wait's state or asks a look. Nothing
here is lost by a crash: an unanswered poll marked nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from relaybay.domain import ClientProcess, Step
from relaybay.machines.base import step
from relaybay.machines.wait import Wait
from relaybay.specs import limit

_SECOND = 1_000_000


def _nothing() -> None:
    """Nobody to tell."""


@dataclass(slots=True)
class WaitEntry:
    """One wait: whose, since when, its state, whether a poll is open and until when one has to follow. `ended_by` is
    the row that ended it, which its open poll is told; a later one meets WAIT-13.
    """

    wait_id: str
    session_id: int
    hook_id: str
    opened_us: int
    process: ClientProcess = field(default_factory=ClientProcess)
    state: str = "none"
    poll: int = 0
    poll_open: bool = False
    regrace_until_us: int = 0
    handover_id: str = ""
    ended_by: str = "WAIT-13"
    kick: Callable[[], None] = _nothing

    def take(self, event: str, facts: Mapping[str, bool] | None = None) -> Step:
        """Puts one event to the machine; kicks the surface when that changed the state."""
        result = step(Wait, self.state, event, facts)
        moved = result.state != self.state
        self.state = result.state
        if moved or result.kind == "refuse":
            self.ended_by = result.spec_id
        if moved and event not in ("open", "look"):
            self.kick()
        return result


class Waits:
    """wait id → WaitEntry, and row → its one waiting wait."""

    def __init__(self) -> None:
        self._by_id: dict[str, WaitEntry] = {}
        self._waiting: dict[int, WaitEntry] = {}
        self._lock = threading.RLock()

    @property
    def count(self) -> int:
        """How many rows wait to be woken."""
        return len(self._waiting)

    def get(self, wait_id: str) -> WaitEntry | None:
        """A wait by the id its client made."""
        return self._by_id.get(wait_id)

    def open(self, entry: WaitEntry, *, link_exact_live: bool) -> Step:
        """Opens a wait: WAIT-1, WAIT-9; an older one of the row is superseded (WAIT-3)."""
        with self._lock:
            result = entry.take("open", {"link_exact_live": link_exact_live})
            if entry.state == "waiting":
                # Its first poll is on its way: the caller holds it.
                entry.regrace_until_us = entry.opened_us + limit("wait_regrace_seconds") * _SECOND
                older = self._waiting.get(entry.session_id)
                if older is not None:
                    older.take("newer_wait")
                self._waiting[entry.session_id] = entry
                self._by_id[entry.wait_id] = entry
                self._forget_old(entry.opened_us)
            return result

    def _forget_old(self, now: int) -> None:
        # In the order of their opening, so that a look costs no more than what it forgets.
        before = now - 2 * limit("wait_minutes") * 60 * _SECOND
        while self._by_id:
            first = next(iter(self._by_id.values()))
            if first.opened_us >= before or first.state == "waiting":
                return
            del self._by_id[first.wait_id]

    def take(self, entry: WaitEntry, event: str, facts: Mapping[str, bool] | None = None) -> Step:
        """One event to one wait."""
        with self._lock:
            result = entry.take(event, facts)
            if entry.state != "waiting" and self._waiting.get(entry.session_id) is entry:
                del self._waiting[entry.session_id]
            return result

    def poll(self, entry: WaitEntry, now: int) -> Step:
        """A later poll with the wait's id. One that comes after the grace finds the wait ended (WAIT-11)."""
        with self._lock:
            self._end_overdue(entry, now)
            return self.take(entry, "poll", {"poll_open": entry.poll_open})

    def _end_overdue(self, entry: WaitEntry, now: int) -> None:
        if not entry.poll_open and now > entry.regrace_until_us:
            self.take(entry, "regrace_over", {"poll_open": False})

    def begin_poll(self, entry: WaitEntry, kick: Callable[[], None]) -> int:
        """A connection is the open poll now; the number tells it from a later one."""
        with self._lock:
            if entry.poll_open:
                entry.kick()
            entry.poll += 1
            entry.poll_open = True
            entry.kick = kick
            return entry.poll

    def end_poll(self, entry: WaitEntry, poll: int, now: int) -> None:
        """That connection is no longer open; another has to follow within the grace (WAIT-11)."""
        with self._lock:
            if entry.poll == poll:
                entry.poll_open = False
                entry.kick = _nothing
                entry.regrace_until_us = now + limit("wait_regrace_seconds") * _SECOND

    def of_row(self, session_id: int, now: int) -> WaitEntry | None:
        """The row's waiting wait, if its poll is open or may still follow (RECV-4). Ends one that is overdue."""
        with self._lock:
            entry = self._waiting.get(session_id)
            if entry is not None:
                self._end_overdue(entry, now)
            return self._waiting.get(session_id)

    def end(self, session_id: int, event: str = "own_event") -> None:
        """Something of the session itself ends its wait (WAIT-4), or its client is gone (WAIT-6)."""
        if session_id not in self._waiting:
            return
        with self._lock:
            entry = self._waiting.get(session_id)
            if entry is not None:
                self.take(entry, event)

    def ending(self, session_id: int) -> Callable[[], None]:
        """What ends the wait that the row has now, and no later one: to be called once a commit is on disk (WAIT-4)."""
        entry = self._waiting.get(session_id)
        return _nothing if entry is None else lambda: self._own_event(entry)

    def _own_event(self, entry: WaitEntry) -> None:
        self.take(entry, "own_event")

    def end_all(self) -> None:
        """The server stops (WAIT-7)."""
        with self._lock:
            for entry in list(self._waiting.values()):
                self.take(entry, "server_stop")

    def with_process(self) -> list[WaitEntry]:
        """Every waiting wait whose client told its process (WAIT-6)."""
        with self._lock:
            return [entry for entry in self._waiting.values() if entry.process.known]

    def look_again(self, session_ids: Iterable[int]) -> None:
        """Something of these rows changed: a wait of theirs may fire now."""
        for key in session_ids:
            entry = self._waiting.get(key)
            if entry is not None:
                entry.kick()
