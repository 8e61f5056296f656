"""The parts that FLT-4 plays in children (`python -m tests.faults.starved` is a zygote of these): the script of FLT-2 on a
disk that refuses calls.

After each step that was refused the child looks at what the product promises of a refusal: nothing was changed; a full disk
is left behind without a restart; after a failed write or sync nothing more is promised. What it saw is one line of
JSON in the folder, which the test counts.
"""

from __future__ import annotations

import json
import random
import secrets
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from relaybay.errors import StoreError, StoreFull, StoreUnavailable
from relaybay.service.relay import Relay, open_relay
from tests.faults import zygote
from tests.faults.actors import body_of
from tests.faults.doors import NoAnswerError, ServiceDoor, now_us
from tests.faults.history import History, digest
from tests.faults.plants import PLANTS
from tests.faults.plants_disk import DISK_PLANTS
from tests.faults.script import PARTS, PROJECT, STEPS, Script, first_number

SEEN = "seen.json"
_STEPS_AFTER_FULL = 6
_TRIES_TO_OPEN = 40


class StarvedDoor(ServiceDoor):
    """Counts refusals by their name. A full disk is an answer: nothing of the call was done (HTTP 507)."""

    def __init__(self, relay: Relay) -> None:
        super().__init__(relay)
        self.refused: Counter[str] = Counter()

    def rows(self) -> tuple[int, ...]:
        tables = ("message", "delivery", "comment", "task", "event")
        return self.relay.store.read(
            lambda tx: tuple(int(tx.value(f"SELECT count(*) FROM {table}")) for table in tables)
        )

    def _carried_out(self, work: Any) -> Any:
        before = self.rows()
        try:
            return self.relay.store.write(work)
        except StoreError as error:
            self.refused[type(error).__name__] += 1
            if isinstance(error, StoreFull) and self.rows() != before:
                raise AssertionError("a refused call changed something") from error
            raise NoAnswerError(str(error), asked=not isinstance(error, StoreFull)) from error


class Starved(Script):
    """A script on a door that counts."""

    def __init__(self, relay: Relay, told: History, seed: int) -> None:
        super().__init__(relay, told, seed)
        self.door = StarvedDoor(relay)
        for actor in (*self.sessions, self.owner, self.reader):
            actor.door = self.door

    @property
    def starved(self) -> StarvedDoor:
        assert isinstance(self.door, StarvedDoor)
        return self.door

    @property
    def refused(self) -> Counter[str]:
        return self.starved.refused

    def group(self) -> None:
        """Units that share a commit share its failure too; each caller hears of it."""
        name = f"caller {self.next_tag()}"
        asked: list[tuple[int, Any]] = []
        for what in [self.drawn_send(self.someone().name) for _ in range(3)]:
            said = {"sender": name, "key": what.key, "sha256": digest(body_of(what.tag, what.size))}
            number = self.told.invoke("send", name, **said, again=[what.to, what.tag, what.size, ""])
            asked.append((number, self.door.submit("message_send", {"session": name, **what.arguments})))
        failure: StoreError | None = None
        for number, future in asked:
            try:
                outcome = future.result()
            except StoreError as error:
                failure = error
                self.refused[type(error).__name__] += 1
                self.told.end(number, "fail" if isinstance(error, StoreFull) else "unknown", why=str(error))
                continue
            if outcome.refusal is None:
                self.told.ok(number, message_id=outcome.data["message_id"])
            else:
                self.told.fail(number, code=outcome.refusal.answer)
        if failure is not None:
            raise NoAnswerError(str(failure)) from failure

    def spool(self) -> None:
        try:
            super().spool()
        except StoreError as error:
            self.refused[type(error).__name__] += 1
            raise NoAnswerError(str(error)) from error

    def owner_task(self) -> None:
        self.owner.makes_task(PROJECT, f"task {self.next_tag()}")

    def step(self, kind: str) -> bool:
        """One step; whether all of it was answered."""
        try:
            getattr(self, kind)()
        except NoAnswerError:
            return False
        return True

    def stopped(self) -> bool:
        """Whether the store promises nothing any more, asked with the smallest write there is."""
        try:
            self.relay.store.write(lambda tx: tx.run("UPDATE project SET root = root"))
        except StoreUnavailable:
            return True
        return False


def open_when_there_is_room(folder: Path, seen: dict[str, Any]) -> Relay | None:
    """The open relay; a refusal to open has a name and is tried again, as a person would. None when it stays refused."""
    for _ in range(_TRIES_TO_OPEN):
        try:
            return open_relay(folder / "relaybay.db", now_us)
        except StoreError as error:
            name = type(error).__name__
            seen["opening"][name] = seen["opening"].get(name, 0) + 1
    return None


def starve(folder: Path, told: Path, seed: int) -> None:
    """The scenario while calls to the disk fail. Ends as a killed process does, after it has written what it saw."""
    seen: dict[str, Any] = {"opening": {}, "refused": {}, "stopped": False, "recovered": False, "done": 0}
    relay = open_when_there_is_room(folder, seen)
    if relay is not None:
        script = Starved(relay, History(told, append=True, first=first_number(told)), seed)
        with suppress(NoAnswerError):
            script.begin()
        kinds = [kind for kind, times in STEPS.items() for _ in range(times)]
        script.chance.shuffle(kinds)
        for kind in kinds:
            seen["done"] += script.step(kind)
            if script.refused["StoreUnavailable"]:
                break
        judge(script, seen)
        close(relay)
    (folder / SEEN).write_text(json.dumps(seen))


def judge(script: Starved, seen: dict[str, Any]) -> None:
    """What has to follow: after a failed write or sync no write is taken, ever; after a full disk they are, by and by."""
    seen["refused"] = dict(script.refused)
    if script.refused["StoreUnavailable"]:
        for _ in range(3):
            assert script.stopped(), "the store promises something after a failed write or sync"
        assert all(not script.step(kind) for kind in ("send", "group", "owner_task")), "a call was taken after it"
        assert script.starved.rows(), "what is on the disk can still be read"
        seen["stopped"] = True
        return
    for _ in range(_TRIES_TO_OPEN):
        script.refused.clear()
        names = [f"room {secrets.token_hex(4)}" for _ in range(_STEPS_AFTER_FULL)]
        if all(has_room(script, name) for name in names):
            seen["recovered"] = True
            return
        time.sleep(0.001)
    raise AssertionError("there is room again, and the store does not go on")


def has_room(script: Starved, name: str) -> bool:
    try:
        return script.owner.makes_task(PROJECT, name) is not None
    except NoAnswerError:
        return False


def close(relay: Relay) -> None:
    """The end of a server on a store that may have stopped: it must come to its end."""
    with suppress(StoreError):
        relay.close()


def fill_disk(folder: Path, told: Path, seed: int) -> None:
    """On a small disk with a ballast file: sends until the disk is full, takes the ballast away, and goes on."""
    relay = open_relay(folder / "relaybay.db", now_us)
    script = Starved(relay, History(told, append=True, first=first_number(told)), seed)
    script.begin()
    chance = random.Random(seed)
    while not script.refused["StoreFull"]:
        script.step(chance.choice(["group", "send", "comment", "task"]))
        assert not script.refused["StoreUnavailable"], "a full disk has stopped the store"
    full = [script.step("group") for _ in range(5)]
    (folder / "ballast").unlink()
    refused = dict(script.refused)
    script.refused.clear()
    seen: dict[str, Any] = {"opening": {}, "done": 0, "stopped": False, "recovered": False}
    judge(script, seen)
    script.owner.counts()
    relay.close()
    (folder / SEEN).write_text(json.dumps({**seen, "refused": refused, "while full": full.count(False)}))


PARTS["starve"] = starve
PARTS["fill_disk"] = fill_disk

if __name__ == "__main__":
    PLANTS.update(DISK_PLANTS)
    zygote.main()
