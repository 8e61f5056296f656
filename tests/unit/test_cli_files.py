"""`config`, `backup`, `restore`, `token rotate` without a server, `setup` and `doctor`: commands that work on files."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from relaybay import spool
from relaybay.cli import backup
from relaybay.cli.root import run
from relaybay.cli.shell import AGENT_VARIABLES
from relaybay.settings import Paths, load
from relaybay.store.database import Store
from relaybay.store.migrations import STEPS


@pytest.fixture
def paths(tmp_path, monkeypatch):
    for name in [*AGENT_VARIABLES, *(name for name in os.environ if name.startswith("RELAYBAY_"))]:
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "h"
    monkeypatch.setenv("RELAYBAY_HOME", str(home))
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    (tmp_path / "person").mkdir()
    monkeypatch.chdir(tmp_path / "person")
    return Paths.find({"RELAYBAY_HOME": str(home)})


@pytest.fixture
def asked(paths, capsys):
    def call(*words):
        code = run([*words, "--json"])
        out = capsys.readouterr().out
        assert out.count("\n") == 1, out
        return code, json.loads(out)

    return call


def files_of(folder: Path):
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file() and p.name != "lock"}


# --- config ---


def test_show_names_every_source(asked, paths, monkeypatch):
    paths.make()
    paths.config_file.write_text("[server]\nport = 7000\n")
    monkeypatch.setenv("RELAYBAY_WAKE_MINUTES", "5")
    rows = {row["key"]: row for row in asked("config", "show", "--origin")[1]["settings"]}
    assert (rows["server.port"]["value"], rows["server.port"]["origin"]) == (7000, f"{paths.config_file}:2")
    assert (rows["wake.minutes"]["value"], rows["wake.minutes"]["origin"]) == (5, "RELAYBAY_WAKE_MINUTES")
    assert (rows["server.host"]["value"], rows["server.host"]["source"]) == ("127.0.0.1", "default")


@pytest.mark.spec("SET-1")
def test_set_keeps_everything_else_and_get_reads_it_back(asked, paths):
    paths.make()
    text = "# mine\n[server] # where\nport    = 7000 # here\n\n[wake]\nminutes = 3\n"
    paths.config_file.write_text(text)
    paths.config_file.chmod(0o640)
    assert asked("config", "set", "messaging.channels", "true") == (
        0,
        {"v": 1, "key": "messaging.channels", "value": True, "file": str(paths.config_file)},
    )
    assert asked("config", "set", "server.port", "7001")[0] == 0
    now = paths.config_file.read_text()
    assert now.startswith(text.replace("7000", "7001"))
    assert now.removeprefix(text.replace("7000", "7001")).split() == ["[messaging]", "channels", "=", "true"]
    assert stat.S_IMODE(paths.config_file.stat().st_mode) == 0o640
    assert asked("config", "get", "messaging.channels")[1]["value"] is True
    assert load(paths, {}).server_port == 7001


def test_set_makes_a_file_of_the_owners_own(asked, paths):
    assert asked("config", "set", "server.port", "7001")[0] == 0
    assert stat.S_IMODE(paths.config_file.stat().st_mode) == 0o600


def test_set_follows_a_link_to_the_persons_dotfiles(asked, paths, tmp_path):
    paths.make()
    real = tmp_path / "dotfiles.toml"
    real.write_text("[server]\nport = 1\n")
    paths.config_file.symlink_to(real)
    assert asked("config", "set", "server.port", "7001")[0] == 0
    assert paths.config_file.is_symlink() and "7001" in real.read_text()


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (["server.prot", "1"], 65, "key_unknown"),
        (["server.port", "many"], 65, "value_invalid"),
        (["server.port", "0"], 65, "value_invalid"),
        (["server.host", "0.0.0.0"], 65, "value_invalid"),
        (["messaging.channels", "perhaps"], 65, "value_invalid"),
    ],
)
def test_set_refuses_what_the_next_start_would(asked, paths, words, code, name):
    got, document = asked("config", "set", *words)
    assert (got, document["error"]["code"]) == (code, name)
    assert not paths.config_file.exists()


@pytest.mark.spec("75")
def test_a_broken_file_is_78_with_its_line_and_left_alone(asked, paths):
    paths.make()
    paths.config_file.write_text("[server]\nport = many\n")
    for words in (["show"], ["set", "server.port", "1"], ["get", "server.port"]):
        code, document = asked("config", *words)
        assert (code, document["error"]["code"]) == (78, "configuration")
        assert f"{paths.config_file}:2" in document["error"]["text"]
    assert paths.config_file.read_text() == "[server]\nport = many\n"
    assert asked("config", "path")[0] == 0  # How else would one find it?


@pytest.mark.spec("75")
@pytest.mark.parametrize("words", [["up"], ["up", "--foreground"], ["task", "create", "T"]])
def test_so_is_every_command_that_needs_it(asked, paths, words):
    paths.make()
    paths.config_file.write_text("nonsense = 1\n")
    assert asked(*words)[0] == 78


@pytest.mark.spec("CH-10", "SET-1")
def test_an_agent_cannot_set(asked, paths, monkeypatch):
    monkeypatch.setenv("CLAUDECODE", "1")
    assert asked("config", "set", "messaging.channels", "true")[0] == 77
    assert not paths.config_file.exists()


def test_two_that_set_at_once_lose_nothing(paths):
    def set_one(key, value):
        subprocess.run(
            [sys.executable, "-m", "relaybay", "config", "set", key, value], check=True, env=env, capture_output=True
        )

    env = dict(os.environ) | {"PYTHONPATH": TREE}
    wanted = {"server.port": "7001", "wake.minutes": "3", "sessions.silent_hours": "5"}
    threads = [threading.Thread(target=set_one, args=pair) for pair in wanted.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = load(paths, {})
    assert {key: str(found.value(key)) for key in wanted} == wanted


# --- backup and restore ---


TREE = str(Path(backup.__file__).parent.parent.parent)
FILL = """
import os, sys
from pathlib import Path
from relaybay.store.database import Store
store = Store(Path(sys.argv[1]), lambda: 1_700_000_000_000_000)
store.write(lambda tx: tx.emit(sys.argv[2]))
if sys.argv[3] == "killed":
    os.kill(os.getpid(), 9)
store.close()
"""


def fill(paths, word, end="closed"):
    """One event of this name, from a server's store in a process of its own that is `closed` or `killed` then."""
    done = subprocess.run([sys.executable, "-c", FILL, str(paths.database), word, end], cwd=TREE, check=False)
    assert done.returncode == (0 if end == "closed" else -9)


def words_in(database):
    connection = sqlite3.connect(database)
    try:
        return [row[0] for row in connection.execute("SELECT type FROM event ORDER BY id")]
    finally:
        connection.close()


@pytest.mark.spec("70")
def test_a_backup_of_a_database_in_use_is_whole(asked, paths):
    paths.make()
    store = Store(paths.database, lambda: 1_700_000_000_000_000)
    try:
        store.write(lambda tx: tx.emit("test.one"))
        code, document = asked("backup")
    finally:
        store.close()
    assert code == 0
    file = Path(document["file"])
    assert file.parent == paths.backups
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and document["bytes"] == file.stat().st_size
    assert words_in(file) == ["test.one"]
    assert [p.name for p in paths.backups.iterdir()] == [file.name]
    assert asked("restore", str(file), "--check") == (
        0,
        {"v": 1, "file": str(file), "ok": True, "schema": len(STEPS)},
    )


def test_a_backup_takes_nobodys_place(asked, paths, tmp_path):
    paths.make()
    fill(paths, "test.one")
    taken = tmp_path / "mine"
    taken.write_text("mine")
    code, document = asked("backup", str(taken))
    assert (code, document["error"]["code"], taken.read_text()) == (65, "file_exists", "mine")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    assert asked("backup", str(link))[0] == 65
    assert not (tmp_path / "nowhere").exists()


def test_without_a_database_there_is_nothing_to_back_up(asked, paths):
    code, document = asked("backup")
    assert (code, document["error"]["code"]) == (1, "no_database")


@pytest.mark.spec("75")
def test_a_backup_that_cannot_be_written_is_74(asked, paths, tmp_path):
    paths.make()
    fill(paths, "test.one")
    code, document = asked("backup", str(tmp_path / "no" / "such" / "folder"))
    assert (code, document["error"]["code"]) == (74, "file_not_written")


@pytest.mark.spec("70")
def test_restore_puts_a_backup_in_place_and_keeps_what_was_there(asked, paths):
    paths.make()
    fill(paths, "test.one")
    file = asked("backup")[1]["file"]
    fill(paths, "test.two")
    code, document = asked("restore", file)
    assert code == 0
    assert words_in(paths.database) == ["test.one"]
    assert words_in(document["kept"]) == ["test.one", "test.two"]
    assert stat.S_IMODE(paths.database.stat().st_mode) == 0o600
    fill(paths, "test.three")  # A server opens it as its own.
    assert words_in(paths.database) == ["test.one", "test.three"]


def test_what_a_killed_server_left_in_its_log_goes_with_the_old_database(asked, paths):
    paths.make()
    fill(paths, "test.one")
    file = asked("backup")[1]["file"]
    fill(paths, "test.late", "killed")
    wal = paths.database.with_name("relaybay.db-wal")
    assert wal.stat().st_size > 0
    document = asked("restore", file)[1]
    assert not wal.exists()
    assert words_in(paths.database) == ["test.one"]
    assert words_in(document["kept"]) == ["test.one", "test.late"]


@pytest.mark.spec("75")
def test_restore_refuses_while_a_server_has_the_folder(asked, paths):
    paths.make()
    fill(paths, "test.one")
    file = asked("backup")[1]["file"]
    before = files_of(paths.data)
    with FileLock(paths.lock):
        code, document = asked("restore", file)
    assert (code, document["error"]["code"]) == (75, "data_folder_locked")
    assert files_of(paths.data) == before


def damaged(file):
    data = bytearray(file.read_bytes())
    for at in range(4096, len(data), 4096):
        data[at : at + 200] = b"\xff" * 200
    file.write_bytes(data)


def newer(file):
    connection = sqlite3.connect(file)
    connection.execute("UPDATE schema_version SET version = 999")
    connection.commit()
    connection.close()


def foreign(file):
    file.unlink()
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE a (b)")
    connection.commit()
    connection.close()


BAD_FILES = {
    "missing": (Path.unlink, 65, "file_missing"),
    "empty": (lambda file: file.write_bytes(b""), 65, "not_a_backup"),
    "text": (lambda file: file.write_bytes(b"hello" * 1000), 65, "not_a_backup"),
    "cut": (lambda file: file.write_bytes(file.read_bytes()[:6000]), 65, "backup_damaged"),
    "damaged": (damaged, 65, "backup_damaged"),
    "foreign": (foreign, 65, "not_a_backup"),
    "newer": (newer, 78, "schema_newer"),
}


@pytest.mark.spec("70")
@pytest.mark.parametrize("check", [[], ["--check"]], ids=["restore", "check"])
@pytest.mark.parametrize("case", BAD_FILES)
def test_a_file_that_cannot_be_restored_changes_nothing(asked, paths, tmp_path, case, check):
    paths.make()
    fill(paths, "test.one")
    file = tmp_path / "backup.db"
    assert asked("backup", str(file))[0] == 0
    spoil, code, name = BAD_FILES[case]
    spoil(file)
    before = files_of(paths.data)
    got, document = asked("restore", str(file), *check)
    assert (got, document["error"]["code"]) == (code, name)
    assert files_of(paths.data) == before


@pytest.mark.spec("CH-10")
def test_an_agent_cannot_restore(asked, paths, monkeypatch):
    paths.make()
    fill(paths, "test.one")
    file = asked("backup")[1]["file"]
    monkeypatch.setenv("CLAUDECODE", "1")
    assert asked("restore", file)[0] == 77
    assert asked("restore", file, "--check")[0] == 0


def test_a_restore_that_fails_half_way_leaves_the_database(asked, paths, monkeypatch):
    paths.make()
    fill(paths, "test.one")
    file = asked("backup")[1]["file"]
    fill(paths, "test.two")

    def fails(self, target):
        raise OSError(28, "No space left on device", str(target))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", fails)
        assert asked("restore", file)[0] == 74
    assert words_in(paths.database) == ["test.one", "test.two"]
    assert not list(paths.data.glob(".restore*"))


# --- keys ---


@pytest.mark.spec("75")
def test_rotate_without_a_server_replaces_both_files(asked, paths):
    paths.make()
    assert asked("token", "rotate")[0] == 0
    first = {name: (paths.run / name).read_text() for name in ("token", "hook.key")}
    assert asked("token", "rotate")[0] == 0
    for name, old in first.items():
        assert (paths.run / name).read_text() != old
        assert stat.S_IMODE((paths.run / name).stat().st_mode) == 0o600


# --- setup and doctor ---


@pytest.mark.spec("20", "75")
def test_setup_shows_on_stderr_applies_and_is_undone(paths, tmp_path, capsys):
    settings = tmp_path / "person" / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n  "model": "x"\n}\n')
    assert run(["setup", "claude-code", "--dry-run"]) == 0
    dry = capsys.readouterr()
    assert "/hooks/claude-code" in dry.out and settings.read_text() == '{\n  "model": "x"\n}\n'
    assert run(["setup", "claude-code", "--yes"]) == 0
    done = capsys.readouterr()
    assert "+" in done.err and f"changed {settings}" in done.out and "/hooks/claude-code" not in done.out
    for key in ("token", "hook.key"):
        assert (paths.run / key).read_text().strip() not in dry.out + dry.err + done.out + done.err
    assert json.loads(settings.read_text())["model"] == "x" and "hooks" in json.loads(settings.read_text())
    assert run(["setup", "claude-code", "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changed"] == []
    assert run(["setup", "claude-code", "--uninstall", "--yes", "--json"]) == 0
    assert str(settings) in json.loads(capsys.readouterr().out)["changed"]
    assert settings.read_text() == '{\n  "model": "x"\n}\n'


@pytest.mark.spec("75")
def test_setup_writes_the_configured_address(asked, paths, tmp_path, monkeypatch):
    monkeypatch.setenv("RELAYBAY_SERVER_PORT", "7999")
    assert asked("setup", "--yes")[0] == 0
    server = json.loads((tmp_path / "person" / ".claude.json").read_text())["mcpServers"]["relaybay"]
    assert server["url"] == "http://127.0.0.1:7999/mcp"


@pytest.mark.spec("75")
def test_a_refusal_of_setup_is_77_and_keeps_its_code(asked, paths, tmp_path):
    mine = '{"mcpServers": {"relaybay": {"command": "mine"}}}'
    (tmp_path / "person" / ".claude.json").write_text(mine)
    code, document = asked("setup", "--yes")
    assert (code, document["error"]["code"]) == (77, "mcp_name_taken")
    assert (tmp_path / "person" / ".claude.json").read_text() == mine


@pytest.mark.spec("20")
def test_doctor_says_what_is_wrong_and_exits_1(asked, paths):
    code, document = asked("doctor")
    checks = {check["name"]: check for check in document["checks"]}
    assert (code, document["ok"]) == (1, False)
    assert checks["server"]["ok"] is False and checks["server"]["fix"]
    assert checks["config"]["ok"] is True


@pytest.mark.spec("20", "75")
def test_doctor_survives_a_broken_configuration(asked, paths):
    paths.make()
    paths.config_file.write_text("[server]\nprot = 1\n")
    code, document = asked("doctor")
    checks = {check["name"]: check for check in document["checks"]}
    assert code == 1
    assert checks["settings"]["ok"] is False and f"{paths.config_file}:2" in checks["settings"]["detail"]


@pytest.mark.spec("20")
def test_doctor_deep_checks_the_database(asked, paths):
    paths.make()
    fill(paths, "test.one")
    assert {c["name"]: c["ok"] for c in asked("doctor", "--deep")[1]["checks"]}["integrity"] is True
    damaged(paths.database)
    assert {c["name"]: c["ok"] for c in asked("doctor", "--deep")[1]["checks"]}["integrity"] is False


@pytest.mark.spec("20", "75")
@pytest.mark.parametrize("file", [".claude/settings.json", ".claude.json"])
def test_entries_to_put_in_by_hand_stand_below_the_sentence_and_without_keys(
    paths, tmp_path, capsys, monkeypatch, file
):
    mine = tmp_path / "person" / file
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("{ // mine\n}\n")
    assert run(["setup", "claude-code", "--yes"]) == 77
    said = capsys.readouterr()
    assert said.out == ""
    sentence, entries = said.err.index("Add the entries below"), said.err.index("Authorization")
    assert sentence < entries and "--show-keys" in said.err[entries:]
    keys = [(paths.run / name).read_text().strip() for name in ("token", "hook.key")]
    assert not any(key in said.err for key in keys)
    assert run(["setup", "claude-code", "--yes", "--json"]) == 77
    document = json.loads(capsys.readouterr().out)["error"]
    assert "Authorization" in document["entries"] and not any(key in json.dumps(document) for key in keys)
    assert run(["setup", "claude-code", "--yes", "--show-keys"]) == 77
    shown = capsys.readouterr().err
    assert sum(key in shown for key in keys) == 1 and "********" not in shown
    monkeypatch.setenv("CLAUDECODE", "1")
    assert run(["setup", "claude-code", "--yes", "--show-keys"]) == 77
    refused = capsys.readouterr().err
    assert "[owner_only" in refused and not any(key in refused for key in keys)
    assert mine.read_text() == "{ // mine\n}\n"


@pytest.mark.spec("WAIT-5")
def test_the_configured_minutes_reach_the_wake_up(asked, paths, tmp_path):
    assert asked("config", "set", "wake.minutes", "5")[0] == 0
    assert asked("setup", "--yes", "--force-wake")[0] == 0
    settings = json.loads((tmp_path / "person" / ".claude" / "settings.json").read_text())
    (wake,) = [h for g in settings["hooks"]["Stop"] for h in g["hooks"] if h.get("asyncRewake")]
    assert wake["args"][-2:] == ["--wait-s", "300"]
    assert {c["name"]: c["ok"] for c in asked("doctor")[1]["checks"]}["hooks"] is True
    assert asked("config", "set", "wake.minutes", "6")[0] == 0
    assert {c["name"]: c["ok"] for c in asked("doctor")[1]["checks"]}["hooks"] is False


@pytest.mark.spec("CMD-4", "20")
def test_dropped_events_can_be_cleared_once_they_are_known(asked, paths, monkeypatch, capsys):
    spool.prepare(paths.spool)
    with (paths.spool / "dropped").open("ab") as counter:
        counter.write(b"xxx")
    before = {c["name"]: c for c in asked("doctor")[1]["checks"]}["spool"]
    assert before["ok"] is False and "--clear-dropped" in before["fix"]
    monkeypatch.setenv("CLAUDECODE", "1")
    assert asked("doctor", "--clear-dropped")[0] == 77
    monkeypatch.delenv("CLAUDECODE")
    shown = {c["name"]: c for c in asked("doctor", "--clear-dropped")[1]["checks"]}["spool"]
    assert "3 events dropped" in shown["detail"], "shown before they are forgotten"
    assert {c["name"]: c["ok"] for c in asked("doctor")[1]["checks"]}["spool"] is True
    assert (paths.spool / "dropped").stat().st_size > 0, "the block for a full disk stays"
    (paths.spool / "dropped").unlink()
    assert run(["doctor", "--clear-dropped"]) in (0, 1)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.spec("20")
def test_doctor_names_who_has_the_port(asked, paths, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setenv("RELAYBAY_SERVER_PORT", str(taken.getsockname()[1]))
        check = {c["name"]: c for c in asked("doctor")[1]["checks"]}["server"]
    assert check["ok"] is False and "is taken by" in check["detail"]
    assert check["fix"] != "relaybay up"
    free = {c["name"]: c for c in asked("doctor")[1]["checks"]}["server"]
    assert free["fix"] == "relaybay up"


# --- conformance ---


@pytest.mark.spec("90")
def test_conformance_runs_the_report_of_the_tree_and_hands_on_how_it_ended(asked, paths, tmp_path, monkeypatch):
    tree = tmp_path / "tree"
    (tree / "relaybay").mkdir(parents=True)
    monkeypatch.setattr("relaybay.__file__", str(tree / "relaybay" / "__init__.py"))
    code, document = asked("conformance")
    assert (code, document["error"]["code"]) == (1, "source_tree_needed")
    report = tree / "tests" / "conformance" / "report.py"
    report.parent.mkdir(parents=True)
    report.write_text("import sys; print('told'); sys.exit(sys.argv[1:] != ['--write'])")
    assert asked("conformance") == (0, {"v": 1, "ok": True, "file": str(tree / "docs" / "conformance.md")})
    report.write_text("import sys; sys.exit(3)")
    assert asked("conformance")[0] == 1


@pytest.mark.spec("90")
def test_conformance_takes_the_report_of_its_own_tree_beside_an_editable_install(asked, paths, tmp_path, monkeypatch):
    """An editable install puts another tree's `tests` package on every interpreter's path."""
    tree, other = tmp_path / "tree", tmp_path / "other"
    for folder in (tree, other):
        package = folder / "tests" / "conformance"
        package.mkdir(parents=True)
        (package / "ids.py").write_text(f"FOLDER = {str(folder)!r}")
        (package / "report.py").write_text(
            "from pathlib import Path; from tests.conformance import ids; Path('seen').write_text(ids.FOLDER)"
        )
    (other / "tests" / "conformance" / "__init__.py").touch()
    (tree / "relaybay").mkdir()
    monkeypatch.setattr("relaybay.__file__", str(tree / "relaybay" / "__init__.py"))
    (tree / "tests" / "conformance" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(other))
    assert asked("conformance")[0] == 0
    assert (tree / "seen").read_text() == str(tree)
    (tree / "tests" / "conformance" / "__init__.py").unlink()
    (tree / "tests" / "conformance" / "report.py").write_text("open('seen', 'w').write('again')")
    assert asked("conformance")[0] == 0
    assert (tree / "seen").read_text() == "again"
    assert not (other / "seen").exists()
