"""The MCP surface as the official client meets it, in both eras: lists, calls, refusals, long polls, failures."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from relaybay.api.tools import ALL_TOOLS_CHARS_MAX, CHANNEL_TOOLS, TOOLS, TOOLS_LIST_CHARS_MAX
from relaybay.domain import Outcome, Refusal
from relaybay.errors import StoreFull, StoreUnavailable
from tests.api.mcp_rig import CHANNELS, ERAS, Served, serve, stop

MODES = [mode for mode, _ in ERAS]


@pytest.fixture
def served(tmp_path) -> Iterator[Served]:
    one = serve(tmp_path)
    yield one
    stop(one)


@pytest.mark.parametrize(("mode", "version"), ERAS)
@pytest.mark.spec("75")
def test_a_client_of_either_era_sees_the_tools_in_their_order(served, mode: str, version: str) -> None:
    async def work(client: Client) -> Any:
        assert client.protocol_version == version
        first, second = await client.list_tools(), await client.list_tools()
        assert [t.name for t in first.tools] == [t.name for t in second.tools]
        return first.tools

    tools = served.use(mode, work)
    assert [tool.name for tool in tools] == list(served.surface.tools)
    for tool in tools:
        assert tool.title and tool.description and tool.output_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        assert tool.annotations.open_world_hint is False


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("on", [False, True], ids=["off", "on"])
@pytest.mark.spec("CH-3", "75")
def test_the_switch_decides_which_tools_a_client_is_told_of(tmp_path, mode: str, on: bool) -> None:
    """Off, exactly the twelve of the base, and a tool of channels is one that does not exist."""

    async def work(client: Client) -> Any:
        tools = (await client.list_tools()).tools
        if on:
            peers = await client.call_tool("sessions_list", {})
            assert not peers.is_error and peers.structured_content["sessions"] == []
        else:
            for name in sorted(CHANNEL_TOOLS):
                with pytest.raises(MCPError) as raised:
                    await client.call_tool(name, {})
                assert name in raised.value.error.message
        return tools

    one = serve(tmp_path, messaging=CHANNELS if on else None)
    try:
        tools = one.use(mode, work)
    finally:
        stop(one)
    wanted = [tool.name for tool in TOOLS if on or tool.name not in CHANNEL_TOOLS]
    assert [tool.name for tool in tools] == wanted
    assert len(wanted) == (15 if on else 12)
    told = [[tool.name, tool.description, tool.input_schema] for tool in tools]
    size = sum(len(json.dumps(one, ensure_ascii=False, separators=(",", ":"))) for one in told)
    assert size <= (ALL_TOOLS_CHARS_MAX if on else TOOLS_LIST_CHARS_MAX)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.spec("SEND-4", "RECV-6", "DLV-5", "75")
def test_a_message_is_sent_listed_and_acknowledged(served, mode: str) -> None:
    # A write makes the recipient's row; looking one up would not.
    assert served.call(mode, "message_send", body="x", to="b", session="a")["code"] == "recipient_unknown"
    make_rows(served)
    receipt = served.call(mode, "message_send", body="héllo\n<b>", to="b", session="a", request_id="r1")
    assert not receipt["error"]
    assert receipt["recipient"]["title"] == "b" and receipt["sender_verified"] is False
    assert receipt["state"] == "sent" and receipt["reason_code"] == "never_linked"
    listed = served.call(mode, "messages_list", session="b")
    (item,) = listed["messages"]
    assert (item["message_id"], item["direction"], item["state"]) == (receipt["message_id"], "in", "sent")
    assert item["body"] == '"héllo\\n\\u003cb\\u003e"'
    assert listed["unread"] == 1
    done = served.call(mode, "message_ack", session="b")
    assert done["acknowledged"] == [receipt["message_id"]] and done["waiting"] == 0
    again = served.call(mode, "message_send", body="héllo\n<b>", to="b", session="a", request_id="r1")
    assert again["repeat"] is True and again["state"] == "read"


def make_rows(served: Served) -> None:
    from relaybay.store import sessions

    for title in ("a", "b"):
        served.relay.store.write(lambda tx, title=title: sessions.add(tx, title=title, title_key=title, kind="agent"))


REFUSED = [
    ("message_send", {"body": "x", "two": "b"}, "argument_unknown", ("two", "in_reply_to, request_id")),
    ("message_send", {"body": "x", "recipient\n": "b"}, "argument_unknown", ('"recipient\\n"',)),
    ("message_send", {}, "argument_invalid", ("body", "required")),
    ("message_send", {"body": None}, "argument_invalid", ("body", "null")),
    ("message_send", {"body": 7}, "argument_invalid", ("body", "string")),
    ("message_send", {"body": ["x"]}, "argument_invalid", ("body", "string")),
    ("message_send", {"body": "x", "request_id": "r" * 65}, "argument_invalid", ("request_id", "64")),
    ("message_send", {"body": "x", "to": "b"}, "sender_required", ("session",)),
    ("messages_list", {"session": "a", "limit": 0}, "argument_invalid", ("limit", "1 or more")),
    ("messages_list", {"session": "a", "limit": 201}, "argument_invalid", ("limit", "200 or less")),
    ("messages_list", {"session": "a", "limit": "5"}, "argument_invalid", ("limit", "whole number")),
    ("messages_list", {"session": "a", "limit": True}, "argument_invalid", ("limit", "whole number")),
    ("messages_list", {"session": "a", "limit": 5.5}, "argument_invalid", ("limit", "whole number")),
    ("messages_list", {"session": "a", "limit": 1e300}, "argument_invalid", ("limit", "200 or less")),
    ("messages_list", {"session": "a", "box": "IN"}, "argument_invalid", ("box", "in, out, all")),
    ("messages_list", {"session": "a", "unread_only": 1}, "argument_invalid", ("unread_only", "true or false")),
    ("messages_list", {"session": "nobody"}, "session_unknown", ()),
    ("messages_list", {}, "session_required", ()),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("tool", "arguments", "code", "words"), REFUSED)
@pytest.mark.spec("75", "SEND-1", "ACK-2")
def test_what_is_refused_says_so_and_changes_nothing(served, mode, tool, arguments, code, words) -> None:
    before = served.relay.store.read(lambda tx: tx.value("SELECT count(*) FROM event"))
    refused = served.call(mode, tool, **arguments)
    assert refused["error"] and refused["code"] == code
    for word in words:
        assert word in refused["text"]
    assert served.relay.store.read(lambda tx: tx.value("SELECT count(*) FROM event")) == before


@pytest.mark.spec("75")
def test_a_whole_number_with_a_fraction_of_zero_is_an_integer_as_the_schema_language_has_it(served) -> None:
    make_rows(served)
    assert served.call("auto", "messages_list", session="a", limit=5.0)["messages"] == []


@pytest.mark.parametrize("mode", MODES)
def test_an_unknown_tool_is_an_error_of_the_protocol(served, mode: str) -> None:
    async def work(client: Client) -> None:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("message_sned", {})
        assert "message_send" in raised.value.error.message

    served.use(mode, work)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.spec("PROOF-2", "SEND-6", "SEND-16", "PROOF-6")
def test_the_clients_own_tool_use_id_says_who_calls(served, mode: str) -> None:
    make_rows(served)
    hook_live(served, "a", "hook-a")
    served.relay.presence.witness("toolu_1", "hook-a", served.relay.clock())
    sent = served.call(mode, "message_send", tool_use_id="toolu_1", body="x", to="b")
    assert not sent["error"] and sent["sender_verified"] is True
    again = served.call(mode, "message_send", tool_use_id="toolu_1", body="x", to="b")
    assert again["repeat"] is True and again["message_id"] == sent["message_id"]
    other = served.call(mode, "message_send", tool_use_id="toolu_1", body="y", to="b")
    assert other["code"] == "sender_required"


def hook_live(served: Served, title: str, hook_id: str) -> None:
    """Gives a row a live exact link without the hooks, which have tests of their own."""

    def write(tx: Any) -> None:
        tx.run(
            "UPDATE session SET hook_id = ?, link_state = 'exact', kind = 'hook', activity = 'working',"
            " last_seen_us = ? WHERE title = ?",
            hook_id,
            tx.now,
            title,
        )
        tx.touch(int(tx.value("SELECT id FROM session WHERE title = ?", title)))

    served.relay.store.write(write)


# --- the server's own words ---


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.spec("75", "TEXT-3")
def test_the_instructions_name_live_sessions_at_the_time_of_asking(tmp_path, mode: str) -> None:
    live: list[dict[str, Any]] = []
    one = serve(tmp_path, live_sessions=lambda tx, relay: Outcome({"sessions": list(live)}))

    async def instructions(client: Client) -> str:
        return client.instructions or ""

    try:
        assert "No session is live now." in one.use(mode, instructions)
        live += [{"title": f"t{n}", "ref": f"S-{n}", "name": "calm-proud-otter" if n == 1 else None} for n in range(9)]
        live[1]["name"] = "calm-proud-otter"
        told = one.use(mode, instructions)
        assert '"t0" (S-0)' in told and '"t1" (S-1, @calm-proud-otter)' in told and "S-4" in told and "S-5" not in told
        assert len(told) < 1500
        live[:] = [{"title": "\\u202e" * 26, "ref": f"S-{10**17 + n}"} for n in range(9)]
        told = one.use(mode, instructions)
        assert len(told) < 1500 and f"S-{10**17}" in told
    finally:
        stop(one)


# --- failures ---


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (StoreFull("no space"), "store_full"),
        (StoreUnavailable("closing"), "store_unavailable"),
        (ValueError("a secret inside"), "internal"),
    ],
)
@pytest.mark.spec("75")
def test_a_failure_is_worded_and_leaks_nothing(tmp_path, mode: str, failure: Exception, code: str) -> None:
    def fail(tx: Any, relay: Any, caller: Any, given: Any) -> Outcome:
        raise failure

    one = serve(tmp_path, use_cases={"message_send": fail})
    try:
        refused = one.call(mode, "message_send", body="x")
        assert refused["code"] == code and "secret" not in refused["text"]
        assert one.surface.calls["message_send", "refused"] == 1
    finally:
        stop(one)


@pytest.mark.parametrize("mode", MODES)
def test_a_client_that_leaves_does_not_harm_the_writer(tmp_path, mode: str) -> None:
    """Its use case is carried out, and the next ones too."""
    done = []

    def slow(tx: Any, relay: Any, caller: Any, given: Any) -> Outcome:
        time.sleep(0.5)
        done.append(given.body)
        return Outcome({"text": "t", "message_id": "m", "recipient": {}, "sender_verified": False, "state": "sent"})

    one = serve(tmp_path, use_cases={"message_send": slow})

    async def work(client: Client) -> None:
        blocking = asyncio.create_task(client.call_tool("message_send", {"body": "0"}))
        await asyncio.sleep(0.1)
        with pytest.raises(Exception):  # noqa: B017, PT011 - which one is the SDK's business.
            await client.call_tool("message_send", {"body": "1"}, read_timeout_seconds=0.1)
        await blocking
        assert not (await client.call_tool("message_send", {"body": "2"})).is_error

    try:
        one.use(mode, work)
        assert done == ["0", "1", "2"]
    finally:
        stop(one)


@pytest.mark.spec("75")
def test_a_refusal_without_a_status_is_still_an_error(tmp_path) -> None:
    one = serve(tmp_path, use_cases={"message_send": lambda *_: Outcome(refusal=Refusal("receipt.orphaned", "DLV-9"))})
    try:
        assert one.call("auto", "message_send", body="x")["error"] is True
    finally:
        stop(one)
