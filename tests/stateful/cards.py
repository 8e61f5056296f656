"""Tasks, the owner's comments and agents' replies, as calls."""

from __future__ import annotations

from relaybay.domain import Caller, Outcome
from relaybay.service import binding, comment_lists, comments, inbox, tasks
from tests.stateful.calls import Calls
from tests.stateful.promises import MARKER
from tests.stateful.scenery import BODIES, OWNER, PROJECT


class Cards(Calls):
    """The part of the world that has cards."""

    # -- tasks and comments ------------------------------------------------------------------------------------

    def task_keys(self) -> list[str]:
        return [row["task_key"] for row in self.seen.tables["task"]]

    def task(self, n: int) -> str:
        keys = self.task_keys()
        return keys[n % len(keys)] if keys else f"{PROJECT}-1"

    def create_task(self, caller: Caller = OWNER) -> Outcome:
        return self.do(
            lambda tx: tasks.task_create(tx, self.relay, caller, project=PROJECT, title="T", body="", status="doing"),
            of=caller,
        )

    def update_task(self, caller: Caller, task: str) -> Outcome:
        change = tasks.Change(status="review")
        return self.do(lambda tx: tasks.task_update(tx, self.relay, caller, task=task, change=change), of=caller)

    def bind(self, task: str, session: str, caller: Caller = OWNER) -> Outcome:
        return self.do(
            lambda tx: binding.task_bind_session(tx, self.relay, caller, task=task, session=session), of=caller
        )

    def unbind(self, task: str) -> Outcome:
        return self.do(lambda tx: binding.task_unbind(tx, self.relay, OWNER, task=task))

    def comment(self, task: str, *, board: bool = False, body: int = 0) -> Outcome:
        text = BODIES[body % len(BODIES)]
        return self.do(lambda tx: comments.owner_comment(tx, self.relay, task=task, body=text, from_board=board))

    def cids(self, author: str = "owner") -> list[str]:
        return [row["cid"] for row in self.seen.tables["comment"] if row["author_kind"] == author]

    def cid(self, n: int) -> str:
        cids = self.cids()
        return cids[n % len(cids)] if cids else "c_unknown"

    def task_of(self, cid: str) -> str:
        keys = {row["id"]: row["task_key"] for row in self.seen.tables["task"]}
        return next((keys[row["task_id"]] for row in self.seen.tables["comment"] if row["cid"] == cid), self.task(0))

    def withdraw(self, cid: str) -> Outcome:
        return self.do(lambda tx: comments.withdraw(tx, comment_id=cid))

    def comment_ack(self, caller: Caller, cid: str) -> Outcome:
        return self.do(lambda tx: comments.comment_ack(tx, self.relay, caller, comment_id=cid), of=caller)

    def comment_add(self, caller: Caller, task: str, in_reply_to: str = "") -> Outcome:
        body = f"{MARKER} done"
        return self.do(
            lambda tx: comments.comment_add(tx, self.relay, caller, task=task, body=body, in_reply_to=in_reply_to),
            of=caller,
        )

    def comments_list(self, caller: Caller, task: str) -> Outcome:
        return self.do(lambda tx: comment_lists.comments_list(tx, self.relay, caller, task=task))

    def replies_read(self, task: str) -> Outcome:
        return self.do(lambda tx: comments.replies_read(tx, task=task))

    def inbox(self) -> Outcome:
        outcome = self.ask(inbox.inbox)
        replies = sum(row["state"] == "unanswered" for row in self.seen.tables["comment"])
        waiting = replies + sum(not row["seen_us"] for row in self.seen.inbox)
        assert outcome.data["count"] == waiting == self.store.read(inbox.count), "INV-10"
        return outcome
