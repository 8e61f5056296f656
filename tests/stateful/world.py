"""A whole relay on a store in memory's file system, driven as its surfaces drive it: hook events, calls, the owner, waits,
the spool, the clock and the server's own ends. Every public method is one step, and the promises are held after it.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from relaybay.domain import ClientProcess, HookEvent, Outcome
from relaybay.service import (
    handover,
    hooks,
    processes,
    replay,
    sessions,
    sweep,
)
from relaybay.service.handover import HandOver
from relaybay.service.hooks import HookAnswer
from relaybay.service.relay import Relay, open_relay
from relaybay.settings import Messaging
from relaybay.store import tasks as stored_tasks
from relaybay.transcript import Transcripts
from tests.stateful import snapshot
from tests.stateful.calls import Sent
from tests.stateful.promises import MARKER, Given, Promises, Step
from tests.stateful.scenery import FOLDERS, FOREIGN, HOOKS, PROJECT, SECOND, START
from tests.stateful.transcribed import Transcribed


class _Log(logging.Handler):
    """Keeps what the product logged (INV-12), errors apart, which fail the step."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname} {self.format(record)}")


class Machinery:
    """The relay's files and threads. Opening a store takes a while, so one is emptied and used again."""

    def __init__(self, messaging: Messaging | None = None) -> None:
        self.messaging = messaging or Messaging()
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="relaybay-", dir=base))
        self.now = START
        self.transcripts = Transcripts((self.folder / "claude",))
        self.relay = self._open()

    def _open(self) -> Relay:
        return open_relay(self.folder / "relaybay.db", lambda: self.now, self.transcripts, self.messaging)

    def empty(self) -> None:
        def wipe(tx: Any) -> None:
            # A world must not find anything of the one before it, whatever tables there are.
            tx.run("PRAGMA defer_foreign_keys = ON")
            for table in [*snapshot.tables(tx), "sqlite_sequence"]:
                tx.run(f'DELETE FROM "{table}"')

        self.relay.store.write(wipe)
        self.now = START
        for part in (self.relay.presence, self.relay.waits):
            part.__init__()  # type: ignore[misc]
        self.relay.mailbox.__init__(channels=self.relay.messaging.channels)  # type: ignore[misc]
        self.relay.contexts.__init__(self.transcripts)  # type: ignore[misc]
        shutil.rmtree(self.folder / "claude", ignore_errors=True)

    def reopen(self, *, kill: bool) -> None:
        if kill:
            self.relay.store.close()
        else:
            self.relay.close()
        self.relay = self._open()

    def close(self) -> None:
        self.relay.close()
        shutil.rmtree(self.folder)


class World(Transcribed):
    """One world from its beginning to its end. `h` is always a number of `HOOKS`, `s` one of the rows there are."""

    promises_class: type[Promises] = Promises

    def __init__(self, machinery: Machinery) -> None:
        machinery.empty()
        self.machinery = machinery
        self.dead: set[int] = set()
        self.given: list[Given] = []
        self.sent: list[Sent] = []
        self.calls: list[tuple[Callable[[Any], Outcome], int]] = []
        self.spooled: list[HookEvent] = []
        self.uses = 0
        self.steps = 0
        self.begin_waiting()
        self.begin_transcripts()
        self.log = _Log()
        logging.getLogger("relaybay").addHandler(self.log)
        self.while_asking: Callable[[], None] | None = None
        self._gone = mock.patch.object(processes, "gone", self._asked)
        self._gone.start()
        self.store.write(lambda tx: stored_tasks.add_project(tx, PROJECT, "Shop", ""))
        self.promises = self.promises_class(self.look_at())

    def _asked(self, process: ClientProcess) -> bool:
        """The system is asked for a process; meanwhile something else may happen."""
        if self.while_asking is not None:
            self.while_asking()
        return process.pid in self.dead

    def end(self) -> None:
        self._gone.stop()
        logging.getLogger("relaybay").removeHandler(self.log)

    @property
    def relay(self) -> Relay:
        return self.machinery.relay

    @property
    def store(self) -> Any:
        return self.machinery.relay.store

    @property
    def now(self) -> int:
        return self.machinery.now

    def look_at(self) -> snapshot.Snapshot:
        return self.store.read(snapshot.take)

    @property
    def seen(self) -> snapshot.Snapshot:
        """The store as it was after the last step."""
        return self.promises.before

    def tick(self, seconds: float = 0.25) -> None:
        self.machinery.now += int(seconds * SECOND)

    def hold(self, step: Step) -> None:
        """The promises, and that nothing was logged as an error."""
        self.steps += 1
        self.promises.hold(self.look_at(), self.relay, step, HOOKS)
        for line in self.log.lines:
            assert MARKER not in line, f"INV-12: a text in the log: {line}"
            assert not line.startswith(("ERROR", "CRITICAL")), line
        self.log.lines.clear()

    # -- hook events -------------------------------------------------------------------------------------------

    @property
    def folders(self) -> tuple[str, str]:
        """Where the sessions work, one after the other."""
        return FOLDERS

    def process(self, h: int, *, told: bool = True) -> ClientProcess:
        """Two sessions share each process, so that one can follow the other in it (HL-3)."""
        if not told:
            return ClientProcess()
        return ClientProcess(1_000 + h // 2, "77", "pid:[1]", "host", "cli", "2.1.332")

    def event(self, name: str, h: int, *, ago: float = 0, process: bool = False, **more: Any) -> HookEvent:
        more.setdefault("cwd", self.folders[h % 2])
        more.setdefault("transcript_path", self.transcript_path(h))
        more.setdefault("client", "codex" if HOOKS[h] == FOREIGN else "claude-code")
        if process:
            more["process"] = self.process(h)
        return HookEvent(hook_id=HOOKS[h], name=name, at_us=self.now - int(ago * SECOND), **more)

    def hook(self, name: str, h: int, **more: Any) -> HookAnswer:
        """One live event, answered from memory where that is enough."""
        self.tick()
        return self.live(self.event(name, h, **more))

    def live(self, event: HookEvent) -> HookAnswer:
        pending = self._begin(event)
        return self._finish([(event, pending)])[0]

    def together(self, *named: tuple[str, int, dict[str, Any]]) -> list[HookAnswer]:
        """Several events at once: those that need a transaction share one commit."""
        self.tick()
        events = [self.event(name, h, **more) for name, h, more in named]
        begun = self.one_commit(*[lambda event=event: self._begin(event) for event in events])
        return self._finish(list(zip(events, begun, strict=True)))

    def one_commit(self, *begin: Callable[[], Any], before_it: Callable[[], None] | None = None) -> list[Any]:
        """Queues units so that the writer takes them as one group. `before_it` runs when all are carried out and the
        commit still is to come, as the event loop may while the writer works.
        """
        opened, reached, done = threading.Event(), threading.Event(), threading.Event()
        first = self.store.submit(lambda tx: opened.wait(10))
        try:
            begun = [one() for one in begin]
            last = self.store.submit(lambda tx: reached.set() or done.wait(10))
            opened.set()
            assert reached.wait(10)
            if before_it is not None:
                before_it()
        finally:
            opened.set()
            done.set()
        assert first.result() and last.result()
        return [one.result() if isinstance(one, Future) else one for one in begun]

    def _begin(self, event: HookEvent) -> Future[HookAnswer] | HookAnswer:
        relay = self.relay
        if event.event_id:
            relay.presence.hear(event.event_id)
        self.promises.live(event)
        hooks.witness(relay, event)
        said = hooks.from_memory(relay, event)
        if said is not None:
            return said
        relay.presence.take_in_hand(event.hook_id)
        future = self.store.submit(lambda tx: hooks.handle(tx, relay, event))
        future.add_done_callback(lambda _: relay.presence.let_go(event.hook_id))
        return future

    def _finish(self, begun: list[tuple[HookEvent, Any]]) -> list[HookAnswer]:
        step, answers = Step(several=len(begun) > 1), []
        for event, pending in begun:
            said = pending.result() if isinstance(pending, Future) else pending
            answers.append(said)
            if said.done is None:
                self.promises.allowed(event)
            else:
                step.handed.append(said.done)
                step.said += [said.done.text, said.done.reason]
                self.given.append(self.promises.handed(said.done))
            if said.line:
                step.said.append(said.line)
                step.own_id = event.hook_id if event.client == "codex" else ""
        self.hold(step)
        return answers

    def not_written(self, which: int = -1) -> None:
        """The answer of a hand-over did not reach its client (PACK-7)."""
        if self.given:
            given = self.given.pop(which % len(self.given))
            self.tick()
            self.take_back(given)

    def take_back(self, given: Given) -> None:
        self.store.write(lambda tx: handover.answer_not_written(tx, self.relay, given.done))
        self.promises.not_written(given)
        self.hold(Step(undone=[given.done]))

    def spool(self, name: str, h: int, *, ago: float = 0, **more: Any) -> None:
        """The server was away: the command client writes the event down."""
        self.tick()
        event = self.event(name, h, ago=ago, **more)
        self.spooled.append(replace(event, replayed=True, event_id=f"e{len(self.spooled)}-{event.at_us}"))

    def replay(self) -> tuple[int, int]:
        """All of the spool so far, the lines that were applied before among them (SPOOL-1)."""
        self.tick()
        events = list(self.spooled)
        counts = self.store.write(lambda tx: replay.apply(tx, self.relay, events))
        self.hold(Step())
        return counts

    # -- scenes -------------------------------------------------------------------------------------------------

    def linked(self, *hs: int) -> None:
        """Sessions that started and linked themselves by a call without a name."""
        for h in hs:
            self.hook("SessionStart", h, source="startup", process=True)
            self.ack(self.caller("", witness=h))

    def mail(self, h: int, other: int, count: int = 1) -> None:
        """Messages from one linked session to another."""
        row = self.row_of(other)
        assert row is not None
        for _ in range(count):
            self.send(self.caller("", witness=h), to=f"S-{row['id']}")

    # -- the owner's hand on rows, and the passing of time -------------------------------------------------------

    def refs(self) -> list[str]:
        return [f"S-{key}" for key in self.seen.sessions]

    def ref(self, n: int) -> str:
        refs = self.refs()
        return refs[n % len(refs)] if refs else "S-1"

    def row_of(self, h: int) -> dict[str, Any] | None:
        return self.seen.holder(HOOKS[h])

    def add_desktop(self, title: str, cwd: str = "") -> Outcome:
        self.uses += 1
        desktop = f"desk-{self.uses}"
        return self.do(lambda tx: sessions.add_desktop(tx, self.relay, desktop=desktop, title=title, cwd=cwd))

    def rename(self, ref: str, title: str) -> Outcome:
        return self.do(lambda tx: sessions.rename(tx, self.relay, ref, title))

    def end_session(self, ref: str) -> Outcome:
        return self.do(lambda tx: sessions.end(tx, self.relay, ref))

    def unlink(self, ref: str) -> Outcome:
        return self.do(lambda tx: sessions.unlink(tx, self.relay, ref))

    def views(self) -> Outcome:
        """All rows as lists show them; the counts there are counts over the store (INV-10)."""
        outcome = self.ask(lambda tx: sessions.list_sessions(tx, self.relay))
        for said in outcome.data["sessions"]:
            key = int(said["ref"][2:])
            unread = [row for row in self.seen.tables["delivery"] if row["recipient_id"] == key]
            assert said["unread_messages"] == sum(row["state"] in ("sent", "delivered") for row in unread), "INV-10"
        return outcome

    def die(self, h: int) -> None:
        """The client's process is gone, and the sweep looks (HL-9, WAIT-6)."""
        self.tick()
        self.dead.add(self.process(h).pid)
        sweep.end_orphaned_waits(self.relay)
        gone = self.store.read(sweep.gone_clients)
        self.store.write(lambda tx: sweep.end_gone(tx, self.relay, gone))
        self.dead.clear()  # Its number will be somebody else's.
        self.hold(Step())

    def silence(self) -> None:
        """A day without an event (HL-10)."""
        self.tick(25 * 3_600)
        self.store.write(lambda tx: sweep.end_silent(tx, self.relay, 24))
        self.store.write(sweep.forget_old)
        self.hold(Step())

    def wait_a_while(self, seconds: float) -> None:
        self.tick(seconds)
        self.hold(Step())

    def flush(self) -> None:
        """What memory is ahead of the store is written (page 80)."""
        self.relay.flush(self.relay.presence.due(self.now + 16 * SECOND))
        assert not self.relay.presence.dirty()
        self.hold(Step())

    def restart(self, *, kill: bool = False) -> None:
        self.machinery.reopen(kill=kill)
        self.given.clear()
        self.begin_waiting()
        self.hold(Step())

    @property
    def handed(self) -> list[HandOver]:
        return [one.done for one in self.given]
