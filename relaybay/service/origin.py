"""Where a message comes from: the columns that say its sender, with what POLICY compares of it (page 50, § 1.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from relaybay.service import admission, floors
from relaybay.service.admission import Arriving
from relaybay.service.controls import Sent
from relaybay.service.relay import Relay
from relaybay.store.admissions import Author
from relaybay.store.sessions import SessionRow


@dataclass(frozen=True, slots=True)
class Origin:
    """A session's row, or a script's label. Mode and folder are those at sending, of a verified session alone: nobody
    knows where an unverified name, or a script, stands. `automation` names the row's own rule that sends.
    """

    row: SessionRow | None
    label: str = ""
    verified: bool = False
    hook_id: str = ""
    mode: str = ""
    folder: str = ""
    automation: str = ""

    @property
    def sent(self) -> Sent:
        """What POLICY compares."""
        if self.row is None:
            return Sent("script", "", "")
        return Sent("session" if self.verified else "unverified", self.mode, self.folder)

    @property
    def author(self) -> Author:
        """In whose windows it counts."""
        return Author(self.row.id) if self.row is not None else Author(label=self.label)

    def columns(self, body: str) -> dict[str, Any]:
        """The message's columns."""
        row = self.row
        return {
            "sender_id": row.id if row else None,
            "sender_title": row.title if row else self.label,
            "sender_name": (row.name or "") if row else "",
            "sender_verified": int(self.verified),
            "sender_hook_id": self.hook_id if self.verified else "",
            "sender_kind": "session" if row else "script",
            "sender_mode": self.mode,
            "sender_folder": self.folder,
            "automation": self.automation,
            "body": body,
            "body_hash": admission.text_hash(body),
        }

    def arriving(self, message_id: int, body: str) -> Arriving:
        """The message on its way to one recipient."""
        return Arriving(message_id, self.author, self.sent, body, admission.text_hash(body))


def of_session(relay: Relay, row: SessionRow, *, verified: bool, hook_id: str = "", automation: str = "") -> Origin:
    """A session that sends now."""
    now = relay.presence.current(row)
    mode, folder = (now.permission_mode, floors.canonical(now.cwd)) if verified else ("", "")
    return Origin(now, "", verified, hook_id, mode, folder, automation)


def of_script(label: str) -> Origin:
    """A script: known by its label only, and answered by nobody."""
    return Origin(None, label)
