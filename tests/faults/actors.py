"""The clients of a campaign: sessions with hooks, callers without, and the owner. Each call goes into the history.

An actor asks through a door and writes down what it asked and what it was told; it expects nothing. Who reads the
history afterwards is the checker.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.faults.doors import Door, NoAnswerError
from tests.faults.history import History, digest

_ID = "([mc]_[0-9A-HJKMNP-TV-Z]{26})"
SHOWN = re.compile(rf"^\[relaybay(?: message|: the owner's comment) {_ID}(?: on task \S+)?\]$", re.MULTILINE)
#: Answers after which nobody knows whether it was done (FLT-4: a failed write or sync).
UNSURE = ("store_unavailable", "internal")
#: What a store may be tempted to change: spaces at both ends, a tab, a quote, what is not in plane 0, combining marks.
EDGES = "  \t'\"é́🚀\\n %s\t "


def body_of(tag: str, size: int) -> str:
    """A text that no other tag has, of about `size` characters; the same one for whoever repeats a call."""
    filler = (f"{tag} {EDGES} " * (size // (len(tag) + len(EDGES) + 2) + 1))[:size]
    return f"  {tag}:{filler} "


@dataclass(frozen=True)
class Send:
    """A send that can be made again, word for word."""

    to: str
    tag: str
    size: int
    key: str
    in_reply_to: str = ""

    @property
    def arguments(self) -> dict[str, Any]:
        said = {"body": body_of(self.tag, self.size), "to": self.to, "request_id": self.key}
        return {**said, "in_reply_to": self.in_reply_to}


class Asker:
    """Whoever asks: a history, a door, a name in the history."""

    def __init__(self, door: Door, history: History, name: str) -> None:
        self.door, self.history, self.name = door, history, name
        self.accepted = 0

    def ask(
        self,
        op: str,
        said: dict[str, Any],
        call: Callable[[], dict[str, Any]],
        told: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> dict[str, Any] | None:
        """One operation from `invoke` to its end. None when it was refused; NoAnswerError when nobody knows."""
        number = self.history.invoke(op, self.name, **said)
        try:
            answer = call()
        except NoAnswerError as error:
            self.history.end(number, "unknown" if error.asked else "fail", why=str(error)[:200])
            raise
        code = answer.get("code", "")
        if code in UNSURE:
            self.history.unknown(number, why=code)
            raise NoAnswerError(code)
        if code:
            self.history.fail(number, code=code)
            return None
        self.history.ok(number, **told(answer))
        self.accepted += op != "hook"
        return answer

    def send(self, what: Send, call: Callable[[], dict[str, Any]]) -> str | None:
        """One attempt of a send; its message id."""
        said = {
            "sender": self.name,
            "key": what.key,
            "sha256": digest(body_of(what.tag, what.size)),
            "again": [what.to, what.tag, what.size, what.in_reply_to],
        }
        answer = self.ask("send", said, call, lambda a: {"message_id": a["message_id"]})
        return None if answer is None else answer["message_id"]


class Caller(Asker):
    """A caller without hooks, who names itself. `name` is its row's title."""

    def sends(self, what: Send) -> str | None:
        arguments = {"session": self.name, **what.arguments}
        return self.send(what, lambda: self.door.tool("message_send", "", arguments))


class Session(Asker):
    """A session of the client with its hooks: `name` is its title, its hook id is made of it."""

    @property
    def hook_id(self) -> str:
        return f"hook-{self.name}"

    def hook(self, event: str, **more: Any) -> list[str]:
        """One event; the ids of what its answer shows."""
        body = {"session_id": self.hook_id, "hook_event_name": event, "cwd": "/srv/shop", **more}
        shown: list[str] = []

        def told(answer: dict[str, Any]) -> dict[str, Any]:
            shown.extend(SHOWN.findall(answer.get("hookSpecificOutput", {}).get("additionalContext", "")))
            return {"shown": shown}

        self.ask("hook", {"session": self.hook_id, "event": event}, lambda: self.door.hook(body), told)
        return shown

    def call(self, tool: str, arguments: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        """A tool call as the client makes it: its hook first, which vouches for the call (PROOF-2)."""
        use = f"toolu_{secrets.token_hex(12)}"
        self.hook("PreToolUse", tool_name=f"mcp__relaybay__{tool}", tool_use_id=use)
        return lambda: self.door.tool(tool, use, arguments)

    def appears(self) -> None:
        """The client starts, and links itself by its first call."""
        self.hook("SessionStart", source="startup", session_title=self.name)
        self.acks()

    def sends(self, what: Send) -> str | None:
        return self.send(what, self.call("message_send", what.arguments))

    def acks(self, message_id: str = "") -> None:
        """Marks one message read, or everything that was delivered."""
        told = lambda a: {"read": [*a["acknowledged"], *a["already_read"]]}  # noqa: E731
        self.ask("ack", {"ids": [message_id]}, self.call("message_ack", {"message_id": message_id}), told)

    def acks_comment(self, comment_id: str) -> None:
        call = self.call("comment_ack", {"id": comment_id})
        self.ask("ack", {"ids": [comment_id]}, call, lambda _: {"read": [comment_id]})

    def makes_task(self, project: str, title: str) -> str | None:
        call = self.call("task_create", {"project": project, "title": title, "body": "", "status": "todo"})
        answer = self.ask("task", {"title": title}, call, lambda a: {"task": a["key"]})
        return None if answer is None else answer["key"]

    def replies(self, task: str, tag: str, in_reply_to: str = "") -> None:
        """A comment on a task, for the owner."""
        text = body_of(tag, 60)
        call = self.call("comment_add", {"task": task, "body": text, "in_reply_to": in_reply_to})
        self.ask("comment", {"sha256": digest(text)}, call, lambda a: {"comment_id": a["id"]})

    def takes(self, task: str) -> None:
        """Binds itself to a task."""
        self.ask("bind", {}, self.call("task_bind_session", {"task": task, "session": self.name}), lambda _: {})

    def updates(self, task: str, status: str) -> None:
        self.ask("update", {}, self.call("task_update", {"task": task, "status": status}), lambda _: {})


class Reader(Asker):
    """Somebody who follows the feed, and keeps the cursor that he was given."""

    cursor = ""

    def reads(self) -> None:
        number_and_type = lambda a: {"events": [[event["id"], event["type"]] for event in a["events"]]}  # noqa: E731
        call = lambda: self.door.tool("events_since", "", {"cursor": self.cursor, "limit": 200})  # noqa: E731
        answer = self.ask("feed", {"cursor": self.cursor}, call, number_and_type)
        if answer is not None:
            self.cursor = answer["cursor"]


class Owner(Asker):
    """The owner at a terminal."""

    def makes_task(self, project: str, title: str) -> str | None:
        said = {"title": title}
        call = lambda: self.door.owner("task", project=project, title=title)  # noqa: E731
        answer = self.ask("task", said, call, lambda a: {"task": a["key"]})
        return None if answer is None else answer["key"]

    def comments(self, task: str, tag: str, size: int = 80) -> str | None:
        text = body_of(tag, size)
        call = lambda: self.door.owner("comment", task=task, body=text)  # noqa: E731
        answer = self.ask("comment", {"sha256": digest(text)}, call, lambda a: {"comment_id": a["id"]})
        return None if answer is None else answer["id"]

    def counts(self) -> None:
        """What the product says there is, last of all."""

        def told(answer: dict[str, Any]) -> dict[str, Any]:
            marks = answer["deliveries"]
            waiting = marks.get("sent", 0) + marks.get("delivered", 0)
            return {"open": waiting, "messages": sum(marks.values()), "tasks": sum(answer["tasks"].values())}

        self.ask("counts", {}, lambda: self.door.owner("counts"), told)
