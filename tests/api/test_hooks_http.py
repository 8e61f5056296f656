"""`POST /hooks/claude-code` over real HTTP: bodies, answers in the client's own members, answers that never left."""

from __future__ import annotations

import json

import pytest

from tests.api.hooks_rig import HOOK, HookServer
from tests.api.hooks_rig import rig as _rig

rig = _rig


# -- bodies -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("75", "20")
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "body_not_json"),
        (b"{", "body_not_json"),
        (b'{"session_id":"h1","hook_event_name":"Stop","n":NaN}', "body_not_json"),
        (b"\xff\xfe", "body_not_json"),
        (b"[" * 100_000, "body_not_json"),
        (b"[]", "body_not_object"),
        (b'"Stop"', "body_not_object"),
        (b"null", "body_not_object"),
        (b'{"hook_event_name":"Stop"}', "session_id_missing"),
        (b'{"session_id":7,"hook_event_name":"Stop"}', "session_id_missing"),
        (b'{"session_id":" ","hook_event_name":"Stop"}', "session_id_missing"),
        (b'{"session_id":"\\u0000","hook_event_name":"Stop"}', "session_id_missing"),
        (b'{"session_id":"\\ud800","hook_event_name":"Stop"}', "session_id_missing"),
        (b'{"session_id":"h1"}', "hook_event_name_missing"),
        (b'{"session_id":"h1","hook_event_name":null}', "hook_event_name_missing"),
        (b'{"session_id":"h1","hook_event_name":""}', "hook_event_name_missing"),
    ],
)
def test_a_body_that_is_no_event_is_400_with_its_name_and_changes_nothing(
    rig: HookServer, body: bytes, code: str
) -> None:
    response = rig.wire.request("POST", HOOK, {"Content-Type": "application/json"}, body)
    assert (response.status, response.code) == (400, code)
    assert rig.units == 0 and rig.seen.last == {}


@pytest.mark.spec("20", "ANS-5")
def test_unknown_events_and_fields_are_taken_and_ignored(rig: HookServer) -> None:
    rig.linked()
    assert rig.hook("BrandNewEvent", whatever=[1, {"deep": None}], session_id_2="x") == {}
    assert rig.hook("Notification", prompt_kind=7, tool_name=3, agent_id=None, cwd=None, stop_hook_active="yes") == {}
    response = rig.wire.request(
        "POST",
        HOOK,
        {"Content-Type": "application/json"},
        b'{"session_id":"a","session_id":"h1","hook_event_name":"X"}',
    )
    assert response.status == 200 and response.body == b"{}"


@pytest.mark.spec("20", "75")
def test_large_bodies_are_taken_up_to_8_mib(rig: HookServer) -> None:
    rig.linked()
    assert rig.hook("PostToolUse", tool_response={"stdout": "x" * (8 * (1 << 20) - 300)}) == {}
    response = rig.wire.post(HOOK, rig.body("PostToolUse", tool_response="x" * (8 << 20)))
    assert (response.status, response.code) == (413, "body_too_large")


@pytest.mark.spec("30", "20")
def test_no_text_of_the_conversation_is_kept(rig: HookServer) -> None:
    rig.linked()
    marks = {"prompt": "SECRET-1", "tool_input": {"x": "SECRET-2"}, "last_assistant_message": "SECRET-3"}
    for name in ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"):
        rig.hook(name, **marks, tool_name="SendMessage", tool_response={"success": True, "message": "SECRET-4"})
    rig.relay.flush(rig.relay.presence.dirty())
    tables = rig.relay.store.read(lambda tx: tx.rows("SELECT name FROM sqlite_master WHERE type = 'table'"))
    for (table,) in tables:
        rows = rig.relay.store.read(lambda tx, table=table: tx.rows(f"SELECT * FROM {table}"))
        assert "SECRET" not in repr(rows)


@pytest.mark.spec("20")
def test_what_was_heard_is_bounded(rig: HookServer) -> None:
    rig.linked()
    for number in range(200):
        rig.hook(f"Event{number}")
    rig.hook("E" * 1_000)
    rig.hook("SessionStart", source="resume")
    heard = rig.seen.last["claude-code"]
    assert len(heard) == 64 and "SessionStart" in heard and "E" * 1_000 not in heard


# -- answers ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("ANS-1", "ANS-2", "ANS-3", "ANS-4", "75")
def test_answers_have_exactly_the_clients_members(rig: HookServer) -> None:
    said = rig.hook("SessionStart", source="startup")
    assert said["hookSpecificOutput"].keys() == {"hookEventName", "additionalContext"} and len(said) == 1
    assert said["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    row = rig.linked()
    for name in ("UserPromptSubmit", "PreToolUse", "PostToolUse"):
        mid = rig.send(row)
        said = rig.hook(name)
        assert said == {
            "hookSpecificOutput": {
                "hookEventName": name,
                "additionalContext": said["hookSpecificOutput"]["additionalContext"],
            }
        }
        assert mid in said["hookSpecificOutput"]["additionalContext"]
        assert rig.hook(name) == {}
    rig.hook("UserPromptSubmit")
    mid = rig.send(row)
    said = rig.hook("Stop")
    text = said["hookSpecificOutput"]["additionalContext"]
    assert said == {
        "decision": "block",
        "reason": said["reason"],
        "hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": text},
    }
    assert mid in text and "\n" not in said["reason"] and mid not in said["reason"]
    assert rig.hook("Stop", stop_hook_active=True) == {}
    assert rig.hook("SessionEnd") == {}


@pytest.mark.spec("PROMPT-1", "PROMPT-2")
def test_whose_prompt_it_is_is_told_by_its_first_words_and_source(rig: HookServer) -> None:
    rig.linked()
    rig.hook("UserPromptSubmit", prompt="go", prompt_id="p1")
    for number, more in enumerate(
        [
            {"prompt": "<task-notification>x"},
            {"prompt": "<cross-session-message from=1>"},
            {"prompt": "x", "source": "system"},
        ]
    ):
        before = rig.row().turn_serial
        rig.hook("UserPromptSubmit", **more, prompt_id="p1")
        assert rig.row().turn_serial == before, f"{number}: inside the open turn"
    rig.hook("UserPromptSubmit", prompt="go on", source="sdk", prompt_id="p1", prompt_kind="task-notification")
    assert rig.row().turn_serial == before + 1


@pytest.mark.spec("HL-3", "HL-9", "WAIT-6")
def test_the_command_client_tells_time_process_and_its_own_id(rig: HookServer) -> None:
    at = rig.relay.clock() - 5_000_000
    headers = {
        "X-Relaybay-Event-Id": "01EVENT",
        "X-Relaybay-Event-At": str(at),
        "X-Relaybay-Client-Pid": "4242",
        "X-Relaybay-Client-Started": "100",
        "X-Relaybay-Pid-Ns": "pid:[1]",
        "X-Relaybay-Entrypoint": "cli",
        "X-Relaybay-Client-Version": "2.1.332",
    }
    rig.hook("SessionStart", headers=headers, source="startup")
    row = rig.row()
    assert (row.last_event_us, row.process_pid, row.process_started, row.process_ns) == (at, 4242, "100", "pid:[1]")
    assert (row.process_entry, row.client_version) == ("cli", "2.1.332")
    assert rig.relay.presence.heard("01EVENT")
    ahead = {**headers, "X-Relaybay-Event-At": str(at + 10**12), "X-Relaybay-Client-Pid": "4242\t9"}
    rig.hook("UserPromptSubmit", headers=ahead)
    assert rig.row().last_event_us <= rig.relay.clock(), "a clock ahead of ours is not believed"
    assert rig.row().process_pid == 4242


@pytest.mark.spec("PERF-1")
def test_a_hot_event_with_nothing_waiting_submits_nothing_to_the_store(rig: HookServer) -> None:
    rig.linked()
    units = rig.units
    with rig.writer_held():
        for name in ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "Notification"):
            assert rig.hook(name, wire=rig.tcp) == {}
    assert rig.units == units + 1, "the unit that held the writer"


@pytest.mark.spec("20")
def test_a_store_that_fails_stops_no_agent(rig: HookServer) -> None:
    row = rig.linked()
    rig.send(row)
    rig.relay.store.close()
    assert rig.hook("UserPromptSubmit") == {}
    assert rig.hook("SessionStart", source="resume") == {}


# -- answers that never left --------------------------------------------------------------------------------------


@pytest.mark.spec("PACK-7", "DLV-17", "STOP-9", "ACT-3")
@pytest.mark.parametrize("name", ["UserPromptSubmit", "PostToolUse", "Stop"])
def test_a_client_that_goes_before_its_answer_leaves_nothing_delivered(rig: HookServer, name: str) -> None:
    row = rig.linked()
    rig.hook("UserPromptSubmit")
    mid = rig.send(row)
    units = rig.units
    with rig.writer_held():
        connection = rig.begin(HOOK, rig.body(name))
        rig.until(lambda: rig.units == units + 2)
        connection.close()
        rig.until(lambda: not rig.connections)
    rig.until(lambda: "message.offered_again" in _types(rig))
    mail = rig.mail(mid)
    assert (mail.state, mail.stop_blocks, rig.row().turn_state) == ("sent", 0, "none")
    if name == "Stop":
        assert rig.row().activity == "idle"
    given = [json.dumps(rig.hook("PostToolUse")) for _ in range(3)]
    assert [mid in one for one in given] == [True, False, False]
    assert rig.mail(mid).state == "delivered"


def _types(rig: HookServer) -> list[str]:
    return [row[0] for row in rig.relay.store.read(lambda tx: tx.rows("SELECT type FROM event"))]


@pytest.mark.spec("PACK-5", "STOP-5")
def test_events_behind_one_in_hand_keep_their_order(rig: HookServer) -> None:
    row = rig.linked()
    rig.hook("UserPromptSubmit", prompt_id="p1")
    rig.send(row)
    units = rig.units
    with rig.writer_held():
        first = rig.begin(HOOK, rig.body("Stop"))
        rig.until(lambda: rig.units == units + 2)
        second = rig.begin(HOOK, rig.body("Notification"))
        rig.until(lambda: rig.units == units + 3)
    assert rig.answer(first).json["decision"] == "block"
    assert rig.answer(second).json == {}
    assert (rig.row().activity, rig.row().turn_state) == ("working", "one")
