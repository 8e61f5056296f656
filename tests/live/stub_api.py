"""A scripted Messages API: the test decides what "the model" does, step by step and session by session.

Every request that offers tools is one step of a session's turn and takes the next step of that session's
script. Requests without tools are the client's own errands (titles, summaries); they are recorded too, answered
with a short text and take no step. The session is the one the client names in ``X-Claude-Code-Session-Id``.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOLD_SECONDS_MAX = 60.0
"""How long a gate keeps a request at most; longer means that the case forgot to open it."""

USAGE = {"input_tokens": 10, "output_tokens": 5}


@dataclass(frozen=True)
class Say:
    """The model answers with text and ends its turn."""

    text: str


@dataclass(frozen=True)
class Call:
    """The model calls one tool; ``id`` is the tool-use id, new for each call."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    id: str = field(default_factory=lambda: f"toolu_{uuid.uuid4().hex[:24]}")


@dataclass
class Request:
    """One ``POST /v1/messages``: when it came (monotonic seconds), from whom, and its whole body."""

    at: float
    session_id: str
    agent_id: str
    body: dict[str, Any]
    answer: Say | Call | None = None

    @property
    def text(self) -> str:
        """The whole request as JSON: where the client puts hook text differs by version and model."""
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def is_step(self) -> bool:
        return bool(self.body.get("tools"))

    def tool_names(self) -> set[str]:
        return {tool.get("name", "") for tool in self.body.get("tools", [])}

    def has_result(self, tool_use_id: str) -> bool:
        try:
            self.tool_result(tool_use_id)
        except LookupError:
            return False
        return True

    def tool_result(self, tool_use_id: str) -> str:
        """The text the model is given as result of one of its calls; ``LookupError`` when there is none."""
        for message in self.body.get("messages", []):
            for block in message["content"] if isinstance(message["content"], list) else []:
                if block.get("type") == "tool_result" and block.get("tool_use_id") == tool_use_id:
                    content = block.get("content", "")
                    if isinstance(content, str):
                        return content
                    return "".join(part.get("text", "") for part in content)
        raise LookupError(f"no tool_result for {tool_use_id}")


@dataclass
class Gate:
    """A step that waits for the test: ``reached`` when its request is in, answered after ``open``."""

    then: Step
    reached: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)
    request: Request | None = None

    def wait(self, seconds: float = 30.0) -> Request:
        """Wait until the model's request stands at the gate; the turn is running and nothing moves it."""
        assert self.reached.wait(seconds), f"no request reached the gate within {seconds:.0f} s"
        assert self.request is not None
        return self.request

    def open(self) -> None:
        self.opened.set()


Step = Say | Call | Gate | Callable[[Request], Say | Call]


class StubApi:
    """The server. ``script`` queues steps, ``requests`` and ``steps`` give what came, ``faults`` what went wrong."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._scripts: dict[str, list[Step]] = {}
        self._requests: list[Request] = []
        self.faults: list[str] = []
        self.others: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def script(self, session_id: str, steps: Iterable[Step]) -> None:
        """Append ``steps`` to what the model of this session will do."""
        with self._changed:
            self._scripts.setdefault(session_id, []).extend(steps)

    def left(self, session_id: str) -> int:
        """How many steps the session has not taken."""
        with self._changed:
            return len(self._scripts.get(session_id, []))

    def requests(self, session_id: str | None = None) -> list[Request]:
        """Everything that came, oldest first, the client's own errands included."""
        with self._changed:
            return [r for r in self._requests if session_id in (None, r.session_id)]

    def steps(self, session_id: str) -> list[Request]:
        """The session's own model steps, oldest first: no errand, no subagent."""
        return [r for r in self.requests(session_id) if r.is_step and not r.agent_id]

    def wait_for(self, session_id: str, found: Callable[[Request], bool], seconds: float) -> Request:
        """The first step of the session that ``found`` accepts, waiting for it; ``AssertionError`` when none came."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                for request in self._requests:
                    if request.session_id == session_id and request.is_step and found(request):
                        return request
                left = deadline - time.monotonic()
                assert left > 0, f"no such request of {session_id} within {seconds:.1f} s"
                self._changed.wait(left)

    def answer(self, request: Request) -> Say | Call:
        """Record the request and give the next step of its session, waiting at a gate if there is one."""
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()
            step: Step = Say("ok")
            if request.is_step and not request.agent_id:
                script = self._scripts.get(request.session_id, [])
                if script:
                    step = script.pop(0)
                else:
                    self.faults.append(f"session {request.session_id} took a step that no script has")
                    step = Say("the script is over")
        request.answer = self._resolve(step, request)
        return request.answer

    def _resolve(self, step: Step, request: Request) -> Say | Call:
        while isinstance(step, Gate):
            step.request = request
            step.reached.set()
            if not step.opened.wait(HOLD_SECONDS_MAX):
                self.faults.append(f"a gate stayed shut for {HOLD_SECONDS_MAX:.0f} s")
            step = step.then
        if isinstance(step, Say | Call):
            return step
        try:
            return step(request)
        except Exception as error:
            self.faults.append(f"a scripted step failed: {error!r}")
            return Say("the scripted step failed")


def _message(request: Request, number: int) -> dict[str, Any]:
    return {
        "id": f"msg_{number}_{uuid.uuid4().hex[:12]}",
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": USAGE,
    }


def _block(answer: Say | Call) -> tuple[dict[str, Any], str]:
    if isinstance(answer, Call):
        block = {"type": "tool_use", "id": answer.id, "name": answer.name, "input": answer.arguments}
        return block, "tool_use"
    return {"type": "text", "text": answer.text}, "end_turn"


def whole(request: Request, answer: Say | Call, number: int) -> dict[str, Any]:
    """The answer as one JSON message (``stream`` absent or false)."""
    block, stop = _block(answer)
    return {**_message(request, number), "content": [block], "stop_reason": stop}


def stream(request: Request, answer: Say | Call, number: int) -> str:
    """The answer as the events of a stream."""
    block, stop = _block(answer)
    if isinstance(answer, Call):
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(answer.arguments)}
    else:
        start = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": answer.text}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": _message(request, number)},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": USAGE},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def _handler(api: StubApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            return

        def do_GET(self) -> None:
            api.others.append(f"{self.command} {self.path}")
            self._send(404, "application/json", b"{}")

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            if self.path.split("?")[0] != "/v1/messages":
                api.others.append(f"POST {self.path}")
                self._send(200, "application/json", b'{"input_tokens": 1}')
                return
            request = Request(
                at=time.monotonic(),
                session_id=self.headers.get("X-Claude-Code-Session-Id", ""),
                agent_id=self.headers.get("x-claude-code-agent-id", ""),
                body=json.loads(raw or b"{}"),
            )
            answer = api.answer(request)
            number = len(api.requests())
            if request.body.get("stream"):
                self._send(200, "text/event-stream", stream(request, answer, number).encode())
            else:
                self._send(200, "application/json", json.dumps(whole(request, answer, number)).encode())

        def _send(self, status: int, media_type: str, body: bytes) -> None:
            try:
                self.send_response(status)
                self.send_header("content-type", media_type)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                # A client that was interrupted or killed leaves in the middle of its request.
                self.close_connection = True

    return Handler
