"""The whole server on a port of its own, over a store with nothing, little, much or ill-meant text in it.

The clock runs as the real one does, from a fixed moment on: pages count seconds, and marks need time to pass.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from relaybay.api import app
from relaybay.api.serving import ServerThread
from relaybay.service import tasks
from relaybay.service.relay import open_relay
from relaybay.settings import Paths, load
from relaybay.store.sessions import SessionRow
from tests.browser import hostile
from tests.ui.board_rig import OWNER, SECOND, START, Answer, Board

MINUTE = 60 * SECOND
#: Every page is there; and whoever has no policy of its own lets everybody through.
CHANNELS = {"RELAYBAY_MESSAGING_CHANNELS": "true", "RELAYBAY_MESSAGING_INBOUND": "accept"}
COLUMNS = ("inbox", "todo", "doing", "review", "done")


class World(Board):
    """The rig of `tests/ui`, with every route of the server. `now` is what was added to the running clock."""

    def __init__(self, folder: Path) -> None:
        self._began = time.monotonic_ns()
        self._start_at(START)
        self._hooks = 0
        self.cookie = ""
        self.paths = Paths.find({"RELAYBAY_HOME": str(folder)})
        self.paths.make()
        self.settings = load(self.paths, CHANNELS)
        self.relay = open_relay(self.paths.database, lambda: self.now, messaging=self.settings.messaging)
        self._build(port=0)

    def _build(self, port: int) -> None:
        parts = app.build(self.settings, self.paths, self.relay)
        self.gate, self.routes = parts.gate, parts.routes
        self.server = ServerThread(parts.app, port=port).start()

    def _start_at(self, now: int) -> None:
        self._base = now - (time.monotonic_ns() - self._began) // 1000

    @property  # type: ignore[override]
    def now(self) -> int:
        """Microseconds since the epoch. Setting it moves the clock, which runs on from there."""
        return self._base + (time.monotonic_ns() - self._began) // 1000

    @now.setter
    def now(self, value: int) -> None:
        self._start_at(value)

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def login(self) -> str:
        """A one-time address that logs a browser in."""
        return f"{self.url}/login?code={self.gate.logins.mint_code()}"

    @property
    def listeners(self) -> int:
        """How many streams the server counts."""
        lines = self.request("GET", "/metrics").body.splitlines()
        return int(float(next(line.split()[1] for line in lines if line.startswith("relaybay_listeners"))))

    def api(self, path: str) -> Answer:
        return self.request("GET", path)

    # --- its life ---

    def go_away(self) -> int:
        """The server ends, and nobody listens at its port, which is given back."""
        port = self.server.port
        self.server.stop()
        return port

    def come_back(self, port: int, *, logins: bool) -> None:
        """Another server at the same port and over the same store. Its logins are gone, unless they stay."""
        if not logins:
            (self.paths.run / "logins").unlink()
            self.cookie = ""
        self._build(port)


def little(world: World) -> dict[str, Any]:
    """Three of everything: sessions in every state, messages with every mark, comments, steps, a full Inbox."""
    lead = world.session("coordinator", activity="working", cwd="/src/shop")
    review = world.session("reviewer", activity="idle", cwd="/src/shop")
    build = world.session("builder", activity="idle", cwd="/src/build")
    world.session("yesterday", link="none", activity="ended")
    key = world.task("Fix the sum on receipts", "Three lines are **not** added up.\n\n* rounding\n* tax", "doing", lead)
    second = world.task("Look at the parser change", status="review", bound=review)
    third = world.task("Write down how a release is made", status="todo")
    change = tasks.Change(step_add="Write a test that shows it")
    world.write(lambda tx: tasks.task_update(tx, world.relay, OWNER, task=key, change=change))
    change = tasks.Change(step_add="Mend the rounding")
    world.write(lambda tx: tasks.task_update(tx, world.relay, OWNER, task=key, change=change))
    change = tasks.Change(step_done=1)
    world.write(lambda tx: tasks.task_update(tx, world.relay, OWNER, task=key, change=change))

    read = world.send(lead, "reviewer", "Please look at the parser change first.", task=key)
    world.hand_over(review)
    world.acknowledge(review, read)
    answer = world.send(review, "coordinator", "Done: two remarks in the card.", in_reply_to=read)
    world.hand_over(lead)
    waiting = world.send(lead, "builder", "Is the build green again?\nThe log says nothing.")
    world.send(lead, "reviewer", "And the second remark?", in_reply_to=answer)

    first = world.owner_comment(key, "Please keep the old column for now.")
    world.now += MINUTE
    world.hand_over(lead)
    world.reply(lead, key, "Which of the two columns?", in_reply_to=first)
    world.owner_comment(second, "Only the parser, not the printer.")
    world.reply(review, second, "The printer depends on it. Shall I go on?")
    topic, held = _channels(world, review)
    world.now += 8 * MINUTE
    return {
        "key": key, "second": second, "third": third, "ref": lead.ref, "lead": lead, "review": review, "build": build,
        "read": read, "answer": answer, "waiting": waiting, "comment": first,
        "topic": topic, "held": held,
    }  # fmt: skip


def _channels(world: World, writer: SessionRow) -> tuple[str, list[str]]:
    """A session that hears a topic and broadcasts, and lets through nothing that the owner has not seen."""
    watch = world.session("watcher", activity="idle", cwd="/src/watch")
    world.subscribe(watch, "ci.*", "deploy.production")
    world.broadcasts(watch)
    topic = world.publish(writer, "ci.failures", "Two tests of the parser are red.")
    loud = world.publish(writer, None, "Please do not push for ten minutes.")
    world.policy(watch, "hold")
    held = [
        topic,
        loud,
        world.script(watch, "Nightly run: 3 of 412 tests failed.\nThe log has the names.", "nightly"),
        world.send(writer, watch.ref, "Shall I take the parser?"),
        world.script_publish("ci.failures", "Build 12 is red.", "ci job"),
    ]
    return topic, held


def much(world: World, rows: int = 200) -> dict[str, Any]:
    """`rows` cards, as many messages, and a fifth as many sessions, replies and events of each kind."""
    found = little(world)
    few = [world.session(f"worker-{n}", activity=("working", "idle")[n % 2]) for n in range(rows // 5)]
    keys = [
        world.task(f"A task with a title of the usual length {n}", status=COLUMNS[n % 5], bound=few[n % len(few)])
        for n in range(rows)
    ]
    for n in range(rows):
        # Rate limits are per sender and minute; the clock is moved instead of waiting.
        world.send(few[n % len(few)], few[(n * 7 + 1) % len(few)].title, f"Change {n} is ready. Please look at it.")
    for n, key in enumerate(keys[::5]):
        world.owner_comment(key, f"Remark {n}: keep the interface as it is.")
        world.reply(few[n % len(few)], key, f"Question {n}: which one?")
    return found


def ill_meant(world: World) -> dict[str, Any]:
    """Every hostile text as a title, a body, a comment, a reply, a step and a message."""
    return _written(world, hostile.LINES)


def well_meant(world: World) -> dict[str, Any]:
    """The same with plain words in the place of each hostile text: what a page is made of, but for the texts."""
    return _written(world, tuple(f"plain words {number}" for number in range(len(hostile.LINES))))


def _written(world: World, lines: tuple[str, ...]) -> dict[str, Any]:
    found = little(world)
    for number, text in enumerate(lines):
        name = hostile.in_name(text)
        row = world.session(name, activity="idle", cwd=f"/src/{name}")
        key = world.task(name, text, COLUMNS[number % 5], row)
        change = tasks.Change(step_add=name)
        world.write(
            lambda tx, key=key, change=change: tasks.task_update(tx, world.relay, OWNER, task=key, change=change)
        )
        world.owner_comment(key, text)
        world.reply(row, key, text)
        world.send(row, "reviewer", text, task=key)
        world.send(row, "builder", text)
    return found


def nothing(world: World) -> dict[str, Any]:
    """A store that nobody has used yet."""
    return {}
