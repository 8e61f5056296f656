"""All tools on a real store through the official client, in both eras: what they do, and what they refuse."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client

from relaybay.api.models import input_schema
from relaybay.api.tools import TOOLS
from relaybay.settings import Messaging
from tests.api.mcp_rig import Served, serve, stop

ACCEPTING = Messaging(channels=True, inbound="accept")
"""What callers here send is not verified; under `auto` all of it would wait for the owner."""


@pytest.fixture(scope="module", params=["auto", "legacy"])
def one(request, tmp_path_factory) -> Iterator[tuple[Served, str]]:
    # One server for all tests of an era: what each one needs, it makes under names of its own.
    served = serve(tmp_path_factory.mktemp("relay"), messaging=ACCEPTING)
    yield served, request.param
    stop(served)


@pytest.fixture
def call(one) -> Any:
    served, mode = one

    def call(tool: str, /, **arguments: Any) -> dict[str, Any]:
        return served.call(mode, tool, **arguments)

    return call


def fine(answer: dict[str, Any]) -> dict[str, Any]:
    assert not answer["error"], answer
    return answer


@pytest.mark.spec("75", "WRITE-3", "WRITE-4")
def test_a_tasks_life(call) -> None:
    made = fine(call("task_create", project="life", title="Pâint", body="# Big\n<b>"))
    assert (made["key"], made["status"], made["author"]) == ("life-1", "inbox", {"kind": "unnamed"})
    assert json.loads(made["title"]) == "Pâint" and json.loads(made["body"]) == "# Big\n<b>"
    assert "life" in made["text"]
    changed = fine(call("task_update", task="life-1", status="doing", step_add="buy", session="painter"))
    assert changed["status"] == "doing" and changed["steps"] == [{"n": 1, "text": '"buy"', "done": False}]
    assert fine(call("task_update", task="life-1", step_done=1))["steps"][0]["done"] is True
    assert fine(call("task_update", task="life-1", step_undone=1.0))["steps"][0]["done"] is False
    bound = fine(call("task_bind_session", task="life-1", session="painter"))
    assert bound["session"]["title"] == "painter"
    shown = fine(call("task_get", task="LIFE-1"))
    assert shown["key"] == "life-1" and shown["comments"] == []
    assert [one["key"] for one in fine(call("tasks_list", project="life"))["tasks"]] == ["life-1"]
    assert [one["key"] for one in fine(call("tasks_list", query="pâint", status="doing"))["tasks"]] == ["life-1"]
    assert fine(call("tasks_list", project="life", session="painter", status="done"))["tasks"] == []


@pytest.mark.spec("75")
def test_lists_are_paged_by_what_comes_before(call) -> None:
    for n in range(5):
        fine(call("task_create", project="pages", title=f"t{n}"))
    seen: list[str] = []
    more: dict[str, Any] = {}
    for _ in range(3):
        page = fine(call("tasks_list", project="pages", limit=2, **more))
        seen += [one["key"] for one in page["tasks"]]
        more = {"before": page["before"]} if "before" in page else {}
    assert seen == [f"pages-{n}" for n in (5, 4, 3, 2, 1)] and not more


@pytest.mark.spec("CMT-8", "CMT-11", "CMT-14", "CMT-6", "75")
def test_comments_are_written_listed_and_acknowledged(one, call) -> None:
    served, _ = one
    fine(call("task_create", project="talk", title="t"))
    reply = fine(call("comment_add", task="talk-1", body="an *answer*", session="talker"))
    assert reply["author"]["kind"] == "session" and reply["author"]["verified"] is False
    listed = fine(call("comments_list", task="talk-1"))
    assert [entry["id"] for entry in listed["comments"]] == [reply["id"]]
    fine(call("task_bind_session", task="talk-1", session="talker"))
    from relaybay.service import comments

    said = served.relay.store.write(
        lambda tx: comments.owner_comment(tx, served.relay, task="talk-1", body="now", from_board=False)
    ).data
    assert fine(call("comments_list", task="talk-1", unread_only=True))["comments"][0]["id"] == said["id"]
    read = fine(call("comment_ack", id=said["id"]))
    assert read["state"] == "read" and read["read_how"] == "not_verified"
    assert fine(call("comments_list", task="talk-1", unread_only=True))["comments"] == []


@pytest.mark.spec("75")
def test_the_feed_goes_on_from_its_cursor(call) -> None:
    begun = time.monotonic()
    start = fine(call("events_since", wait_s=25))
    assert time.monotonic() - begun < 20, "without a cursor there is nothing to wait for"
    assert start["events"] == []
    fine(call("task_create", project="feed", title="t"))
    found = fine(call("events_since", cursor=start["cursor"], types=["task.*"], wait_s=5))
    assert [event["type"] for event in found["events"]] == ["task.created"]
    assert fine(call("events_since", cursor=found["cursor"]))["events"] == []


@pytest.mark.spec("CH-3", "PUB-9", "READ-8")
def test_a_publication_is_a_success_that_reached_nobody_and_is_read_by_a_proven_session_only(call) -> None:
    sent = fine(call("message_publish", body="It failed.", topic="ci.fence", session="publisher"))
    assert sent["audience"] == {"kind": "topic", "topic": "ci.fence"} and sent["recipients"] == []
    again = fine(call("message_publish", body="It failed.", topic="ci.fence", session="publisher", request_id="r"))
    same = fine(call("message_publish", body="It failed.", topic="ci.fence", session="publisher", request_id="r"))
    assert same["repeat"] is True and same["message_id"] == again["message_id"]
    assert call("topic_read", topic="ci.fence")["error"], "nobody asks"
    page = fine(call("topic_read", topic="ci.fence", session="publisher"))
    assert "It failed." not in json.dumps(page) and page["withheld"] == 2, "a name that nobody has proven"
    assert fine(call("sessions_list", session="publisher"))["sessions"] == [], "none is live"


REFUSED = [
    ("message_publish", {"body": "x", "topic": "ci.fence"}, "sender_required"),
    ("message_publish", {"body": "x", "session": "s"}, "audience_invalid"),
    ("message_publish", {"body": "x", "session": "s", "topic": "ci.*"}, "topic_invalid"),
    ("message_publish", {"body": "x", "session": "s", "topic": "ci", "broadcast": True}, "audience_invalid"),
    ("message_publish", {"body": " ", "session": "s", "topic": "ci"}, "body_blank"),
    ("topic_read", {"topic": "ci"}, "session_required"),
    ("topic_read", {"session": "nobody"}, "session_unknown"),
    ("topic_read", {"limit": 0}, "argument_invalid"),
    ("message_send", {"body": " ", "session": "s", "to": "painter2"}, "recipient_unknown"),
    ("message_send", {"body": "x", "session": "s"}, "recipient_required"),
    ("message_send", {"body": "x", "session": "s", "in_reply_to": "m_none"}, "message_unknown"),
    ("message_send", {"body": "x", "session": "s", "task": "none-1"}, "task_unknown"),
    ("messages_list", {"session": "nobody"}, "session_unknown"),
    ("message_ack", {}, "sender_required"),
    ("message_ack", {"session": "nobody"}, "session_unknown"),
    ("comment_add", {"task": "none-1", "body": "x"}, "task_unknown"),
    ("comment_add", {"task": "none-1"}, "argument_invalid"),
    ("comments_list", {"task": "none-1"}, "task_unknown"),
    ("comments_list", {"task": "none-1", "limit": -1}, "argument_invalid"),
    ("comment_ack", {"id": "c_none"}, "comment_unknown"),
    ("tasks_list", {"project": "none"}, "project_unknown"),
    ("tasks_list", {"status": "open"}, "argument_invalid"),
    ("tasks_list", {"before": "none-1"}, "task_unknown"),
    ("task_get", {"task": "none-1"}, "task_unknown"),
    ("task_create", {"project": "No Slug", "title": "t"}, "project_unknown"),
    ("task_create", {"project": "p", "title": " "}, "argument_invalid"),
    ("task_update", {"task": "none-1", "status": "done"}, "task_unknown"),
    ("task_update", {"task": "none-1", "step_done": 0}, "argument_invalid"),
    ("task_bind_session", {"task": "none-1", "session": "x"}, "task_unknown"),
    ("events_since", {"cursor": "zzz"}, "cursor_invalid"),
    ("events_since", {"wait_s": 26}, "argument_invalid"),
    ("events_since", {"types": ["a"] * 51}, "argument_invalid"),
    ("events_since", {"types": ["no type"]}, "argument_invalid"),
]


@pytest.mark.parametrize(("tool", "arguments", "code"), REFUSED)
@pytest.mark.spec("75", "SEND-14", "SEND-17", "SEND-19", "RECV-1", "ACK-1", "ACK-2", "ROW-4")
def test_every_tool_refuses_by_code_and_changes_nothing(one, call, tool, arguments, code) -> None:
    served, _ = one

    def everything() -> list[Any]:
        tables = ("session", "message", "delivery", "task", "project", "comment", "event", "inbox")
        return served.relay.store.read(lambda tx: [tx.rows(f"SELECT * FROM {table}") for table in tables])

    before = everything()
    refused = call(tool, **arguments)
    assert refused["error"] and refused["code"] == code, refused
    assert everything() == before


@pytest.mark.parametrize("tool", [tool.name for tool in TOOLS])
@pytest.mark.spec("75")
def test_every_tool_refuses_an_unknown_argument_by_name(call, tool: str) -> None:
    refused = call(tool, no_such="x")
    assert refused["code"] == "argument_unknown" and '"no_such"' in refused["text"]
    known = next(one for one in TOOLS if one.name == tool)
    for name in input_schema(known.arguments)["properties"]:
        assert name in refused["text"]


@pytest.mark.spec("75")
def test_a_list_stays_under_the_size_a_client_shows(one) -> None:
    served, mode = one
    served.call(mode, "task_create", project="big", title="t", session="reader")

    async def work(client: Client) -> Any:
        for n in range(12):
            sent = await client.call_tool(
                "message_send", {"session": f"w{n}", "to": "reader", "body": "é" * 1990 + "😀" * 1000 + str(n)}
            )
            assert not sent.is_error, sent
        return await client.call_tool("messages_list", {"session": "reader", "limit": 200})

    listed = served.use(mode, work)
    (text,) = [block.text for block in listed.content]
    assert len(text.encode("utf-16-le")) // 2 < 50_000
    assert listed.structured_content["before"] and len(listed.structured_content["messages"]) < 12


@pytest.mark.spec("SEND-15")
def test_half_a_surrogate_pair_never_gets_in(one) -> None:
    """The protocol's own reader refuses it before any tool: the call fails, and nothing is stored."""
    from tests.api.wire import Wire

    served, _ = one
    headers = {"Authorization": f"Bearer {served.keys.token}", "Accept": "application/json, text/event-stream"}
    arguments = {"session": "a", "to": "reader", "body": "\ud800"}
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "message_send", "arguments": arguments},
    }
    before = served.relay.store.read(lambda tx: tx.value("SELECT count(*) FROM message"))
    answer = Wire(served.server.port, headers).post("/mcp", call, {"MCP-Protocol-Version": "2025-11-25"})
    assert answer.status in (200, 400) and (b'"error"' in answer.body or b"body_not_text" in answer.body), answer.body
    assert served.relay.store.read(lambda tx: tx.value("SELECT count(*) FROM message")) == before
