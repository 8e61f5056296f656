from __future__ import annotations

import os
from pathlib import Path

import pytest

from relaybay import specs
from relaybay.errors import SettingsError
from relaybay.settings import KEYS, Paths, load, project_file, read_text
from relaybay.settings.toml_file import line_of


@pytest.fixture
def paths(tmp_path):
    found = Paths.find({"RELAYBAY_HOME": str(tmp_path / "home")})
    found.make()
    return found


def configure(paths, text, encoding="utf-8"):
    paths.config_file.write_bytes(text.encode(encoding))


@pytest.mark.spec("75")
def test_relaybay_home_holds_everything(tmp_path):
    paths = Paths.find({"RELAYBAY_HOME": str(tmp_path)})
    assert paths.config_file == tmp_path / "config.toml"
    assert paths.database == tmp_path / "data" / "relaybay.db"
    assert paths.lock == tmp_path / "data" / "lock"
    assert paths.hook_script == tmp_path / "data" / "bin" / "hook.py"
    assert paths.server_log == tmp_path / "state" / "server.log"
    assert paths.backups == tmp_path / "state" / "backups"
    assert paths.spool == tmp_path / "state" / "spool"
    assert paths.socket == tmp_path / "run" / "relaybay.sock"
    assert paths.token == tmp_path / "run" / "token"
    assert paths.owner_key == tmp_path / "run" / "owner.key"
    assert paths.server_json == tmp_path / "run" / "server.json"


def test_a_relative_home_is_made_absolute_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = Paths.find({"RELAYBAY_HOME": "here"})
    monkeypatch.chdir("/")
    assert paths.database == tmp_path / "here" / "data" / "relaybay.db"


def test_without_it_the_platforms_folders_are_used(tmp_path, monkeypatch):
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    for name in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    paths = Paths.find({})
    assert paths.home is None
    assert paths.config_file == tmp_path / "config" / "relaybay" / "config.toml"
    assert paths.database == tmp_path / "data" / "relaybay" / "relaybay.db"
    assert paths.server_log == tmp_path / "state" / "relaybay" / "server.log"
    assert paths.run == tmp_path / "state" / "relaybay" / "run"


@pytest.mark.spec("75")
@pytest.mark.parametrize("runtime", ["there", None])
def test_the_keys_never_lie_where_a_logout_empties_the_folder(tmp_path, monkeypatch, runtime):
    """Setup has written them into the client's files, so they have to be the same after a reboot."""
    if runtime is None:
        monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    else:
        (tmp_path / runtime).mkdir(mode=0o700)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / runtime))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    paths = Paths.find({})
    for file in (paths.token, paths.owner_key, paths.socket, paths.server_json):
        assert file.parent == tmp_path / "state" / "relaybay" / "run"
        assert file.is_relative_to(paths.state)


def test_the_folders_are_the_owners_alone(paths):
    for folder in (paths.config_folder, paths.data, paths.state, paths.run):
        assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.spec("75")
def test_defaults(paths):
    found = load(paths, {})
    assert (found.server_host, found.server_port, found.messaging_channels) == ("127.0.0.1", 7717, False)
    assert {str(origin) for origin in found.origins.values()} == {"default"}
    assert found.clock_file is None


def test_every_settable_limit_has_a_key_with_the_same_default():
    settable = {limit.name: limit.value for limit in specs.limits().values() if limit.settable}
    assert {key.limit: key.default for key in KEYS.values() if key.limit} == settable


def test_each_source_wins_over_the_next(paths, tmp_path):
    project = tmp_path / "project"
    inner = project / "a" / "b"
    inner.mkdir(parents=True)
    asked = [load(paths, {}, inner)]
    configure(paths, '[project]\nslug = "of-config"\n')
    asked.append(load(paths, {}, inner))
    (project / ".relaybay.toml").write_text('# mine\n[project]\nslug = "of-project"\n')
    asked.append(load(paths, {}, inner))
    env = {"RELAYBAY_PROJECT_SLUG": "of-env"}
    asked.append(load(paths, env, inner))
    asked.append(load(paths, env, inner, {"project.slug": "of-flag"}))
    assert [each.project_slug for each in asked] == ["", "of-config", "of-project", "of-env", "of-flag"]
    assert [each.origins["project.slug"].source for each in asked] == [
        "default",
        "config",
        "project",
        "environment",
        "flag",
    ]
    assert [str(each.origins["project.slug"]) for each in asked] == [
        "default",
        f"{paths.config_file}:2",
        f"{project / '.relaybay.toml'}:3",
        "RELAYBAY_PROJECT_SLUG",
        "--slug",
    ]


def test_the_nearest_project_file_counts(tmp_path):
    (tmp_path / ".relaybay.toml").touch()
    inner = tmp_path / "inner"
    inner.mkdir()
    assert project_file(inner) == tmp_path / ".relaybay.toml"
    (inner / ".relaybay.toml").touch()
    assert project_file(inner) == inner / ".relaybay.toml"


@pytest.mark.spec("SET-1")
@pytest.mark.parametrize("key", sorted(name for name, key in KEYS.items() if not key.in_project))
def test_a_project_file_sets_nothing_that_is_the_users_own_choice(paths, tmp_path, key):
    table, _, name = key.partition(".")
    value = {"str": '"127.0.0.1"', "int": "7", "bool": "true"}[type(KEYS[key].default).__name__]
    (tmp_path / ".relaybay.toml").write_text(f"[{table}]\n{name} = {value}\n")
    with pytest.raises(SettingsError) as refused:
        load(paths, {}, tmp_path)
    assert refused.value.where == f"{tmp_path / '.relaybay.toml'}:2"
    assert key in refused.value.why


BAD = {
    "not toml": ("[server]\nport = \n", 2),
    "cut off": ("[server]\nport = 1\n[serv", 3),
    "unknown table": ("\n[nonsense]\na = 1\n", 3),
    "unknown key": ("[server]\nport = 7717\n\nprot = 7718\n", 4),
    "unknown top key": ("# one\nport = 1\n", 2),
    "text for a number": ('[server]\nhost = "127.0.0.1"\nport = "7717"\n', 3),
    "a truth for a number": ("[server]\nport = true\n", 2),
    "a number for a truth": ("[messaging]\nchannels = 1\n", 2),
    "out of range": ("[server]\nport = 65536\n", 2),
    "zero port": ("[server]\nport = 0\n", 2),
    "not loopback": ('[server]\nhost = "0.0.0.0"\n', 2),
    "a name of a host": ('[server]\nhost = "example.org"\n', 2),
    "a list": ("[server]\n\n\nport = [1]\n", 4),
    "dotted": ("server.port = 7717\nserver.prot = 1\n", 2),
    "inline": ("a = 1\n", 1),
    "inline table": ('# x\nserver = { port = 7717, host = "x" }\n', 2),
    "quoted": ('[ "server" ]\n"port" = -1\n', 2),
    "wait too long": ("[wake]\nminutes = 26\n", 2),
    "slug": ('[project]\nslug = "Acme Shop"\n', 2),
    "a table for a value": ("[server.port]\na = 1\n", 1),
}


@pytest.mark.spec("75")
@pytest.mark.parametrize("case", BAD)
def test_what_no_key_takes_is_refused_with_its_line(paths, case):
    text, line = BAD[case]
    configure(paths, text)
    with pytest.raises(SettingsError) as refused:
        load(paths, {})
    assert refused.value.where == f"{paths.config_file}:{line}", refused.value


def test_a_file_in_another_encoding_is_refused_with_its_line(paths):
    configure(paths, '[project]\n# über\nslug = ""\n', encoding="latin-1")
    with pytest.raises(SettingsError) as refused:
        load(paths, {})
    assert refused.value.where == f"{paths.config_file}:2"


def test_a_near_name_is_told(paths):
    configure(paths, "[server]\nprot = 1\n")
    with pytest.raises(SettingsError, match=r"nearest that is known is server\.port$"):
        load(paths, {})


def test_a_file_that_cannot_be_read_is_no_empty_one(paths):
    paths.config_file.mkdir()
    with pytest.raises(SettingsError) as refused:
        load(paths, {})
    assert refused.value.where == str(paths.config_file)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("server.port", "1234", 1234),
        ("server.host", "::1", "::1"),
        ("messaging.channels", "true", True),
        ("messaging.channels", "0", False),
        ("wake.minutes", "5", 5),
    ],
)
def test_the_environment_sets_every_key(paths, key, text, value):
    configure(paths, "[server]\nport = 1\n")
    found = load(paths, {KEYS[key].variable: text})
    assert found.value(key) == value
    assert type(found.value(key)) is type(value)
    assert str(found.origins[key]) == KEYS[key].variable


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("RELAYBAY_SERVER_PORT", "many"),
        ("RELAYBAY_SERVER_PORT", "0"),
        ("RELAYBAY_SERVER_PORT", "-1"),
        ("RELAYBAY_SERVER_PORT", "\u0661"),  # A digit to Python, and nothing anybody meant.
        ("RELAYBAY_MESSAGING_CHANNELS", "maybe"),
        ("RELAYBAY_SERVER_HOST", "10.0.0.1"),
    ],
)
def test_a_bad_variable_is_refused_by_its_name(paths, variable, text):
    with pytest.raises(SettingsError) as refused:
        load(paths, {variable: text})
    assert refused.value.where == variable


def test_an_empty_variable_is_none(paths):
    assert load(paths, {"RELAYBAY_SERVER_PORT": ""}).server_port == 7717


def test_a_bad_flag_is_refused_by_its_name(paths):
    with pytest.raises(SettingsError, match=r"^--port"):
        load(paths, {}, flags={"server.port": 70_000})


@pytest.mark.spec("70")
def test_the_tests_clock_needs_a_test(paths, tmp_path):
    file = str(tmp_path / "clock")
    with pytest.raises(SettingsError) as refused:
        load(paths, {"RELAYBAY_CLOCK": file})
    assert refused.value.where == "RELAYBAY_CLOCK"
    with pytest.raises(SettingsError):
        load(paths, {"RELAYBAY_CLOCK": file, "RELAYBAY_TEST": "yes"})
    assert str(load(paths, {"RELAYBAY_CLOCK": file, "RELAYBAY_TEST": "1"}).clock_file) == file


def test_an_array_of_tables_and_comments_do_not_shift_the_line():
    text = '# port = 1\n[server] # [other]\n# port = 2\nhost = "127.0.0.1" # port = 3\nport=4\n'
    assert line_of(text, "server.port") == 5


def test_a_text_that_is_to_be_written_is_checked_as_the_file_would_be(paths):
    assert read_text(paths.config_file, b"[server]\nport = 1\n", project=False)["server.port"][0] == 1
    with pytest.raises(SettingsError):
        read_text(paths.config_file, b"[server]\nport = 'x'\n", project=False)


def test_a_pipe_in_the_configurations_place_is_refused_at_once(tmp_path: Path) -> None:
    paths = Paths.find({"RELAYBAY_HOME": str(tmp_path)})
    os.mkfifo(paths.config_file)
    with pytest.raises(SettingsError, match="is no regular file"):
        load(paths, {})
