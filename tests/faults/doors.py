"""Two ways into the product with the same three calls: its own use cases in this process, and the real server's HTTP.

Both raise `NoAnswerError` when nobody can say whether a call was carried out.
"""

from __future__ import annotations

import time
from concurrent.futures import Future
from http.client import HTTPException
from pathlib import Path
from typing import Any, Protocol

from relaybay.api.calls import answered, refusal_of
from relaybay.api.claude_code import answer_of, event_of
from relaybay.api.tools import TOOLS
from relaybay.api.use_cases import USE_CASES, events_since
from relaybay.domain import Caller, HookEvent, Outcome
from relaybay.errors import StoreError
from relaybay.service import comments, figures, handover, hooks, tasks
from relaybay.service.relay import Relay
from tests.api.wire import Response, Wire
from tests.attacks.rig import ACCEPT, MODERN, meta

_OWNER = Caller(owner=True)
_MODELS = {tool.name: tool.arguments for tool in TOOLS}


class NoAnswerError(Exception):
    """The call left, and no answer came back that says what became of it."""


class Door(Protocol):
    """What an actor calls. A refusal is an answer with `code`."""

    def hook(self, body: dict[str, Any]) -> dict[str, Any]:
        """One event of the client; the hook's answer."""

    def tool(self, name: str, tool_use_id: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """One call of a tool; its structured answer."""

    def owner(self, does: str, **said: Any) -> dict[str, Any]:
        """`task` (project, title), `comment` (task, body) and `counts`, as the owner at a terminal."""


def now_us() -> int:
    return time.time_ns() // 1_000


class ServiceDoor:
    """The use cases on a relay of this process, as the surfaces call them."""

    def __init__(self, relay: Relay) -> None:
        self.relay = relay

    def _carried_out(self, work: Any) -> Any:
        try:
            return self.relay.store.write(work)
        except StoreError as error:
            raise NoAnswerError(str(error)) from error

    def hook(self, body: dict[str, Any], *, lost: bool = False) -> dict[str, Any]:
        event = event_of(body, at_us=self.relay.clock())
        assert isinstance(event, HookEvent)
        hooks.witness(self.relay, event)
        said = hooks.from_memory(self.relay, event)
        if said is None:
            said = self._carried_out(lambda tx: hooks.handle(tx, self.relay, event))
        if lost:
            # The client hung up before its answer was written: the surface takes the marks back (PACK-7).
            done = said.done
            if done is not None:
                self._carried_out(lambda tx: handover.answer_not_written(tx, self.relay, done))
            raise NoAnswerError("the client hung up")
        return answer_of(event, said)

    def submit(self, name: str, arguments: dict[str, Any]) -> Future[Outcome]:
        """A tool's use case, queued; it shares a commit with what is queued beside it."""
        given = _MODELS[name].model_validate(arguments)
        caller = given.caller("")  # type: ignore[attr-defined]
        return self.relay.store.submit(lambda tx: USE_CASES[name](tx, self.relay, caller, given))

    def tool(self, name: str, tool_use_id: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name == "events_since":
            given = _MODELS[name].model_validate(arguments)
            return _told(
                self._carried_out(lambda tx: events_since(tx, self.relay, **given.model_dump(exclude={"wait_s"})))
            )
        given = _MODELS[name].model_validate(arguments)
        caller = given.caller(tool_use_id)  # type: ignore[attr-defined]
        return _told(self._carried_out(lambda tx: USE_CASES[name](tx, self.relay, caller, given)))

    def owner(self, does: str, **said: Any) -> dict[str, Any]:
        acts: dict[str, Any] = {
            "task": lambda tx: tasks.task_create(tx, self.relay, _OWNER, **said),
            "comment": lambda tx: comments.owner_comment(tx, self.relay, from_board=False, **said),
            "counts": lambda tx: figures.figures(tx, self.relay),
        }
        return _told(self._carried_out(acts[does]))


def _told(outcome: Outcome) -> dict[str, Any]:
    refused = refusal_of(outcome)
    return answered(outcome) if refused is None else {"code": refused.code}


class HttpDoor:
    """A server that runs, through its ports. `port` changes with each start of the server; the keys stay."""

    def __init__(self, run: Path, port: int) -> None:
        token, hook_key, owner_key = ((run / name).read_text().strip() for name in ("token", "hook.key", "owner.key"))
        self._agent = Wire(port, {"Authorization": f"Bearer {token}"})
        self._hooks = Wire(port, {"Authorization": f"Bearer {hook_key}"})
        self._owner = Wire(run / "relaybay.sock", {"X-Relaybay-Owner": owner_key})

    @staticmethod
    def _asked(wire: Wire, path: str, body: Any, headers: dict[str, str] | None = None) -> Response:
        try:
            return wire.post(path, body, headers) if body is not None else wire.get(path)
        except (OSError, ValueError, KeyError, AssertionError, HTTPException) as error:
            # Refused, reset, or an answer that was cut: the server was killed somewhere in between.
            raise NoAnswerError(f"{type(error).__name__}: {error}") from error

    def hook(self, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._asked(self._hooks, "/hooks/claude-code", body)
        assert answer.status == 200, answer
        found: dict[str, Any] = answer.json
        return found

    def tool(self, name: str, tool_use_id: str, arguments: dict[str, Any]) -> dict[str, Any]:
        more = {"claudecode/toolUseId": tool_use_id} if tool_use_id else {}
        params = {"name": name, "arguments": arguments, "_meta": {**meta(), **more}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": name, **ACCEPT}
        answer = self._asked(self._agent, "/mcp", body, headers)
        if answer.status != 200:
            raise NoAnswerError(f"status {answer.status}: {answer.body[:200]!r}")
        found: dict[str, Any] = answer.json["result"]["structuredContent"]
        return found

    def owner(self, does: str, **said: Any) -> dict[str, Any]:
        if does == "counts":
            answer = self._asked(self._owner, "/api/v1/status", None)
        elif does == "task":
            answer = self._asked(self._owner, "/api/v1/tasks", said)
        else:
            task = said.pop("task")
            answer = self._asked(self._owner, f"/api/v1/tasks/{task}/comments", said)
        if answer.status >= 500:
            raise NoAnswerError(f"status {answer.status}: {answer.body[:200]!r}")
        found: dict[str, Any] = answer.json
        return found
