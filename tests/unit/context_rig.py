"""A session with a transcript: its hooks, its file and the timer that looks into it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from relaybay.service import context_proof, receipts
from relaybay.specs import limit
from relaybay.store import messages
from relaybay.store.sessions import SessionRow
from tests.unit.hook_events_rig import HookRig
from tests.unit.linking_rig import SECOND
from tests.unit.transcript_rig import Transcript

SETTLE = limit("context_settle_seconds") * SECOND


class ContextRig(HookRig):
    """One session `h1` whose transcript lies in the client's folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.script = Transcript(folder / "claude")

    def session(self, **more: Any) -> SessionRow:
        return self.linked(transcript_path=str(self.script.path), **more)

    def at(self, name: str, **more: Any):
        return self.hook(name, transcript_path=str(self.script.path), **more)

    def handed(self, name: str = "PreToolUse", **more: Any) -> str:
        """A hook event that has to carry text; the text."""
        said = self.at(name, **more)
        assert said.done is not None
        return said.done.text

    def look(self, seconds: float = 0.5) -> int:
        self.now += int(seconds * SECOND)
        return context_proof.look(self.relay)

    def look_long(self) -> int:
        """As the timer does it, until what is missing counts as dropped."""
        return self.look() + self.look(SETTLE / SECOND)

    def standing(self, mid: str) -> tuple[str, str]:
        return self.store.read(lambda tx: receipts.standing(tx, self.relay, messages.get(tx, mid)))

    def marked(self, mid: str) -> tuple[str, bool, int, str]:
        mail = self.mail_of(mid)
        return mail.state, bool(mail.in_context_us), mail.reoffers, mail.reason_code

    def commented(self, row: SessionRow) -> str:
        """A comment of the owner for the session, past its 5 s; its id."""
        cid = self.say(self.task(row))["id"]
        self.now += 6 * SECOND
        return cid

    def reason(self, cid: str) -> str:
        return self.view(cid)["reason"]
