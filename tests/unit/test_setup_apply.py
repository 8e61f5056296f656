"""Apply and undo: byte for byte back, all or nothing, and nothing of anybody else's lost (page 20, Setup)."""

from __future__ import annotations

import importlib
import json
import os
import tempfile
import threading
import time
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from relaybay import setup
from relaybay.setup import Applied, Plan, Refusal, files, hook_files, json_text
from relaybay.setup.claude_entries import role_of
from relaybay.setup.json_read import parse
from relaybay.setup.manifest import manifest_path
from tests.unit.setup_json import client_files
from tests.unit.setup_world import NOW, TOKEN, World, handlers, load

# The package's own name for it is the function.
apply_module = importlib.import_module("relaybay.setup.apply")
few = settings(max_examples=150, deadline=None)
CHOICES = st.fixed_dictionaries(
    {"mode": st.sampled_from(["http", "command"]), "wake": st.booleans(), "lean": st.booleans()}
)
SCOPES = st.sampled_from(["user", "project", "local"])


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@contextmanager
def a_world(settings_text, servers_text, scope):
    # In memory where there is such a folder: it is the writes to disk that would take the time here.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        world = World(Path(folder))
        if settings_text is not None:
            path = world.settings if scope == "user" else world.local_settings
            world.write(path, settings_text.encode())
        if servers_text is not None:
            path = world.project / ".mcp.json" if scope == "project" else world.claude_json
            world.write(path, servers_text.encode())
        yield world


def set_up_or_none(world, scope, **choices):
    """Whether setup took the files; one that refuses has changed nothing."""
    before = world.snapshot()
    if isinstance(world.plan(scope, **choices), Refusal):
        assert world.snapshot() == before
        return False
    world.set_up(scope, **choices)
    return True


@few
@given(st.none() | client_files(), st.none() | client_files(), SCOPES, CHOICES)
def test_undo_gives_back_every_byte_and_mode(settings_text, servers_text, scope, choices):
    with a_world(settings_text, servers_text, scope) as world:
        before = world.snapshot()
        assume(set_up_or_none(world, scope, **choices))
        assert world.snapshot() != before
        world.undo(scope)
        assert world.snapshot() == before
        assert not manifest_path(world.folders, "claude-code").exists()
        assert not (world.folders.data / "bin").exists()


@few
@given(st.none() | client_files(), st.none() | client_files(), SCOPES, CHOICES, CHOICES)
def test_a_second_setup_changes_nothing_and_another_one_is_undone_as_well(
    settings_text, servers_text, scope, choices, other
):
    with a_world(settings_text, servers_text, scope) as world:
        before = world.snapshot()
        assume(set_up_or_none(world, scope, **choices))
        after = world.snapshot()
        plan = world.plan(scope, **choices)
        assert plan.edits == ()
        world.set_up(scope, **choices)
        assert world.snapshot() == after
        world.set_up(scope, install=world.install(port=8000, token="new", hook_key="newer"), **other)
        world.undo(scope)
        assert world.snapshot() == before


LATER = {"hooks": [{"type": "command", "command": "made later"}]}


@few
@given(client_files(), st.none() | client_files(), SCOPES, CHOICES, st.booleans())
def test_undo_after_foreign_edits_takes_only_what_is_ours(settings_text, servers_text, scope, choices, again):
    with a_world(settings_text, servers_text, scope) as world:
        wanted = {path: parse(data.decode()) for path, (data, _mode) in world.snapshot().items()}
        assume(set_up_or_none(world, scope, **choices))
        for path, (data, _mode) in world.snapshot().items():
            text, _made = json_text.set_at(data.decode(), ("foreign edit",), [1])
            wanted.setdefault(path, {})["foreign edit"] = parse("[1]")
            if path in (str(world.settings), str(world.local_settings)):
                text = json_text.append(text, ("hooks", "Stop"), LATER)
                wanted[path].setdefault("hooks", {}).setdefault("Stop", []).append(LATER)
            Path(path).write_bytes(text.encode())
        if again:
            world.set_up(scope, install=world.install(port=8000), **choices)
        done = world.undo(scope)
        assert {note.code for note in done.notes} <= {"only_ours_removed"}
        assert done.notes or again
        assert {path: parse(data.decode()) for path, (data, _mode) in world.snapshot().items()} == wanted


def test_scopes_are_undone_in_any_order(world):
    world.write(world.claude_json, {"projects": {}, "numStartups": 3})
    before = world.snapshot()
    for order in (("user", "local"), ("local", "user")):
        world.set_up("user")
        world.set_up("local")
        for scope in order:
            world.undo(scope)
        after = world.snapshot()
        assert load(world.claude_json) == {"projects": {}, "numStartups": 3}
        assert set(after) == set(before)
        world.claude_json.write_bytes(before[str(world.claude_json)][0])


def test_the_other_scope_keeps_its_entries(world):
    world.set_up("user")
    world.set_up("local")
    world.undo("user")
    document = load(world.claude_json)
    assert "mcpServers" not in document
    assert "relaybay" in document["projects"][str(world.project)]["mcpServers"]
    assert (world.folders.data / "bin" / "hook.py").exists()


def test_undo_without_a_manifest_takes_what_it_knows(world):
    data = world.write(world.settings, {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}})
    world.set_up()
    manifest_path(world.folders, "claude-code").unlink()
    world.undo()
    left = load(world.settings)
    assert [handler for _e, _m, handler in handlers(left)] == [{"type": "command", "command": "x"}]
    assert TOKEN not in world.claude_json.read_text()
    assert json.loads(data)["hooks"]["Stop"] == left["hooks"]["Stop"]


def test_undo_without_the_backup_says_so(world):
    world.write(world.settings, {"model": "opus"})
    done = world.set_up()
    for path in done.backup.iterdir():
        path.unlink()
    undone = world.undo()
    assert "backup_gone" in {note.code for note in undone.notes}
    assert load(world.settings) == {"model": "opus"}


def test_undo_twice_changes_nothing(world):
    world.write(world.settings, {"model": "opus"})
    world.set_up()
    world.undo()
    before = world.snapshot()
    assert world.undo().changed == ()
    assert world.snapshot() == before


def test_a_file_changed_since_the_plan_is_not_written(world):
    world.write(world.settings, {})
    plan = world.plan()
    data = world.write(world.settings, {"changed": "since"})
    refused = setup.apply(plan, world.folders, NOW)
    assert isinstance(refused, Refusal)
    assert refused.code == "file_changed"
    assert world.settings.read_bytes() == data
    assert not world.claude_json.exists()


def test_a_file_that_appeared_since_the_plan_is_not_written(world):
    plan = world.plan()
    world.write(world.claude_json, {"appeared": 1})
    refused = setup.apply(plan, world.folders, NOW)
    assert (refused.code, refused.path) == ("file_changed", str(world.claude_json))
    assert not world.settings.exists()


@pytest.mark.parametrize("failing", [0, 1])
def test_a_failed_write_puts_everything_back(world, monkeypatch, failing):
    world.write(world.settings, {"model": "opus"})
    world.write(world.claude_json, {"numStartups": 3})
    before = world.snapshot()
    plan = world.plan()
    broken = plan.edits[failing].path
    real = files.write_file

    def write(path, data, mode):
        if str(path) == broken and b"relaybay" in data:
            raise OSError(28, "No space left on device", str(path))
        return real(path, data, mode)

    monkeypatch.setattr(apply_module, "write_file", write)
    refused = setup.apply(plan, world.folders, NOW)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.path) == ("file_not_writable", broken)
    assert "No space left" in refused.text
    assert world.snapshot() == before
    monkeypatch.undo()
    world.set_up()
    world.undo()
    assert world.snapshot() == before


def test_a_killed_setup_can_be_undone(world, monkeypatch):
    """The manifest stands before the first file does; the process dies between the two files."""
    world.write(world.settings, {"model": "opus"})
    world.write(world.claude_json, {"numStartups": 3})
    before = world.snapshot()
    plan = world.plan()
    real = files.write_file

    def write(path, data, mode):
        if str(path) == plan.edits[1].path:
            raise KeyboardInterrupt
        return real(path, data, mode)

    monkeypatch.setattr(apply_module, "write_file", write)
    with pytest.raises(KeyboardInterrupt):
        setup.apply(plan, world.folders, NOW)
    monkeypatch.undo()
    assert world.snapshot() != before
    world.undo()
    assert world.snapshot() == before


def test_a_lock_of_another_relaybay_is_waited_for_and_then_told(world, monkeypatch):
    world.write(world.settings, {})
    monkeypatch.setattr(files, "LOCK_WAIT_S", 0.2)
    plan = world.plan()
    with FileLock(world.settings.with_name(".settings.json.relaybay-lock")):
        refused = setup.apply(plan, world.folders, NOW)
    assert (refused.code, refused.path) == ("file_busy", str(world.settings))
    assert load(world.settings) == {}
    assert isinstance(setup.apply(plan, world.folders, NOW), Applied)


def test_the_clients_own_lock_is_honoured(world, monkeypatch):
    world.write(world.claude_json, {})
    lock = world.home / ".claude.json.lock"
    lock.mkdir()
    monkeypatch.setattr(files, "LOCK_WAIT_S", 0.2)
    plan = world.plan()
    assert setup.apply(plan, world.folders, NOW).code == "file_busy"
    monkeypatch.setattr(files, "LOCK_WAIT_S", 5.0)
    timer = threading.Timer(0.3, lock.rmdir)
    timer.start()
    assert isinstance(setup.apply(plan, world.folders, NOW), Applied)
    timer.join()
    assert not lock.exists()


def test_a_dead_clients_lock_is_passed_over(world):
    world.write(world.claude_json, {})
    lock = world.home / ".claude.json.lock"
    lock.mkdir()
    long_ago = time.time() - 60
    os.utime(lock, (long_ago, long_ago))
    world.set_up()
    assert lock.exists()


def test_no_lock_and_no_temporary_file_is_left(world):
    world.set_up()
    world.undo()
    assert [path.name for path in world.home.rglob("*")] == []


def test_a_link_is_followed_and_stays(world):
    real = world.root / "elsewhere" / "claude.json"
    data = world.write(real, {"numStartups": 3})
    world.claude_json.symlink_to(real)
    world.set_up()
    assert world.claude_json.is_symlink()
    assert "relaybay" in load(real)["mcpServers"]
    world.undo()
    assert real.read_bytes() == data


def test_a_link_turned_elsewhere_since_the_plan_is_not_followed(world):
    real = world.root / "elsewhere" / "claude.json"
    world.write(real, {})
    world.claude_json.symlink_to(real)
    plan = world.plan()
    other = world.root / "other"
    world.write(other / "claude.json", {})
    real.unlink()
    real.symlink_to(other / "claude.json")
    assert setup.apply(plan, world.folders, NOW).code == "file_changed"
    assert load(other / "claude.json") == {}


def test_what_is_no_file_is_refused(world):
    world.settings.mkdir(parents=True)
    assert world.read().code == "not_a_file"
    world.settings.rmdir()
    os.mkfifo(world.settings)
    assert world.read().code == "not_a_file"


def test_twenty_backups_are_kept_and_those_that_undo_needs(world):
    world.write(world.settings, {"model": "opus"})
    before = world.snapshot()
    for number in range(25):
        plan = world.plan(install=world.install(port=8000 + number))
        setup.apply(plan, world.folders, NOW + timedelta(minutes=number))
    kept = sorted(path.name for path in (world.folders.state / "backups").iterdir())
    assert len(kept) == 21
    assert kept[0].startswith("20261130T120000")
    for path in (world.folders.state / "backups").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0
    world.undo(install=world.install(port=8024))
    assert world.snapshot() == before


def test_foreign_folders_among_the_backups_are_never_pruned(world):
    foreign = world.folders.state / "backups" / "0-database"
    world.write(foreign / "relaybay.db", b"x")
    for number in range(23):
        setup.apply(world.plan(install=world.install(port=8000 + number)), world.folders, NOW)
    assert foreign.exists()


def test_an_unreadable_manifest_is_refused(world):
    world.set_up()
    path = manifest_path(world.folders, "claude-code")
    path.write_text('{"v": 99, "files": [], "hook": {}}')
    assert world.read().code == "manifest_unreadable"
    path.write_text("{")
    assert world.read().code == "manifest_unreadable"


def test_the_hook_is_copied_renewed_and_private(world):
    world.set_up()
    copies = world.folders.data / "bin"
    assert {path.name for path in copies.iterdir()} == set(hook_files.source())
    assert {path.stat().st_mode & 0o777 for path in copies.iterdir()} == {0o600}
    assert copies.stat().st_mode & 0o777 == 0o700
    (copies / "hook.py").write_text("old")
    done = world.set_up()
    assert done.changed == (str(copies / "hook.py"),)
    assert (copies / "hook.py").read_bytes() == hook_files.source()["hook.py"]


def test_a_hook_program_that_somebody_changed_is_not_removed(world):
    world.set_up()
    (world.folders.data / "bin" / "wire.py").write_text("mine now")
    world.undo()
    assert [path.name for path in (world.folders.data / "bin").iterdir()] == ["wire.py"]


def test_plans_are_values(world):
    first, second = world.plan(), world.plan()
    assert isinstance(first, Plan)
    assert first == second
    assert all(role_of(handler) for _e, _m, handler in handlers(json.loads(first.edits[1].after)))
