"""Tasks and comments on a real relay: calls of the owner and of sessions, and what they came to."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from relaybay.answers import word, word_refusal
from relaybay.domain import Caller, Outcome
from relaybay.service import binding, comment_lists, comments, handover, links, tasks
from relaybay.store import comments as stored
from relaybay.store import sessions
from relaybay.store import tasks as stored_tasks
from relaybay.store.sessions import SessionRow
from tests.unit.linking_rig import SECOND, Rig

OWNER = Caller(owner=True)
#: An id of a table, or the number of a page.
SPEC_ID = re.compile(r"[A-Z]+-[1-9][0-9]*|[1-9][05]")


class CardRig(Rig):
    """A store with project `shop`, whose tasks are `shop-1`, `shop-2` …"""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.store.write(lambda tx: stored_tasks.add_project(tx, "shop", "Shop", ""))

    def dump(self) -> list[tuple[Any, ...]]:
        """As the base, with the tables that only tasks have."""
        mine = [
            (t, *r)
            for t in ("project", "step", "comment_given")
            for r in self.store.read(lambda tx, t=t: tx.rows(f"SELECT * FROM {t} ORDER BY 1"))
        ]
        return super().dump() + mine

    # -- who calls -------------------------------------------------------------------------------------------

    def live(self, title: str, **columns: Any) -> SessionRow:
        """A session that is exactly linked and live."""
        return self.row(
            title, "hook", "exact", link_named=1, **{"activity": "idle", "last_seen_us": self.now, **columns}
        )

    def by(self, row: SessionRow | None = None, *, name: str = "", hook: str = "") -> Caller:
        """A call that the client of `row` vouches for, or one with a name and a claimed hook session only."""
        if row is None:
            return Caller(name, "", hook, "")
        return Caller("", "", "", self.witness(self.need(row).hook_id or ""))

    # -- calls -----------------------------------------------------------------------------------------------

    def do(self, work) -> dict[str, Any]:
        """A write that has to be carried out; its data, which must be JSON."""
        outcome = self.store.write(work)
        assert outcome.refusal is None, outcome.refusal
        for answer, values in outcome.warnings:
            word(answer, **values)
        return json.loads(json.dumps(outcome.data))

    def no(self, work) -> tuple[str, str]:
        """A write that has to be refused, in words, and to change nothing: its code and spec id."""
        before = self.dump()
        outcome: Outcome = self.store.write(work)
        assert outcome.refusal is not None, outcome.data
        assert self.dump() == before, "a refused call changed something"
        worded = word_refusal(outcome.refusal)
        assert worded.error and worded.text
        assert SPEC_ID.fullmatch(worded.spec_id), worded
        return worded.code, worded.spec_id

    def task(self, bound: SessionRow | None = None, title: str = "T", caller: Caller = OWNER, **more: Any) -> str:
        made = self.do(lambda tx: tasks.task_create(tx, self.relay, caller, project="shop", title=title, **more))
        if bound is not None:
            self.bind(made["key"], bound)
        return made["key"]

    def bind(self, task: str, bound: SessionRow, caller: Caller = OWNER) -> dict[str, Any]:
        return self.do(lambda tx: binding.task_bind_session(tx, self.relay, caller, task=task, session=bound.ref))

    def say(self, task: str, body: str = "Do it.", *, board: bool = False, **more: Any) -> dict[str, Any]:
        """The owner comments."""
        self.now += SECOND
        return self.do(
            lambda tx: comments.owner_comment(tx, self.relay, task=task, body=body, from_board=board, **more)
        )

    def add(self, caller: Caller, task: str, body: str = "Done.", in_reply_to: str = "") -> dict[str, Any]:
        """A session comments."""
        self.now += SECOND
        return self.do(
            lambda tx: comments.comment_add(tx, self.relay, caller, task=task, body=body, in_reply_to=in_reply_to)
        )

    def ack(self, caller: Caller, cid: str) -> dict[str, Any]:
        self.now += SECOND
        return self.do(lambda tx: comments.comment_ack(tx, self.relay, caller, comment_id=cid))

    def no_ack(self, caller: Caller, cid: str) -> tuple[str, str]:
        return self.no(lambda tx: comments.comment_ack(tx, self.relay, caller, comment_id=cid))

    def list(self, caller: Caller, task: str, **more: Any) -> dict[str, Any]:
        return self.do(lambda tx: comment_lists.comments_list(tx, self.relay, caller, task=task, **more))

    def hand(self, row: SessionRow, at: str = "prompt") -> handover.HandOver | None:
        """A hook of the session carries what waits."""
        self.now += SECOND

        def work(tx):
            now = sessions.need(tx, row.id)
            return handover.hand_over(tx, now, at, handover.offers(tx, self.relay, now, at))

        return self.store.write(work)

    def unlink(self, row: SessionRow) -> None:
        self.store.write(lambda tx: links.take(tx, self.relay, sessions.need(tx, row.id), "unlink"))

    def comment(self, cid: str) -> stored.CommentRow:
        found = self.store.read(lambda tx: stored.get(tx, cid))
        assert found is not None
        return found

    def view(self, cid: str) -> dict[str, Any]:
        """A comment as its card shows it to the owner."""
        page: dict[str, Any] = {"before": ""}
        while "before" in page:
            page = self.list(OWNER, self.comment(cid).task_key, before=page["before"])
            for view in page["comments"]:
                if view["id"] == cid:
                    return view
        raise AssertionError(cid)

    def types(self) -> list[str]:
        return [row[0] for row in self.store.read(lambda tx: tx.rows("SELECT type FROM event ORDER BY id"))]

    def last_event(self, type_: str) -> dict[str, Any]:
        return json.loads(self.events(type_)[-1])
