"""Who a call is from: the client's tool-use id says it, no argument of the model does."""

from __future__ import annotations

import json

from tests.live.product import model_call
from tests.live.rig import Bench, Case
from tests.live.stub_api import Say

BODY = "the tide table is in the shared drawer"
TOOL_USE_ID = "claudecode/toolUseId"


def own_call_is_verified_by_its_tool_use_id(bench: Bench) -> None:
    """The model names only the recipient; the receipt and the recipient's list show a verified sender."""
    bench.serve()
    bench.product.done("task_create", project="acme-shop", title="gives its author a row", session="receiver")
    alpha = bench.session("alpha")
    send = model_call("message_send", to="receiver", body=BODY)
    bench.api.script(alpha.id, [send, Say("sent")])
    turn = alpha.one_shot("go").finish()
    assert turn.code == 0, turn
    assert turn.result["result"] == "sent", turn.result

    steps = bench.api.steps(alpha.id)
    assert len(steps) == 2
    shown = steps[1].tool_result(send.id)
    receipt = json.loads(shown)
    assert receipt["sender_verified"] is True, receipt
    assert receipt["state"] == "sent", receipt
    assert receipt["recipient"]["title"] == "receiver", receipt
    assert alpha.id not in shown, "a hook id stands in no answer"

    listed = bench.product.done("messages_list", session="receiver", box="in")["messages"]
    assert [item["message_id"] for item in listed] == [receipt["message_id"]]
    assert listed[0]["from"]["title"] == "alpha", listed
    assert listed[0]["from"]["verified"] is True, listed
    assert json.loads(listed[0]["body"]) == BODY, listed


def made_up_or_used_tool_use_id_proves_nothing(bench: Bench) -> None:
    """Without a session name such a call is refused; an id that the client did report serves one call only."""
    bench.serve()
    bench.product.done("task_create", project="acme-shop", title="gives its author a row", session="receiver")
    alpha = bench.session("alpha")
    send = model_call("message_send", to="receiver", body=BODY)
    bench.api.script(alpha.id, [send, Say("sent")])
    alpha.one_shot("go").finish()
    for tool_use_id in ("toolu_made_up_by_somebody", send.id):
        answer = bench.product.tool("message_send", meta={TOOL_USE_ID: tool_use_id}, to="receiver", body="another text")
        assert answer.is_error, answer
        assert "sender_required" in answer.text, answer
        assert "SEND-1" in answer.text, answer
    listed = bench.product.done("messages_list", session="receiver", box="in")["messages"]
    assert len(listed) == 1, listed


CASES: tuple[Case, ...] = (
    own_call_is_verified_by_its_tool_use_id,
    made_up_or_used_tool_use_id_proves_nothing,
)
