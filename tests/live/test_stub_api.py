"""The scripted Messages API by itself: scripts, gates, records, both answer forms."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator

import pytest

from tests.live.stub_api import Call, Gate, Request, Say, StubApi

TOOLS = [{"name": "Bash"}]


@pytest.fixture
def api() -> Iterator[StubApi]:
    server = StubApi()
    yield server
    server.close()


def post(api: StubApi, session: str, body: dict[str, object], **headers: str) -> str:
    connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=10)
    sent = {"X-Claude-Code-Session-Id": session, **headers}
    connection.request("POST", "/v1/messages?beta=true", json.dumps(body), sent)
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def test_a_session_follows_its_own_script_and_no_other(api: StubApi) -> None:
    api.script("one", [Say("first"), Say("second")])
    api.script("two", [Say("other")])
    answers = [json.loads(post(api, name, {"tools": TOOLS})) for name in ("one", "two", "one")]
    assert [answer["content"][0]["text"] for answer in answers] == ["first", "other", "second"]
    assert api.left("one") == api.left("two") == 0
    assert not api.faults
    post(api, "one", {"tools": TOOLS})
    assert len(api.faults) == 1, "a step beyond the script is a fault of the case"


def test_errands_and_subagents_take_no_step(api: StubApi) -> None:
    api.script("one", [Say("kept")])
    post(api, "one", {"messages": []})
    post(api, "one", {"tools": TOOLS}, **{"x-claude-code-agent-id": "a1"})
    assert api.left("one") == 1
    assert len(api.requests("one")) == 2
    assert api.steps("one") == []


def test_a_call_is_streamed_as_the_client_expects_it(api: StubApi) -> None:
    call = Call("Bash", {"command": "echo é"})
    api.script("one", [call])
    lines = post(api, "one", {"tools": TOOLS, "stream": True, "model": "m"}).splitlines()
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert [event["type"] for event in events] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert events[1]["content_block"] == {"type": "tool_use", "id": call.id, "name": "Bash", "input": {}}
    assert json.loads(events[2]["delta"]["partial_json"]) == {"command": "echo é"}
    assert events[4]["delta"]["stop_reason"] == "tool_use"


def test_a_gate_holds_the_turn_until_it_is_opened(api: StubApi) -> None:
    gate = Gate(lambda request: Say(str(len(request.body["messages"]))))
    api.script("one", [gate])
    answers: list[str] = []
    body = {"tools": TOOLS, "messages": [1, 2, 3]}
    thread = threading.Thread(target=lambda: answers.append(post(api, "one", body)))
    thread.start()
    assert gate.wait(5).session_id == "one"
    thread.join(0.2)
    assert not answers, "nothing is answered while the gate is shut"
    gate.open()
    thread.join(5)
    assert json.loads(answers[0])["content"][0]["text"] == "3"


def test_a_failing_step_is_a_fault_and_still_an_answer(api: StubApi) -> None:
    def fails(request: Request) -> Say:
        raise ValueError("boom")

    api.script("one", [fails])
    assert json.loads(post(api, "one", {"tools": TOOLS}))["stop_reason"] == "end_turn"
    assert len(api.faults) == 1
    assert "boom" in api.faults[0]


def test_tool_results_are_found_in_both_forms() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    blocks = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "plain"},
        {"type": "tool_result", "tool_use_id": "t2", "content": parts},
    ]
    messages = [{"role": "user", "content": "go"}, {"role": "user", "content": blocks}]
    request = Request(0.0, "one", "", {"messages": messages})
    assert (request.tool_result("t1"), request.tool_result("t2")) == ("plain", "ab")
    assert request.has_result("t1")
    assert not request.has_result("t3")
