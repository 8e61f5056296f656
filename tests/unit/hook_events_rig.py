"""Hook events on a real relay, taken as the surface takes them: from memory where that is enough, else in a transaction.

After every event the promises are looked at that no single row can state.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from relaybay.domain import Caller, ClientProcess, HookEvent
from relaybay.service import handover, hooks, messages, replay, waits
from relaybay.service import sessions as owner
from relaybay.service.hooks import HookAnswer
from relaybay.service.relay import open_relay
from relaybay.store import sessions
from relaybay.store.sessions import SessionRow
from tests.unit.card_rig import CardRig
from tests.unit.linking_rig import SECOND

CWD = "/home/ada/shop"
TOOL = {"tool_name": "Bash", "tool_use_id": "toolu_bash"}


class HookRig(CardRig):
    """`self.hook("Stop")` is one live event of the session `h1`, a second after the one before."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.folder = folder
        self.from_memory = True
        self.blocks: Counter[tuple[str, int]] = Counter()
        self.units = 0
        self._count_units()

    def _count_units(self) -> None:
        submit = self.relay.store.submit

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.units += 1
            return submit(*args, **kwargs)

        self.relay.store.submit = counted  # type: ignore[method-assign]

    # -- events ------------------------------------------------------------------------------------------------

    def event(self, name: str, hook: str = "h1", **more: Any) -> HookEvent:
        more.setdefault("cwd", CWD)
        more.setdefault("at_us", self.now)
        if name == "UserPromptSubmit":
            more.setdefault("prompt_kind", "local")
        return HookEvent(hook_id=hook, name=name, **more)

    def hook(self, name: str, hook: str = "h1", **more: Any) -> HookAnswer:
        """One live event, and what it was answered."""
        self.now += SECOND
        event = self.event(name, hook, **more)
        hooks.witness(self.relay, event)
        said = hooks.from_memory(self.relay, event) if self.from_memory else None
        if said is None:
            said = self.store.write(lambda tx: hooks.handle(tx, self.relay, event))
        self._hold(hook, said)
        return said

    def late(self, name: str, hook: str = "h1", *, ago: int, **more: Any) -> HookAnswer:
        """A live event that happened `ago` seconds before now."""
        return self.hook(name, hook, at_us=self.now + SECOND - ago * SECOND, **more)

    def replay(self, *events: HookEvent) -> tuple[int, int]:
        """Events out of the spool, each with an id of its own unless it has one."""
        self.now += SECOND
        spooled = [replace(e, replayed=True, event_id=e.event_id or f"id-{self.now}-{n}") for n, e in enumerate(events)]
        counts = self.store.write(lambda tx: replay.apply(tx, self.relay, spooled))
        self.check()
        return counts

    def start(self, hook: str = "h1", source: str = "startup", **more: Any) -> HookAnswer:
        return self.hook("SessionStart", hook, source=source, **more)

    def prompt(self, hook: str = "h1", **more: Any) -> HookAnswer:
        return self.hook("UserPromptSubmit", hook, **more)

    def tool(self, hook: str = "h1", **more: Any) -> HookAnswer:
        return self.hook("PreToolUse", hook, **{**TOOL, **more})

    def stop(self, hook: str = "h1", **more: Any) -> HookAnswer:
        return self.hook("Stop", hook, **more)

    def linked(self, hook: str = "h1", **more: Any) -> SessionRow:
        """A session that started and linked itself by a call that its client vouches for."""
        self.start(hook, **more)
        self.accepted("mark", witnessed=hook)
        return self.holder(hook)

    # -- what there is -----------------------------------------------------------------------------------------

    def held(self, hook: str = "h1") -> SessionRow | None:
        row = self.store.read(lambda tx: sessions.by_hook(tx, hook))
        return None if row is None else self.relay.presence.current(row)

    def holder(self, hook: str = "h1") -> SessionRow:
        row = self.held(hook)
        assert row is not None
        return row

    def now_of(self, row: SessionRow) -> SessionRow:
        return self.relay.presence.current(self.need(row))

    def peer(self) -> SessionRow:
        return self.titled("peer") or self.row("peer", "hook", "exact", "hook-peer", link_named=1)

    def send(self, to: SessionRow, body: str = "Please look.", **more: Any) -> str:
        """A verified message of another session; its id. The time between keeps it within SEND-12."""
        self.now += 7 * SECOND
        caller = Caller("", "", "", self.witness(self.peer().hook_id or ""))
        said = self.do(lambda tx: messages.send(tx, self.relay, caller, body=body, to=to.ref, **more))
        self.check()
        return said["message_id"]

    def state(self, mid: str) -> str:
        mail = self.store.read(lambda tx: messages.messages.get(tx, mid))
        assert mail is not None
        return mail.state

    def mail_of(self, mid: str) -> Any:
        return self.store.read(lambda tx: messages.messages.get(tx, mid))

    def not_written(self, said: HookAnswer) -> None:
        assert said.done is not None
        done = said.done
        self.store.write(lambda tx: handover.answer_not_written(tx, self.relay, done))
        self.check()

    def unlink_by_owner(self, row: SessionRow) -> None:
        self.do(lambda tx: owner.unlink(tx, self.relay, row.ref))

    def wait(self, hook: str = "h1", process: ClientProcess | None = None, wait_id: str = "") -> waits.WaitEntry:
        from relaybay.service import wake

        self.now += SECOND
        entry = self.store.write(
            lambda tx: wake.open_wait(tx, self.relay, hook, wait_id or f"w{self.now}", process or ClientProcess())
        )
        if entry.state == "waiting":
            self.relay.waits.begin_poll(entry, lambda: None)
        return entry

    def look(self, entry: waits.WaitEntry, *, lives: bool = True) -> Any:
        from relaybay.service import wake

        found = self.store.write(lambda tx: wake.look(tx, self.relay, entry, connection_lives=lives))
        self.check()
        return found

    def reopen(self) -> None:
        """The server ends and starts again on the same store."""
        self.relay.close()
        self.relay = open_relay(self.folder / "relaybay.db", lambda: self.now, self.transcripts)
        self.store = self.relay.store
        self._count_units()

    def kill(self) -> None:
        """The server is killed: what only memory held is lost."""
        self.relay.store.close()
        self.relay = open_relay(self.folder / "relaybay.db", lambda: self.now, self.transcripts)
        self.store = self.relay.store
        self._count_units()

    # -- promises ----------------------------------------------------------------------------------------------

    def _hold(self, hook: str, said: HookAnswer) -> None:
        shown = said.line + (said.done.text + said.done.reason if said.done else "")
        for row in self.rows():
            assert not row.hook_id or row.hook_id not in shown.split(), "a hook id in an answer (INV-3)"
        if said.done is not None:
            row = self.holder(hook)
            assert row.link_state == "exact", "INV-4"
            assert len(said.done.text.encode("utf-16-le")) // 2 <= 8_000, "PACK-1"
            if said.done.at == "stop":
                self.blocks[hook, row.turn_serial] += 1
                assert self.blocks[hook, row.turn_serial] <= 2, "INV-5"
        self.check()

    def check(self) -> None:
        """The index equals a count over the store, and memory is never behind it."""
        waiting = self.store.read(
            lambda tx: tx.rows(
                "SELECT s.id,"
                " (SELECT count(*) FROM comment c JOIN task t ON t.id = c.task_id WHERE t.session_id = s.id"
                "   AND c.author_kind = 'owner' AND c.state = 'sent'),"
                " (SELECT count(*) FROM delivery d WHERE d.recipient_id = s.id AND d.state = 'sent'),"
                " (SELECT count(*) FROM comment c JOIN task t ON t.id = c.task_id WHERE t.session_id = s.id"
                "   AND c.author_kind = 'owner' AND c.state = 'delivered'),"
                " (SELECT count(*) FROM delivery d WHERE d.recipient_id = s.id AND d.state = 'delivered')"
                " FROM session s"
            )
        )
        for key, *counts in waiting:
            found = self.relay.mailbox.of(key)
            known = [found.comments_sent, found.messages_sent, found.comments_delivered, found.messages_delivered]
            assert known == counts, f"S-{key}: the mailbox says {known}, the store {counts} (INV-10)"
        for row in self.rows():
            live = self.relay.presence.by_row(row.id)
            assert live is not None and live.row == row
            if row.hook_id:
                assert self.relay.presence.by_hook(row.hook_id) is live
        for _, data in self.store.read(lambda tx: tx.rows("SELECT type, data FROM event")):
            texts = [value for value in json.loads(data).values() if isinstance(value, str)]
            assert not {row.hook_id for row in self.rows()} & set(texts), "a hook id in an event (INV-3)"
