"""Where the client's files are, as measured on the real client."""

from __future__ import annotations

import subprocess

import pytest

from relaybay import setup
from relaybay.setup import claude_places
from tests.unit.setup_world import World


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_the_usual_places(world):
    files = world.read()
    assert files.settings.path == str(world.home / ".claude" / "settings.json")
    assert files.claude_json.path == str(world.home / ".claude.json")
    assert files.mcp_json.path == str(world.project / ".mcp.json")
    assert files.local_settings.path == str(world.project / ".claude" / "settings.local.json")


def test_the_client_can_be_told_another_folder(world):
    world.env["CLAUDE_CONFIG_DIR"] = str(world.root / "elsewhere")
    files = world.read()
    assert files.settings.path == str(world.root / "elsewhere" / "settings.json")
    assert files.claude_json.path == str(world.root / "elsewhere" / ".claude.json")
    before = world.snapshot()
    world.set_up()
    assert world.snapshot() == before  # nothing in the usual places
    world.undo()
    assert not (world.root / "elsewhere").exists()


def test_the_file_of_old_clients_is_used_where_it_is(world):
    old = world.home / ".claude" / ".config.json"
    world.write(old, b"")
    assert world.read().claude_json.path == str(world.claude_json)
    world.write(old, {"numStartups": 1})
    assert world.read().claude_json.path == str(old)


def test_a_project_is_named_by_its_repository(world):
    git = ["git", "-c", "user.name=a", "-c", "user.email=b", "-C"]
    world.git_init(world.project)
    sub = world.project / "a" / "b"
    sub.mkdir(parents=True)
    assert key(world, sub) == str(world.project)
    link = world.root / "link"
    link.symlink_to(sub)
    assert key(world, link) == str(world.project)
    subprocess.run([*git, world.project, "commit", "-q", "--allow-empty", "-m", "x"], check=True, env=world.env)
    tree = world.root / "tree"
    subprocess.run([*git, world.project, "worktree", "add", "-q", tree], check=True, env=world.env, capture_output=True)
    assert key(world, tree) == str(world.project)
    outside = world.root / "outside"
    outside.mkdir()
    assert key(world, outside) == str(outside)


def key(world, folder):
    return setup.read_claude_code(world.folders, "local", folder, world.env).project_key


def test_a_submodule_is_a_project_of_its_own(world):
    sub = world.project / "sub"
    sub.mkdir()
    inside = world.project / ".git" / "modules" / "sub"
    inside.mkdir(parents=True)
    (sub / ".git").write_text("gitdir: ../.git/modules/sub\n")
    assert claude_places.main_root(sub) == sub
    (sub / ".git").write_bytes(b"\xff\xfe")
    assert claude_places.main_root(sub) == sub


def test_the_client_is_found_on_the_path_and_where_its_installer_puts_it(world):
    env = {"HOME": str(world.home), "PATH": str(world.root / "bin")}
    assert setup.client_program(env) is None
    local = world.home / ".local" / "bin" / "claude"
    world.write(local, b"#!/bin/sh\necho 2.1.200\n")
    assert setup.client_program(env) is None  # not executable
    local.chmod(0o755)
    assert setup.client_program(env) == local
    assert setup.client_version(local, env) == "2.1.200"
    first = world.root / "bin" / "claude"
    world.write(first, b"#!/bin/sh\n")
    first.chmod(0o755)
    assert setup.client_program(env) == first
