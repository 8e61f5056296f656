"""The hook endpoints alone, on a real relay, over a real socket; and sessions that speak to them as clients do."""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from relaybay.api.gate import Gate
from relaybay.api.hooks import HooksSeen, register_hooks
from relaybay.api.keys import Keys
from relaybay.api.routes import Routes
from relaybay.api.serving import ServerThread, make_app
from relaybay.api.spool import register_spool
from relaybay.api.wait import register_wait
from relaybay.domain import Caller, Outcome
from relaybay.service import clock, comments, messages, tasks
from relaybay.service.relay import Relay, open_relay
from relaybay.store import messages as stored
from relaybay.store import sessions
from relaybay.store.sessions import SessionRow
from tests.api.wire import Response, Wire, read_response

CWD = "/home/ada/shop"
HOOK = "/hooks/claude-code"


class HookServer:
    """One server. `ahead_us` sets its clock forward."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spool = folder / "spool"
        self.ahead_us = 0
        self.relay: Relay = open_relay(folder / "data" / "relaybay.db", lambda: clock.system() + self.ahead_us)
        self.keys = Keys(*(secrets.token_urlsafe(32) for _ in range(3)))
        app = make_app()
        routes = Routes(app)
        gate = Gate(self.keys, now_us=self.relay.clock)
        self.seen: HooksSeen = register_hooks(routes, self.relay)
        register_wait(routes, self.relay)
        register_spool(routes, self.relay, self.spool)
        gate.install(app)
        self.server = ServerThread(app, socket_path=folder / "s")
        self.units = 0
        submit = self.relay.store.submit

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.units += 1
            return submit(*args, **kwargs)

        self.relay.store.submit = counted  # type: ignore[method-assign]

    def start(self) -> None:
        self.server.start()
        self.wire = Wire(self.folder / "s")
        bearer = {"Authorization": f"Bearer {self.keys.hook_key}"}
        self.tcp = Wire(self.server.port, bearer)

    # -- hooks -------------------------------------------------------------------------------------------------

    def body(self, name: str, hook: str = "h1", **more: Any) -> dict[str, Any]:
        return {"session_id": hook, "hook_event_name": name, "cwd": CWD, **more}

    def hook(
        self,
        name: str,
        hook: str = "h1",
        *,
        headers: dict[str, str] | None = None,
        wire: Wire | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        response = (wire or self.wire).post(HOOK, self.body(name, hook, **more), headers)
        assert response.status == 200, response
        assert response.header("content-type") == "application/json"
        return response.json

    def row_of_its_own(self, hook: str) -> None:
        """A linked, idle session without a word over HTTP."""
        self.write(
            lambda tx: sessions.add(
                tx, title=hook, title_key=hook, kind="hook", link_state="exact", hook_id=hook, activity="idle"
            )
        )

    def linked(self, hook: str = "h1") -> SessionRow:
        self.hook("SessionStart", hook, source="startup")
        self.relay.presence.witness(f"toolu_{hook}", hook, self.relay.clock())
        caller = Caller("", "", "", f"toolu_{hook}")
        assert self.write(lambda tx: messages.acknowledge(tx, self.relay, caller)).ok
        return self.row(hook)

    def idle(self, hook: str = "h1") -> SessionRow:
        row = self.linked(hook)
        self.hook("UserPromptSubmit", hook, prompt="go")
        assert self.hook("Stop", hook) == {}
        return row

    def row(self, hook: str = "h1") -> SessionRow:
        row = self.relay.store.read(lambda tx: sessions.by_hook(tx, hook))
        assert row is not None
        return self.relay.presence.current(row)

    def write(self, work: Any) -> Any:
        return self.relay.store.write(work)

    def send(self, to: SessionRow) -> str:
        return self.submit_send(to)()

    def submit_send(self, to: SessionRow) -> Callable[[], str]:
        """Queues a message; what is given waits for its commit and gives the message's id."""
        caller = Caller(session="peer")
        future = self.relay.store.submit(
            lambda tx: messages.send(tx, self.relay, caller, body="Please look.", to=to.ref)
        )

        def sent() -> str:
            said: Outcome = future.result(10)
            assert said.refusal is None, said.refusal
            return str(said.data["message_id"])

        return sent

    def comment(self, row: SessionRow, *, board: bool = False) -> str:
        owner = Caller(owner=True)

        def work(tx: Any) -> Any:
            made = tasks.task_create(tx, self.relay, owner, project="shop", title="T")
            tx.run("UPDATE task SET session_id = ?", row.id)
            tx.touch(row.id)
            return comments.owner_comment(tx, self.relay, task=made.data["key"], body="Do it.", from_board=board)

        return str(self.write(work).data["id"])

    def mail(self, mid: str) -> Any:
        return self.relay.store.read(lambda tx: stored.get(tx, mid))

    def until(self, true: Any, seconds: float = 5) -> None:
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, "it did not come to be"
            time.sleep(0.01)

    @property
    def connections(self) -> int:
        """How many the server has open, as far as its loop has heard."""
        run = self.server._run
        assert run is not None and run._server is not None
        return len(run._server.connections)

    # -- connections that are let go ---------------------------------------------------------------------------

    def begin(self, path: str, body: dict[str, Any], headers: dict[str, str] | None = None) -> socket.socket:
        """Sends a request and leaves its answer unread."""
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        connection = self.wire.connect()
        connection.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        return connection

    @contextlib.contextmanager
    def writer_held(self) -> Iterator[None]:
        """The writer's thread is busy until the block ends: what is submitted meanwhile queues up."""
        go, busy = threading.Event(), threading.Event()

        def slow(_tx: Any) -> None:
            busy.set()
            go.wait(10)

        future = self.relay.store.submit(slow)
        assert busy.wait(5)
        try:
            yield
        finally:
            go.set()
            future.result()

    # -- waits -------------------------------------------------------------------------------------------------

    def wait(
        self, hook: str = "h1", wait_id: str = "wait-0001", timeout_s: float = 20, **headers: str
    ) -> socket.socket:
        named = {f"X-Relaybay-{name.replace('_', '-')}": value for name, value in headers.items()}
        path = f"{HOOK}/wait?wait_id={wait_id}&timeout_s={timeout_s}"
        # Two units open a new wait and look at it, one looks at a wait that is known: then it really waits.
        units = self.units + (1 if self.relay.waits.get(wait_id) else 2)
        connection = self.begin(path, self.body("Stop", hook), named)
        self.until(lambda: self._answered(connection) or (self._polled(wait_id) and self.units >= units))
        self.relay.store.write(lambda _: None)
        return connection

    def _polled(self, wait_id: str) -> bool:
        entry = self.relay.waits.get(wait_id)
        return entry is not None and entry.poll_open

    @staticmethod
    def _answered(connection: socket.socket) -> bool:
        connection.setblocking(False)
        try:
            return bool(connection.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return False
        finally:
            connection.settimeout(10)

    def answer(self, connection: socket.socket) -> Response:
        with connection:
            return read_response(connection)


@pytest.fixture
def rig() -> Iterator[HookServer]:
    folder = Path(tempfile.mkdtemp(prefix="rb"))  # pytest's own folders are too deep for a socket's name.
    made = HookServer(folder)
    made.start()
    yield made
    made.server.stop()
    made.relay.close()
    shutil.rmtree(folder)
