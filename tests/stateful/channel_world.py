"""A whole relay with channels on: scripts, publications, the owner's reviews and controls, project files, automations."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from relaybay.domain import Caller, Outcome
from relaybay.service import (
    automation_ends,
    controls,
    history,
    publishing,
    reviews,
    scripts,
    session_controls,
    starts,
    steps,
    sweep,
    views_map,
)
from relaybay.settings import Messaging
from relaybay.store import messages as stored
from relaybay.store import sessions as stored_sessions
from tests.stateful.channel_promises import ChannelPromises
from tests.stateful.promises import MARKER, Step
from tests.stateful.scenery import BODIES, HOOKS
from tests.stateful.world import Machinery, World

ON = Messaging(channels=True)
NOT_THROUGH = ("held", "taken", "refused", "rate_limited", "rejected")
#: What lists and the log keep back besides: nobody remembers whether it had been held until it was dropped.
NOT_GIVEN = (*NOT_THROUGH, "dropped")
LONG = f"{MARKER} " + 'a "long" one \u202e ' * 900
"""More than one answer has room for: it goes out as a pointer (CH-4)."""
TEXTS = (*BODIES, LONG)


def text_of(body: int) -> str:
    """The first are the awkward ones; further numbers give each another text."""
    return TEXTS[body] if body < len(TEXTS) else f"{MARKER} note {body}"


PATTERNS = ("ci.*", "ci.fence", "deploys")
TOPICS = ("ci.fence", "ci.gate", "deploys")
FLOORS = ("", "accept", "auto", "hold", "refuse", "broken")


class ChannelWorld(World):
    """One world with channels. `n` and `key` choose among what there is; `h` is a number of `HOOKS`."""

    promises_class = ChannelPromises
    promises: ChannelPromises

    def __init__(self, machinery: Machinery) -> None:
        for name in ("shop", "farm"):
            folder = machinery.folder / "home" / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / ".relaybay.toml").unlink(missing_ok=True)
        if machinery.messaging != ON:
            machinery.messaging = ON
            machinery.reopen(kill=False)
        self.modes = ["default"] * len(HOOKS)
        self.tokens: list[tuple[str, str, str]] = []
        self.tickets = [""]
        self.notes = 0
        super().__init__(machinery)

    @property
    def folders(self) -> tuple[str, str]:
        home = self.machinery.folder / "home"
        return str(home / "shop"), str(home / "farm")

    @property
    def on(self) -> bool:
        return self.relay.messaging.channels

    def event(self, name: str, h: int, **more: Any) -> Any:
        more.setdefault("permission_mode", self.modes[h])
        return super().event(name, h, **more)

    def mode(self, h: int, mode: str) -> None:
        """The user switches the mode; the next event tells of it."""
        self.modes[h] = mode

    text = staticmethod(text_of)

    def mail(self, h: int, other: int, count: int = 1) -> None:
        """As the base, each with a text of its own: the same one again is no news (ADM-3)."""
        row = self.row_of(other)
        assert row is not None
        for _ in range(count):
            self.notes += 1
            self.send(self.caller("", witness=h), 1_000 + self.notes, to=f"S-{row['id']}")

    # -- what is sent ------------------------------------------------------------------------------------------

    def _sends(self, work: Callable[[Any], Outcome], body: str, *, of: Caller | None = None) -> Outcome:
        def told(tx: Any) -> Outcome:
            outcome = work(tx)
            if outcome.ok and "repeat" not in outcome.data:
                self.promises.told[outcome.data["message_id"]] = body
            return outcome

        # Without the switch nobody is asked who calls, so the call's id is not used up (PROOF-6).
        return self.do(told, of=of if self.on else None)

    def publish(
        self, caller: Caller, topic: str | None, body: int = 0, *, broadcast: bool = False, request_id: str = ""
    ) -> Outcome:
        text = text_of(body)
        given: dict[str, Any] = {"topic": topic, "broadcast": broadcast, "request_id": request_id, "body": text}
        return self._sends(lambda tx: publishing.publish(tx, self.relay, caller, **given), text, of=caller)

    def script_send(self, to: str, body: int = 0, *, label: str = "ci", request_id: str = "") -> Outcome:
        text = text_of(body)
        given: dict[str, Any] = {"label": label, "to": to, "body": text, "request_id": request_id}
        return self._sends(lambda tx: scripts.send(tx, self.relay, **given), text)

    def script_publish(
        self, topic: str | None, body: int = 0, *, label: str = "ci", broadcast: bool = False
    ) -> Outcome:
        text = text_of(body)
        given: dict[str, Any] = {"label": label, "topic": topic, "broadcast": broadcast, "body": text}
        return self._sends(lambda tx: publishing.publish_as_script(tx, self.relay, **given), text)

    # -- what is read ------------------------------------------------------------------------------------------

    def _told(self, outcome: Outcome) -> None:
        """CH-9: what did not get through is given to its proven sender alone, whichever list shows it."""
        for item in outcome.data.get("messages", ()) if outcome.ok else ():
            if item.get("withheld"):
                assert json.loads(item["body"]) == "" and item["state"] in NOT_GIVEN, "CH-9"
            else:
                assert json.loads(item["body"]) == self.promises.told[item["message_id"]], "INV-2"

    def list(self, caller: Caller, box: Any = "in") -> Outcome:
        outcome = super().list(caller, box)
        if not caller.owner and outcome.ok:
            for item in outcome.data["messages"]:
                if item["state"] in NOT_GIVEN and not item.get("withheld"):
                    assert self._proven_sender(caller, item["message_id"]), "CH-9: a text that did not get through"
        return outcome

    def _proven_sender(self, caller: Caller, mid: str) -> bool:
        hook_id = caller.hook_session or (self.relay.presence.witnessed(caller.tool_use_id, self.now) or "")
        row = self.seen.holder(hook_id)
        sent = next(one for one in self.seen.tables["message"] if one["mid"] == mid)
        # A session that is over and still calls by its own id is who it was.
        own = row is not None and row["id"] == sent["sender_id"]
        return own and row["link_state"] in ("exact", "ended_exact")

    def topic_read(self, caller: Caller, topic: str | None = None, *, broadcast: bool = False) -> Outcome:
        given: dict[str, Any] = {"topic": topic, "broadcast": broadcast}
        outcome = self.ask(lambda tx: history.topic_read(tx, self.relay, caller, **given))
        for item in outcome.data.get("messages", ()) if outcome.ok else ():
            sent = next(one for one in self.seen.tables["message"] if one["mid"] == item["message_id"])
            hook_id = caller.hook_session or (self.relay.presence.witnessed(caller.tool_use_id, self.now) or "")
            row = self.seen.holder(hook_id)
            proven = row is not None and row["link_state"] in ("exact", "ended_exact")
            assert proven, "CH-3: a name that nobody has proven reads a text"
            there = [
                one["state"]
                for one in self.seen.tables["delivery"]
                if one["message_id"] == sent["id"] and one["recipient_id"] == row["id"]
            ]
            assert sent["sender_id"] == row["id"] or not set(there) & set(NOT_THROUGH), "CH-9: read what was kept back"
        return outcome

    def peers(self, caller: Caller) -> Outcome:
        outcome = self.ask(lambda tx: history.sessions_list(tx, self.relay, caller))
        if outcome.ok:
            live = {f"S-{row['id']}" for row in self.seen.tables["session"] if row["link_state"] == "exact"}
            assert {one["ref"] for one in outcome.data["sessions"]} <= live
        return outcome

    def look_around(self) -> None:
        """What the owner looks at: held messages without texts, the log with them, the Map without any."""
        told = self.ask(lambda tx: reviews.held(tx, self.relay)).data
        waiting = [row for row in self.seen.tables["delivery"] if row["state"] == "held" and row["recipient_id"]]
        assert told["count"] == len(waiting), "INV-10"
        assert MARKER not in json.dumps(told), "INV-12: a list of held messages with a text"
        drawn = self.ask(lambda tx: views_map.map_page(tx, self.relay))
        assert MARKER not in json.dumps(drawn.data), "INV-12: a text on the Map"
        lines = self.store.read(lambda tx: history.log(tx, self.relay, count=50, texts=False)).data["messages"]
        states: dict[str, set[str]] = {}
        for row in self.seen.tables["delivery"]:
            states.setdefault(self.seen.messages[row["message_id"]]["mid"], set()).add(row["state"])
        for line in lines:
            hidden = bool(states.get(line["message_id"], set()) & set(NOT_GIVEN))
            assert hidden == line.get("withheld", False), "CH-9"
            assert hidden or line["body"] == self.promises.told[line["message_id"]], "INV-2"

    # -- the owner's controls ----------------------------------------------------------------------------------

    def policy(self, ref: str, wanted: str) -> Outcome:
        given: dict[str, Any] = {"session": ref, "wanted": wanted, "confirmed": True}
        return self.do(lambda tx: session_controls.set_policy(tx, self.relay, **given))

    def subscribe(self, ref: str, *add: str, remove: tuple[str, ...] = ()) -> Outcome:
        given: dict[str, Any] = {"session": ref, "add": add, "remove": remove}
        return self.do(lambda tx: session_controls.subscribe(tx, self.relay, **given))

    def broadcasts(self, ref: str, *, on: bool = True) -> Outcome:
        return self.do(lambda tx: session_controls.set_broadcasts(tx, self.relay, session=ref, on=on))

    def choose_name(self, ref: str, name: str) -> Outcome:
        return self.do(lambda tx: session_controls.choose_name(tx, self.relay, session=ref, name=name))

    def reserve(self, name: str = "", *patterns: str, broadcasts: bool = False) -> Outcome:
        """`relaybay run` asks for a ticket; the next start may bring it."""
        given: dict[str, Any] = {"name": name, "patterns": patterns, "broadcasts": broadcasts}
        outcome = self.do(lambda tx: starts.reserve(tx, self.relay, **given))
        if outcome.ok:
            self.tickets.append(outcome.data["ticket"])
        return outcome

    def floor(self, which: int, value: str) -> None:
        """Somebody writes, or removes, a project's file; nobody looks yet."""
        folder = self.folders[which % 2]
        path = self.machinery.folder / "home" / ("shop", "farm")[which % 2] / ".relaybay.toml"
        path.unlink(missing_ok=True)
        if value:
            path.write_text(
                "what = [" if value == "broken" else f'[messaging]\ninbound = "{value}"\n', encoding="utf-8"
            )
        self.promises.floors[folder] = value

    def look_at_controls(self) -> None:
        """The timer's look for files that changed, and its end of sessions that a /clear could have followed."""
        self.tick()
        if self.on:
            self.store.write(lambda tx: controls.look_at_all(tx, self.relay))
            self.store.write(lambda tx: sweep.drop_published(tx, self.relay))
        self.hold(Step())

    # -- the owner's reviews -----------------------------------------------------------------------------------

    def deliveries(self, *states: str) -> list[dict[str, Any]]:
        rows = [row for row in self.seen.tables["delivery"] if not states or row["state"] in states]
        return sorted(rows, key=lambda row: row["id"])

    def where(self, key: int) -> tuple[str, str]:
        """A delivery's message id and, while there is one, its row's ref."""
        row = self.seen.deliveries[key]
        return self.seen.messages[row["message_id"]]["mid"], f"S-{row['recipient_id']}" if row["recipient_id"] else ""

    def review(self, key: int) -> str:
        """Opens the review of one delivery; its token, or nothing."""
        mid, ref = self.where(key)
        outcome = self.do(lambda tx: reviews.open_review(tx, self.relay, message_id=mid, session=ref))
        if not outcome.ok:
            return ""
        said = outcome.data
        assert json.loads(said["body"]) == self.promises.told[mid], "OWN-3: a review of another text"
        self.tokens.append((mid, ref, said["token"]))
        return str(said["token"])

    def decide(self, event: str, key: int, token: str) -> Outcome:
        mid, ref = self.where(key)
        before = self.seen.deliveries[key]
        decision = reviews.approve if event == "approve" else reviews.reject
        outcome = self.do(lambda tx: decision(tx, self.relay, message_id=mid, token=token, session=ref))
        if outcome.ok:
            assert before["state"] == "held" and before["review_token"] == token != "", (
                "REV-4: decided without its token"
            )
            assert self.seen.deliveries[key]["state"] == ("sent" if event == "approve" else "rejected")
        return outcome

    def approve(self, key: int) -> Outcome:
        return self.decide("approve", key, self.review(key))

    def reject(self, key: int) -> Outcome:
        return self.decide("reject", key, self.review(key))

    def decide_late(self, event: str, which: int) -> None:
        """With a token that was given some time ago, whatever happened since."""
        if self.tokens:
            mid, ref, token = self.tokens[which % len(self.tokens)]
            decision = reviews.approve if event == "approve" else reviews.reject
            self.do(lambda tx: decision(tx, self.relay, message_id=mid, token=token, session=ref))

    # -- automations: what their service puts to a delivery ----------------------------------------------------

    def _automation(self, event: str, key: int) -> None:
        def write(tx: Any) -> None:
            mail = stored.by_key(tx, key)
            assert mail is not None
            row = stored_sessions.get(tx, mail.recipient_id)
            if row is not None:
                row = controls.look(tx, self.relay, self.relay.presence.write_back(tx, row))
                mail = stored.by_key(tx, key)
                assert mail is not None
            deliver, reason = controls.judged(self.relay, mail, row)
            if event == "take" and mail.state == "sent":
                facts = {"rule_matches": True, "taken_before": bool(mail.taken_by)}
                steps.delivery(tx, mail, "take", facts, taken_by="nightly")
            elif event == "keep":
                steps.delivery(tx, mail, "keep", reason="consumed")
            elif event == "give_back" and mail.state == "taken":
                steps.delivery(tx, mail, "give_back", {"judged_deliver": deliver}, reason=reason)

        self.tick()
        if self.on:
            self.store.write(write)
        self.hold(Step())

    def take(self, key: int) -> None:
        """A rule takes what waits."""
        self._automation("take", key)

    def keep(self, key: int) -> None:
        """Its run came through, whatever became of the delivery meanwhile."""
        self._automation("keep", key)

    def give_back(self, key: int) -> None:
        """Its run failed."""
        self._automation("give_back", key)

    # -- the server --------------------------------------------------------------------------------------------

    def restart(self, *, kill: bool = False, messaging: Messaging | None = None) -> None:
        """As the base, and what a start does before anybody is served: controls are looked at, and what automations had
        goes back (DLV-37).
        """
        if messaging is not None:
            self.machinery.messaging = messaging
        self.machinery.reopen(kill=kill)
        self.given.clear()
        self.begin_waiting()
        if self.on:
            self.store.write(lambda tx: controls.look_at_all(tx, self.relay, anew=True))
            self.store.write(lambda tx: automation_ends.at_start(tx, self.relay))
        self.hold(Step())
