"""Clocks that do not do what clocks do, and the scenario of FLT-2 under them (FLT-5)."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from relaybay.domain import Outcome
from relaybay.service import comments, sessions, sweep
from relaybay.service.relay import Relay, open_relay
from relaybay.specs import limit
from tests.faults.actors import Caller, Send
from tests.faults.doors import NoAnswerError, ServiceDoor
from tests.faults.history import History, digest
from tests.faults.script import PROJECT, STEPS, Script

SECOND = 1_000_000
HOUR, DAY = 3_600 * SECOND, 86_400 * SECOND
TODAY = 1_796_000_000 * SECOND
YEAR_2038, YEAR_2106 = 2**31 * SECOND, 2**32 * SECOND
#: What no answer may say: something happened minus three days ago.
NEGATIVE_AGE = re.compile(r"-\d+ ?(?:s|min|h|d|ms|seconds?|minutes?|hours?|days?)\b")


class Clock:
    """Says `us`, and goes on by `tick_us` with every look; 0: it stands still."""

    def __init__(self, us: int, tick_us: int) -> None:
        self.us, self.tick_us = us, tick_us

    def __call__(self) -> int:
        self.us += self.tick_us
        return self.us


def still(clock: Clock, chance: random.Random) -> None:
    """Nothing happens to it."""


def days_ahead_and_back(clock: Clock, chance: random.Random) -> None:
    clock.us = TODAY + chance.choice([-3, 0, 0, 3]) * DAY + (clock.us - TODAY) % DAY


def an_hour_back(clock: Clock, chance: random.Random) -> None:
    clock.us -= HOUR if chance.random() < 0.2 else 0


def summer_and_winter(clock: Clock, chance: random.Random) -> None:
    """A machine whose clock runs on local time."""
    clock.us += chance.choice([-1, 0, 0, 1]) * HOUR


def stands_still(clock: Clock, chance: random.Random) -> None:
    clock.tick_us = 0


def back_to_1970(clock: Clock, chance: random.Random) -> None:
    """A machine without a battery, which hears the time from the network some while after its start."""
    clock.us = chance.choice([clock.us, 4 * SECOND, TODAY])


def before_1970(clock: Clock, chance: random.Random) -> None:
    clock.us = chance.choice([clock.us, -DAY, -1, 0, TODAY])


def over_2038(clock: Clock, chance: random.Random) -> None:
    clock.us = max(clock.us, chance.choice([YEAR_2038, YEAR_2106]) - 4 * SECOND)


def anything(clock: Clock, chance: random.Random) -> None:
    if chance.random() < 0.5:
        clock.us = chance.choice([-DAY, 4 * SECOND, TODAY, YEAR_2038, YEAR_2106]) + chance.randrange(-DAY, DAY)


#: The weather comes over the clock before every step. `tick_us` is how far it goes with each look in good times.
WEATHERS = [
    days_ahead_and_back, an_hour_back, summer_and_winter, stands_still, back_to_1970, before_1970, over_2038, anything,
]  # fmt: skip
#: Those under which nothing gets older than a week at once.
WITHIN_A_WEEK = (days_ahead_and_back, an_hour_back, summer_and_winter, stands_still)
TICK_US = 20_000


class WatchedDoor(ServiceDoor):
    """Keeps every word that was answered."""

    def __init__(self, relay: Relay) -> None:
        super().__init__(relay)
        self.said: list[str] = []

    def kept(self, answer: dict[str, Any]) -> dict[str, Any]:
        self.said.append(json.dumps(answer, ensure_ascii=False))
        return answer

    def hook(self, body: dict[str, Any], *, lost: bool = False) -> dict[str, Any]:
        return self.kept(super().hook(body, lost=lost))

    def tool(self, name: str, tool_use_id: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self.kept(super().tool(name, tool_use_id, arguments))


class Weathered:
    """One run under one weather."""

    def __init__(self, folder: Path, told: History, seed: int, number: int) -> None:
        self.chance = random.Random(seed)
        self.weather = WEATHERS[number % len(WEATHERS)]
        self.clock = Clock(TODAY, TICK_US)
        self.relay = open_relay(folder / "relaybay.db", self.clock)
        self.script = Script(self.relay, told, seed)
        self.door = WatchedDoor(self.relay)
        self.script.door = self.door
        for actor in (*self.script.sessions, self.script.owner, self.script.reader):
            actor.door = self.door

    def run(self) -> None:
        self.script.begin()
        self.steps()
        self.order_is_kept()
        self.window_opens_again()
        self.comment_comes()
        self.nothing_goes_round()
        self.ages_are_sane()
        self.script.owner.counts()
        self.relay.close()

    def steps(self) -> None:
        kinds = [kind for kind, times in STEPS.items() for _ in range(times)] + ["sweep"] * 3
        self.chance.shuffle(kinds)
        for kind in kinds:
            self.weather(self.clock, self.chance)
            with suppress(NoAnswerError):
                self.sweep() if kind == "sweep" else getattr(self.script, kind)()

    def sweep(self) -> None:
        """What the server's timers do."""
        self.relay.flush(self.relay.presence.due(self.clock()))
        sweep.end_orphaned_waits(self.relay)
        store = self.relay.store
        gone = store.read(sweep.gone_clients)
        store.write(lambda tx: sweep.end_gone(tx, self.relay, gone))
        store.write(lambda tx: sweep.end_silent(tx, self.relay, 24))
        if self.weather in WITHIN_A_WEEK:
            # A machine that was in 1970 forgets what it heard there as soon as it is told the time: ids of a spool that it
            # has applied, and that was not yet removed, would then be applied again. Known, and not held here.
            store.write(sweep.forget_old)

    def good_times(self, seconds: float) -> None:
        """The clock goes on from where it stands, as clocks do."""
        self.clock.tick_us = TICK_US
        self.clock.us += int(seconds * SECOND)

    # -- what has to follow ------------------------------------------------------------------------------------

    def order_is_kept(self) -> None:
        """Three messages, with the weather between them, come in the order in which they were taken."""
        reader = self.script.someone()
        reader.appears()
        sender = Caller(self.door, self.script.told, f"orderly {self.script.next_tag()}")
        sent = []
        for _ in range(3):
            tag = self.script.next_tag()
            sent.append(sender.sends(Send(reader.name, tag, 20, f"r-{tag}")))
            self.weather(self.clock, self.chance)
        assert all(sent), "a message was not taken"
        shown: list[str] = []
        for _ in range(8):
            shown += reader.hook("PostToolUse", tool_name="Bash", tool_use_id=self.script.next_tag())
        assert [mid for mid in shown if mid in sent] == sent, "the order is the clock's"

    def window_opens_again(self) -> None:
        """SEND-12 under a clock that goes back never keeps a sender out for longer than its window."""
        reader = self.script.someone()
        reader.appears()
        sender = Caller(self.door, self.script.told, f"busy {self.script.next_tag()}")

        def sends() -> bool:
            tag = self.script.next_tag()
            return sender.sends(Send(reader.name, tag, 20, f"r-{tag}")) is not None

        assert sends(), "the first of a sender is taken"
        for _ in range(limit("sends_per_window_max") + 1):
            sends()
        self.weather(self.clock, self.chance)
        self.good_times(limit("rate_window_seconds") + 1)
        assert sends(), "a sender is kept out for longer than the window"

    def comment_comes(self) -> None:
        """A comment from the board waits for its five seconds, and not for the clock to come back (CMT-3)."""
        session = self.script.someone()
        session.appears()
        number = self.script.told.invoke("task", "owner", title="late")
        task = self.door.owner("task", project=PROJECT, title="late")
        self.script.told.ok(number, task=task["key"])
        session.takes(task["key"])
        outcome: Outcome = self.relay.store.write(
            lambda tx: comments.owner_comment(tx, self.relay, task=task["key"], body="Look.", from_board=True)
        )
        cid = outcome.data["id"]
        note_comment(self.script.told, cid, "Look.")
        self.weather(self.clock, self.chance)
        self.good_times(limit("comment_grace_seconds") + 1)
        for _ in range(8):
            session.hook("PostToolUse", tool_name="Bash", tool_use_id=self.script.next_tag())
            if cid in self.door.said[-1]:
                return
        raise AssertionError("a comment was held back by the clock")

    def nothing_goes_round(self) -> None:
        """The timer that writes presence comes every second: without an event it has nothing to write but once."""
        self.weather(self.clock, self.chance)
        self.script.someone().hook("PostToolUse", tool_name="Bash", tool_use_id="x")
        writes = 0
        for _ in range(30):
            due = self.relay.presence.due(self.clock())
            writes += bool(due)
            self.relay.flush(due)
        assert writes <= 1, f"{writes} writes of one event"

    def ages_are_sane(self) -> None:
        """Every list of a session, under every weather: no age is negative, no time is missing."""
        for name, arguments in self.lists():
            self.weather(self.clock, self.chance)
            self.door.tool(name, "", arguments)
        listed = self.relay.store.read(lambda tx: sessions.list_sessions(tx, self.relay))
        self.door.said.append(json.dumps(listed.data, ensure_ascii=False))
        for words in self.door.said:
            found = NEGATIVE_AGE.search(words)
            assert found is None, words[max(0, found.start() - 200) : found.end() + 50]

    def lists(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for session in self.script.sessions:
            yield "messages_list", {"session": session.name}
            yield "messages_list", {"session": session.name, "box": "out"}
        for task in self.script.tasks:
            yield "comments_list", {"task": task}
            yield "task_get", {"task": task}


def note_comment(told: History, cid: str, text: str) -> None:
    """A comment that was made past the door."""
    told.ok(told.invoke("comment", "owner", sha256=digest(text)), comment_id=cid)
