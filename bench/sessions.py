"""Agent sessions for the benchmarks, made by nothing but the events and calls that a client would send."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from bench import wire
from bench.servers import Relaybay

#: SEND-12: a sender's eleventh message within a minute is refused, so a sender sends ten.
SENDS_EACH = 10
_COMMAND = {"command": "make test"}
_OUTPUT = {"stdout": "ok " * 250, "stderr": "", "interrupted": False, "isImage": False}


@dataclass
class Session:
    """One session, known by its hooks alone until it makes a call."""

    server: Relaybay
    name: str
    hook_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def event(self, event: str, **members: Any) -> bytes:
        """One event of it as a request, about 1 kB of it with a tool's output."""
        folder = f"/home/somebody/projects/{self.name}"
        body = {
            "session_id": self.hook_id,
            "transcript_path": f"{folder}.jsonl",
            "cwd": folder,
            "permission_mode": "default",
            "hook_event_name": event,
            **members,
        }
        return self.server.hook(body)

    def tool_event(self, event: str = "PostToolUse") -> bytes:
        """A tool that ran, or is about to."""
        ran = {"tool_response": _OUTPUT} if event == "PostToolUse" else {}
        return self.event(event, tool_name="Bash", tool_use_id="toolu_01", tool_input=_COMMAND, **ran)

    def start(self, connection: socket.socket) -> None:
        """Its first event."""
        wire.exchange(connection, self.event("SessionStart", source="startup"))

    def prove(self, connection: socket.socket, tool: str) -> str:
        """Lets its hooks report a tool use of relaybay's, and gives that id (PROOF-2)."""
        use = f"toolu_{uuid.uuid4().hex[:20]}"
        wire.exchange(
            connection,
            self.event("PreToolUse", tool_name=f"mcp__relaybay__{tool}", tool_use_id=use, tool_input={}),
        )
        return use

    def acknowledge(self, connection: socket.socket, **message: str) -> None:
        """One call of `message_ack` that its hooks vouch for; without a message it does no more than link."""
        use = self.prove(connection, "message_ack")
        wire.tool_result(wire.exchange(connection, self.server.tool("message_ack", use, **message)))


def linked(server: Relaybay, connection: socket.socket, number: int, prefix: str) -> list[Session]:
    """So many sessions that are linked exactly."""
    made = [Session(server, f"{prefix}-{n}") for n in range(number)]
    for session in made:
        session.start(connection)
        session.acknowledge(connection)
    return made


def sends(
    server: Relaybay, connection: socket.socket, number: int, recipients: list[Session], era: str = wire.ERAS[0]
) -> Iterator[bytes]:
    """So many calls of `message_send`, each vouched for by its sender's hooks, to the recipients in turn.

    Every call is another tool use, and none meets a rate limit. Made before anything is timed.
    """
    senders: list[Session] = []
    turn = count()
    for n in range(number):
        if n % SENDS_EACH == 0:
            senders = linked(server, connection, 1, f"sender-{next(turn)}")
        use = senders[0].prove(connection, "message_send")
        to = recipients[n % len(recipients)].name
        yield server.tool("message_send", use, era, to=to, body=f"Please look at change {n} before you go on. " * 5)
