"""Doctor: each check finds its fault, names a fix, and is quiet when all is well (page 20, Setup and doctor)."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from relaybay import spool
from relaybay.setup import Check, ServerFacts, doctor, port
from relaybay.setup.doctor_claude import claude_checks
from tests.unit.setup_world import VERSION, World, load


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    for folder in (world.folders.run, world.folders.state, world.folders.data):
        folder.mkdir(mode=0o700, parents=True)
    for name in doctor.KEY_FILES:
        (world.folders.run / name).write_text("x")
        (world.folders.run / name).chmod(0o600)
    return world


def with_client(world, answer='echo "2.1.332 (Claude Code)"'):
    folder = world.root / "bin"
    folder.mkdir()
    program = folder / "claude"
    program.write_text(f"#!/bin/sh\n{answer}\n")
    program.chmod(0o755)
    world.env["PATH"] = f"{folder}:{world.env['PATH']}"
    return program


def found(checks, name):
    matching = [check for check in checks if check.name == name]
    assert len(matching) == 1, (name, checks)
    return matching[0]


def claude(world, version=VERSION):
    return claude_checks(world.read(), world.install(), version)


def test_all_is_well_after_setup(world):
    program = with_client(world)
    world.set_up(wake=True)
    server = ServerFacts(
        "http://127.0.0.1:7717", reachable=True, last_events={"claude-code": "now"}, mcp_seen=True, integrity="ok"
    )
    checks = doctor.run(world.folders, world.env, world.read(), world.install(), server)
    assert [check for check in checks if check.ok is False] == []
    assert [check.name for check in checks if check.ok is None] in ([], ["sqlite"])
    assert all(check.fix == "" for check in checks if check.ok)
    assert str(program) in found(checks, "claude").detail
    assert "2.1.332" in found(checks, "claude").detail


def test_nothing_set_up_is_told_with_the_command(world):
    checks = doctor.run(world.folders, world.env | {"PATH": ""}, world.read(), world.install())
    for name in ("hooks", "mcp server", "hook program"):
        check = found(checks, name)
        assert check.ok is False
        assert "relaybay setup" in check.fix
    assert found(checks, "claude").ok is None
    assert {check.name for check in checks}.isdisjoint({"server", "integrity"})


def test_what_the_server_says_is_shown(world):
    facts = ServerFacts(
        "http://127.0.0.1:1",
        reachable=False,
        last_events={"claude-code": None},
        mcp_seen=False,
        integrity="row 3 missing",
    )
    checks = doctor.run(world.folders, world.env, server=facts)
    assert (found(checks, "server").ok, found(checks, "server").fix) == (False, "relaybay up")
    assert found(checks, "claude-code events").ok is None
    assert found(checks, "mcp calls").ok is None
    assert found(checks, "integrity").ok is False
    assert "row 3" in found(checks, "integrity").detail


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
@pytest.mark.parametrize("name", doctor.KEY_FILES)
def test_a_key_that_others_can_reach_is_found(world, name, mode):
    path = world.folders.run / name
    assert doctor.key_file(path).ok is True
    path.chmod(mode)
    check = doctor.key_file(path)
    assert check.ok is False
    assert f"{mode:04o}" in check.detail
    assert f"chmod 600 {path}" in check.fix


def test_a_key_that_is_a_link_or_missing_is_found(world):
    path = world.folders.run / "token"
    path.unlink()
    assert doctor.key_file(path).ok is None
    path.symlink_to(world.folders.run / "hook.key")
    assert doctor.key_file(path).ok is False


def test_hooks_doubled_stale_or_partly_missing_are_found(world):
    world.set_up()
    document = load(world.settings)
    stop = document["hooks"]["Stop"]
    other = stop[0]["hooks"][0] | {"timeout": 9}
    document["hooks"]["Stop"] = [*stop, {"hooks": [other]}]
    del document["hooks"]["SessionStart"]
    world.write(world.settings, document)
    check = found(claude(world), "hooks")
    assert check.ok is False
    assert "not installed for SessionStart" in check.detail
    assert "twice for Stop" in check.detail
    assert "not as this relaybay would write them for Stop" in check.detail


def test_equal_handlers_are_not_doubled_since_the_client_runs_them_once(world):
    world.set_up()
    world.write(world.local_settings, {"hooks": load(world.settings)["hooks"]})
    assert found(claude(world), "hooks").ok is True


def test_a_project_and_the_user_in_two_forms_are_doubled(world):
    world.set_up("local", mode="command")
    world.set_up("user")
    assert "twice" in found(claude(world), "hooks").detail


def test_the_plugin_beside_the_hooks_is_doubled(world):
    world.write(world.settings, {"enabledPlugins": {"relaybay@relaybay": True}})
    assert found(claude(world), "hooks").ok is True
    assert found(claude(world), "mcp server").ok is True
    world.set_up()
    assert "plugin and settings" in found(claude(world), "hooks").detail


@pytest.mark.parametrize("change", [{"port": 8000}, {"hook_key": "other"}])
def test_hooks_of_an_older_install_are_stale(world, change):
    world.set_up(install=world.install(**change))
    assert found(claude(world), "hooks").ok is False


@pytest.mark.parametrize("change", [{"port": 8000}, {"token": "other"}])
def test_a_server_entry_of_an_older_install_is_stale(world, change):
    world.set_up(install=world.install(**change))
    check = found(claude(world), "mcp server")
    assert check.ok is False
    assert "another address or token" in check.detail


def test_lean_hooks_and_command_hooks_are_well(world):
    for choices in ({"lean": True}, {"mode": "command"}, {"mode": "command", "wake": True}):
        world.set_up(**choices)
        assert found(claude(world), "hooks").ok is True


def test_project_scope_is_well(world):
    world.set_up("project")
    checks = claude(world)
    assert found(checks, "hooks").ok is True
    assert found(checks, "mcp server").ok is True


def test_a_foreign_server_of_our_name_is_found(world):
    world.write(world.claude_json, {"mcpServers": {"relaybay": {"type": "stdio", "command": "x"}}})
    assert found(claude(world), "mcp server").fix == "claude mcp remove relaybay"


def test_settings_with_the_key_open_to_others_are_found(world):
    world.set_up()
    world.settings.chmod(0o644)
    check = found(claude(world), "settings mode")
    assert (check.ok, check.fix) == (False, f"chmod 600 {world.settings}")


def test_switches_and_broken_files_are_found(world):
    world.set_up()
    document = load(world.settings) | {"disableAllHooks": True}
    world.write(world.settings, document)
    world.write(world.claude_json, b'{"a": }')
    checks = claude(world)
    assert found(checks, "hooks allowed").ok is False
    assert "line 1" in found(checks, "settings").detail


@pytest.mark.parametrize(("version", "ok"), [(VERSION, True), ("2.1.197", True), ("2.1.196", None), (None, None)])
def test_wake_up_on_an_unmeasured_client_is_unverified(world, version, ok):
    assert found(claude(world, version), "wake-up").ok is True
    world.set_up(wake=True)
    check = found(claude(world, version), "wake-up")
    assert check.ok is ok
    assert ("UNVERIFIED" in check.detail) is (ok is None)


def test_another_hook_program_is_found(world):
    world.set_up()
    copies = world.folders.data / "bin"
    assert doctor.hook_copies(copies / "hook.py").ok is True
    (copies / "wire.py").write_text("changed")
    check = doctor.hook_copies(copies / "hook.py")
    assert check.ok is False
    assert "wire.py" in check.detail


@pytest.mark.spec("CMD-4", "SPOOL-3")
def test_the_spool_is_measured(world):
    folder = world.folders.state / "spool"
    assert doctor.spool(folder).ok is True
    folder.mkdir()
    (folder / "spool").write_bytes(b"x" * 3000)
    assert doctor.spool(folder).ok is True
    assert "2 KiB waiting" in doctor.spool(folder).detail
    (folder / "1.bad").write_bytes(b"x")
    assert doctor.spool(folder).ok is None
    (folder / "dropped").write_bytes(b"xxx")
    assert doctor.spool(folder).ok is False
    assert "3 events dropped" in doctor.spool(folder).detail


@pytest.mark.spec("CMD-4")
def test_a_counter_of_drops_that_counts_none_is_well(world):
    """It always holds a line end: a block on the disk for the day the disk is full."""
    spool.prepare(world.folders.state / "spool")
    assert doctor.spool(world.folders.state / "spool").ok is True
    with (world.folders.state / "spool" / "dropped").open("ab") as counter:
        counter.write(b"xx")
    check = doctor.spool(world.folders.state / "spool")
    assert check.ok is False
    assert "2 events dropped" in check.detail and "lost" in check.detail
    assert "--clear-dropped" in check.fix and "relaybay up" not in check.fix


HOOKS = {"hooks_since_start": True}


@pytest.mark.spec("20")
@pytest.mark.parametrize(
    ("facts", "ok", "says"),
    [
        ({"up_seconds": 5.4}, True, "since the server started 5 s ago"),
        ({"up_seconds": 5.4} | HOOKS, True, "since the server started 5 s ago"),
        ({"up_seconds": 90_000}, True, "since the server started 1 d ago"),
        ({"up_seconds": doctor.MCP_SECONDS_WARN - 1} | HOOKS, True, "29 min ago"),
        ({"up_seconds": doctor.MCP_SECONDS_WARN} | HOOKS, None, "30 min ago"),
        ({"up_seconds": 7200.0} | HOOKS, None, "2 h ago"),
    ],
)
def test_a_server_that_just_started_is_not_told_to_have_never_been_called(facts, ok, says):
    server = ServerFacts("http://127.0.0.1:1", reachable=True, mcp_seen=False, **facts)
    check = found(list(doctor.server_checks(server)), "mcp calls")
    assert check.ok is ok
    assert says in check.detail and "yet" not in check.detail
    assert (check.fix == "") is (ok is True)
    called = ServerFacts("http://127.0.0.1:1", reachable=True, mcp_seen=True, **facts)
    assert found(list(doctor.server_checks(called)), "mcp calls").ok is True


@pytest.mark.spec("20")
def test_a_port_that_another_program_has_is_told_with_its_name_and_another_way_than_up(world):
    facts = ServerFacts("http://127.0.0.1:7717", reachable=False, port_held_by="nginx (pid 12)")
    check = found(doctor.run(world.folders, world.env, server=facts), "server")
    assert check.ok is False
    assert "nginx (pid 12)" in check.detail and "7717" in check.detail
    assert check.fix != "relaybay up" and "relaybay config set server.port" in check.fix


@pytest.mark.spec("20")
def test_who_listens_on_a_port_is_found_out():
    code = "import socket, time; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as other:
        number = int(other.stdout.readline())
        said = port.listener("127.0.0.1", number)
        other.kill()
        other.wait()
    assert f"(pid {other.pid})" in said if Path("/proc/net/tcp").exists() else said == "another program"
    assert port.listener("127.0.0.1", number) is None


@pytest.mark.spec("20")
@pytest.mark.parametrize(
    ("body", "is_one"), [(b'{"status": "ok", "version": "9"}', True), (b"<html>", False), (b"[]", False)]
)
def test_another_relaybay_is_told_from_other_web_servers(body, is_one):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        said = port.listener("127.0.0.1", server.server_port)
        server.shutdown()
        thread.join()
    assert (said == port.RELAYBAY) is is_one
    assert is_one or str(os.getpid()) in said or said == "another program"


@pytest.mark.spec("CMD-3")
def test_the_last_refusal_in_the_hooks_log_is_shown(world):
    path = world.folders.state / "hook.log"
    assert doctor.hook_log(path).ok is True
    path.write_text("2026-01-01T00:00:00.000000Z spool_full 01A\n")
    assert doctor.hook_log(path).ok is True
    with path.open("a") as file:
        file.write("2026-01-02T00:00:00.000000Z unauthorized 01B\n2026-01-03T00:00:00.000000Z unauthorized 01C\n")
    check = doctor.hook_log(path)
    assert check.ok is None
    assert "2026-01-03" in check.detail


@pytest.mark.parametrize(
    ("version", "ok"), [("3.51.2", None), ("3.40.1", None), ("3.51.3", True), ("3.52.0", True), ("4.0.0", True)]
)
def test_an_old_sqlite_is_a_warning(version, ok):
    assert doctor.sqlite_version(version).ok is ok
    assert doctor.sqlite_version(sqlite3.sqlite_version).name == "sqlite"
    if ok is None:
        check = doctor.sqlite_version(version)
        assert "can lose a commit" in check.detail and "relaybay backup" in check.fix
        assert check.detail.count(".") == version.count(".") + 2, "one sentence, with two versions in it"


def test_a_full_disk_is_found(world, monkeypatch):
    assert doctor.disk_space(world.folders.data / "not" / "there").ok is True
    monkeypatch.setattr(doctor, "DISK_BYTES_MIN", 1 << 60)
    assert doctor.disk_space(world.folders.data).ok is False


@pytest.mark.parametrize("skew", [-60, 60])
def test_a_clock_apart_from_the_files_is_found(world, monkeypatch, skew):
    assert doctor.clock(world.folders.state).ok is True
    real = time.time
    monkeypatch.setattr(doctor.time, "time", lambda: real() + skew)
    check = doctor.clock(world.folders.state)
    assert check.ok is False
    assert f"{abs(skew)}.0 s {'behind' if skew > 0 else 'ahead of'}" in check.detail


def test_a_broken_configuration_is_found_with_its_line(world):
    path = world.folders.config_file
    assert doctor.config_parses(path).ok is True
    path.write_text("[server]\nport = 7717\n")
    assert doctor.config_parses(path).ok is True
    path.write_text("[server]\nport = = 1\n")
    check = doctor.config_parses(path)
    assert check.ok is False
    assert "line 2" in check.detail


@pytest.mark.parametrize("answer", ["exit 3", "true", "printf '\\377'"])
def test_a_client_that_does_not_tell_its_version_is_a_warning(world, answer):
    program = with_client(world, answer)
    check = found(doctor.run(world.folders, world.env), "claude")
    assert check.ok is None
    assert str(program) in check.detail


def test_a_client_that_hangs_does_not_hang_doctor(world, monkeypatch):
    with_client(world, "exec sleep 30")
    monkeypatch.setattr("relaybay.setup.claude_places._VERSION_WAIT_S", 0.3)
    began = time.monotonic()
    assert found(doctor.run(world.folders, world.env), "claude").ok is None
    assert time.monotonic() - began < 10


def test_doctor_changes_nothing(world):
    world.set_up()
    before = world.snapshot(), sorted(world.folders.state.iterdir())
    doctor.run(world.folders, world.env, world.read(), world.install())
    assert (world.snapshot(), sorted(world.folders.state.iterdir())) == before
    assert stat.S_IMODE(world.settings.stat().st_mode) == 0o600
    assert isinstance(doctor.clock(world.folders.state), Check)
