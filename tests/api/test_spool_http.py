"""`POST /hooks/spool`, and the server's import of its own spool folder, as the command client writes it."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from relaybay.api.spool import take_all
from relaybay.client import spool_writer
from relaybay.client.event import make_id
from tests.api.hooks_rig import CWD, HookServer
from tests.api.hooks_rig import rig as _rig

rig = _rig


def line(rig: HookServer, event_id: str, name: str = "SessionStart", hook: str = "h1", **more: Any) -> dict[str, Any]:
    at_us = more.pop("at_us", rig.relay.clock())
    return {"id": event_id, "at_us": at_us, "client": "claude-code", "body": rig.body(name, hook, **more)}


def post(rig: HookServer, *events: Any) -> dict[str, int]:
    response = rig.wire.post("/hooks/spool", {"events": list(events)})
    assert response.status == 200, response
    return response.json


# -- the endpoint -------------------------------------------------------------------------------------------------


@pytest.mark.spec("SPOOL-1", "SPOOL-2", "75", "HL-8")
def test_replay_answers_counts_and_applies_each_id_once(rig: HookServer) -> None:
    start, prompt = line(rig, "E1"), line(rig, "E2", "UserPromptSubmit", prompt_kind="user")
    assert post(rig, start, prompt) == {"applied": 2, "repeated": 0, "bad": 0}
    assert post(rig, start, prompt, line(rig, "E3", "Stop")) == {"applied": 1, "repeated": 2, "bad": 0}
    assert (rig.row().link_state, rig.row().activity) == ("guessed_unseen", "unknown")


@pytest.mark.spec("SPOOL-1")
def test_an_event_that_was_answered_live_is_not_applied_again(rig: HookServer) -> None:
    rig.linked()
    rig.hook("UserPromptSubmit", headers={"X-Relaybay-Event-Id": "LIVE1"})
    assert post(rig, line(rig, "LIVE1", "SessionEnd")) == {"applied": 0, "repeated": 1, "bad": 0}
    assert rig.row().link_state == "exact"


@pytest.mark.spec("SPOOL-1", "HL-12")
def test_replay_goes_in_the_order_of_happening_also_over_many_units(rig: HookServer) -> None:
    rig.linked()
    now = rig.relay.clock()
    events = [line(rig, f"E{n:03}", "UserPromptSubmit", at_us=now + n) for n in range(130)]
    events.append(line(rig, "E999", "SessionEnd", at_us=now + 200))
    assert post(rig, *reversed(events)) == {"applied": 131, "repeated": 0, "bad": 0}
    assert (rig.row().link_state, rig.row().activity) == ("ended_exact", "ended")


@pytest.mark.spec("SPOOL-2", "DLV-10", "ANS-7", "PROOF-4")
def test_replay_hands_nothing_over_and_proves_nothing(rig: HookServer) -> None:
    row = rig.linked()
    mid = rig.send(row)
    events = [
        line(rig, "E1", "UserPromptSubmit"),
        line(rig, "E2", "PreToolUse", tool_name="mcp__relaybay__message_send", tool_use_id="toolu_9"),
        line(rig, "E3", "Stop"),
    ]
    assert post(rig, *events)["applied"] == 3
    assert rig.mail(mid).state == "sent" and rig.relay.presence.witnessed("toolu_9", rig.relay.clock()) is None


@pytest.mark.spec("SPOOL-3", "75")
@pytest.mark.parametrize(
    "bad",
    [
        7, None, "x", [],
        {"id": "", "at_us": 1, "body": {"session_id": "h1", "hook_event_name": "Stop"}},
        {"id": "é", "at_us": 1, "body": {"session_id": "h1", "hook_event_name": "Stop"}},
        {"id": "B" * 65, "at_us": 1, "body": {"session_id": "h1", "hook_event_name": "Stop"}},
        {"id": "B1", "at_us": -1, "body": {"session_id": "h1", "hook_event_name": "Stop"}},
        {"id": "B1", "at_us": 1.5, "body": {"session_id": "h1", "hook_event_name": "Stop"}},
        {"id": "B1", "at_us": True, "body": {"session_id": "h1", "hook_event_name": "Stop"}},
        {"id": "B1", "at_us": 1, "body": {"hook_event_name": "Stop"}},
        {"id": "B1", "at_us": 1, "client": "unheard", "body": {"session_id": "h1", "hook_event_name": "Stop"}},
        {"id": "B1", "at_us": 1, "body": {"session_id": "\ud800", "hook_event_name": "Stop"}},
    ],
)  # fmt: skip
def test_what_is_no_event_is_counted_and_the_rest_applied(rig: HookServer, bad: Any) -> None:
    assert post(rig, bad, line(rig, "G1")) == {"applied": 1, "repeated": 0, "bad": 1}
    assert rig.row().link_state == "guessed_unseen"


@pytest.mark.spec("75")
def test_a_body_without_a_list_is_refused(rig: HookServer) -> None:
    response = rig.wire.post("/hooks/spool", {"events": {}})
    assert (response.status, response.code) == (422, "argument_invalid")
    assert rig.units == 0


# -- the server's own folder --------------------------------------------------------------------------------------


def spool(rig: HookServer, name: str, hook: str = "h1", **more: Any) -> None:
    at_us = rig.relay.clock()
    body = json.dumps(rig.body(name, hook, **more)).encode()
    event_id = make_id(at_us)
    who = {"x-relaybay-client-pid": "4242", "x-relaybay-client-started": "100"}
    data = spool_writer.record(event_id, at_us, "claude-code", who, body)
    spool_writer.spool(str(rig.spool.parent), event_id, at_us, data)


@pytest.mark.spec("SPOOL-1", "SPOOL-2", "HL-9")
def test_the_own_folder_is_imported_within_a_second_or_two(rig: HookServer) -> None:
    spool(rig, "SessionStart", source="startup")
    spool(rig, "UserPromptSubmit", prompt="<task-notification> SECRET")
    assert "SECRET" not in (rig.spool / "spool").read_text()
    rig.until(lambda: not list(rig.spool.glob("spool")) and not list(rig.spool.glob("imp-*")), 3)
    row = rig.row()
    assert (row.link_state, row.cwd, row.process_pid) == ("guessed_unseen", CWD, 4242)


@pytest.mark.spec("SPOOL-3")
def test_torn_and_foreign_lines_are_set_aside_and_the_rest_applied(rig: HookServer) -> None:
    rig.server.stop()
    spool(rig, "SessionStart")
    with (rig.spool / "spool").open("ab") as file:
        file.write(b"garbage\nR1 TORN")
    assert take_all(rig.relay, rig.spool) == 1
    assert (rig.spool / "spool.bad").read_bytes() == b"garbage\nR1 TORN\n"
    assert rig.row().link_state == "guessed_unseen"


@pytest.mark.spec("SPOOL-1", "FLT-6")
def test_a_batch_that_was_applied_and_not_removed_counts_as_repeated(rig: HookServer) -> None:
    rig.server.stop()
    spool(rig, "SessionStart")
    kept = (rig.spool / "spool").read_bytes()
    assert take_all(rig.relay, rig.spool) == 1
    again = rig.spool / "spool"
    again.write_bytes(kept + kept)
    again.chmod(0o600)
    assert take_all(rig.relay, rig.spool) == 0


@pytest.mark.spec("SPOOL-4")
def test_nothing_is_lost_or_doubled_while_hooks_append(rig: HookServer) -> None:
    rig.server.stop()
    count = 150
    done = threading.Event()

    def write() -> None:
        for number in range(count):
            spool(rig, "SessionStart", f"h{number}")
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    applied = 0
    while not done.is_set():
        applied += take_all(rig.relay, rig.spool)
        time.sleep(0.005)
    thread.join()
    applied += take_all(rig.relay, rig.spool)
    assert applied == count
    assert rig.relay.store.read(lambda tx: tx.value("SELECT count(*) FROM session")) == count


@pytest.mark.spec("SPOOL-5")
def test_a_folder_that_is_open_to_others_is_told_once_and_left(
    rig: HookServer, caplog: pytest.LogCaptureFixture
) -> None:
    spool(rig, "SessionStart")
    rig.until(lambda: not (rig.spool / "spool").exists(), 3)
    rig.spool.chmod(0o755)
    time.sleep(2.6)
    told = [record for record in caplog.records if "was not imported" in record.getMessage()]
    assert len(told) == 1 and not told[0].exc_info
    rig.spool.chmod(0o700)


@pytest.mark.spec("SPOOL-1")
def test_no_folder_is_no_event(rig: HookServer, tmp_path: Path) -> None:
    assert take_all(rig.relay, tmp_path / "none") == 0
