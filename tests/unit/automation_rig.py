"""Channels with rules of the owner's: a file of rules, what they are set off by, and the actions carried out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from relaybay.service import automation_ends, automation_lists, automation_runs, automation_sends
from relaybay.service.automation_rules import Book, book
from relaybay.service.automation_runs import Begun, Ready
from relaybay.settings.automations import of_text
from relaybay.store.sessions import SessionRow
from tests.unit.channel_rig import ChannelRig

FILE = Path("automations.toml")


def read(text: str) -> Book:
    """A book as of a file with this text."""
    return book(FILE, lambda: of_text(FILE, text.encode()))


class AutomationRig(ChannelRig):
    written = ""

    def rules(self, text: str) -> None:
        """The server is started with these rules."""
        self.written = text
        self.relay.automations = read(text)
        assert not self.relay.automations.problems, self.relay.automations.problems

    def restart(self, text: str | None = None, *, killed: bool = False) -> None:
        """The server ends, or is killed, and starts again; with other rules, if there are any."""
        self.kill() if killed else self.reopen()
        self.relay.automations = read(self.written if text is None else text)
        self.store.write(lambda tx: automation_ends.at_start(tx, self.relay))

    def named(self, hook: str, name: str, **more: Any) -> SessionRow:
        row = self.session(hook, **more)
        self.name(row, name)
        return self.holder(hook)

    def begin(self, most: int = 4) -> Ready:
        return self.store.write(lambda tx: automation_runs.begin(tx, self.relay, most))

    def one(self) -> Begun:
        """The one firing that begins now."""
        (begun,) = self.begin().begun
        return begun

    def finish(self, begun: Begun, reason: str = "", detail: str = "") -> None:
        failed = automation_sends.Failed(reason, detail) if reason else None
        self.store.write(lambda tx: automation_runs.finish(tx, self.relay, begun.id, failed))

    def play(self) -> int:
        """Everything that may begin now is carried out, its commands well; how many firings."""
        count = 0
        while begun := self.begin().begun:
            for one in begun:
                self.finish(one)
                count += 1
        return count

    def log(self, rule: str = "") -> list[dict[str, Any]]:
        """Oldest first."""
        said = self.do(lambda tx: automation_lists.log(tx, self.relay, rule=rule))
        return said["firings"][::-1]

    def ends(self, rule: str = "") -> list[tuple[str, str]]:
        return [(one["state"], one.get("reason_code", "")) for one in self.log(rule)]

    def told(self, begun: Begun) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(begun.message)
        return found

    def events(self, *types: str) -> list[dict[str, Any]]:
        marks = ", ".join("?" * len(types))
        rows = self.store.read(
            lambda tx: tx.rows(f"SELECT data FROM event WHERE type IN ({marks}) ORDER BY id", *types)
        )
        return [json.loads(data) for (data,) in rows]
