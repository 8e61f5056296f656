"""The 16 clients of FLT-1: each a thread with a session of its own, callers without hooks, and a share of the owner's work.

A client whose call got no answer makes it again, word for word, once a server is up; with a request id as often as it
takes, without one only once in a while, for then it may be stored twice.
"""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections.abc import Callable

from tests.faults.actors import Caller, Owner, Reader, Send, Session
from tests.faults.campaign import Campaign
from tests.faults.doors import NoAnswerError
from tests.faults.history import History
from tests.faults.real import RealServer

CLIENTS = 16
#: A sender may send ten a minute (SEND-12).
SENDS_A_NAME = 8
SENDS_A_SESSION = 8
ANSWER_SECONDS_MAX = 90


class Client(threading.Thread):
    """One client. `failure` is what ended it, when that was not the end of the run."""

    def __init__(
        self, number: int, server: RealServer, told: History, seed: int, stopping: threading.Event, clients: int
    ) -> None:
        super().__init__(name=f"client-{number}", daemon=True)
        self.server, self.told, self.stopping = server, told, stopping
        self.chance = random.Random(f"{seed}-{number}")
        self.clients = clients
        self.number, self.tags, self.sends_of_session = number, 0, 0
        self.session = Session(server, told, f"s{number}")
        self.owner = Owner(server, told, f"owner-{number}")
        self.reader = Reader(server, told, f"reader-{number}")
        self.callers = [Caller(server, told, f"c{number}-0")]
        self.task = ""
        self.failure: BaseException | None = None

    @property
    def accepted(self) -> int:
        return sum(one.accepted for one in (self.session, self.owner, *self.callers))

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                self.step()
        except BaseException as error:
            self.failure = error

    def step(self) -> None:
        """One thing to do; one that got no answer has been seen to before the next."""
        self.server.up.wait(0.2)
        kinds = ((0.55, self.send), (0.25, self.hook), (0.06, self.send_as_session), (0.05, self.ack))
        draw = self.chance.random()
        act = self.chance.choice([self.card, self.feed])
        for share, kind in kinds:
            draw -= share
            if draw < 0:
                act = kind
                break
        try:
            act()
        except NoAnswerError:
            # Its server may be gone already without anybody having noticed.
            time.sleep(0.05)

    # -- what there is to do ---------------------------------------------------------------------------------

    def appear(self) -> None:
        self.session.appears()
        key = self.owner.makes_task("shop", f"task of {self.session.name}")
        assert key is not None
        self.task = key
        self.session.takes(key)
        self.reader.reads()

    def drawn(self) -> Send:
        self.tags += 1
        tag = f"{self.number}-{self.tags}-{secrets.token_hex(3)}"
        key = f"r-{tag}" if self.chance.random() < 0.9 else ""
        return Send(f"s{self.chance.randrange(self.clients)}", tag, self.chance.choice([1, 40, 300, 3_000]), key)

    def send(self) -> None:
        caller = self.callers[-1]
        if self.tags % SENDS_A_NAME == 0:
            # The count of what the old name was told stays; the name itself is used up.
            caller = Caller(self.server, self.told, f"c{self.number}-{self.tags}")
            caller.accepted = self.callers.pop().accepted
            self.callers.append(caller)
        self.until_answered(caller, self.drawn())

    def send_as_session(self) -> None:
        self.sends_of_session += 1
        if self.sends_of_session <= SENDS_A_SESSION:
            self.until_answered(self.session, self.drawn())

    def until_answered(self, sender: Caller | Session, what: Send) -> None:
        until = time.monotonic() + ANSWER_SECONDS_MAX
        while time.monotonic() < until:
            try:
                sender.sends(what)
            except NoAnswerError:
                if not what.key and self.chance.random() < 0.5:
                    return
                time.sleep(0.05)
                self.server.up.wait(5)
            else:
                return
        raise AssertionError(f"{sender.name} got no answer to {what.key} in {ANSWER_SECONDS_MAX} s")

    def hook(self) -> None:
        event = self.chance.choice(["PostToolUse", "PostToolUse", "Stop", "UserPromptSubmit"])
        more = {"prompt": "go on", "prompt_id": secrets.token_hex(4)} if event == "UserPromptSubmit" else {}
        self.session.hook(event, tool_name="Bash", tool_use_id=f"t{secrets.token_hex(6)}", **more)

    def ack(self) -> None:
        self.session.acks()

    def card(self) -> None:
        self.tags += 1
        tag = f"{self.number}-{self.tags}-{secrets.token_hex(3)}"
        if self.chance.random() < 0.5:
            self.owner.comments(self.task, tag)
        else:
            self.session.replies(self.task, tag)

    def feed(self) -> None:
        self.reader.reads()


def counted(who: list[Client]) -> int:
    return sum(one.accepted for one in who)


def many_kills(
    run: Campaign,
    server: RealServer,
    told: History,
    strike: Callable[[int, list[Client]], bool],
    kills: int,
    clients: int = CLIENTS,
) -> None:
    """Clients work, and `strike(number, clients)` ends the server, again and again; it is started anew each time. A
    strike says whether it was what ended the server.
    """
    stopping = threading.Event()
    server.start()
    crowd = [Client(n, server, told, run.seed, stopping, clients) for n in range(clients)]
    for client in crowd:
        client.appear()
    for client in crowd:
        client.start()
    try:
        for number in range(1, kills + 1):
            fired = strike(number, crowd)
            told.note("kill", number=number, fired=fired)
            run.fired += fired
            run.points += 1
            server.start()
    finally:
        stopping.set()
        for client in crowd:
            client.join(120)
    for client in crowd:
        assert not client.is_alive(), f"{client.name} hangs"
        if client.failure is not None:
            raise client.failure
    last_round(crowd, told, server)
    run.accepted += counted(crowd)


def last_round(who: list[Client], told: History, server: RealServer) -> None:
    """When nothing is killed any more: each session gets its hooks, and the product says what there is."""
    for client in who:
        for event in ("PostToolUse", "Stop"):
            client.session.hook(event, tool_name="Bash", tool_use_id=f"t{secrets.token_hex(6)}")
    Owner(server, told, "owner").counts()
