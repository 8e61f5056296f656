"""A message of another session reaches the model of a running turn, and the sender's list tells the truth."""

from __future__ import annotations

import json
import re

from tests.live.product import model_call, shell_call
from tests.live.rig import Bench, Case
from tests.live.stub_api import Gate, Request, Say

MARK = "please-look-at-the-harbour-map"
BY_A_TOOL_HOOK = re.compile(r"(Pre|Post)ToolUse:Bash hook additional context")


def message_reaches_running_turn(bench: Bench) -> None:
    """Sent while the model thinks, in its next request by a tool hook, read by its own acknowledgement."""
    bench.serve()
    alpha = bench.session("alpha")
    link = model_call("message_ack")
    thinking = Gate(shell_call("one"))
    informed = Gate(model_call("message_ack"))
    bench.api.script(alpha.id, [link, thinking, informed, Say("done")])
    run = alpha.one_shot("go")

    before = thinking.wait()
    first = bench.api.steps(alpha.id)[0]
    assert "mcp__relaybay__message_send" in first.tool_names(), "the tools are listed, not behind a tool search"
    assert json.loads(before.tool_result(link.id))["acknowledged"] == []
    receipt = bench.product.done("message_send", session="tester", to="alpha", body=MARK)
    assert receipt["state"] == "sent", receipt
    assert receipt["reason_code"] == "working", receipt
    assert receipt["sender_verified"] is False, receipt
    assert receipt["recipient"]["title"] == "alpha", receipt
    assert MARK not in before.text
    thinking.open()

    after = informed.wait()
    _assert_framed(after, receipt["message_id"])
    listed = bench.product.sent_by("tester", receipt["message_id"])
    assert listed["state"] == "delivered", listed
    assert listed["delivered_at"], listed
    listed = bench.product.until_in_context("tester", receipt["message_id"])
    assert listed["state"] == "delivered", listed
    informed.open()

    turn = run.finish()
    assert turn.code == 0, turn
    assert turn.result["result"] == "done", turn.result
    listed = bench.product.sent_by("tester", receipt["message_id"])
    assert (listed["state"], listed["read_how"]) == ("read", "verified"), listed
    steps = bench.api.steps(alpha.id)
    assert len(steps) == 4, "a read message blocks no Stop"
    assert steps[-1].text.count(MARK) == 1, "one hand-over, whatever hooks follow"


def unread_message_blocks_one_stop(bench: Bench) -> None:
    """A model that never reads a message is held back once by it, not for ever."""
    bench.serve()
    alpha = bench.session("alpha")
    thinking = Gate(shell_call("one"))
    later = Gate(Say("first end"))
    bench.api.script(alpha.id, [model_call("message_ack"), thinking, shell_call("two"), later, Say("second end")])
    run = alpha.one_shot("go")
    thinking.wait()
    message = bench.product.done("message_send", session="tester", to="alpha", body=MARK)["message_id"]
    thinking.open()

    _assert_framed(later.wait(), message)
    listed = bench.product.until_in_context("tester", message)
    assert listed["state"] == "delivered", listed
    later.open()

    turn = run.finish()
    assert turn.result["result"] == "second end", turn.result
    steps = bench.api.steps(alpha.id)
    assert len(steps) == 5, f"one Stop block, not {len(steps) - 4}"
    assert steps[-1].text.count(MARK) == 2, "shown again at the Stop, once"
    assert bench.product.sent_by("tester", message)["state"] == "delivered", "shown is not read"


def stop_block_is_seen_in_context(bench: Bench) -> None:
    """A text that only the Stop's answer carried is proven by the transcript as a tool hook's is."""
    bench.serve()
    alpha = bench.session("alpha")
    answering = Gate(Say("first end"))
    held_back = Gate(Say("second end"))
    bench.api.script(alpha.id, [model_call("message_ack"), answering, held_back])
    run = alpha.one_shot("go")
    answering.wait()
    message = bench.product.done("message_send", session="tester", to="alpha", body=MARK)["message_id"]
    answering.open()

    assert MARK in held_back.wait().text
    listed = bench.product.until_in_context("tester", message)
    assert listed["state"] == "delivered", listed
    held_back.open()
    assert run.finish().result["result"] == "second end"
    assert len(bench.api.steps(alpha.id)) == 3, "one Stop block"


def _assert_framed(request: Request, message_id: str) -> None:
    assert MARK in request.text
    assert message_id in request.text, "the frame names the message"
    assert BY_A_TOOL_HOOK.search(request.text), "it came by a tool's hook"


CASES: tuple[Case, ...] = (message_reaches_running_turn, unread_message_blocks_one_stop, stop_block_is_seen_in_context)
