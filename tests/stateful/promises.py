"""What must hold after every step (specs/invariants.toml), judged on two snapshots, what was said, and a small model.

The model keeps what the store does not: whom a message was promised, which hook ids a live event has shown, and how many
Stop blocks really reached a client.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from relaybay.domain import HookEvent, Refusal
from relaybay.service.handover import HandOver
from relaybay.service.relay import Relay
from tests.stateful.snapshot import Snapshot

#: Stands in every body and in nothing else (INV-12).
MARKER = "zq-private"
_BODY = re.compile(r"^body( begins)?: (.*)$", re.MULTILINE)
_OPEN = ("sent", "delivered")
#: Where a mark that is taken back leads.
_BACK = ("sent", "held", "dropped")
CLOSED = ("refused", "rate_limited", "rejected", "dropped", "consumed")
_LIMIT = {"message": 1, "comment": 2}
_REOFFERS = 2
_NEW = {"state": "sent", "handover_id": "", "read_how": "", "reoffers": 0, "in_context_us": 0, "reason_code": ""}


@dataclass
class Turn:
    """One client session's turn as seen from outside: how many blocks it met since it began."""

    number: int = 0
    blocks: int = 0
    prompt_id: str = ""

    def begin(self, prompt_id: str) -> None:
        self.number, self.blocks, self.prompt_id = self.number + 1, 0, prompt_id


@dataclass
class Given:
    """A hand-over that went to a client, and the turn in which it did."""

    done: HandOver
    turn: int


@dataclass
class Step:
    """What one step said and handed over, and what it was refused for. `looked`: it looked into transcripts."""

    said: list[str] = field(default_factory=list)
    handed: list[HandOver] = field(default_factory=list)
    undone: list[HandOver] = field(default_factory=list)
    refusal: Refusal | None = None
    own_id: str = ""
    several: bool = False
    looked: bool = False


class Promises:
    """The model, and the checks."""

    #: Links over which a row may go by a name.
    named: tuple[str, ...] = ("exact",)

    def __init__(self, before: Snapshot) -> None:
        self.before = before
        self.told: dict[str, str] = {}
        self.seen: set[str] = set()
        self.shown: Counter[tuple[str, int]] = Counter()
        self.turns: dict[str, Turn] = {}
        # (hook id, public id) of what a client's transcript shows its model.
        self.transcribed: set[tuple[str, str]] = set()
        # A text that no row ever held is a name that somebody mistyped, and refusals repeat it.
        self.known: set[str | None] = set()
        self.relay: Relay | None = None

    # -- the model ---------------------------------------------------------------------------------------------

    def turn(self, hook_id: str) -> Turn:
        return self.turns.setdefault(hook_id, Turn())

    def live(self, event: HookEvent) -> None:
        """A live event came. Called before its answer is judged."""
        if event.agent_id:
            return
        if event.name != "SessionEnd":
            # An end shows nobody alive; a late one changes no link at all (HL-12 comes before HL-8).
            self.seen.add(event.hook_id)
        turn = self.turn(event.hook_id)
        inside = event.prompt_kind == "machine" and event.prompt_id and event.prompt_id == turn.prompt_id
        if event.name == "UserPromptSubmit" and not inside:
            turn.begin(event.prompt_id)

    def handed(self, done: HandOver) -> Given:
        """An answer went to the client. At a Stop it keeps the turn open."""
        turn = self.turn(done.hook_id)
        if done.at == "stop":
            turn.blocks += 1
            assert turn.blocks <= 2, "INV-5: a third Stop block in one turn"
            for item in done.items:
                self.shown[item] += 1
                assert self.shown[item] <= _LIMIT[item[0]], f"INV-5: one Stop block too many for {item}"
        return Given(done, turn.number)

    def allowed(self, event: HookEvent) -> None:
        """A live Stop of the session itself was allowed: the turn is over."""
        if event.name == "Stop" and not event.agent_id and not event.replayed:
            turn = self.turn(event.hook_id)
            turn.blocks = 0
            turn.number += 1

    def not_written(self, given: Given) -> None:
        """It did not reach the client after all."""
        done, turn = given.done, self.turn(given.done.hook_id)
        if done.at != "stop":
            return
        if turn.number == given.turn:
            turn.blocks = max(turn.blocks - 1, 0)
        for item in done.items:
            self.shown[item] -= 1

    # -- the checks --------------------------------------------------------------------------------------------

    def hold(self, after: Snapshot, relay: Relay, step: Step, hook_ids: tuple[str, ...]) -> None:
        """Everything, after one step; `after` is then what the next step starts from."""
        self.relay = relay
        self._refusals(after, step)
        self._nothing_lost(after)
        self.known |= {row["hook_id"] for row in after.tables["session"]} | {
            row["hook_id"] for row in after.tables["hook_fate"]
        }
        self._outputs(step, hook_ids)
        self._hand_overs(after, step)
        self._deliveries(after, step)
        self._comments(after, step)
        self._links(after)
        self._memory(after, relay)
        self._feed(after, hook_ids)
        self.before = after

    def _refusals(self, after: Snapshot, step: Step) -> None:
        if step.refusal is None:
            return
        for name, rows in after.tables.items():
            assert rows == self.before.tables[name], f"INV-7: {step.refusal.spec_id} refused, and {name} changed"
        if step.refusal.spec_id != "SEND-13":
            assert after.inbox == self.before.inbox, f"INV-7: {step.refusal.spec_id} refused, and the Inbox changed"

    def _nothing_lost(self, after: Snapshot) -> None:
        stored = {row["mid"]: row for row in after.tables["message"]}
        assert set(self.told) == set(stored), "INV-1: told and stored messages differ"
        delivered = Counter(row["message_id"] for row in after.tables["delivery"])
        for mid, body in self.told.items():
            assert stored[mid]["body"] == body, f"INV-1: {mid} has another body"
            count = delivered[stored[mid]["id"]]
            assert count == 1 or stored[mid]["audience"] != "direct", f"INV-1: {mid} has {count} deliveries"
        for row in after.tables["delivery"]:
            gone = row["recipient_id"] is None
            over = row["state"] in ("orphaned", "read", *CLOSED)
            assert not gone or over, "INV-1: an open delivery has no recipient"
            assert (row["state"] != "orphaned") or gone

    def _outputs(self, step: Step, hook_ids: tuple[str, ...]) -> None:
        for text in step.said:
            for hook_id in self.known.intersection(hook_ids):
                assert hook_id not in text or hook_id == step.own_id, f"INV-3: {hook_id} in {text!r}"

    def _hand_overs(self, after: Snapshot, step: Step) -> None:
        taken: set[tuple[str, int]] = set()
        for done in step.handed:
            assert done.hook_id in self.seen, "INV-4: handed to an id that no live event has shown"
            was, row = self.before.holder(done.hook_id), after.holder(done.hook_id)
            links = ("exact", "ended_exact") if step.several else ("exact",)
            assert row is not None and row["link_state"] in links, "INV-4: handed over a link that is not exact"
            assert row["id"] == done.session_id
            assert len(done.text.encode("utf-16-le")) // 2 <= 8_000, "PACK-1"
            assert sum(kind == "message" for kind, _ in done.items) <= 4, "PACK-4"
            kinds = [kind for kind, _ in done.items]
            assert kinds == sorted(kinds), "PACK-2: a message stands before a comment"
            assert done.at == "stop" or not taken.intersection(done.items), "PACK-5: one item went out twice at once"
            taken.update(done.items)
            found = [(json.loads(text), bool(begins)) for begins, text in _BODY.findall(done.text)]
            assert len(found) == len(done.items), "INV-2"
            for (text, begins), item in zip(found, done.items, strict=True):
                self._shows(self._body(after, item), text, begins=begins)
            assert done.text.count(MARKER) == sum(text.count(MARKER) for text, _ in found), "INV-2: a body twice"
            for item in done.items:
                self._may_go(after, step, done, item, (row["id"], was and was["id"]))

    def _shows(self, body: str, text: str, *, begins: bool) -> None:
        assert text == body and not begins, "INV-2"

    def _may_go(
        self, after: Snapshot, step: Step, done: HandOver, item: tuple[str, int], rows: tuple[int, int | None]
    ) -> None:
        """One item of an answer: it is this session's, and nothing that this event does not bring."""
        assert self._whose(self.before, item) in rows, "another session's mail"
        if done.at == "wake":
            assert self._state(self.before, item) == "sent", "INV-9: a delivered item woke"
        elif done.at != "stop":
            assert self._state(self.before, item) == "sent", "ANS-2, ANS-3: only what is sent goes out here"

    @staticmethod
    def _row(snapshot: Snapshot, item: tuple[str, int]) -> dict[str, Any]:
        return snapshot.deliveries[item[1]] if item[0] == "message" else snapshot.owner_comments[item[1]]

    def _body(self, snapshot: Snapshot, item: tuple[str, int]) -> str:
        row = self._row(snapshot, item)
        return str(snapshot.messages[row["message_id"]]["body"] if item[0] == "message" else row["body_md"])

    def _state(self, snapshot: Snapshot, item: tuple[str, int]) -> str:
        return str(self._row(snapshot, item)["state"])

    def _whose(self, snapshot: Snapshot, item: tuple[str, int]) -> int | None:
        row = self._row(snapshot, item)
        return row["recipient_id"] if item[0] == "message" else snapshot.bound[row["task_id"]]

    def _deliveries(self, after: Snapshot, step: Step) -> None:
        old = self.before.deliveries
        for key, row in after.deliveries.items():
            was = old.get(key, {**_NEW, "recipient_id": None})
            self._one(after, step, ("message", key), was, row)
            if was["state"] == "read":
                behind = row["recipient_id"] is None and row["reason_code"] == "duplicate"
                same = (row["state"], row["read_how"]) == ("read", was["read_how"])
                assert same or behind, "DLV-7: the first mark stays, unless another delivery takes its place (DLV-55)"
            if was["state"] == "orphaned":
                assert row["state"] == "orphaned", "DLV-9"
            if row["state"] == "orphaned" and was["state"] != "orphaned":
                assert was["recipient_id"] not in after.sessions, "DLV-8: orphaned while its row is there"

    def _comments(self, after: Snapshot, step: Step) -> None:
        old = self.before.owner_comments
        for key, row in after.owner_comments.items():
            was = old.get(key, {**_NEW, "delivered_to": None})
            self._one(after, step, ("comment", key), was, row)
            if was["state"] == "read":
                assert (row["state"], row["read_how"]) == ("read", was["read_how"]), "CMT-9: the first mark stays"
            if row["state"] == "delivered":
                assert row["delivered_to"] == after.bound[row["task_id"]], "CMT-5: delivered to one not bound"
        for key, was in old.items():
            assert key in after.owner_comments or was["state"] == "sent", "CMT-12: a comment went after its time"

    def _one(
        self, after: Snapshot, step: Step, item: tuple[str, int], was: dict[str, Any], row: dict[str, Any]
    ) -> None:
        """One item's way from one state to another, and that somebody may have moved it so."""
        if row["state"] == "delivered" and (was["state"] != "delivered" or was["handover_id"] != row["handover_id"]):
            made = [done for done in step.handed if done.id == row["handover_id"] and item in done.items]
            assert len(made) == 1, f"INV-4: {item} says delivered and no answer handed it over"
            assert row["delivered_hook_id"] == made[0].hook_id
        if row["state"] in _BACK and was["state"] == "delivered":
            undone = any(done.id == was["handover_id"] for done in step.undone)
            reader = row["recipient_id"] if item[0] == "message" else after.bound[row["task_id"]]
            session = after.sessions.get(reader) if reader is not None else None
            other = session is None or session["hook_id"] != was["delivered_hook_id"]
            missed = self._missed(step, item, was, row)
            assert undone or other or missed, f"{item} waits again though it is its session and its answer was written"
        if row["state"] in _OPEN:
            assert self.shown[item] <= row["stop_blocks"] <= _LIMIT[item[0]], f"INV-5: {item} counts its blocks wrong"

        self._context(after, step, item, was, row)

    def _context(
        self, after: Snapshot, step: Step, item: tuple[str, int], was: dict[str, Any], row: dict[str, Any]
    ) -> None:
        """CTX: what is marked stands in a transcript, and what is said to be missing does not."""
        missed = self._missed(step, item, was, row)
        assert row["reoffers"] == was["reoffers"] + missed <= _REOFFERS, f"CTX-2: {item} was offered again too often"
        shown = (was.get("delivered_hook_id", ""), self._public_id(after, item)) in self.transcribed
        if missed or (row["reason_code"] == "not_in_context" != was["reason_code"]):
            assert not shown, f"CTX-2: {item} stands in the transcript and counts as missing"
        if row["reason_code"] == "not_in_context":
            assert row["state"] == "delivered" and row["reoffers"] == _REOFFERS, "CTX-2: given up before its time"
            assert not row["in_context_us"], "CTX-1: seen, and said to be missing"
        if row["in_context_us"] and not was["in_context_us"]:
            assert step.looked and shown, f"CTX-1: {item} counts as seen and stands in no transcript"
            assert row["state"] == "delivered"
        if was["in_context_us"] and row["state"] == was["state"]:
            assert row["in_context_us"] == was["in_context_us"], "CTX-1: the mark stays, once"
        assert not (row["in_context_us"] and row["state"] == "sent"), "CTX-1: in a context, and waits to be handed over"

    @staticmethod
    def _missed(step: Step, item: tuple[str, int], was: dict[str, Any], row: dict[str, Any]) -> bool:
        """Whether this step found out that the item never reached a context (CTX-2)."""
        return step.looked and row["state"] in _BACK and was["state"] == "delivered" and not was["in_context_us"]

    @staticmethod
    def _public_id(snapshot: Snapshot, item: tuple[str, int]) -> str:
        if item[0] == "comment":
            return str(snapshot.owner_comments[item[1]]["cid"])
        return str(snapshot.messages[snapshot.deliveries[item[1]]["message_id"]]["mid"])

    def _links(self, after: Snapshot) -> None:
        held = [row["hook_id"] for row in after.tables["session"] if row["hook_id"]]
        assert len(held) == len(set(held)), "INV-11"
        before = {row["hook_id"]: row for row in self.before.tables["session"] if row["hook_id"]}
        for row in after.tables["session"]:
            link, hook_id = row["link_state"], row["hook_id"]
            if link.endswith("_unseen"):
                was = before.get(hook_id)
                if was is None or was["id"] != row["id"] or not was["link_state"].endswith("_unseen"):
                    self.seen.discard(hook_id)  # It waits for its first live event on this row.
                assert hook_id not in self.seen, f"HL-8: {hook_id} is unseen though a live event has shown it"
                assert row["activity"] in ("unknown", "ended")
            if link in ("exact", "guessed"):
                assert hook_id in self.seen, f"INV-8: {hook_id} is live though no live event has shown it"
            assert link != "ended_guessed" or row["kind"] == "hook", "HL-11 drops a folder guess"
            assert row["name"] is None or link in self.named, "a name outlives its link"
            assert (link == "exact") <= (row["name"] is not None), "an exact, live row has no name"
            assert row["moved_to"] is None or link == "moved"

    def _memory(self, after: Snapshot, relay: Relay) -> None:
        counts: Counter[tuple[int, str]] = Counter()
        for row in after.tables["delivery"]:
            counts[row["recipient_id"], self._counted_as(after, row)] += 1
        for row in after.owner_comments.values():
            counts[after.bound[row["task_id"]], f"comments_{row['state']}"] += 1
        for row in after.tables["session"]:
            found = relay.mailbox.of(row["id"])
            for name in ("comments_sent", "messages_sent", "comments_delivered", "messages_delivered", "passive"):
                assert getattr(found, name) == counts[row["id"], name], f"INV-10: S-{row['id']} {name}"
            live = relay.presence.by_row(row["id"])
            assert live is not None and live.row.hook_id == row["hook_id"], "presence is behind the store"
            assert live.row.link_state == row["link_state"], "presence is behind the store"
            if row["hook_id"]:
                assert relay.presence.by_hook(row["hook_id"]) is live, "INV-11: presence has the id elsewhere"

    def _counted_as(self, after: Snapshot, row: dict[str, Any]) -> str:
        """As what a delivery stands in the index of who has anything waiting."""
        return f"messages_{row['state']}"

    def _feed(self, after: Snapshot, hook_ids: tuple[str, ...]) -> None:
        known = len(self.before.tables["event"])
        for row in after.tables["event"][known:]:
            assert MARKER not in row["data"], f"INV-12: a text in {row['type']}"
            for hook_id in self.known.intersection(hook_ids):
                assert hook_id not in row["data"], f"INV-3: a hook id in {row['type']}"
