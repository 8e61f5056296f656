"""PERF-6: from the call of `message_send` to its text in the hands of an idle session that waits.

Twice: at the long poll's own connection, and through the command client, until its process has ended with the text,
which is when the agent's client takes it. The floor is two bare durable POSTs one after the other (the message is put
on the disk, then that it was given out), and for the process the interpreter's own time beside it.
"""

from __future__ import annotations

import select
import shutil
import socket
import subprocess
import time
import uuid
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from bench import hook_client, wire
from bench.figures import Figure, Samples, at_most, ms
from bench.load import count
from bench.servers import Relaybay, environment_of, floor, relaybay
from bench.sessions import Session, linked, sends
from relaybay.client import FILES

SETTLE_SECONDS = 0.02
RECIPIENTS = 4


class _Held(Exception):  # noqa: N818 - says what happened.
    """A poll that was answered before anything was sent."""


def _idle(session: Session, connection: socket.socket) -> None:
    """A turn that has ended, so that the session waits."""
    wire.exchange(connection, session.event("UserPromptSubmit", prompt="…", prompt_id=str(uuid.uuid4())))
    wire.exchange(connection, session.event("Stop", stop_hook_active=False))


def _poll(session: Session) -> socket.socket:
    """An open long poll of this session, held by the server."""
    body = {"session_id": session.hook_id, "hook_event_name": "Stop", "cwd": f"/home/somebody/projects/{session.name}"}
    held = wire.connect(session.server.port)
    held.sendall(session.server.hook(body, f"/wait?wait_id={uuid.uuid4().hex}&timeout_s=30"))
    if select.select([held], [], [], SETTLE_SECONDS)[0]:
        raise _Held(held.recv(1 << 16)[:400])
    return held


class _Process:
    """The command client's wake-up as a process of its own, with the bare interpreter that clients start it with."""

    def __init__(self, server: Relaybay, session: Session) -> None:
        source = hook_client.SOURCE
        folder = server.home / "bin"
        if not folder.exists():
            folder.mkdir()
            for name in FILES:
                shutil.copy(source / name, folder / name)
        command = [hook_client.base_python(), "-I", "-S", str(folder / "hook.py"), "--home", str(server.home), "--wait"]
        environment = environment_of(Path(server.home)) | {"CLAUDE_CODE_ENTRYPOINT": "cli"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment
        )
        assert self.process.stdin is not None
        stop = session.event("Stop", stop_hook_active=False)
        self.process.stdin.write(stop.partition(b"\r\n\r\n")[2])
        self.process.stdin.close()
        # It has to start and open its poll first.
        time.sleep(0.25)

    def text(self) -> bytes:
        """What it printed for the agent when it ended."""
        assert self.process.stderr is not None
        said = self.process.stderr.read()
        if self.process.wait(10) != 2:
            raise wire.Unexpected(f"the wake-up ended with {self.process.returncode}: {said!r}")
        return said


def run(full: bool) -> list[Figure]:
    number = count(200, full=2_000, is_full=full)
    through = count(40, full=200, is_full=full)
    wires: list[float] = []
    processes: list[float] = []
    least: list[float] = []
    with ExitStack() as stack:
        server = stack.enter_context(relaybay())
        bare_port = stack.enter_context(floor("sanic", server.home / "floor.db"))
        connection, bare = (stack.enter_context(wire.connect(port)) for port in (server.port, bare_port))
        sessions = linked(server, connection, RECIPIENTS, "waiting")
        row = wire.post(bare_port, "/durable", {"text": "x" * 900})
        for at, call in enumerate(sends(server, connection, number + through, sessions)):
            session = sessions[at % RECIPIENTS]
            _idle(session, connection)
            if at < number:
                with _poll(session) as held:
                    began = time.perf_counter()
                    connection.sendall(call)
                    answer = wire.receive(held)
                    wires.append((time.perf_counter() - began) * 1e6)
                text = wire.body_of(answer)
            else:
                waiting = _Process(server, session)
                began = time.perf_counter()
                connection.sendall(call)
                text = waiting.text()
                processes.append((time.perf_counter() - began) * 1e6)
            message = wire.tool_result(wire.body_of(wire.receive(connection)))
            if message["message_id"].encode() not in text:
                raise wire.Unexpected(f"the wait did not carry {message['message_id']}: {text!r}")
            # Unread, it would keep the next turn from ending (DLV-3), and the session would not be idle.
            session.acknowledge(connection, message_id=message["message_id"])
            began = time.perf_counter()
            wire.exchange(bare, row)
            wire.exchange(bare, row)
            least.append((time.perf_counter() - began) * 1e6)
    floor_samples = Samples.of(least)
    floor_text = f"two bare durable POSTs p50 {ms(floor_samples.median)}"
    return [
        replace(
            at_most("PERF-6", f"message_send to {what}", samples, p50_ms=10, p99_ms=50),
            floor=floor_text,
            ratio=samples.median / floor_samples.median,
        )
        for what, samples in (
            ("text at the waiting session's poll", Samples.of(wires)),
            ("end of the waiting client's process", Samples.of(processes)),
        )
    ]
