from __future__ import annotations

import io
import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import relaybay
from relaybay.cli.root import COMMANDS, run
from relaybay.cli.shell import AGENT_VARIABLES
from tests.unit.cli_server import KEY, serving

TREE = Path(relaybay.__file__).parent.parent
LINK = "http://127.0.0.1:7717/login?code=abc"


@pytest.fixture
def home(monkeypatch):
    # pytest's own folders are too deep for a socket's name.
    folder = Path(tempfile.mkdtemp(prefix="rb"))
    for name in [*AGENT_VARIABLES, *(name for name in os.environ if name.startswith("RELAYBAY_"))]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RELAYBAY_HOME", str(folder))
    monkeypatch.chdir(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def stub(home):
    with serving(home) as found:
        yield found


@pytest.fixture
def cli(home, capsys):
    """Runs one command in this process: (exit code, stdout, stderr)."""

    def call(*words):
        code = run(words)
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def asked(cli):
    """Runs one command with --json: (exit code, the one document on stdout)."""

    def call(*words):
        code, out, _ = cli(*words, "--json")
        assert out.count("\n") == 1, out
        document = json.loads(out)
        assert document["v"] == 1
        return code, document

    return call


def program(*words, env=None, **options):
    """A command in a process of its own, as a person's shell runs it."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "RELAYBAY_HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "relaybay", *words],
        env=kept | {"PYTHONPATH": str(TREE)} | (env or {}),
        stdin=options.pop("stdin", subprocess.DEVNULL),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        **options,
    )


# --- start-up and usage ---


@pytest.mark.spec("PERF-10")
def test_version_imports_nothing_of_weight():
    code = (
        "import sys; sys.argv = ['relaybay', '--version']; from relaybay.cli.main import main; main(); "
        "print(sorted({m.partition('.')[0] for m in sys.modules} & {'click', 'pydantic', 'sanic', 'mcp', 'rich', "
        "'pony', 'jinja2', 'platformdirs', 'tomllib', 'json', 'http'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=TREE, capture_output=True, text=True, check=True)
    assert done.stdout == f"relaybay {relaybay.__version__}\n[]\n"


@pytest.mark.spec("PERF-10")
def test_a_command_imports_no_server():
    code = (
        "import sys; from relaybay.cli.root import run; run(['status']); "
        "print(sorted({m.partition('.')[0] for m in sys.modules} & {'pydantic', 'sanic', 'mcp', 'rich', 'pony', 'jinja2'}))"
    )
    env = {"RELAYBAY_HOME": "/nonexistent/relaybay", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], cwd=TREE, capture_output=True, text=True, check=True, env=env)
    assert done.stdout == "[]\n"


def test_version_as_json(home):
    done = program("--version", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"v": 1, "version": relaybay.__version__})


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_is_there_and_helps(cli, name):
    code, out, _ = cli(name, "--help")
    assert code == 0
    assert out.startswith(f"Usage: relaybay {name}")


def test_help_lists_every_command_but_the_one_for_a_source_tree(cli):
    code, out, _ = cli("--help")
    assert code == 0
    assert {name for name in COMMANDS if f"\n  {name} " not in out} == {"conformance"}


@pytest.mark.spec("75")
def test_setups_help_says_what_it_does_without_a_terminal(cli):
    said = " ".join(cli("setup", "--help")[1].split())
    assert "At a terminal it shows the difference and asks. Without one it applies it" in said


@pytest.mark.spec("75")
def test_a_typo_is_usage_and_names_what_is_near(cli):
    code, out, err = cli("staus")
    assert (code, out) == (2, "")
    assert "'status'" in err


@pytest.mark.parametrize("words", [["task", "create"], ["up", "--port", "70000"], ["task", "update", "a-1"], ["nope"]])
def test_usage_errors_are_2_with_a_document(asked, words):
    code, document = asked(*words)
    assert code == 2
    assert document["error"]["code"] in ("usage", "argument_invalid")


def test_no_trace_of_a_fault_of_ours_unless_asked_for(cli, monkeypatch):
    def broken(_):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("relaybay.cli.status.find_running", broken)
    code, out, err = cli("status")
    assert (code, out) == (1, "")
    assert "ZeroDivisionError" in err and "Traceback" not in err and "[internal 70]" in err
    with pytest.raises(ZeroDivisionError):
        run(["--debug", "status"])


def test_a_reader_that_goes_away_leaves_no_trace(home):
    done = subprocess.run(
        f"{sys.executable} -m relaybay config show --origin | head -0",
        shell=True,
        env=dict(os.environ) | {"PYTHONPATH": str(TREE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


# --- without a server ---


@pytest.mark.spec("75")
@pytest.mark.parametrize(
    "words",
    [["session", "list"], ["task", "show", "a-1"], ["message", "list"], ["events"], ["comment", "a-1", "x"], ["open"]],
)
def test_a_command_that_needs_a_server_is_69_without_one(asked, words):
    code, document = asked(*words)
    assert (code, document["error"]["code"]) == (69, "no_server")
    assert "relaybay up" in document["error"]["text"]


@pytest.mark.spec("75")
def test_status_is_69_and_down_is_0_without_a_server(asked):
    assert asked("status") == (69, {"v": 1, "running": False})
    assert asked("down") == (0, {"v": 1, "stopped": False, "pid": None})


@pytest.mark.spec("75")
def test_mcp_without_a_server_is_69_and_says_nothing_on_stdout(home):
    done = program("mcp")
    assert (done.returncode, done.stdout) == (69, "")


@pytest.mark.spec("70", "75")
def test_paths_start_nothing_and_have_null_addresses(asked, home):
    code, document = asked("paths")
    assert code == 0
    assert [document[name] for name in ("url", "mcp_url", "board_url", "pid")] == [None] * 4
    assert document["home"] == str(home)
    assert document["token_file"] == str(home / "run" / "token")
    assert document["database"] == str(home / "data" / "relaybay.db")
    assert document["config"] == str(home / "config.toml")
    assert document["socket"] == str(home / "run" / "relaybay.sock")
    assert document["spool"] == str(home / "state" / "spool")
    assert document["log"] == str(home / "state" / "server.log")
    assert not list(home.iterdir())


def test_a_card_that_a_dead_server_left_is_no_server(asked, home):
    (home / "run").mkdir(mode=0o700)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (home / "run" / "server.json").write_text(json.dumps({"pid": dead.pid, "port": 1, "url": "http://127.0.0.1:1"}))
    assert asked("status") == (69, {"v": 1, "running": False})
    assert asked("down")[1]["stopped"] is False


def test_a_living_process_that_answers_nothing_is_not_ended(asked, home):
    (home / "run").mkdir(mode=0o700)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        (home / "run" / "server.json").write_text(
            json.dumps({"pid": other.pid, "port": 1, "url": "http://127.0.0.1:1"})
        )
        assert asked("down")[1]["stopped"] is False
        assert other.poll() is None
        other.communicate(b"\n")


# --- with one ---


def test_a_call_carries_the_owners_key_and_no_more(asked, stub):
    stub.answer("GET", "/api/v1/sessions", {"sessions": []})
    assert asked("session", "list", "--live") == (0, {"v": 1, "sessions": []})
    assert stub.asked == [("GET", "/api/v1/sessions?live=1", None)]
    assert stub.headers[0]["x-relaybay-owner"] == KEY
    assert "authorization" not in stub.headers[0]


CALLS = {
    "session show": (["session", "show", "my title/1"], "GET", "/api/v1/sessions/my%20title%2F1", None),
    "session add": (
        ["session", "add", "--desktop", "d", "--title", "T", "--alias", "A", "--cwd", "/x"],
        "POST",
        "/api/v1/sessions",
        {"desktop": "d", "title": "T", "alias": "A", "cwd": "/x"},
    ),
    "session rename": (["session", "rename", "S-1", "N"], "POST", "/api/v1/sessions/S-1/rename", {"title": "N"}),
    "session end": (["session", "end", "S-1"], "POST", "/api/v1/sessions/S-1/end", {}),
    "project list": (["project", "list"], "GET", "/api/v1/projects", None),
    "project add": (
        ["project", "add", "shop", "--root", "/r"],
        "POST",
        "/api/v1/projects",
        {"slug": "shop", "root": "/r"},
    ),
    "task list": (
        ["task", "list", "--status", "todo", "--limit", "3"],
        "GET",
        "/api/v1/tasks?status=todo&limit=3",
        None,
    ),
    "task list filtered": (
        ["task", "list", "-q", "cart status:doing"],
        "GET",
        "/api/v1/tasks?q=cart+status%3Adoing",
        None,
    ),
    "message list filtered": (
        ["message", "list", "-q", 'from:"a b" is:unread'],
        "GET",
        "/api/v1/messages?q=from%3A%22a+b%22+is%3Aunread",
        None,
    ),
    "session list filtered": (["session", "list", "--query", "is:live"], "GET", "/api/v1/sessions?q=is%3Alive", None),
    "task show": (["task", "show", "a-1"], "GET", "/api/v1/tasks/a-1", None),
    "task create": (
        ["task", "create", "T", "--project", "a", "--body", "B"],
        "POST",
        "/api/v1/tasks",
        {"project": "a", "title": "T", "body": "B"},
    ),
    "task update": (
        ["task", "update", "a-1", "--status", "done", "--step-done", "2"],
        "POST",
        "/api/v1/tasks/a-1",
        {"status": "done", "step_done": 2},
    ),
    "task bind": (["task", "bind", "a-1", "@amber"], "POST", "/api/v1/tasks/a-1/bind", {"session": "@amber"}),
    "task unbind": (["task", "unbind", "a-1"], "POST", "/api/v1/tasks/a-1/unbind", {}),
    "comment": (
        ["comment", "a-1", "text", "--in-reply-to", "c_1", "--step", "1"],
        "POST",
        "/api/v1/tasks/a-1/comments",
        {"body": "text", "in_reply_to": "c_1", "step": 1},
    ),
    "message list": (
        ["message", "list", "--session", "S-1", "--box", "in", "--unread"],
        "GET",
        "/api/v1/messages?unread_only=1&session=S-1&box=in",
        None,
    ),
    "message show": (["message", "show", "m_1"], "GET", "/api/v1/messages/m_1", None),
    "events": (["events", "--cursor", "x=", "--types", "a,b"], "GET", "/api/v1/events?cursor=x%3D&types=a%2Cb", None),
    "token rotate": (["token", "rotate"], "POST", "/api/v1/token/rotate", {}),
}


@pytest.mark.spec("75")
@pytest.mark.parametrize("name", CALLS)
def test_each_command_is_one_call(asked, stub, name):
    words, method, target, body = CALLS[name]
    stub.answer(method, target.partition("?")[0], {"text": "done", "ref": "S-1", "title": "T"})
    code, document = asked(*words)
    assert code == 0
    assert stub.asked == [(method, target, body)]
    assert name == "token rotate" or document["text"] == "done"


WRITING = [name for name, (_, method, _, _) in CALLS.items() if method == "POST"]


@pytest.mark.spec("CH-10", "75")
@pytest.mark.parametrize("variable", AGENT_VARIABLES)
@pytest.mark.parametrize("name", ["comment", "token rotate"])
def test_owner_commands_that_write_are_refused_in_an_agents_shell(asked, stub, monkeypatch, name, variable):
    monkeypatch.setenv(variable, "1")
    code, document = asked(*CALLS[name][0])
    assert (code, document["error"]["code"]) == (77, "owner_only")
    assert stub.asked == []


@pytest.mark.spec("CH-10")
@pytest.mark.parametrize(
    "words", [*(CALLS[name][0] for name in WRITING), ["open"], ["session", "unlink", "S-1"]], ids=str
)
def test_every_writing_command_is_refused_there(asked, stub, monkeypatch, words):
    monkeypatch.setenv("CLAUDECODE", "1")
    assert asked(*words)[0] == 77
    assert stub.asked == []


def test_reading_is_not(asked, stub, monkeypatch):
    monkeypatch.setenv("CLAUDECODE", "1")
    stub.answer("GET", "/api/v1/tasks/a-1", {"key": "a-1"})
    assert asked("task", "show", "a-1")[0] == 0


@pytest.mark.spec("75")
@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (400, "argument_unknown", 65),
        (404, "task_unknown", 65),
        (422, "name_invalid", 65),
        (401, "unauthorized", 77),
        (403, "owner_only", 77),
        (409, "title_taken", 77),
        (507, "store_full", 74),
        (503, "store_unavailable", 1),
    ],
)
def test_a_refusal_of_the_server_keeps_its_words_and_gets_its_exit_code(cli, stub, status, code, exit_code):
    stub.refuse("POST", "/api/v1/tasks/a-1/unbind", code, status, "CMT-5")
    got, out, err = cli("task", "unbind", "a-1")
    assert (got, out) == (exit_code, "")
    assert err == f"relaybay: no: {code}. [{code} CMT-5]\n"


@pytest.mark.parametrize("content", [b"<html>", b"[]", b'{"a": 1}'])
def test_an_answer_that_is_none_of_ours_is_told(asked, stub, content):
    stub.answer("GET", "/api/v1/projects", content, 500)
    code, document = asked("project", "list")
    assert (code, document["error"]["code"]) == (1, "server_answer")


def test_a_server_that_cuts_its_answer_short_is_told(asked, stub, monkeypatch):
    monkeypatch.setattr("http.client.HTTPResponse.read", lambda _: (_ for _ in ()).throw(TimeoutError("timed out")))
    code, document = asked("project", "list")
    assert (code, document["error"]["code"]) == (1, "server_silent")
    assert "timed out" in document["error"]["text"]


@pytest.mark.spec("75")
@pytest.mark.parametrize("mode", [0o622, 0o606])
def test_an_owners_key_that_others_may_write_is_not_used(asked, stub, mode):
    stub.paths.owner_key.chmod(mode)
    code, document = asked("project", "list")
    assert (code, document["error"]["code"], stub.asked) == (77, "owner_key_unreadable", [])


def test_an_owners_key_behind_a_link_is_not_used(asked, stub, home):
    stub.paths.owner_key.rename(home / "elsewhere")
    stub.paths.owner_key.symlink_to(home / "elsewhere")
    assert asked("project", "list")[1]["error"]["code"] == "owner_key_unreadable"


@pytest.mark.spec("75")
def test_the_socket_of_another_user_gets_nothing(asked, stub, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 4_000_000)
    code, document = asked("project", "list")
    assert (code, document["error"]["code"], stub.asked) == (77, "peer_refused", [])


@pytest.mark.spec("75")
def test_another_version_is_told_in_one_line(cli, stub):
    stub.card(version="0.0.9")
    stub.answer("GET", "/api/v1/projects", {"projects": []})
    code, _, err = cli("project", "list")
    assert code == 0
    assert err.count("0.0.9") == 1 and relaybay.__version__ in err


def test_a_server_without_a_socket_says_what_is_left(asked, home, monkeypatch):
    monkeypatch.setattr("relaybay.cli.talk._answers", lambda card: True)
    (home / "run").mkdir(mode=0o700)
    (home / "run" / "server.json").write_text(json.dumps({"pid": os.getpid(), "port": 1, "url": "http://127.0.0.1:1"}))
    code, document = asked("project", "list")
    assert (code, document["error"]["code"]) == (69, "no_socket")
    code, document = asked("status")
    assert (code, document["url"], document["board_url"]) == (0, "http://127.0.0.1:1", "http://127.0.0.1:1/")
    code, document = asked("down")
    assert (code, document["error"]["code"]) == (1, "server_not_ours")


@pytest.mark.spec("70", "75")
def test_status_and_open_mint_a_link_each(asked, stub):
    stub.answer("POST", "/api/v1/login-codes", {"url": LINK}, 201)
    stub.answer("GET", "/api/v1/status", {"v": 1, "url": "http://127.0.0.1:7717", "sessions_live": 3})
    code, document = asked("status")
    assert code == 0
    assert document["running"] is True and document["board_url"] == LINK and document["sessions_live"] == 3
    assert document["mcp_url"] == "http://127.0.0.1:7717/mcp"
    assert asked("open", "--print") == (0, {"v": 1, "url": LINK, "opened": False})
    assert [path for method, path, _ in stub.asked if method == "POST"] == ["/api/v1/login-codes"] * 2


def test_in_an_agents_shell_status_gives_no_login(asked, stub, monkeypatch):
    monkeypatch.setenv("CLAUDECODE", "1")
    stub.answer("GET", "/api/v1/status", {"v": 1})
    assert asked("status")[1]["board_url"] == "http://127.0.0.1:7717/"
    assert all(method == "GET" for method, _, _ in stub.asked)


def test_paths_of_a_running_server_mint_no_link(asked, stub):
    document = asked("paths")[1]
    assert document["url"] == "http://127.0.0.1:7717" and document["board_url"] == "http://127.0.0.1:7717/"
    assert document["pid"] == os.getpid() and stub.asked == []


@pytest.mark.spec("75")
def test_a_second_up_prints_where_it_runs(asked, stub):
    stub.answer("POST", "/api/v1/login-codes", {"url": LINK}, 201)
    code, document = asked("up")
    assert code == 0
    assert document == {
        "v": 1,
        "url": "http://127.0.0.1:7717",
        "mcp_url": "http://127.0.0.1:7717/mcp",
        "board_url": LINK,
        "token_file": str(stub.paths.token),
        "database": str(stub.paths.database),
        "pid": os.getpid(),
    }


# --- what is printed ---


def test_a_text_of_others_cannot_act_on_the_terminal(cli, stub):
    evil = "a\x1b[2Jb\u202ec\u200bd\ne"
    task = {
        "key": "a-1",
        "title": json.dumps(evil),
        "status": "todo",
        "steps": [{"n": 1, "text": '"s\\u001b"', "done": True}],
    }
    comment = {"id": "c_1", "author": {"kind": "session", "title": evil, "verified": False}, "created_at": "now"}
    comment |= {"state": "sent", "reason": "idle", "body": json.dumps(evil)}
    stub.answer("GET", "/api/v1/tasks/a-1", {**task, "body": json.dumps(evil), "comments": [comment]})
    code, out, _ = cli("task", "show", "a-1")
    assert code == 0
    assert "\x1b" not in out and "\u202e" not in out and "\u200b" not in out
    shown = "a\\u{1b}[2Jb\\u{202e}c\\u{200b}d"
    assert f"a-1  {shown}\\u{{a}}e\n" in out
    assert f"\n  {shown}\n  e\n" in out
    assert "  [x] 1 s\\u{1b}\n" in out
    assert "(name not verified)" in out


def test_lists_are_tables_and_an_empty_one_says_what_is_next(cli, stub):
    task = {
        "key": "a-1",
        "title": '"T"',
        "status": "todo",
        "session": {"ref": "S-1", "title": "me"},
        "unread_comments": 0,
    }
    stub.answer("GET", "/api/v1/tasks", {"tasks": [task], "before": "a-1"})
    assert cli("task", "list") == (
        0,
        "KEY  STATUS  SESSION  UNREAD  TITLE\na-1  todo    S-1 me   0       T\n",
        "There is more: --before a-1\n",
    )
    stub.answer("GET", "/api/v1/projects", {"projects": []})
    code, out, err = cli("project", "list")
    assert (code, out) == (0, "") and "relaybay project add" in err


def test_warnings_stand_beside_the_data(cli, stub):
    stub.answer("POST", "/api/v1/tasks/a-1/unbind", {"text": "done", "warnings": [{"code": "x", "text": "look"}]})
    assert cli("task", "unbind", "a-1") == (0, "done\n", "relaybay: look\n")


# --- text in ---


@pytest.mark.parametrize(
    ("given", "sent"), [(b"a\nb\n", "a\nb"), (b"a\r\n", "a"), ("ü\n\n".encode(), "ü\n"), (b"x", "x")]
)
def test_a_hyphen_reads_stdin(asked, stub, monkeypatch, given, sent):
    stub.answer("POST", "/api/v1/tasks/a-1/comments", {"id": "c_1"}, 201)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    assert asked("comment", "a-1", "-")[0] == 0
    assert stub.asked[0][2] == {"body": sent}


@pytest.mark.parametrize(("given", "code"), [(b"\xff", "text_not_utf8"), (b"x" * 65_537, "text_too_long")])
def test_a_bad_text_is_65_and_sends_nothing(asked, stub, monkeypatch, given, code):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    got, document = asked("comment", "a-1", "-")
    assert (got, document["error"]["code"], stub.asked) == (65, code, [])


def test_a_project_is_taken_from_the_folder(asked, stub, home):
    code, document = asked("task", "create", "T")
    assert (code, document["error"]["code"]) == (65, "project_required")
    (home / ".relaybay.toml").write_text('[project]\nslug = "shop"\n')
    stub.answer("POST", "/api/v1/tasks", {"key": "shop-1"}, 201)
    assert asked("task", "create", "T")[0] == 0
    assert stub.asked == [("POST", "/api/v1/tasks", {"project": "shop", "title": "T"})]


# --- events ---


def test_following_prints_one_document_per_event_and_keeps_the_cursor(home, stub):
    stub.answer("GET", "/api/v1/events", {"events": [{"id": 1, "type": "a", "at": "t", "data": {}}], "cursor": "c1"})
    with subprocess.Popen(
        [sys.executable, "-m", "relaybay", "events", "--follow", "--json"],
        env=dict(os.environ) | {"PYTHONPATH": str(TREE)},
        stdout=subprocess.PIPE,
        text=True,
    ) as reader:
        lines = [json.loads(reader.stdout.readline()) for _ in range(2)]
        reader.send_signal(2)
        assert reader.wait(5) == 130
    assert lines[0] == {"v": 1, "id": 1, "type": "a", "at": "t", "data": {}, "cursor": "c1"}
    assert [path for _, path, _ in stub.asked[:2]] == ["/api/v1/events", "/api/v1/events?wait_s=25&cursor=c1"]


@pytest.mark.spec("75")
def test_without_a_cursor_the_feed_says_why_it_is_empty_and_how_to_see_more(cli, stub):
    stub.answer("GET", "/api/v1/events", {"events": [], "cursor": "c1", "text": "No events without a cursor."})
    code, out, err = cli("events")
    assert (code, out) == (0, "")
    assert err.startswith("No events without a cursor. ") and "--since" in err and "--all" in err
    assert err.endswith("cursor c1\n")
    assert "--all" not in cli("events", "--cursor", "c1")[2]


@pytest.mark.parametrize(
    "words", [["--all", "--cursor", "x"], ["--all", "--since", "1h"], ["--since", "soon"], ["--since", "m"]]
)
def test_a_beginning_that_is_none_is_usage(asked, stub, words):
    assert asked("events", *words)[0] == 2
    assert stub.asked == []


# --- the owner's words ---


REACHES = ["working", "being_woken", "idle", "never_linked", "ended", "moved"]


@pytest.mark.spec("RECV-3", "RECV-4", "RECV-5", "RECV-6", "RECV-7", "RECV-8")
@pytest.mark.parametrize("code", REACHES)
def test_why_it_is_not_there_is_told_to_the_owner_and_not_to_an_agent(cli, stub, code):
    agents = "Not delivered: ask with messages_list."
    session = {"ref": "S-1", "title": "api", "activity": "idle", "link": "none", "reach": code, "text": agents}
    stub.answer("GET", "/api/v1/sessions/S-1", session)
    stub.answer("POST", "/api/v1/sessions/S-1/end", session)
    message = {
        "message_id": "m_1",
        "state": "sent",
        "reason_code": code,
        "from": {"title": "w"},
        "to": {"title": "api"},
    }
    stub.answer("GET", "/api/v1/messages/m_1", message | {"body": '"x"'})
    shown, listed = cli("session", "show", "S-1")[1], cli("message", "show", "m_1")[1]
    ended = cli("session", "end", "S-1")[2]
    for said in (shown, listed, ended):
        assert "messages_list" not in said
        assert "api" in said and "." in said
    sentence = ended.strip()
    assert len(sentence) > 20 and sentence in shown and sentence in listed


def test_a_reason_of_a_newer_server_is_still_told(cli, stub):
    session = {"ref": "S-1", "title": "api", "reach": "of_next_year", "text": "Its own words."}
    stub.answer("GET", "/api/v1/sessions/S-1", session)
    assert "Its own words." in cli("session", "show", "S-1")[1]


@pytest.mark.spec("75")
def test_a_message_nobody_has_is_told_with_a_command(cli, stub):
    stub.refuse("GET", "/api/v1/messages/m_nope", "message_unknown", 404)
    code, out, err = cli("message", "show", "m_nope")
    assert (code, out) == (65, "")
    assert "`relaybay message list`" in err and "[message_unknown 75]" in err and "frame" not in err
    stub.refuse("GET", "/api/v1/messages/m_nope", "store_full", 507)
    assert "[store_full" in cli("message", "show", "m_nope")[2]


@pytest.mark.spec("40")
@pytest.mark.parametrize(("root", "warned"), [("there", False), ("not/there", True)])
def test_a_projects_folder_that_is_not_there_is_warned_of(cli, stub, home, root, warned):
    (home / "there").mkdir()
    stub.answer("POST", "/api/v1/projects", {"text": "Project shop is made."}, 201)
    code, out, err = cli("project", "add", "shop", "--root", root)
    assert (code, out) == (0, "Project shop is made.\n")
    assert (str(home / root) in err) is warned
    assert len(stub.asked) == 1


@pytest.mark.spec("40")
@pytest.mark.parametrize(
    ("made", "key", "told"), [("t1", "typo-1", True), ("t0", "typo-1", False), ("t1", "typo-2", False)]
)
def test_a_project_that_was_made_by_a_slip_is_told_on_stderr(cli, stub, made, key, told):
    stub.answer("POST", "/api/v1/tasks", {"key": key, "created_at": "t1", "text": "made"}, 201)
    projects = [{"slug": "shop", "created_at": "t0"}, {"slug": "typo", "created_at": made}]
    stub.answer("GET", "/api/v1/projects", {"projects": projects})
    code, out, err = cli("task", "create", "T", "--project", "typo")
    assert (code, out) == (0, "made\n")
    assert ("There was no project typo" in err and "shop" in err) is told


def test_config_alone_shows_every_key(cli, asked):
    assert cli("config") == cli("config", "show")
    assert asked("config") == asked("config", "show")
    assert asked("config", "get", "server.port")[1]["value"] == 7717
    assert cli("config", "--json", "path")[0] == 2


@pytest.mark.spec("75")
def test_a_key_by_a_slip_is_told_in_one_sentence(cli, home):
    code, _, err = cli("config", "set", "server.prot", "1")
    assert code == 65
    assert "the nearest that is known is server.port. Nothing was changed." in err
    (home / "config.toml").write_text("[server]\nprot = 1\n")
    assert "is server.port. Nothing was started" in cli("config", "show")[2]


# --- a person at a terminal ---


def at_terminal(answer, *words):
    """Runs a command with a terminal for its three streams; gives (exit code, all it printed)."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["PYTHONPATH"] = str(TREE)
        os.execv(sys.executable, [sys.executable, "-m", "relaybay", *words])
    os.write(terminal, answer)
    said = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        said += part
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said.decode()


@pytest.mark.spec("OWN-15", "LINK-20")
def test_unlink_is_for_a_person_at_a_terminal(asked, stub):
    code, document = asked("session", "unlink", "S-1", "--yes")
    assert (code, document["error"]["code"], stub.asked) == (77, "terminal_required", [])


@pytest.mark.spec("OWN-15")
@pytest.mark.parametrize(("answer", "code", "calls"), [(b"n\n", 1, 0), (b"\n", 1, 0), (b"y\n", 0, 1)])
def test_unlink_asks_once(stub, answer, code, calls):
    stub.answer("POST", "/api/v1/sessions/S-1/unlink", {"text": "unlinked."})
    got, said = at_terminal(answer, "session", "unlink", "S-1")
    assert (got, len(stub.asked)) == (code, calls), said
    assert "Unlink S-1?" in said and (code or "unlinked." in said)


@pytest.mark.spec("70")
@pytest.mark.parametrize(("answer", "words", "code"), [(b"n\n", [], 1), (b"y\n", [], 0), (b"", ["--yes"], 0)])
def test_restore_asks_a_person_first(home, answer, words, code):
    (home / "data").mkdir(mode=0o700)
    fill = "import sys; from pathlib import Path; from relaybay.store.database import Store; Store(Path(sys.argv[1]), int).close()"
    database = home / "data" / "relaybay.db"
    subprocess.run([sys.executable, "-c", fill, str(database)], cwd=TREE, check=True)
    assert program("backup", str(home / "b.db")).returncode == 0
    before = database.stat().st_ino
    got, said = at_terminal(answer, "restore", str(home / "b.db"), *words)
    assert got == code, said
    assert ("Replace the database" in said) is (words == [])
    assert (database.stat().st_ino == before) is (code == 1)


@pytest.mark.parametrize(
    "words",
    [
        ("task", "list", "-q", "\udcff"),
        ("message", "list", "-q", "a\udcffb"),
        ("task", "show", "\udcff"),
        ("events", "--cursor", "\udcff"),
    ],
)
def test_an_argument_that_is_no_text_is_bad_input_and_no_fault_of_ours(asked, stub, words):
    code, document = asked(*words)
    assert (code, document["error"]["code"]) == (65, "argument_invalid")
    assert "no text in UTF-8" in document["error"]["text"]
