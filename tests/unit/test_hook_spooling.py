"""The command hook when it cannot hand an event over: what goes to the spool, what is dropped, what is logged."""

from __future__ import annotations

import json
import os
import re
import resource
import socket
import subprocess
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaybay import spool
from relaybay.client import spool_writer
from tests.unit import hook_rig
from tests.unit.hook_rig import (
    BODY,
    QUICK,
    STOP,
    Home,
    body_of,
    ok,
    spooled,
)

script, home = hook_rig.script, hook_rig.home  # The fixtures.

# --- CMD-2: it cannot be handed over -------------------------------------------------------------------------------

NO_ANSWERS = {
    "500": ok(b'{"error": "x"}', "500 Internal Server Error"),
    "503": ok(b"{}", "503 Service Unavailable"),
    "404": ok(b"{}", "404 Not Found"),
    "302": ok(b"{}", "302 Found"),
    "204": b"HTTP/1.1 204 No Content\r\n\r\n",
    "html": ok(b"<html>", kind="text/html"),
    "object that says it is text": ok(b"{}", kind="text/plain"),
    "array": ok(b"[]"),
    "empty": ok(b""),
    "cut short": ok(b'{"a": 1}')[:-3],
    "no length": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}",
    "chunked": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "chunked with a length": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}",
    "no HTTP": b"SSH-2.0-OpenSSH\r\n\r\n",
    "closed": b"",
    "too long": ok(b"{" + b" " * (2 << 20) + b"}"),
}


@pytest.mark.spec("CMD-2", "SPOOL-5")
@pytest.mark.parametrize("answer", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_no_usable_answer_is_spooled(home, answer):
    with home.server(answer) as server:
        home.silent(BODY, env={"RELAYBAY_NAME": "alice"})
    (event,) = spooled(home)
    sent = server.requests[0].headers
    assert (event.id, event.at_us) == (sent["x-relaybay-event-id"], int(sent["x-relaybay-event-at"]))
    assert (event.client, event.body) == ("claude-code", STOP)
    assert event.headers == {k: v for k, v in sent.items() if k.startswith("x-relaybay-") and "-event-" not in k}
    assert event.headers["x-relaybay-name"] == "alice"
    assert home.spool.stat().st_mode & 0o777 == 0o700


@pytest.mark.spec("CMD-2", "SPOOL-5")
def test_no_umask_keeps_an_event_out_of_the_spool(home):
    home.silent(BODY, preexec_fn=lambda: os.umask(0o777))
    assert len(spooled(home)) == 1


@pytest.mark.spec("CMD-2", "SPOOL-5")
@pytest.mark.parametrize("left_behind", ["nothing", "stale socket", "no run folder"])
def test_server_away_is_spooled(home, left_behind):
    if left_behind == "stale socket":
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(home.sock)
    if left_behind == "no run folder":
        (home.path / "run").rmdir()
    home.silent(BODY, preexec_fn=lambda: os.umask(0))
    assert (home.spool / "spool").stat().st_mode & 0o777 == 0o600
    assert len(spooled(home)) == 1


@pytest.mark.spec("CMD-2")
def test_hung_server_costs_the_deadline_once(home):
    with home.server(None) as server:
        assert 0.25 < home.silent(BODY, env=QUICK) < 2
        assert home.down.stat().st_mode & 0o777 == 0o600
        home.silent(BODY, env=QUICK)
        assert server.connections == 1  # The breaker: the second call did not even ask.
        long_ago = time.time() - 11
        os.utime(home.down, (long_ago, long_ago))
        home.silent(BODY, env=QUICK)
        assert server.connections == 2
        assert time.time() - home.down.stat().st_mtime < 5
        ahead = time.time() + 3600
        os.utime(home.down, (ahead, ahead))
        home.silent(BODY, env=QUICK)
        assert server.connections == 3
    assert len(spooled(home)) == 4


@pytest.mark.spec("CMD-2")
def test_default_deadline_holds_for_the_whole_call(home):
    dribble = [b"HTTP/1.1 200 OK\r\nX-Slow: "] + [b"x"] * 200
    with home.server(dribble):
        assert 1.3 < home.silent(BODY) < 3
    assert len(spooled(home)) == 1
    assert home.down.exists()


@pytest.mark.spec("CMD-2")
def test_a_full_backlog_ends_with_the_deadline(home):
    with socket.socket(socket.AF_UNIX) as deaf, socket.socket(socket.AF_UNIX) as other:
        deaf.bind(home.sock)
        deaf.listen(0)
        other.connect(home.sock)
        assert home.silent(BODY, env=QUICK) < 2
    assert len(spooled(home)) == 1


@pytest.mark.spec("CMD-2")
def test_a_link_in_place_of_the_breaker_is_not_touched(home):
    victim = home.path / "victim"
    victim.write_text("mine")
    os.utime(victim, (1, 1))
    home.down.symlink_to(victim)
    with home.server(None):
        home.silent(BODY, env=QUICK)
    assert (victim.read_text(), victim.stat().st_mtime) == ("mine", 1)
    assert len(spooled(home)) == 1


@pytest.mark.spec("CMD-2")
@pytest.mark.parametrize("status", ["400 Bad Request", "413 Payload Too Large"])
def test_a_refused_event_is_not_kept(home, status):
    with home.server(ok(b'{"error": {}}', status)):
        home.silent(BODY)
    assert spooled(home) == []


@pytest.mark.spec("CMD-2")
def test_an_answer_that_nobody_reads_is_no_fault(home):
    with home.server(ok(b"{}")):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(home.command(), input=BODY, stdout=writer, stderr=subprocess.PIPE, check=True, env={})
        os.close(writer)
    assert done.stderr == b""


# --- CMD-3, CMD-4, CMD-5 -------------------------------------------------------------------------------------------


@pytest.mark.spec("CMD-3")
def test_401_spools_nothing_and_logs_one_line(home):
    with home.server(ok(b'{"error": {"code": "unauthorized"}}', "401 Unauthorized")) as server:
        home.silent(BODY)
    assert not home.spool.exists()
    event_id = server.requests[0].headers["x-relaybay-event-id"]
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{6}}Z unauthorized {event_id}\n", home.log)
    assert (home.path / "state" / "hook.log").stat().st_mode & 0o777 == 0o600


@pytest.mark.spec("CMD-3")
def test_the_log_is_bounded(home):
    state = home.path / "state"
    state.mkdir()
    for name in ("hook.log", "hook.log.1"):
        os.close(os.open(state / name, os.O_CREAT | os.O_WRONLY, 0o600))
    os.truncate(state / "hook.log", spool_writer.LOG_BYTES_MAX)
    with home.server(ok(b"{}", "401 Unauthorized")):
        home.silent(BODY)
    assert len(home.log.splitlines()) == 1
    assert (state / "hook.log.1").stat().st_size == spool_writer.LOG_BYTES_MAX
    assert (state / "hook.log.2").stat().st_size == 0


@pytest.mark.spec("CMD-4")
def test_a_full_spool_counts_what_it_drops(home):
    spool.prepare(home.spool)
    os.close(os.open(home.spool / "spool", os.O_CREAT | os.O_WRONLY, 0o600))
    os.truncate(home.spool / "spool", spool_writer.SPOOL_BYTES_MAX - 100)
    for _ in range(3):
        home.silent(BODY)
    seen = spool.sizes(home.spool)
    assert (seen.waiting_bytes, seen.dropped) == (spool_writer.SPOOL_BYTES_MAX - 100, 3)
    assert home.log.count("spool_full") == 3


def in_its_place(home: Home, what: str) -> None:
    file = home.spool / "spool"
    victim = home.path / "victim"
    victim.write_text("mine")
    if what == "symlink":
        file.symlink_to(victim)
    elif what == "dangling symlink":
        file.symlink_to(home.path / "nowhere")
    elif what == "hard link":
        victim.chmod(0o600)
        file.hardlink_to(victim)
    elif what == "FIFO":
        os.mkfifo(file, 0o600)
    elif what == "folder":
        file.mkdir(mode=0o700)
    elif what == "open to others":
        file.write_text("")
        file.chmod(0o644)
    elif what == "another owner's":
        file.write_text("")
        file.chmod(0o600)
        os.chown(file, 65534, 65534)


PLACES = ["symlink", "dangling symlink", "hard link", "FIFO", "folder", "open to others"]
PLACES += ["another owner's"] if os.geteuid() == 0 else []


@pytest.mark.spec("CMD-4", "SPOOL-5")
@pytest.mark.parametrize("what", PLACES)
def test_a_spool_that_is_none_is_not_written(home, what):
    spool.prepare(home.spool)
    in_its_place(home, what)
    assert home.silent(BODY) < 2
    assert (home.path / "victim").read_text() == "mine"
    assert not (home.path / "nowhere").exists()
    seen = spool.sizes(home.spool)
    assert (seen.dropped, len(seen.faults)) == (1, 1)
    assert spool.take(home.spool) == []
    assert os.path.lexists(home.spool / "spool")


@pytest.mark.spec("CMD-4", "SPOOL-5")
@pytest.mark.parametrize("what", ["open to others", "symlink", "file", "state is a file"])
def test_a_folder_that_is_none_is_not_used(home, what):
    elsewhere = home.path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    if what == "state is a file":
        (home.path / "state").write_text("")
    else:
        (home.path / "state").mkdir(mode=0o700)
    if what == "open to others":
        home.spool.mkdir(mode=0o700)
        home.spool.chmod(0o750)
    elif what == "symlink":
        home.spool.symlink_to(elsewhere)
    elif what == "file":
        home.spool.write_text("")
    home.silent(BODY)
    assert list(elsewhere.iterdir()) == []
    if what != "state is a file":
        assert len(spool.sizes(home.spool).faults) == 1
        with pytest.raises(spool.SpoolRefused):
            spool.take(home.spool)
        assert "spool_" in home.log


@pytest.mark.spec("CMD-4", "SPOOL-3")
def test_a_write_cut_short_harms_no_other_record(home):
    home.silent(BODY)
    size = (home.spool / "spool").stat().st_size
    limit = (size + 60, size + 60)
    home.silent(BODY, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
    assert (home.spool / "spool").stat().st_size == size + 60
    home.silent(BODY)
    (batch,) = spool.take(home.spool)
    assert (len(batch.events), batch.bad) == (2, 1)
    batch.done()
    seen = spool.sizes(home.spool)
    assert (seen.dropped, seen.waiting_bytes, seen.taken_bytes, seen.bad_bytes) == (1, 0, 0, 60)


# --- what is spooled of an event -----------------------------------------------------------------------------------

SECRET = "5ecretW0rds"
TEXTS = ["prompt", "tool_input", "tool_response", "last_assistant_message", "error", "message", "title", "summary"]
TEXTS += [
    "custom_instructions",
    "compact_summary",
    "reason",
    "permission_suggestions",
    "tool_calls",
    "background_tasks",
]
TEXTS += ["mcp_server", "display", "description", "a_field_of_next_year"]
nested = st.recursive(
    st.just(SECRET), lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(TEXTS), inner), max_leaves=4
)
moments = st.sampled_from(
    [
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
        "StopFailure",
        "Notification",
        "PermissionDenied",
        "PreCompact",
    ]
)


@pytest.mark.spec("CMD-2")
@given(moments, st.dictionaries(st.sampled_from(TEXTS), nested), st.sampled_from(["Bash", "SendMessage", "mcp__x__y"]))
def test_no_text_of_the_conversation_is_spooled(moment, texts, tool):
    known = {"session_id": "s", "hook_event_name": moment, "cwd": "/r", "tool_name": tool, "tool_use_id": "toolu_1"}
    kept = spool_writer.stripped({}, body_of(texts | known))
    assert SECRET.encode() not in kept
    assert {k: v for k, v in json.loads(kept)["body"].items() if k != "prompt_kind"} == known


@pytest.mark.spec("CMD-2")
@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("do it", "user"),
        ("", "user"),
        ("<task-notification>\nx", "task-notification"),
        ('<cross-session-message from="a">', "cross-session-message"),
        (" <task-notification>", "user"),
        ("see <task-notification>", "user"),
    ],
)
def test_a_prompt_leaves_its_kind(home, prompt, kind):
    given_event = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt_id": "p", "prompt": prompt}
    home.silent(body_of(given_event))
    (event,) = spooled(home)
    assert event.body == {
        "session_id": "s",
        "hook_event_name": "UserPromptSubmit",
        "prompt_id": "p",
        "prompt_kind": kind,
    }


SENT = {"success": True, "message": "in the inbox", "display": "x"}


@pytest.mark.spec("CMD-2")
@pytest.mark.parametrize(
    ("moment", "response", "kept"),
    [
        ("PostToolUse", SENT, True),
        ("PostToolUse", {"success": False}, False),
        ("PostToolUse", {"success": 1}, False),
        ("PostToolUse", "sent", False),
        ("PreToolUse", SENT, False),
    ],
)
def test_of_send_message_the_recipient_is_kept_when_it_went_out(moment, response, kept):
    known = {"session_id": "s", "hook_event_name": moment, "tool_name": "SendMessage"}
    given_event = known | {"tool_input": {"to": "bob", "message": SECRET}, "tool_response": response}
    body = json.loads(spool_writer.stripped({}, body_of(given_event)))["body"]
    assert body == known | ({"tool_input": {"to": "bob"}, "tool_response": {"success": True}} if kept else {})


@pytest.mark.spec("CMD-2")
def test_reason_is_kept_at_the_end_of_a_session_only():
    for moment, there in (("SessionEnd", True), ("PermissionDenied", False)):
        known = {"session_id": "s", "hook_event_name": moment, "reason": "clear"}
        assert ("reason" in json.loads(spool_writer.stripped({}, body_of(known)))["body"]) is there
