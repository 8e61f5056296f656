"""Two ways into the product with the same three calls: its own use cases in this process, and the real server's HTTP.

Both raise `NoAnswerError` when nobody can say whether a call was carried out.
"""

from __future__ import annotations

import re
import time
from concurrent.futures import Future
from http import HTTPStatus
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
from tests.api.wire import Wire
from tests.attacks.rig import ACCEPT, MODERN, meta

_OWNER = Caller(owner=True)
_SAMPLE = re.compile(r'relaybay_(\w+)\{\w+="(\w+)"\} (\d+)')
_MODELS = {tool.name: tool.arguments for tool in TOOLS}


class NoAnswerError(Exception):
    """No answer came back that says what became of the call. `asked` is false when it certainly never left."""

    def __init__(self, why: str, *, asked: bool = True) -> None:
        super().__init__(why)
        self.asked = asked


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
    def _asked(wire: Wire, path: str, body: Any, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        """Status and JSON. What is cut short is no JSON, and so no answer."""
        try:
            answer = wire.post(path, body, headers)
            return answer.status, answer.json
        except (ConnectionRefusedError, FileNotFoundError) as error:
            raise NoAnswerError("there is no server", asked=False) from error
        except (OSError, ValueError, KeyError, AssertionError) as error:
            # Reset or cut: the server was killed somewhere in between.
            raise NoAnswerError(f"{type(error).__name__}: {error}") from error

    def hook(self, body: dict[str, Any]) -> dict[str, Any]:
        status, answer = self._asked(self._hooks, "/hooks/claude-code", body)
        assert status == HTTPStatus.OK, answer
        found: dict[str, Any] = answer
        return found

    def tool(self, name: str, tool_use_id: str, arguments: dict[str, Any]) -> dict[str, Any]:
        more = {"claudecode/toolUseId": tool_use_id} if tool_use_id else {}
        params = {"name": name, "arguments": arguments, "_meta": {**meta(), **more}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": name, **ACCEPT}
        status, answer = self._asked(self._agent, "/mcp", body, headers)
        if status != HTTPStatus.OK:
            raise NoAnswerError(f"status {status}: {answer}")
        found: dict[str, Any] = answer["result"]["structuredContent"]
        return found

    def owner(self, does: str, **said: Any) -> dict[str, Any]:
        if does == "counts":
            return self._counts()
        path = "/api/v1/tasks" if does == "task" else f"/api/v1/tasks/{said.pop('task')}/comments"
        status, answer = self._asked(self._owner, path, said)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise NoAnswerError(f"status {status}: {answer}")
        found: dict[str, Any] = answer
        return found

    def _counts(self) -> dict[str, Any]:
        found: dict[str, Any] = {"deliveries": {}, "tasks": {}}
        for line in self._owner.get("/metrics").body.decode().splitlines():
            sample = _SAMPLE.fullmatch(line)
            if sample and sample[1] in found:
                found[sample[1]][sample[2]] = int(sample[3])
        return found
