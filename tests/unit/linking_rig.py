"""A real relay over a SQLite file, rows put into any link state, and calls made as a use case makes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from relaybay.answers import word_refusal
from relaybay.domain import Caller, Outcome, Refusal
from relaybay.rules import names
from relaybay.service import linking
from relaybay.service.relay import open_relay
from relaybay.store import comments, messages, sessions, tasks, tool_uses
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.transcript import Transcripts

START = 1_800_000_000_000_000
SECOND = 1_000_000


class Rig:
    """Rows and calls. `hook` ids are short texts; time moves by a second with every call."""

    def __init__(self, folder: Path) -> None:
        self.now = START
        self.transcripts = Transcripts((folder / "claude",))
        self.relay = open_relay(folder / "relaybay.db", lambda: self.now, self.transcripts)
        self.store = self.relay.store
        self._uses = 0

    def row(self, title: str, kind: str = "agent", link: str = "none", hook: str = "", **columns: Any) -> SessionRow:
        if link not in ("none", "moved"):
            columns["hook_id"] = hook or f"hook-{title}"
        return self.store.write(
            lambda tx: sessions.add(
                tx, title=title, title_key=names.key(title), kind=kind, link_state=link,
                title_given=int(kind != "hook"), **columns,
            )
        )  # fmt: skip

    def get(self, row: SessionRow) -> SessionRow | None:
        return self.store.read(lambda tx: sessions.get(tx, row.id))

    def need(self, row: SessionRow) -> SessionRow:
        return self.store.read(lambda tx: sessions.need(tx, row.id))

    def titled(self, title: str) -> SessionRow | None:
        found = self.store.read(lambda tx: sessions.by_name(tx, names.key(title)))
        return found[0] if found else None

    def rows(self) -> list[SessionRow]:
        return self.store.read(sessions.every)

    def dump(self) -> list[tuple[Any, ...]]:
        """Every row of every table that a refused call must leave alone."""
        tables = ("session", "alias", "hook_fate", "message", "delivery", "comment", "task", "event", "inbox")
        return [
            (t, *r) for t in tables for r in self.store.read(lambda tx, t=t: tx.rows(f"SELECT * FROM {t} ORDER BY 1"))
        ]

    # -- mail and tasks --------------------------------------------------------------------------------------

    def mail(
        self, sender: SessionRow | None, to: SessionRow, state: str = "sent", over: str = "", by: str = ""
    ) -> Mail:
        """A message; `over` the hook id it was sent over (verified then), `by` the one it was handed over to."""

        def write(tx):
            mail = messages.add(
                tx, recipient_id=to.id, recipient_title=to.title, recipient_name="", mid=f"m_{self.count(tx)}",
                sender_id=sender.id if sender else None, sender_title=sender.title if sender else "gone",
                sender_verified=int(bool(over)), sender_hook_id=over, body="text", digest="d",
            )  # fmt: skip
            columns: dict[str, Any] = {"state": state}
            if state == "delivered":
                columns |= {"delivered_us": tx.now, "delivered_hook_id": by or to.hook_id or ""}
            if state == "read":
                columns |= {"read_us": tx.now, "read_how": "verified"}
            return messages.set_delivery(tx, mail, **columns)

        return self.store.write(write)

    @staticmethod
    def count(tx: Any) -> int:
        return int(tx.value("SELECT count(*) FROM message"))

    def mail_now(self, mail: Mail) -> Mail:
        found = self.store.read(lambda tx: messages.by_key(tx, mail.id))
        assert found is not None
        return found

    def task_with_comment(self, bound: SessionRow, state: str = "delivered", by: str = ""):
        def write(tx):
            project = tasks.project(tx, "shop") or tasks.add_project(tx, "shop", "Shop", "")
            task = tasks.add(tx, project, title="T", status="doing", session_id=bound.id, ever_bound=1)
            return comments.add(
                tx, bound.id, cid=f"c_{task.id}", task_id=task.id, author_kind="owner", body_md="x", state=state,
                delivered_us=tx.now, delivered_to=bound.id, delivered_title=bound.title,
                delivered_hook_id=by or bound.hook_id or "",
            )  # fmt: skip

        return self.store.write(write)

    def comment_now(self, comment):
        return self.store.read(lambda tx: comments.get(tx, comment.cid))

    def events(self, type_: str = "") -> list[str]:
        found = self.store.read(lambda tx: tx.rows("SELECT type, data FROM event ORDER BY id"))
        return [data for kind, data in found if not type_ or kind == type_]

    # -- calls -----------------------------------------------------------------------------------------------

    def witness(self, hook: str) -> str:
        """A live PreToolUse reports a fresh tool-use id for this hook id."""
        self._uses += 1
        tool_use_id = f"toolu_{self._uses}"
        self.relay.presence.witness(tool_use_id, hook, self.now)
        return tool_use_id

    def call(
        self, call: str, session: str = "", hook: str = "", *, witnessed: str = "", title: str = "",
        tool_use_id: str = "", tool: str = "", digest: str = "d",
    ) -> tuple[linking.Identity | Refusal, SessionRow | None]:  # fmt: skip
        """One call, identified and, when nothing refused it, applied, as a use case does."""
        self.now += SECOND
        tool = tool or {"send": "message_send", "mark": "message_ack", "other": "task_update"}.get(
            call, "task_bind_session"
        )
        caller = Caller(session, title, hook, tool_use_id or (self.witness(witnessed) if witnessed else ""))

        def use_case(tx) -> Outcome:
            found = linking.identify(tx, self.relay, caller, call, tx.now, tool, digest)
            if isinstance(found, Refusal):
                return Outcome(refusal=found)
            if found.first_answer:
                return Outcome(data={"identity": found, "row": None})
            row = linking.apply(tx, self.relay, found, tx.now)
            if found.tool_use_id:
                tool_uses.keep_answer(tx, found.tool_use_id, json.dumps({"data": {"at": self.now}}))
            return Outcome(data={"identity": found, "row": row})

        outcome = self.store.write(use_case)
        if outcome.refusal is not None:
            return outcome.refusal, None
        return outcome.data["identity"], outcome.data["row"]

    def read(self, session: str = "", hook: str = "", *, witnessed: str = "", tool: str = "messages_list"):
        caller = Caller(session, "", hook, self.witness(witnessed) if witnessed else "")
        return self.store.read(lambda tx: linking.identify(tx, self.relay, caller, "read", tx.now, tool, "d"))

    def refused(self, *args: Any, **kwargs: Any) -> Refusal:
        """A call that has to be refused and to change nothing."""
        before = self.dump()
        found, _ = self.call(*args, **kwargs)
        assert isinstance(found, Refusal), found
        assert word_refusal(found).code
        assert self.dump() == before, "a refused call changed something"
        return found

    def accepted(self, *args: Any, **kwargs: Any) -> tuple[linking.Identity, SessionRow | None]:
        found, row = self.call(*args, **kwargs)
        assert not isinstance(found, Refusal), found
        return found, row
