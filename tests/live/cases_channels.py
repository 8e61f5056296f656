"""Channels with the real client: a shell publishes, a held message waits for the owner, and what breaks off a turn."""

from __future__ import annotations

import json
import time

from tests.live.client import Session
from tests.live.product import model_call, shell_call
from tests.live.rig import Bench, Case
from tests.live.stub_api import Call, Gate, Say

MARK = "build-1042-failed-on-linux"
HELD = "production-is-on-build-1041"
SWEEP_SECONDS_MAX = 25.0
SETTLE_SECONDS = 2.0


def topic_reaches_its_subscriber_alone(bench: Bench) -> None:
    """A shell publishes to a topic: the session that subscribes reads it in its running turn, the other one does not."""
    _serve(bench)
    alpha, beta = bench.session("alpha"), bench.session("beta")
    thinking = {name: Gate(shell_call("one")) for name in ("alpha", "beta")}
    informed = {name: Gate(Say("done")) for name in ("alpha", "beta")}
    runs = []
    for session, name in ((alpha, "alpha"), (beta, "beta")):
        # Unread, what was published blocks one Stop.
        last = [Say("that was all")] if name == "alpha" else []
        bench.api.script(session.id, [model_call("message_ack"), thinking[name], informed[name], *last])
        runs.append(session.one_shot("go"))
        thinking[name].wait()
        _accept(bench, name)
    bench.product.owner("/api/v1/sessions/alpha/messaging/topics", {"add": ["ci.*"]})
    told = json.loads(
        bench.product.cli("message", "publish", "--topic", "ci.failures", "--from", "nightly", "--json", MARK)
    )
    assert [one["title"] for one in told["recipients"]] == ["alpha"], told
    for gate in thinking.values():
        gate.open()
    assert MARK in informed["alpha"].wait().text
    assert 'script: \\"nightly\\"' in informed["alpha"].wait().text
    assert MARK not in informed["beta"].wait().text
    for gate in informed.values():
        gate.open()
    for run in runs:
        assert run.finish().code == 0
    line = json.loads(bench.product.cli("message", "log", "--topic", "ci.failures", "--json"))
    assert [one["state"] for one in line["recipients"]] == ["delivered"], line


def held_message_waits_for_the_owner(bench: Bench) -> None:
    """Under `auto` a script's message goes out with no hook until the owner approves it, and with the next one then."""
    _serve(bench)
    alpha = bench.session("alpha")
    thinking, later, informed = Gate(shell_call("one")), Gate(shell_call("two")), Gate(Say("done"))
    bench.api.script(alpha.id, [model_call("message_ack"), thinking, later, informed, Say("that was all")])
    run = alpha.one_shot("go")
    thinking.wait()
    name = bench.product.owner_get("/api/v1/sessions/alpha")["name"]
    receipt = json.loads(bench.product.cli("message", "send", "--to", name, "--from", "deploy", "--json", HELD))
    assert (receipt["state"], receipt["reason_code"]) == ("held", "script"), receipt
    thinking.open()
    assert HELD not in later.wait().text
    review = bench.product.owner(f"/api/v1/messages/{receipt['message_id']}/review", {})
    bench.product.owner(f"/api/v1/messages/{receipt['message_id']}/approve", {"review": review["token"]})
    later.open()
    assert HELD in informed.wait().text
    informed.open()
    assert run.finish().code == 0


def escape_in_a_tool_call_suppresses(bench: Bench) -> None:
    """No hook tells of Esc; the transcript does, and what waits is held until the user writes again."""
    _serve(bench)
    alpha = bench.session("alpha")
    # The newer client runs no bare `sleep`.
    sleeping = Call("Bash", {"command": "tail -f /dev/null", "description": "wait"})
    bench.api.script(alpha.id, [model_call("message_ack"), sleeping])
    terminal = alpha.terminal()
    try:
        terminal.wait_ready()
        terminal.type("go")
        bench.api.wait_for(alpha.id, lambda request: len(bench.api.steps(alpha.id)) == 2, 20)
        time.sleep(SETTLE_SECONDS)
        _accept(bench, "alpha")
        receipt = bench.product.done("message_send", session="tester", to="alpha", body=MARK)
        assert receipt["reason_code"] == "working", receipt
        terminal.press("Escape")
        pressed = time.monotonic()
        while bench.product.sent_by("tester", receipt["message_id"])["state"] != "held":
            assert time.monotonic() - pressed < SWEEP_SECONDS_MAX, "the interruption was not seen"
            time.sleep(0.25)
        bench.measure("suppressed_seconds", time.monotonic() - pressed)
        listed = bench.product.sent_by("tester", receipt["message_id"])
        assert listed["reason_code"] == "waits_for_resume", listed
        # Unread, the message blocks one Stop.
        bench.api.script(alpha.id, [Say("i go on"), Say("that was all")])
        terminal.wait_ready()
        terminal.type("go on")
        resumed = bench.api.wait_for(alpha.id, lambda request: MARK in request.text, 20)
        assert receipt["message_id"] in resumed.text
    finally:
        bench.note(terminal.screen())
        terminal.close()


def wake_ups_own_prompt_lifts_nothing(bench: Bench) -> None:
    """A suppressed session is woken by a comment alone; the prompt that the wake-up raises is nobody's."""
    _serve(bench, "--wake")
    alpha = bench.session("alpha")
    bench.api.script(alpha.id, [model_call("message_ack"), Say("first turn over")])
    terminal = alpha.terminal()
    try:
        terminal.wait_ready()
        terminal.type("go")
        _until_left(bench, alpha)
        time.sleep(SETTLE_SECONDS)
        _accept(bench, "alpha")
        # As the client would tell of a turn that failed; its waiting hook stays (WAIT-12).
        event = {"session_id": alpha.id, "cwd": str(alpha.folder), "hook_event_name": "StopFailure"}
        bench.product.post_hook("/hooks/claude-code", event)
        receipt = bench.product.done("message_send", session="tester", to="alpha", body=MARK)
        assert (receipt["state"], receipt["reason_code"]) == ("held", "waits_for_resume"), receipt
        bench.api.script(alpha.id, [Say("i am awake")])
        bench.product.owner("/api/v1/projects", {"slug": "shop", "title": "Shop", "root": str(alpha.folder)})
        task = bench.product.owner("/api/v1/tasks", {"project": "shop", "title": "Look", "status": "doing"})["key"]
        bench.product.owner(f"/api/v1/tasks/{task}/bind", {"session": "alpha"})
        bench.product.owner(f"/api/v1/tasks/{task}/comments", {"body": "the-owner-asks"})
        woken = bench.api.wait_for(alpha.id, lambda request: "the-owner-asks" in request.text, 15)
        assert MARK not in woken.text
        time.sleep(SETTLE_SECONDS)
        assert len(bench.api.steps(alpha.id)) == 3, "the unread comment blocks no Stop of the wake-up's turn"
        listed = bench.product.sent_by("tester", receipt["message_id"])
        assert (listed["state"], listed["reason_code"]) == ("held", "waits_for_resume"), listed
    finally:
        bench.note(terminal.screen())
        terminal.close()


def _serve(bench: Bench, *setup_options: str) -> None:
    bench.product.with_channels()
    bench.serve(*setup_options)


def _accept(bench: Bench, session: str) -> None:
    policy = {"policy": "accept", "confirmed": True}
    bench.product.owner(f"/api/v1/sessions/{session}/messaging/policy", policy)


def _until_left(bench: Bench, session: Session) -> None:
    deadline = time.monotonic() + 20
    while bench.api.left(session.id):
        assert time.monotonic() < deadline, "the script was not followed to its end"
        time.sleep(0.05)


CASES: tuple[Case, ...] = (
    topic_reaches_its_subscriber_alone,
    held_message_waits_for_the_owner,
    escape_in_a_tool_call_suppresses,
    wake_ups_own_prompt_lifts_nothing,
)
