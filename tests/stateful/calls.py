"""Calls of agents about messages, and how a call says who makes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relaybay.answers import word, word_refusal
from relaybay.domain import Caller, Outcome
from relaybay.service import message_lists, messages
from tests.stateful.promises import MARKER, Step
from tests.stateful.scenery import BODIES, HOOKS, HOUR
from tests.stateful.waiting import Waiting


@dataclass
class Sent:
    """An accepted send, to be repeated."""

    caller: Caller
    arguments: dict[str, Any]
    mid: str
    at: int


class Calls(Waiting):
    """The part of the world that calls."""

    # -- callers -----------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """What a call may name: names nobody has yet, titles, refs, @names."""
        rows = self.seen.tables["session"]
        found = [f"S-{row['id']}" for row in rows[:4]]
        found += ["Alice", "Bob", 'Ada "A"\n'] + [row["title"] for row in rows]
        return found + [f"@{row['name']}" for row in rows if row["name"]]

    def named(self, n: int) -> str:
        names = self.names()
        return names[n % len(names)]

    def use_id(self, h: int, *, subagent: bool = False) -> str:
        """A live PreToolUse of a relaybay tool: its tool-use id."""
        self.uses += 1
        self.hook(
            "PreToolUse", h, tool_name="mcp__relaybay__x", tool_use_id=f"toolu_{self.uses}",
            agent_id="sub" if subagent else "",
        )  # fmt: skip
        return f"toolu_{self.uses}"

    def caller(
        self, name: str = "", *, claims: int | None = None, witness: int | None = None, title: str = ""
    ) -> Caller:
        return Caller(
            name, title, "" if claims is None else HOOKS[claims], "" if witness is None else self.use_id(witness)
        )

    def do(self, work: Callable[[Any], Outcome], *, of: Caller | None = None) -> Outcome:
        """One call in one transaction; all it says is looked at, and a refusal has to change nothing."""
        self.tick()
        if of is not None and of.tool_use_id:
            self.calls.append((work, self.now))
        return self._judged(self.store.write(work))

    def ask(self, work: Callable[[Any], Outcome]) -> Outcome:
        """One question in one snapshot, as the surfaces that only show something put it; nothing can change."""
        self.tick()
        return self._judged(self.store.read(work))

    def _judged(self, outcome: Outcome) -> Outcome:
        said = [json.dumps(outcome.data, ensure_ascii=False)]
        said += [word(answer, **values).text for answer, values in outcome.warnings]
        if outcome.refusal is not None:
            said.append(word_refusal(outcome.refusal).text)
        self._told(outcome)
        self.hold(Step(said=said, refusal=outcome.refusal))
        return outcome

    def _told(self, outcome: Outcome) -> None:
        """Bodies stand in lists as one literal; receipts promise a message."""
        for item in outcome.data.get("messages", ()) if outcome.ok else ():
            assert json.loads(item["body"]) == self.promises.told[item["message_id"]], "INV-2"

    # -- messages ----------------------------------------------------------------------------------------------

    @staticmethod
    def text(body: int) -> str:
        """A body by its number."""
        return BODIES[body % len(BODIES)]

    def send(self, caller: Caller, body: int = 0, **arguments: Any) -> Outcome:
        arguments["body"] = self.text(body)

        def work(tx: Any) -> Outcome:
            outcome = messages.send(tx, self.relay, caller, **arguments)
            if outcome.ok and "repeat" not in outcome.data:
                # Known before the promises are held: whoever is told `sent` finds it from then on (INV-1).
                self.promises.told[outcome.data["message_id"]] = arguments["body"]
            return outcome

        outcome = self.do(work, of=caller)
        if outcome.ok and "repeat" not in outcome.data:
            self.sent.append(Sent(caller, arguments, outcome.data["message_id"], self.now))
            self._verified(caller, outcome.data)
        return outcome

    def _verified(self, caller: Caller, data: dict[str, Any]) -> None:
        said = next(row for row in self.seen.tables["message"] if row["mid"] == data["message_id"])
        assert bool(said["sender_verified"]) == data["sender_verified"]
        if data["sender_verified"]:
            holder = self.seen.holder(said["sender_hook_id"])
            assert holder is not None and holder["id"] == said["sender_id"], "SEND-5: verified over no link"
            assert holder["link_state"] == "exact", "SEND-5: verified over a link that is not exact and live"
            assert said["sender_hook_id"] in self.promises.seen, "INV-8: an unseen id verified"
            assert caller.tool_use_id or caller.hook_session == said["sender_hook_id"]

    def repeat(self, which: int = -1, *, changed: bool = False) -> Outcome | None:
        """The same send again, with its request id or its tool-use id; or that id with other content."""
        kept = [
            one
            for one in self.sent
            if self.now - one.at < HOUR and (one.arguments.get("request_id") or one.caller.tool_use_id)
        ]
        if not kept:
            return None
        one = kept[which % len(kept)]
        arguments = {**one.arguments, **({"body": f"{MARKER} other"} if changed else {})}
        before = self.seen

        def work(tx: Any) -> Outcome:
            outcome = messages.send(tx, self.relay, one.caller, **arguments)
            if outcome.ok and "repeat" not in outcome.data:
                self.promises.told[outcome.data["message_id"]] = arguments["body"]
            return outcome

        outcome = self.do(work)
        if outcome.ok and "repeat" in outcome.data:
            assert outcome.data["message_id"] == one.mid, "SEND-16: another receipt"
            assert self.seen.tables == before.tables, "SEND-16: a repeat changed something"
        return outcome

    def repeat_call(self, which: int = -1) -> Outcome | None:
        """A call with a tool-use id again, within the hour: its first answer, and nothing changes (PROOF-6)."""
        calls = [work for work, at in self.calls if self.now - at < HOUR]
        if not calls:
            return None
        work = calls[which % len(calls)]
        before = self.seen
        outcome = self.do(work)
        assert self.seen.tables == before.tables, "PROOF-6: a repeated call changed something"
        return outcome

    def mids(self) -> list[str]:
        return [row["mid"] for row in self.seen.tables["message"]]

    def mid(self, n: int) -> str:
        mids = self.mids()
        return mids[n % len(mids)] if mids else "m_unknown"

    def ack(self, caller: Caller, mid: str = "") -> Outcome:
        return self.do(lambda tx: messages.acknowledge(tx, self.relay, caller, message_id=mid), of=caller)

    def list(self, caller: Caller, box: Any = "in") -> Outcome:
        outcome = self.do(lambda tx: message_lists.list_messages(tx, self.relay, caller, box=box))
        if outcome.ok and caller.owner:
            unread = sum(row["state"] in ("sent", "delivered") for row in self.seen.tables["delivery"])
            assert outcome.data["unread"] == unread, "INV-10"
        return outcome
