"""The wake-up's client side: table WAIT as the hook sees it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from relaybay.client import event as hook_event
from relaybay.client import wake
from tests.unit import hook_rig
from tests.unit.hook_rig import (
    BODY,
    SOURCE,
    ok,
)

script, home = hook_rig.script, hook_rig.home  # The fixtures.

CLI = {"CLAUDE_CODE_ENTRYPOINT": "cli"}


# --- the wake-up ---------------------------------------------------------------------------------------------------


@pytest.mark.spec("WAIT-2")
def test_text_wakes_with_2(home):
    answers = [
        b"HTTP/1.1 204 No Content\r\n\r\n",
        ok("You have mail: Grüße\n".encode(), kind="text/plain; charset=utf-8"),
    ]
    with home.server(lambda _: answers.pop(0)) as server:
        done = home.run(BODY, "--wait", env=CLI)
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", "You have mail: Grüße\n".encode())
    first, second = server.requests
    assert re.fullmatch(r"/hooks/claude-code/wait\?wait_id=[0-9A-Z]{26}&timeout_s=50", first.target)
    assert second.target.split("&")[0] == first.target.split("&")[0]  # A poll again does not supersede itself.
    assert first.body == second.body == BODY


@pytest.mark.spec("WAIT-3", "WAIT-4", "WAIT-7")
@pytest.mark.parametrize(
    "answer",
    [
        ok(b'{"error": {"code": "wait_superseded"}}', "409 Conflict"),
        ok(b"text", "500 Internal Server Error", "text/plain"),
        ok(b"text", "401 Unauthorized", "text/plain"),
        ok(b"{}"),
        ok(b" \n", kind="text/plain"),
        ok(b"some text", kind="text/plain")[:-1],
        b"",
    ],
)
def test_anything_else_ends_with_0(home, answer):
    with home.server(answer) as server:
        home.silent(BODY, "--wait", env=CLI)
    assert len(server.requests) == 1
    assert not home.spool.exists()


@pytest.mark.spec("WAIT-7")
def test_no_server_ends_the_wait(home):
    assert home.silent(BODY, "--wait", env=CLI) < 2
    assert not home.spool.exists()


@pytest.mark.spec("WAIT-2")
@pytest.mark.parametrize("env", [{}, {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, {"CLAUDE_CODE_ENTRYPOINT": "cli2"}])
def test_only_the_interactive_client_waits(home, env):
    with home.server(ok(b"text", kind="text/plain")) as server:
        home.silent(BODY, "--wait", env=env)
    assert server.connections == 0


@pytest.mark.spec("CMD-5")
def test_no_wait_for_what_is_no_event(home):
    with home.server(ok(b"text", kind="text/plain")) as server:
        home.silent(b"nonsense", "--wait", env=CLI)
    assert server.connections == 0


@pytest.mark.spec("WAIT-6")
def test_a_killed_client_ends_its_wait(home):
    with home.server(None) as server, subprocess.Popen(["sleep", "60"]) as client:
        env = CLI | {"CLAUDE_PID": str(client.pid)}
        with subprocess.Popen(home.command("--wait"), stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as hook:
            hook.stdin.write(BODY)
            hook.stdin.close()
            time.sleep(2.5)  # Past the first look: a living client keeps it waiting.
            assert hook.poll() is None
            client.send_signal(signal.SIGKILL)
            client.wait()
            assert hook.wait(5) == 0
            assert hook.stderr.read() == b""
    assert len(server.requests) == 1


@pytest.mark.spec("WAIT-6")
def test_a_pid_that_is_another_process_by_now_is_a_client_that_is_gone(monkeypatch):
    gone = subprocess.Popen(["true"])
    lives = wake.watch({b"CLAUDE_PID": b"%d" % os.getpid()})
    assert lives()
    monkeypatch.setattr(wake, "start_of", lambda _: b"1")
    assert not lives()
    for module in (wake, hook_event):  # A system without /proc.
        monkeypatch.setattr(module, "start_of", lambda _: b"")
    assert wake.watch({b"CLAUDE_PID": b"%d" % os.getpid()})()
    gone.wait()
    assert not wake.watch({b"CLAUDE_PID": b"%d" % gone.pid})()


@pytest.mark.spec("WAIT-6")
def test_without_a_pid_the_parent_has_to_stay(monkeypatch):
    lives = wake.watch({})
    assert lives()
    monkeypatch.setattr(wake.posix, "getppid", lambda: 1)
    assert not lives()


@pytest.mark.spec("CMD-1")
def test_a_client_that_tells_no_pid_is_its_hooks_parent(tmp_path):
    """Claude Code 2.1.197 sets no CLAUDE_PID. A shell between, or any other parent, tells nothing."""
    code = "import os, sys; sys.path.insert(0, sys.argv[1]); from relaybay.client.event import client_process as c; print(os.getppid(), *(x.decode() for x in c({})))"
    line = [sys.executable, "-c", code, str(SOURCE.parents[1])]
    for name, known in (("claude", True), ("bash", False)):
        parent = tmp_path / name
        parent.write_text('#!/bin/sh\n"$@"\nexit 0\n')
        parent.chmod(0o755)
        ppid, *found = subprocess.run([parent, *line], capture_output=True, text=True, check=True).stdout.split()
        assert found[:1] == ([ppid] if known else [])
        assert len(found) == (2 if known else 0)


@pytest.mark.spec("WAIT-5")
def test_the_wait_has_an_end_and_is_no_busy_loop(home):
    with home.server(b"HTTP/1.1 204 No Content\r\n\r\n") as server:
        assert 1 < home.silent(BODY, "--wait", "--wait-s", "3", env=CLI) < 6
    assert 2 <= len(server.requests) <= 4
    assert server.requests[0].target.endswith("timeout_s=2") or server.requests[0].target.endswith("timeout_s=3")
