"""What must hold beyond the base with channels on (specs/invariants.toml), and what must not move with them off.

POLICY and COHORT are judged here once more, by other means, on what the world itself knows: the files it wrote, the
modes that clients told, and the values that stand with a message.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

from relaybay.domain import HookEvent
from relaybay.service.handover import HandOver
from relaybay.service.relay import Relay
from relaybay.specs import limit
from tests.stateful.promises import CLOSED, Given, Promises, Step
from tests.stateful.snapshot import Snapshot

STRICTNESS = ("accept", "auto", "hold", "refuse")
WAITING = ("sent", "held", "taken")
#: What only channels know of a delivery; a merge or a row that goes may touch the rest.
_KEPT = (
    "state",
    "reason_code",
    "passive",
    "approved_epoch",
    "review_state",
    "review_token",
    "taken_by",
    "delivered_us",
)
_KEPT_OF_ROW = ("inbound", "broadcasts", "suppressed", "epoch", "controls")
_KINDS = (
    "message.held",
    "message.released",
    "message.rejected",
    "message.dropped",
    "message.taken",
    "message.consumed",
)


class ChannelPromises(Promises):
    """The model and the checks of a world with channels. `floors` are the projects' files as the world wrote them."""

    named = ("exact", "guessed")

    def __init__(self, before: Snapshot) -> None:
        super().__init__(before)
        self.floors: dict[str, str] = {}
        # hook id → the turn whose prompt came last, and what only rides along and was left by its answer.
        self.riders: dict[str, tuple[int, set[int]]] = {}
        self.prompted: list[str] = []

    @property
    def on(self) -> bool:
        assert self.relay is not None
        return self.relay.messaging.channels

    # -- the model ---------------------------------------------------------------------------------------------

    def handed(self, done: HandOver) -> Given:
        given = super().handed(done)
        if done.at == "prompt":
            self._prompted(done.hook_id)
        return given

    def allowed(self, event: HookEvent) -> None:
        super().allowed(event)
        if event.name == "UserPromptSubmit" and not event.replayed:
            self._prompted(event.hook_id)

    def _prompted(self, hook_id: str) -> None:
        self.prompted.append(hook_id)

    # -- what is handed over -----------------------------------------------------------------------------------

    def _shows(self, body: str, text: str, *, begins: bool) -> None:
        if begins:
            assert text and body.startswith(text) and self.on, "CH-4: a beginning that is none"
            return
        super()._shows(body, text, begins=False)

    def _may_go(
        self, after: Snapshot, step: Step, done: HandOver, item: tuple[str, int], rows: tuple[int, int | None]
    ) -> None:
        if item[0] == "comment":
            super()._may_go(after, step, done, item, rows)
            return
        was, now = self.before.deliveries.get(item[1]), after.deliveries[item[1]]
        assert now["state"] == "delivered" or step.several, f"INV-13: what is {now['state']} stands in a hook answer"
        assert (was or now)["recipient_id"] in rows, "another session's mail"
        if was is not None and was["state"] == "delivered":
            assert done.at == "stop", "ANS-2, ANS-3, INV-9: what was delivered goes out at a Stop alone"
            return
        # An event may change the controls, or catch up, before it hands over what that lets through.
        message, row = after.messages[now["message_id"]], after.sessions[now["recipient_id"]]
        if not self.on:
            assert was is not None and was["state"] == "sent" and message["audience"] == "direct", "INV-20"
            return
        if not step.several:
            assert self.delivers(row, message, now), f"INV-14: {message['mid']} goes out at {done.at} against POLICY"
        if now["passive"]:
            self._rides(done, item[1], several=step.several)

    def _rides(self, done: HandOver, key: int, *, several: bool) -> None:
        assert done.at in ("prompt", "tool"), f"INV-18: what only rides along went out at {done.at}"
        if done.at == "tool" and not several:
            turn, riders = self.riders.get(done.hook_id, (-1, set()))
            assert turn == self.turn(done.hook_id).number and key in riders, (
                "INV-18: it rides with no prompt of this turn"
            )

    def delivers(self, row: dict[str, Any], message: dict[str, Any], delivery: dict[str, Any]) -> bool:
        """POLICY for one message that is in, at its row as it is now."""
        if row["suppressed"]:
            return False
        if delivery["approved_epoch"] == row["epoch"]:
            return True
        policy = self.policy(row)
        return policy == "accept" or (policy == "auto" and self._cohort(row, message))

    def policy(self, row: dict[str, Any]) -> str:
        """The row's effective policy: its own or the default, and no laxer than its project's floor."""
        assert self.relay is not None
        floor = {"": "accept", "broken": "hold"}.get(self.floors.get(row["cwd"], ""), self.floors.get(row["cwd"], ""))
        return max(row["inbound"] or self.relay.messaging.inbound, floor, key=STRICTNESS.index)

    def _cohort(self, row: dict[str, Any], message: dict[str, Any]) -> bool:
        if message["sender_kind"] != "session" or not message["sender_verified"]:
            return False
        folder = os.path.realpath(row["cwd"]) if row["cwd"] else ""
        mode = self.mode(row)
        return (
            folder == message["sender_folder"] != "" and mode == message["sender_mode"] and mode in ("default", "plan")
        )

    def mode(self, row: dict[str, Any]) -> str:
        """The permission mode that the row's client told last."""
        assert self.relay is not None
        live = self.relay.presence.by_row(row["id"])
        return str(live.permission_mode if live is not None else row["permission_mode"])

    # -- after every step --------------------------------------------------------------------------------------

    def hold(self, after: Snapshot, relay: Relay, step: Step, hook_ids: tuple[str, ...]) -> None:
        before = self.before
        super().hold(after, relay, step, hook_ids)
        self._once_each(after)
        if not relay.messaging.channels:
            self._still(before, after)
            return
        self._rooms(before, after)
        self._judged(after)
        self._riding(after)

    def _once_each(self, after: Snapshot) -> None:
        there = Counter(
            (row["message_id"], row["recipient_id"]) for row in after.tables["delivery"] if row["recipient_id"]
        )
        assert not [pair for pair, count in there.items() if count > 1], "INV-19: a recipient has a message twice"
        names = [row["name"] for row in after.tables["session"] if row["name"]]
        assert len(names) == len(set(names)), "INV-16: two live rows go by one name"
        for row in after.tables["delivery"]:
            message = after.messages[row["message_id"]]
            if message["audience"] != "direct" and row["recipient_id"] == message["sender_id"] is not None:
                open_ = row["state"] in (*WAITING, "delivered")
                assert not open_, f"INV-17: a publication is {row['state']} at the session that sent it"

    def _rooms(self, before: Snapshot, after: Snapshot) -> None:
        """ADM-6, 7: where something was let in by this step, and nothing came by a merge."""
        old, came, merged = before.deliveries, set(), set()
        for key, row in after.deliveries.items():
            was = old.get(key)
            if was is not None and was["recipient_id"] != row["recipient_id"]:
                merged.add(row["recipient_id"])
            elif row["state"] in ("sent", "held") and (was is None or was["state"] in CLOSED):
                came.add(row["recipient_id"])
        for key in came - merged:
            here = [row for row in after.tables["delivery"] if row["recipient_id"] == key and row["state"] in WAITING]
            size = sum(len(after.messages[row["message_id"]]["body"].encode()) for row in here)
            assert len(here) <= limit("inbox_deliveries_max"), f"INV-15: {len(here)} wait for S-{key}"
            assert size <= limit("inbox_bytes_max"), f"INV-15: {size} bytes wait for S-{key}"

    def _judged(self, after: Snapshot) -> None:
        """What waits is as POLICY judges it, wherever the row's controls are what they were when it was judged last."""
        for row in after.tables["delivery"]:
            if row["state"] not in ("sent", "held") or row["recipient_id"] is None:
                continue
            session = after.sessions[row["recipient_id"]]
            if not session["controls"] or session["controls"] != self._controls(session):
                continue
            wanted = "sent" if self.delivers(session, after.messages[row["message_id"]], row) else "held"
            assert row["state"] == wanted, f"INV-14: {row} is not {wanted} at {session}"
            assert (row["state"] == "held") == bool(row["reason_code"]), (
                "a hold without its reason, or a reason without one"
            )

    def _controls(self, row: dict[str, Any]) -> str:
        """As the store keeps them."""
        assert self.relay is not None
        folder = os.path.realpath(row["cwd"]) if row["cwd"] else ""
        floor = self.floors.get(row["cwd"], "")
        said = "hold" if floor == "broken" else floor
        return json.dumps([self.mode(row), folder, self.relay.messaging.inbound, said, floor == "broken"])

    def _riding(self, after: Snapshot) -> None:
        """What a prompt had no room for of what only rides along: it goes with this turn's tool events."""
        for hook_id in self.prompted:
            row = after.holder(hook_id)
            left = {
                one["id"]
                for one in after.tables["delivery"]
                if row is not None and one["recipient_id"] == row["id"] and one["passive"] and one["state"] == "sent"
            }
            self.riders[hook_id] = (self.turn(hook_id).number, left)
        self.prompted.clear()

    def _still(self, before: Snapshot, after: Snapshot) -> None:
        """With the switch off: what only channels know neither moves nor is lost."""
        for key, was in before.deliveries.items():
            row, published = after.deliveries[key], after.messages[was["message_id"]]["audience"] != "direct"
            kept = was["state"] in ("held", "taken", *CLOSED) or (published and was["state"] == "sent")
            # Rows that go or merge, and marks that a reader sets, are the base's business.
            moved = row["recipient_id"] is None or row["recipient_id"] != was["recipient_id"]
            if (
                not kept
                or moved
                or (row["state"] == "read" and was["state"] == "sent")
                or row["read_how"] == "own_message"
            ):
                continue
            assert [row[name] for name in _KEPT] == [was[name] for name in _KEPT], f"INV-20: {was} became {row}"
        rows = before.sessions
        for row in after.tables["session"]:
            was = rows.get(row["id"])
            if was is not None and len(rows) == len(after.sessions):
                kept = [row[name] for name in _KEPT_OF_ROW] == [was[name] for name in _KEPT_OF_ROW]
                assert kept, f"INV-20: the controls of S-{row['id']} changed with channels off"
        for event in after.tables["event"][len(before.tables["event"]) :]:
            gone = json.loads(event["data"]).get("reason") == "row_gone"
            assert event["type"] not in _KINDS or gone, f"INV-20: {event['type']} with channels off"

    # -- counts ------------------------------------------------------------------------------------------------

    def _counted_as(self, after: Snapshot, row: dict[str, Any]) -> str:
        if not self.on:
            direct = after.messages[row["message_id"]]["audience"] == "direct"
            return f"messages_{row['state']}" if direct else "elsewhere"
        if row["passive"]:
            return "passive" if row["state"] == "sent" else "elsewhere"
        return f"messages_{row['state']}"
