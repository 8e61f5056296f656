"""The wake-up's long polls as the endpoint holds them, one connection at a time and without a loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from relaybay.domain import ClientProcess
from relaybay.service import wake
from relaybay.service.waits import WaitEntry
from relaybay.specs import limit
from tests.stateful.promises import Step
from tests.stateful.scenery import HOOKS, SECOND


@dataclass
class Poll:
    """One open connection: its number among its wait's, whether something kicked it, and when it looks of itself."""

    entry: WaitEntry
    number: int = 0
    kicked: bool = True
    again_us: int = 0

    def kick(self) -> None:
        self.kicked = True


class Waiting:
    """The part of the world that holds polls."""

    machinery: Any
    relay: Any
    store: Any
    now: int
    given: list[Any]
    promises: Any
    seen: Any

    def begin_waiting(self) -> None:
        self.polls: list[Poll] = []
        self.waits: list[WaitEntry] = []
        self.wait_count = 0

    def open_wait(self, h: int, *, process: bool = False) -> WaitEntry:
        """The wake-up hook's first poll."""
        self.tick()  # type: ignore[attr-defined]
        self.wait_count += 1
        told = self.process(h, told=process)  # type: ignore[attr-defined]
        return self._open(HOOKS[h], f"wait{self.wait_count:04}", told)

    def _open(self, hook_id: str, wait_id: str, process: ClientProcess) -> WaitEntry:
        entry = self.store.write(lambda tx: wake.open_wait(tx, self.relay, hook_id, wait_id, process))
        if entry.state == "waiting":
            self.waits.append(entry)
        self._hold_poll(entry)
        return entry

    def _hold_poll(self, entry: WaitEntry) -> None:
        poll = Poll(entry)
        poll.number = self.relay.waits.begin_poll(entry, poll.kick)
        self.polls.append(poll)
        self.hold(Step())  # type: ignore[attr-defined]

    def poll(self, n: int) -> None:
        """A later poll of a wait that once was open, whatever became of it."""
        if self.waits:
            self.tick()  # type: ignore[attr-defined]
            entry = self.waits[n % len(self.waits)]
            self.relay.waits.poll(entry, self.now)
            self._hold_poll(entry)

    def look(self, n: int, *, lives: bool = True, written: bool = True) -> str:
        """One round of one open poll: what its loop does when it is kicked or its time has come."""
        if not self.polls:
            return "none"
        poll = self.polls[n % len(self.polls)]
        entry, poll.kicked = poll.entry, False
        if entry.state == "waiting" and entry.poll != poll.number:
            return self._close(poll, "superseded_poll")
        if self.now >= entry.opened_us + limit("wait_minutes") * 60 * SECOND:
            self.relay.waits.take(entry, "time_over")
        found = self.store.write(lambda tx: wake.look(tx, self.relay, entry, connection_lives=lives))
        if found.done is not None:
            given = self.promises.handed(found.done)
            self.hold(Step(said=[found.done.text], handed=[found.done]))  # type: ignore[attr-defined]
            if written:
                self.given.append(given)
            else:
                self.relay.waits.take(entry, "not_written")
                self.take_back(given)  # type: ignore[attr-defined]
            return self._close(poll, "fired")
        if found.outcome != "waiting":
            return self._close(poll, found.outcome)
        poll.again_us = found.again_us
        self.hold(Step())  # type: ignore[attr-defined]
        return "waiting"

    def _close(self, poll: Poll, outcome: str) -> str:
        self.polls.remove(poll)
        self.relay.waits.end_poll(poll.entry, poll.number, self.now)
        self.hold(Step())  # type: ignore[attr-defined]
        return outcome

    def poll_time_over(self, n: int) -> None:
        """A poll's own time is over: 204, and another has to follow (WAIT-11)."""
        if self.polls:
            poll = self.polls[n % len(self.polls)]
            self.relay.waits.take(poll.entry, "poll_time_over")
            self._close(poll, "204")

    def drop(self, n: int) -> None:
        """A connection goes before it was answered (WAIT-6)."""
        if self.polls:
            poll = self.polls[n % len(self.polls)]
            self.relay.waits.take(poll.entry, "connection_lost", {"current_poll": poll.entry.poll == poll.number})
            self._close(poll, "lost")

    def settle(self) -> None:
        """Every poll that was kicked or whose time has come looks, until none has to. Then none may sit on mail that it
        ought to have handed over (WAIT-2): a kick was lost.
        """
        for _ in range(50):
            due = [p for p in self.polls if p.kicked or (p.again_us and p.again_us <= self.now)]
            if not due:
                break
            self.look(self.polls.index(due[0]))
        else:
            raise AssertionError("a poll is kicked for ever")
        for poll in self.polls:
            entry = poll.entry
            row = self.seen.sessions.get(entry.session_id)
            if entry.state != "waiting" or row is None or poll.number != entry.poll:
                continue
            live = self.relay.presence.by_row(entry.session_id)
            waiting = self.relay.mailbox.of(entry.session_id)
            fresh = [
                c
                for c in self.seen.owner_comments.values()
                if self.seen.bound[c["task_id"]] == entry.session_id and c["grace_until_us"] > self.now
            ]
            idle = live is not None and live.activity == "idle"
            mail = waiting.messages_sent or (waiting.comments_sent and not fresh)
            assert not (idle and mail), f"WAIT-2: a wait of S-{entry.session_id} sleeps on waiting mail"
