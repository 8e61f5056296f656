"""The scripted scenario of FLT-2 and FLT-4: some sessions, a caller without hooks and the owner, on a relay of this process.

A seed draws the order and the sizes; which kinds of steps there are, and how many of each, is always the same. Every step
says in the history what it was told, once the commit was reported and not before.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from relaybay.domain import HookEvent
from relaybay.service import replay
from relaybay.service.relay import Relay, open_relay
from tests.faults import history
from tests.faults.actors import Caller, Owner, Reader, Send, Session, body_of
from tests.faults.doors import NoAnswerError, ServiceDoor, now_us
from tests.faults.history import History, digest

PROJECT = "shop"
#: How often each kind of step comes in one run.
STEPS = {
    "send": 6, "send_again": 1, "send_refused": 1, "send_other_content": 1, "group": 2, "reply": 1, "tool": 4, "stop": 2,
    "prompt": 1, "hang_up": 1, "ack": 2, "comment": 1, "agent_comment": 1, "comment_ack": 1, "task": 1, "update": 1,
    "spool": 1, "feed": 1,
}  # fmt: skip
#: The rate limit of one sender (SEND-12) is ten a minute: callers without hooks change their names.
SENDS_A_NAME = 8
SIZES = (1, 60, 900, 3_500)


class Script:
    """One process's part of a run: who acts, through which door, with which luck."""

    def __init__(self, relay: Relay, told: History, seed: int) -> None:
        self.door, self.told, self.relay = ServiceDoor(relay), told, relay
        self.chance = random.Random(seed)
        # Two processes of one history draw different tags even with one seed.
        self.mark = secrets.token_hex(4)
        self.number = 0
        self.sessions = [Session(self.door, told, name) for name in ("alice", "bob", "carol")]
        self.owner = Owner(self.door, told, "owner")
        self.reader = Reader(self.door, told, f"reader-{self.mark}")
        self.tasks: list[str] = []
        self.comments: list[str] = []
        self.sent: list[tuple[Session, Send, str]] = []

    # -- the run ---------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Everybody appears, and a task is bound to each session."""
        self.reader.reads()
        for session in self.sessions:
            session.appears()
            self.one_task(session)

    def one_task(self, session: Session) -> None:
        key = self.owner.makes_task(PROJECT, f"task {self.next_tag()}")
        assert key is not None
        session.takes(key)
        self.tasks.append(key)

    def go(self, share: float = 1.0) -> None:
        """The steps, in an order that the seed draws; `share` of them."""
        kinds = [kind for kind, times in STEPS.items() for _ in range(times)]
        self.chance.shuffle(kinds)
        for kind in kinds[: max(1, round(len(kinds) * share))]:
            # What hung up on purpose has no answer; the run goes on.
            with suppress(NoAnswerError):
                getattr(self, kind)()

    def next_tag(self) -> str:
        self.number += 1
        return f"{self.mark}-{self.number}"

    def someone(self) -> Session:
        return self.chance.choice(self.sessions)

    def two(self) -> tuple[Session, Session]:
        one, other = self.chance.sample(self.sessions, 2)
        return one, other

    def drawn_send(self, to: str, key: bool = True) -> Send:
        tag = self.next_tag()
        return Send(to, tag, self.chance.choice(SIZES), f"r-{tag}" if key else "")

    # -- the kinds of steps ----------------------------------------------------------------------------------

    def send(self) -> None:
        one, other = self.two()
        what = self.drawn_send(other.name, key=self.chance.random() < 0.8)
        message_id = one.sends(what)
        if message_id and what.key:
            self.sent.append((one, what, message_id))

    def send_again(self) -> None:
        """A client that repeats a call that it has an answer to."""
        if self.sent:
            one, what, _ = self.chance.choice(self.sent)
            one.sends(what)

    def send_refused(self) -> None:
        self.someone().sends(self.drawn_send("nobody at all"))

    def send_other_content(self) -> None:
        """The same request id for another text: refused."""
        if self.sent:
            one, what, _ = self.chance.choice(self.sent)
            one.sends(Send(what.to, self.next_tag(), 30, what.key))

    def group(self) -> None:
        """Several callers at once, whose units share one commit."""
        name, to = f"caller {self.next_tag()}", self.someone().name
        pairs = [(Caller(self.door, self.told, name), self.drawn_send(to)) for _ in range(3)]
        asked: list[tuple[int, Future[Any]]] = []
        for caller, what in pairs:
            said = {"sender": name, "key": what.key, "sha256": digest(body_of(what.tag, what.size))}
            again = [what.to, what.tag, what.size, ""]
            number = self.told.invoke("send", caller.name, **said, again=again)
            asked.append((number, self.door.submit("message_send", {"session": name, **what.arguments})))
        for number, future in asked:
            self.told.ok(number, message_id=future.result().data["message_id"])

    def reply(self) -> None:
        if not self.sent:
            return
        _, what, message_id = self.chance.choice(self.sent)
        reader = next(session for session in self.sessions if session.name == what.to)
        tag = self.next_tag()
        reader.sends(Send("", tag, 60, f"r-{tag}", in_reply_to=message_id))

    def tool(self) -> None:
        session, use = self.someone(), f"toolu_{secrets.token_hex(8)}"
        session.hook("PostToolUse", tool_name="Bash", tool_use_id=use)

    def stop(self) -> None:
        self.someone().hook("Stop")

    def prompt(self) -> None:
        self.someone().hook("UserPromptSubmit", prompt="go on", prompt_id=self.next_tag())

    def hang_up(self) -> None:
        """A hook whose client is gone when the answer is written: the marks are taken back (PACK-7)."""
        one, session = self.two()
        one.sends(self.drawn_send(session.name))
        number = self.told.invoke("hook", session.name, session=session.hook_id, event="PostToolUse")
        body = {
            "session_id": session.hook_id,
            "hook_event_name": "PostToolUse",
            "cwd": "/srv/shop",
            "tool_name": "Bash",
        }
        with suppress(NoAnswerError):
            self.door.hook(body, lost=True)
        self.told.unknown(number, why="the client hung up")

    def ack(self) -> None:
        self.someone().acks()

    def comment(self) -> None:
        if self.tasks:
            cid = self.owner.comments(self.chance.choice(self.tasks), self.next_tag())
            if cid:
                self.comments.append(cid)

    def agent_comment(self) -> None:
        if self.tasks:
            self.someone().replies(self.chance.choice(self.tasks), self.next_tag())

    def comment_ack(self) -> None:
        if self.comments:
            # Refused for everybody but whom its task is bound to.
            self.someone().acks_comment(self.chance.choice(self.comments))

    def task(self) -> None:
        self.someone().makes_task(PROJECT, f"task {self.next_tag()}")

    def update(self) -> None:
        if self.tasks:
            self.someone().updates(self.chance.choice(self.tasks), self.chance.choice(["doing", "review", "done"]))

    def spool(self) -> None:
        """Two events that a hook left while the server was away, given twice."""
        keys = [secrets.token_hex(13).upper() for _ in range(2)]
        for _ in range(2):
            replay_events(self.relay, self.told, self.someone().hook_id, keys)

    def feed(self) -> None:
        self.reader.reads()


def replay_events(relay: Relay, told: History, hook_id: str, keys: list[str]) -> None:
    """Applies spooled events, as the server does at its start."""
    events = [
        HookEvent(
            client="claude-code", name="PostToolUse", hook_id=hook_id, at_us=now_us(), event_id=key, replayed=True
        )
        for key in keys
    ]
    number = told.invoke("replay", "spool", events=keys)
    applied, repeated = relay.store.write(lambda tx: replay.apply(tx, relay, events))
    # Those that are new come first or not at all: the two are one file, and one transaction.
    told.ok(number, applied=keys[:applied], repeated=repeated)


def repeat_unknown(script: Script, told: Path) -> int:
    """Every send whose answer never came is made again with its request id, and spooled files are given again; how many."""
    before = history.read(told)
    again = 0
    for one in before.of("send"):
        if one.result == "unknown" and one.said["key"]:
            to, tag, size, in_reply_to = one.said["again"]
            what = Send(to, tag, size, one.said["key"], in_reply_to)
            session = next((s for s in script.sessions if s.name == one.client), None)
            (session or Caller(script.door, script.told, one.client)).sends(what)
            again += 1
    for one in before.of("replay"):
        if one.result == "unknown":
            replay_events(script.relay, script.told, script.sessions[0].hook_id, one.said["events"])
            again += 1
    return again


@contextmanager
def opened(folder: Path) -> Iterator[Relay]:
    with closing(open_relay(folder / "relaybay.db", now_us)) as relay:
        yield relay


def first_number(told: Path) -> int:
    """From where a process counts that goes on with a history."""
    return 1 + max((one.n for one in history.read(told).operations), default=0)


def begin(folder: Path, told: Path, seed: int) -> None:
    """A store in which everybody is there."""
    with opened(folder) as relay:
        Script(relay, History(told, append=True, first=first_number(told)), seed).begin()


def fill(folder: Path, told: Path, seed: int) -> None:
    """As `begin`, and then a write-ahead log that is nearly at the size where it is put into the file; ends without
    closing, as a process that was killed.
    """
    relay = open_relay(folder / "relaybay.db", now_us)
    script = Script(relay, History(told, append=True, first=first_number(told)), seed)
    script.begin()
    log = folder / "relaybay.db-wal"
    while log.stat().st_size < 900 * 4_120:
        script.go()


def run(folder: Path, told: Path, seed: int) -> None:
    """The scenario, on whatever is there, from opening the store to closing it."""
    with opened(folder) as relay:
        script = Script(relay, History(told, append=True, first=first_number(told)), seed)
        script.begin()
        script.go()


def recover(folder: Path, told: Path, seed: int) -> None:
    """What follows a kill: the store is opened, what had no answer is repeated, some of the scenario is played, and every
    session gets to a Stop. Last the product says what there is.
    """
    with opened(folder) as relay:
        script = Script(relay, History(told, append=True, first=first_number(told)), seed)
        script.begin()
        repeat_unknown(script, told)
        script.go(0.2)
        for session in script.sessions:
            session.hook("PostToolUse", tool_name="Bash", tool_use_id=secrets.token_hex(6))
            session.hook("Stop")
        script.owner.counts()


PARTS: dict[str, Callable[[Path, Path, int], None]] = {"begin": begin, "fill": fill, "run": run, "recover": recover}
