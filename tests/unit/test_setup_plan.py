"""What setup writes for Claude Code, where, and what it refuses (page 20 Setup; page 75 Doors and keys)."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from relaybay import setup
from relaybay.setup import Plan, Refusal
from relaybay.setup.claude_entries import command_arguments
from tests.unit.setup_world import HOOK_KEY, TOKEN, World, handlers, load

HTTP = {"UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "StopFailure"}
COMMAND = {"SessionStart", "SessionEnd"}


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def secrets_in(path):
    text = path.read_text()
    return [secret for secret in (TOKEN, HOOK_KEY) if secret in text]


def codes(plan):
    return [note.code for note in plan.notes]


def test_user_scope_writes_both_files(world):
    world.set_up()
    found = handlers(load(world.settings))
    assert {event for event, _m, _h in found} == HTTP | COMMAND
    assert len(found) == len(HTTP | COMMAND)
    for event, matcher, handler in found:
        assert matcher is None
        if event in HTTP:
            assert handler == {
                "type": "http",
                "url": "http://127.0.0.1:7717/hooks/claude-code",
                "headers": {"Authorization": f"Bearer {HOOK_KEY}"},
                "timeout": 2,
            }
        else:
            assert handler["type"] == "command"
            assert handler["timeout"] == 5
            assert str(world.folders.data / "bin" / "hook.py") in handler["args"]
    assert load(world.claude_json) == {
        "mcpServers": {
            "relaybay": {
                "type": "http",
                "url": "http://127.0.0.1:7717/mcp",
                "headers": {"Authorization": f"Bearer {TOKEN}"},
                "alwaysLoad": True,
            }
        }
    }
    for path in (world.settings, world.claude_json):
        assert path.stat().st_mode & 0o777 == 0o600


def test_settings_with_the_key_are_closed_to_others_and_open_again_after(world):
    world.write(world.settings, {"model": "opus"})
    world.settings.chmod(0o644)
    world.set_up()
    assert world.settings.stat().st_mode & 0o777 == 0o600
    world.undo()
    assert world.settings.stat().st_mode & 0o777 == 0o644
    assert load(world.settings) == {"model": "opus"}


def test_a_key_file_opened_since_is_closed_again(world):
    world.set_up()
    world.settings.chmod(0o644)
    plan = world.plan()
    assert [edit.path for edit in plan.edits] == [str(world.settings)]
    assert "mode 0644 -> 0600" in setup.diff(plan)
    world.set_up()
    assert world.settings.stat().st_mode & 0o777 == 0o600


def test_command_mode_puts_no_key_into_the_settings(world):
    world.set_up(mode="command")
    found = handlers(load(world.settings))
    assert {event for event, _m, _h in found} == HTTP | COMMAND
    assert {handler["type"] for _e, _m, handler in found} == {"command"}
    assert {handler["timeout"] for _e, _m, handler in found} == {5}
    assert secrets_in(world.settings) == []


def test_settings_inside_a_git_work_tree_get_no_secret(world):
    world.git_init(world.home)
    world.write(world.settings, {})
    plan = world.plan()
    assert codes(plan) == ["token_by_variable", "command_mode"]
    world.set_up()
    assert {handler["type"] for _e, _m, handler in handlers(load(world.settings))} == {"command"}
    assert secrets_in(world.settings) + secrets_in(world.claude_json) == []
    assert "${RELAYBAY_TOKEN}" in world.claude_json.read_text()


def test_settings_linked_into_a_repository_get_no_secret_but_the_server_does(world):
    dotfiles = world.root / "dotfiles"
    world.git_init(dotfiles)
    real = dotfiles / "settings.json"
    world.write(real, {"model": "opus"})
    world.settings.parent.mkdir()
    world.settings.symlink_to(real)
    world.set_up()
    assert world.settings.is_symlink()
    assert secrets_in(real) == []
    assert secrets_in(world.claude_json) == [TOKEN]
    world.undo()
    assert load(real) == {"model": "opus"}


def test_ignored_server_file_may_hold_the_token(world):
    world.git_init(world.home)
    (world.home / ".gitignore").write_text("*\n")
    world.set_up()
    assert secrets_in(world.claude_json) == [TOKEN]


def test_wake_adds_a_second_stop_hook(world):
    world.set_up(wake=True)
    stops = [handler for event, _m, handler in handlers(load(world.settings)) if event == "Stop"]
    assert [handler["type"] for handler in stops] == ["http", "command"]
    assert stops[1]["asyncRewake"] is True
    assert stops[1]["timeout"] == 1800
    assert stops[1]["args"][-1] == "--wait"
    world.set_up()  # without --wake it goes again
    assert len([event for event, _m, _h in handlers(load(world.settings)) if event == "Stop"]) == 1


@pytest.mark.parametrize("version", ["2.1.196 (Claude Code)", "1.0.0", "no version", None, ""])
def test_wake_on_a_client_it_was_not_measured_on_is_refused(world, version):
    before = world.snapshot()
    refused = world.plan(wake=True, client_version=version)
    assert isinstance(refused, Refusal)
    assert refused.code == "wake_unverified"
    assert world.snapshot() == before
    forced = world.plan(wake=True, force_wake=True, client_version=version)
    assert "wake_unverified" in codes(forced)


@pytest.mark.parametrize("version", ["2.1.197 (Claude Code)", "2.1.332", "2.2.0", "3.0.0 (Claude Code)"])
def test_wake_on_a_measured_client_needs_no_force(world, version):
    plan = world.plan(wake=True, client_version=version)
    assert isinstance(plan, Plan)
    assert "wake_unverified" not in codes(plan)


def test_lean_narrows_the_hook_before_tools_to_our_own(world):
    world.set_up(lean=True)
    matchers = {event: matcher for event, matcher, _h in handlers(load(world.settings)) if matcher is not None}
    assert set(matchers) == {"PreToolUse"}
    for tool in ("mcp__relaybay__message_send", "mcp__plugin_relaybay_relaybay__message_send"):
        assert re.fullmatch(matchers["PreToolUse"], tool)
    assert not re.fullmatch(matchers["PreToolUse"], "Bash")
    world.set_up()
    assert all(matcher is None for _e, matcher, _h in handlers(load(world.settings)))


def test_local_scope_registers_under_the_repository_and_hooks_on_this_machine(world):
    world.git_init(world.project)
    sub = world.project / "sub"
    sub.mkdir()
    files = setup.read_claude_code(world.folders, "local", sub, world.env)
    assert files.project_key == str(world.project)
    world.set_up("local")
    assert list(load(world.claude_json)["projects"]) == [str(world.project)]
    assert secrets_in(world.claude_json) == [TOKEN]
    assert secrets_in(world.local_settings) == []
    assert not world.settings.exists()


def test_local_scope_outside_a_repository_may_use_http(world):
    world.set_up("local")
    assert secrets_in(world.local_settings) == [HOOK_KEY]
    assert world.local_settings.stat().st_mode & 0o777 == 0o600


def test_project_scope_keeps_the_token_out_of_what_is_committed(world):
    world.git_init(world.project)
    plan = world.plan("project")
    assert {"git_exclude", "token_in_environment", "approval_needed"} <= set(codes(plan))
    world.set_up("project")
    entry = load(world.project / ".mcp.json")["mcpServers"]["relaybay"]
    assert entry["headers"] == {"Authorization": "Bearer ${RELAYBAY_TOKEN}"}
    local = load(world.local_settings)
    assert local["env"] == {"RELAYBAY_TOKEN": TOKEN}
    assert {handler["type"] for _e, _m, handler in handlers(local)} == {"command"}
    assert world.local_settings.stat().st_mode & 0o777 == 0o600
    subprocess.run(["git", "-C", world.project, "add", "-A"], check=True, env=world.env)
    staged = subprocess.run(
        ["git", "-C", world.project, "diff", "--cached"], check=True, env=world.env, capture_output=True, text=True
    ).stdout
    assert ".mcp.json" in staged
    assert TOKEN not in staged
    assert HOOK_KEY not in staged
    world.undo("project")
    assert not (world.project / ".mcp.json").exists()
    assert not (world.project / ".claude").exists()
    exclude = (world.project / ".git" / "info" / "exclude").read_text()
    assert "settings.local.json" not in exclude


def test_project_scope_refuses_when_the_token_would_be_committed(world):
    world.git_init(world.project)
    world.write(world.local_settings, {"env": {}})
    subprocess.run(["git", "-C", world.project, "add", "-A"], check=True, env=world.env)
    refused = world.plan("project")
    assert isinstance(refused, Refusal)
    assert refused.code == "token_would_be_committed"


def test_hooks_of_the_user_are_not_doubled_by_a_project(world):
    world.set_up()
    plan = world.plan("local", wake=True)
    assert "hooks_in_user_scope" in codes(plan)
    world.set_up("local", wake=True)
    assert [handler["args"][-1] for _e, _m, handler in handlers(load(world.local_settings))] == ["--wait"]


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "stdio", "command": "relaybay", "args": ["mcp"]},
        {"type": "http", "url": "https://relay.example/mcp", "headers": {"Authorization": "Bearer x"}},
        {"type": "http", "url": "http://127.0.0.1:7717/mcp"},
        {"type": "http", "url": "http://127.0.0.1:7717/other", "headers": {"Authorization": "Bearer x"}},
        "text",
        None,
    ],
)
def test_a_foreign_server_of_our_name_is_left_alone(world, entry):
    data = world.write(world.claude_json, {"mcpServers": {"relaybay": entry}})
    refused = world.plan()
    if entry is None:  # null is no server
        assert isinstance(refused, Plan)
        return
    assert isinstance(refused, Refusal)
    assert refused.code == "mcp_name_taken"
    assert world.claude_json.read_bytes() == data
    world.undo()
    assert world.claude_json.read_bytes() == data


def test_an_older_install_is_replaced_in_place(world):
    foreign = {"type": "command", "command": "echo hi"}
    world.write(world.settings, {"hooks": {"Stop": [{"hooks": [foreign]}]}, "z": 1})
    world.set_up(wake=True, install=world.install(port=9999, token="old", hook_key="bygone"))
    order = [(event, handler["type"]) for event, _m, handler in handlers(load(world.settings))]
    world.set_up(wake=True)
    document = load(world.settings)
    assert [(event, handler["type"]) for event, _m, handler in handlers(document)] == order
    assert "9999" not in world.settings.read_text() + world.claude_json.read_text()
    assert "bygone" not in world.settings.read_text()
    assert document["hooks"]["Stop"][0] == {"hooks": [foreign]}
    assert list(document) == ["hooks", "z"]


def test_doubled_hooks_become_one(world):
    world.set_up()
    document = load(world.settings)
    ours = document["hooks"]["PostToolUse"][0]["hooks"][0]
    foreign = {"type": "command", "command": "echo hi"}
    document["hooks"]["PostToolUse"] = [
        {"matcher": "Bash", "hooks": [foreign, ours, ours]},
        {"hooks": [ours]},
        {"matcher": "Edit", "hooks": [ours]},
    ]
    document["hooks"]["Notification"] = [{"hooks": [ours, foreign]}]
    world.write(world.settings, document)
    world.set_up()
    after = load(world.settings)["hooks"]
    assert after["PostToolUse"] == [{"matcher": "Bash", "hooks": [foreign]}, {"hooks": [ours]}]
    assert after["Notification"] == [{"hooks": [foreign]}]


def test_other_peoples_hooks_are_not_taken_for_ours(world):
    alike = [
        {
            "type": "http",
            "url": "http://127.0.0.1:7717/hooks/claude-code-audit",
            "headers": {"Authorization": "Bearer x"},
        },
        {"type": "http", "url": "https://example.com/hooks/claude-code", "headers": {"Authorization": "Bearer x"}},
        {"type": "http", "url": "http://127.0.0.1:7717/hooks/claude-code"},
        {"type": "command", "command": "python3 /opt/relaybay/bin/hook.py --run --state"},
        {"type": "command", "command": "python3", "args": ["/opt/tool/bin/hook.py", "--run", "x"]},
        {"type": "command", "command": "python3", "args": [1, None]},
        "text",
    ]
    before = {"hooks": {"Stop": [{"hooks": alike}, {"hooks": "x"}, 3]}}
    data = world.write(world.settings, before)
    world.set_up()
    assert load(world.settings)["hooks"]["Stop"][:3] == before["hooks"]["Stop"]
    world.undo()
    assert world.settings.read_bytes() == data


@pytest.mark.parametrize(
    ("text", "place"),
    [('{\n  "a": 1,\n  "b": oops\n}\n', "line 3, column 8"), ("[1, 2", "line 1"), ("{} x", "line 1, column 4")],
)
@pytest.mark.parametrize("name", ["settings", "claude_json"])
def test_a_broken_file_is_refused_with_its_place_and_nothing_is_touched(world, name, text, place):
    world.write(getattr(world, name), text.encode())
    before = world.snapshot()
    refused = world.plan()
    assert isinstance(refused, Refusal)
    assert refused.code == "settings_not_json"
    assert place in refused.text
    assert world.snapshot() == before


def test_a_file_with_comments_is_refused_with_the_snippet_to_paste(world):
    world.write(world.settings, b'{\n  // mine\n  "model": "opus",\n}\n')
    refused = world.plan()
    assert isinstance(refused, Refusal)
    assert refused.code == "settings_not_json"
    assert "comments" in refused.text
    pasted = json.loads(refused.snippet)
    assert {event for event, _m, _h in handlers(pasted)} == HTTP | COMMAND


@pytest.mark.parametrize("value", [[], 3, {"hooks": []}, {"hooks": {"Stop": {}}}, {"hooks": {"SessionStart": "x"}}])
def test_settings_of_another_shape_are_refused(world, value):
    data = world.write(world.settings, value)
    refused = world.plan()
    assert isinstance(refused, Refusal)
    assert refused.code == "settings_unexpected"
    assert world.settings.read_bytes() == data


def test_switches_of_the_client_are_told(world):
    world.write(world.settings, {"disableAllHooks": True, "allowedHttpHookUrls": []})
    assert codes(world.plan()) == ["hooks_disabled", "hook_urls_restricted"]
    assert codes(world.plan(mode="command")) == ["hooks_disabled"]


def test_the_diff_shows_the_change_and_hides_the_keys(world):
    world.write(world.claude_json, {"mcpServers": {"other": {"headers": {"Authorization": "Bearer foreign"}}}})
    world.set_up(install=world.install(port=1, token="old-token", hook_key="old-key"))
    text = setup.diff(world.plan())
    assert "+++ " + str(world.settings) in text
    assert "http://127.0.0.1:7717/hooks/claude-code" in text
    for secret in (TOKEN, HOOK_KEY, "old-token", "old-key", "foreign"):
        assert secret not in text
    assert TOKEN not in repr(world.plan())


@pytest.mark.spec("75")
@pytest.mark.parametrize("scope", ["user", "project"])
def test_the_diff_says_where_a_key_takes_another_ones_place(world, scope):
    """Hidden they look the same, and a line that goes and comes back alike tells nothing."""
    assert "(new key)" not in setup.diff(world.plan(scope))
    world.set_up(scope, install=world.install(token="old-token", hook_key="old-key"))
    text = setup.diff(world.plan(scope))
    added = [line for line in text.splitlines() if line.startswith("+") and "********" in line]
    assert added and all("******** (new key)" in line for line in added)
    assert "(new key)" not in "".join(line for line in text.splitlines() if line.startswith(("-", " ")))
    for secret in (TOKEN, HOOK_KEY, "old-token", "old-key"):
        assert secret not in text
    world.set_up(scope)
    port = setup.diff(world.plan(scope, install=world.install(port=7999)))
    assert "(new key)" not in port


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs the program patch")
def test_the_diff_is_one_that_patch_can_read(world):
    lines = [f"line {n}" for n in range(50)]
    world.write(world.settings, {"lines": lines, "hooks": {"Stop": []}, "more": lines})
    before = world.settings.read_bytes()
    plan = world.plan(mode="command")
    text = setup.diff(plan).replace("********", TOKEN)
    part = text[text.index(f"--- {world.settings}") :]
    subprocess.run(["patch", "-s", str(world.settings)], input=part.encode(), check=True)
    assert world.settings.read_bytes() == plan.edits[1].after != before


def test_the_diff_of_a_huge_file_is_quick(world):
    history = {f"/p/{n}": {"allowedTools": [], "x": "y" * 50} for n in range(40_000)}
    world.write(world.claude_json, {"numStartups": 1, "projects": history, "mcpServers": {}, "z": history})
    began = time.process_time()  # Not the clock: others may keep the machine busy.
    text = setup.diff(world.plan(mode="command"))
    assert time.process_time() - began < 10
    assert "/p/39999" not in text


def test_another_waiting_time_reaches_the_hook(world):
    world.set_up(wake=True, install=dataclasses.replace(world.install(), wait_s=3000))
    wake = [handler for _e, _m, handler in handlers(load(world.settings)) if handler.get("asyncRewake")]
    assert [(handler["timeout"], handler["args"][-3:]) for handler in wake] == [(3300, ["--wait", "--wait-s", "3000"])]
    world.undo()
    assert not world.settings.exists()


def test_a_project_is_set_up_beside_user_settings_that_cannot_be_read(world):
    data = world.write(world.settings, b"// comments only")
    world.set_up("local")
    world.undo("local")
    assert world.settings.read_bytes() == data


def test_what_an_install_tells_of_itself(world):
    install = setup.install_for(world.folders, url="http://127.0.0.1:7717/", token="t", hook_key="h")
    assert install.hook_url == "http://127.0.0.1:7717/hooks/claude-code"
    assert install.mcp_url == "http://127.0.0.1:7717/mcp"
    assert Path(install.python).is_absolute()
    assert not install.python.startswith(sys.prefix + "/") or sys.prefix == sys.base_prefix


def test_the_hook_ends_well_when_its_program_is_gone(world):
    """Python itself would leave with 2, which the client takes for "block"."""
    arguments = command_arguments(world.install(), wait=False)
    done = subprocess.run([sys.executable, *arguments], input=b"{}", capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_hook_program_runs_as_it_is_installed(world):
    """It spools an event for which there is no server, so it was found, imported its neighbours and ran."""
    world.set_up()
    world.folders.run.mkdir()
    event = {"session_id": "s", "hook_event_name": "SessionEnd", "cwd": "/", "reason": "other"}
    arguments = command_arguments(world.install(), wait=False)
    done = subprocess.run(
        [sys.executable, *arguments], input=json.dumps(event).encode(), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert b"SessionEnd" in (world.folders.state / "spool" / "spool").read_bytes()
