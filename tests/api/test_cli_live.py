"""`python -m relaybay …` as a person and a script use it, against a real server in a process of its own."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import relaybay

TREE = str(Path(relaybay.__file__).parent.parent)


def _no_server() -> str:
    """Why there is no server to run here; empty when there is one."""
    if importlib.util.find_spec("relaybay.api.app") is None:
        return "relaybay.api.app is not there yet"
    code = "import relaybay.api.app as app; raise SystemExit(0 if hasattr(app, 'run') else 'it has no run')"
    done = subprocess.run([sys.executable, "-c", code], cwd=TREE, capture_output=True, text=True, check=False)
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""


pytestmark = pytest.mark.skipif(_no_server() != "", reason="the server cannot be started yet")


class Home:
    """One RELAYBAY_HOME and commands on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "RELAYBAY_HOME": str(folder / "h")}
        self.env |= {"PYTHONPATH": os.environ.get("PYTHONPATH", "") + os.pathsep + TREE}

    def run(self, *words, env=None, text=None, check=None):
        done = subprocess.run(
            [sys.executable, "-m", "relaybay", *words],
            env=self.env | (env or {}),
            cwd=self.folder,
            input=text,
            stdin=None if text is not None else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=40,
            check=False,
        )
        if check is not None:
            assert done.returncode == check, (done.returncode, done.stdout, done.stderr)
        return done

    def ask(self, *words, code=0, **options):
        """The one document that a command prints with --json."""
        done = self.run(*words, "--json", check=code, **options)
        assert done.stdout.count("\n") == 1, done.stdout
        document = json.loads(done.stdout)
        assert document["v"] == 1
        return document


@pytest.fixture
def home():
    folder = Path(tempfile.mkdtemp(prefix="rb"))  # Short: a socket's path is limited.
    found = Home(folder)
    yield found
    found.run("down")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def shared():
    """A server that several tests share; each uses a project of its own."""
    folder = Path(tempfile.mkdtemp(prefix="rb"))
    found = Home(folder)
    found.line = found.ask("up", "--port", "0")
    yield found
    found.run("down", check=0)
    shutil.rmtree(folder)


def status_of(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=5) as response:
            return response.status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def answers(url):
    try:
        return status_of(url + "/healthz") == 200
    except OSError:
        return False


# --- the life of a server ---


@pytest.mark.spec("70", "75")
def test_up_status_down(home):
    line = home.ask("up", "--port", "0")
    assert set(line) == {"v", "url", "mcp_url", "board_url", "token_file", "database", "pid"}
    assert answers(line["url"])
    assert line["mcp_url"] == line["url"] + "/mcp"
    assert line["board_url"].startswith(line["url"] + "/login?code=")
    assert Path(line["database"]).is_file()
    assert stat.S_IMODE(Path(line["token_file"]).stat().st_mode) == 0o600
    found = home.ask("status")
    assert (found["running"], found["url"], found["pid"], found["version"]) == (
        True,
        line["url"],
        line["pid"],
        relaybay.__version__,
    )
    again = home.ask("up")
    assert (again["url"], again["pid"]) == (line["url"], line["pid"])
    assert again["board_url"] != line["board_url"]
    assert home.ask("paths")["url"] == line["url"]
    assert home.ask("down") == {"v": 1, "stopped": True, "pid": line["pid"]}
    assert not answers(line["url"])
    assert home.ask("status", code=69) == {"v": 1, "running": False}
    assert home.ask("down")["stopped"] is False
    assert home.ask("paths")["url"] is None


@pytest.mark.spec("PERF-10")
def test_up_is_quick_and_leaves_no_child_behind(home):
    began = time.monotonic()
    home.run("up", "--port", "0", check=0)
    assert time.monotonic() - began < 10  # Gross regressions only; bench/ measures the figure itself.
    log = home.folder / "h" / "state" / "server.log"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.spec("70")
def test_foreground_prints_one_line_and_ends_on_sigterm(home):
    with subprocess.Popen(
        [sys.executable, "-m", "relaybay", "up", "--foreground", "--port", "0", "--json"],
        env=home.env,
        cwd=home.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        line = json.loads(server.stdout.readline())
        assert (line["v"], line["pid"]) == (1, server.pid)
        assert answers(line["url"])
        began = time.monotonic()
        server.send_signal(signal.SIGTERM)
        rest, _ = server.communicate(timeout=10)
        assert time.monotonic() - began < 5
    assert (server.returncode, rest) == (0, b"")
    assert not (home.folder / "h" / "run" / "server.json").exists()
    assert not (home.folder / "h" / "run" / "relaybay.sock").exists()


@pytest.mark.spec("75")
def test_a_taken_port_is_1_and_says_so(home):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for words in (["up", "--port", port], ["up", "--foreground", "--port", port]):
            document = home.ask(*words, code=1)
            assert document["error"]["code"] == "port_taken"
            assert port in document["error"]["text"]


@pytest.mark.spec("75")
def test_a_second_server_on_the_folder_is_75(home):
    home.ask("up", "--port", "0")
    document = home.ask("up", "--foreground", "--port", "0", code=75)
    assert document["error"]["code"] == "data_folder_locked"
    assert home.ask("status")["running"] is True


@pytest.mark.spec("75")
def test_up_in_the_foreground_beside_a_server_says_where_that_one_is(home):
    line = home.ask("up", "--port", "0")
    for words in (["up", "--foreground"], ["up", "--foreground", "--port", "0"]):
        done = home.run(*words, check=75)
        assert line["url"] in done.stderr and str(line["pid"]) in done.stderr and "relaybay down" in done.stderr
    assert home.ask("status")["pid"] == line["pid"]


@pytest.mark.spec("75")
def test_a_server_whose_run_folder_vanished_is_found_and_can_be_ended(home):
    line = home.ask("up", "--port", "0")
    shutil.rmtree(home.folder / "h" / "run")
    found = home.run("status", check=0)
    assert line["url"] in found.stdout and "was removed while it ran" in found.stderr
    again = home.run("up", check=0)
    assert line["url"] in again.stdout and "relaybay down" in again.stderr
    assert home.ask("project", "list", code=69)["error"]["code"] == "no_socket"
    checks = {check["name"]: check for check in json.loads(home.run("doctor", "--json").stdout)["checks"]}
    assert checks["server"]["ok"] is False and "relaybay down" in checks["server"]["detail"]
    assert checks["server"]["fix"] != "relaybay up"
    assert home.ask("down") == {"v": 1, "stopped": True, "pid": line["pid"]}
    assert not answers(line["url"])
    second = home.ask("up", "--port", "0")
    assert second["pid"] != line["pid"] and home.ask("project", "list")["projects"] == []


@pytest.mark.spec("75")
def test_a_server_of_another_environment_on_the_same_data_is_found(home):
    """Without RELAYBAY_HOME each folder has a variable of its own, and two shells may differ in one of them."""
    del home.env["RELAYBAY_HOME"]
    (home.folder / "d").mkdir()
    home.env |= {"XDG_DATA_HOME": str(home.folder / "d"), "XDG_STATE_HOME": str(home.folder / "one")}
    line = home.ask("up", "--port", "0")
    other = {"XDG_STATE_HOME": str(home.folder / "two")}
    found = home.run("status", check=0, env=other)
    assert line["url"] in found.stdout and str(home.folder / "one" / "relaybay" / "run") in found.stderr
    assert home.ask("up", env=other)["pid"] == line["pid"]
    assert home.ask("up", "--foreground", code=75, env=other)["error"]["code"] == "data_folder_locked"
    assert home.ask("down", env=other) == {"v": 1, "stopped": True, "pid": line["pid"]}


@pytest.mark.spec("75")
def test_a_second_start_on_the_folder_leaves_the_first_ones_note(home):
    line = home.ask("up", "--port", "0")
    code = (
        "import sys; from pathlib import Path; from relaybay.store.database import Store; Store(Path(sys.argv[1]), int)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, line["database"]], env=home.env, capture_output=True, text=True, check=False
    )
    assert "StoreLocked" in done.stderr
    assert json.loads((home.folder / "h" / "data" / "lock").read_text())["pid"] == line["pid"]


@pytest.mark.spec("75")
def test_two_that_start_at_once_end_up_with_one(home):
    words = [sys.executable, "-m", "relaybay", "up", "--port", "0", "--json"]
    options = {"env": home.env, "cwd": home.folder, "stdin": subprocess.DEVNULL, "text": True}
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) for _ in range(2)]
    said = [each.communicate(timeout=40) for each in both]
    assert [each.returncode for each in both] == [0, 0], said
    assert len({json.loads(out)["pid"] for out, _ in said}) == 1


@pytest.mark.spec("75")
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_74(home):
    (home.folder / "h").mkdir(mode=0o500)
    assert home.ask("up", code=74)["error"]["code"] == "store_read_only"


@pytest.mark.spec("75")
def test_a_newer_database_is_78(home):
    home.run("up", "--port", "0", check=0)
    home.run("down", check=0)
    code = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('UPDATE schema_version SET version = 999'); c.commit()"
    subprocess.run([sys.executable, "-c", code, str(home.folder / "h" / "data" / "relaybay.db")], check=True)
    for words in (["up"], ["up", "--foreground"]):
        assert home.ask(*words, code=78)["error"]["code"] == "schema_newer"


def test_a_killed_server_leaves_nothing_in_the_way(home):
    first = home.ask("up", "--port", "0")
    os.kill(first["pid"], signal.SIGKILL)
    until = time.monotonic() + 5
    while answers(first["url"]) and time.monotonic() < until:
        time.sleep(0.02)
    assert home.ask("status", code=69)["running"] is False
    second = home.ask("up", "--port", "0")
    assert second["pid"] != first["pid"]
    assert home.ask("status")["pid"] == second["pid"]


@pytest.mark.spec("75")
def test_without_room_for_a_socket_commands_say_what_is_left(home):
    deep = home.folder / ("d" * 60) / ("e" * 60)
    env = {"RELAYBAY_HOME": str(deep)}
    try:
        line = home.ask("up", "--port", "0", env=env)
        assert "/login?code=" in line["board_url"]
        assert home.ask("status", env=env)["url"] == line["url"]
        assert home.ask("project", "list", code=69, env=env)["error"]["code"] == "no_socket"
    finally:
        assert home.ask("down", env=env)["stopped"] is True


# --- the owner's commands ---


@pytest.mark.spec("40", "75")
def test_a_task_from_its_making_to_a_comment(shared):
    assert shared.ask("project", "add", "cli-a", "--root", str(shared.folder))["slug"] == "cli-a"
    assert "cli-a" in [row["slug"] for row in shared.ask("project", "list")["projects"]]
    task = shared.ask("task", "create", "Fix it", "--project", "cli-a", "--body", "-", text="line 1\nline 2\n")
    key = task["key"]
    assert json.loads(task["body"]) == "line 1\nline 2"
    assert shared.ask("task", "update", key, "--status", "doing", "--step-add", "first")["status"] == "doing"
    assert shared.ask("task", "update", key, "--step-done", "1")["steps"][0]["done"] is True
    session = shared.ask("session", "add", "--desktop", "desk-a", "--title", "Review A", "--alias", "ra")["ref"]
    assert shared.ask("task", "bind", key, "Review A")["session"]["ref"] == session
    comment = shared.ask("comment", key, "please look")
    assert (comment["state"], json.loads(comment["body"])) == ("sent", "please look")
    shown = shared.ask("task", "show", key)
    assert [json.loads(each["body"]) for each in shown["comments"]] == ["please look"]
    assert key in [each["key"] for each in shared.ask("task", "list", "--project", "cli-a")["tasks"]]
    assert [each["key"] for each in shared.ask("task", "list", "-q", "project:cli-a fix")["tasks"]] == [key]
    for listed in ("task", "session", "message"):
        refused = shared.ask(listed, "list", "-q", "is:nothing", code=65)["error"]
        assert refused["code"] == "argument_invalid" and "At character 4" in refused["text"]
    assert "session" not in shared.ask("task", "unbind", key)
    printed = shared.run("task", "show", key, check=0).stdout
    assert "Fix it" in printed and "[x] 1 first" in printed and "  please look" in printed


@pytest.mark.spec("ROW-6", "75")
def test_a_session_from_adding_to_its_end(shared):
    added = shared.ask("session", "add", "--desktop", "desk-b", "--title", "Review B", "--cwd", str(shared.folder))
    assert (added["kind"], added["title"], added["link"]) == ("desktop", "Review B", "none")
    renamed = shared.ask("session", "rename", added["ref"], "Audit / B")
    assert renamed["title"] == "Audit / B"
    for name in (added["ref"], "Audit / B", "Review B"):
        assert shared.ask("session", "show", name)["ref"] == added["ref"]
    assert added["ref"] in [row["ref"] for row in shared.ask("session", "list")["sessions"]]
    assert shared.ask("session", "end", added["ref"])["activity"] == "ended"
    assert added["ref"] not in [row["ref"] for row in shared.ask("session", "list", "--live")["sessions"]]


@pytest.mark.spec("75")
@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (["task", "show", "nope-1"], 65, "task_unknown"),
        (["task", "bind", "nope-1", "S-1"], 65, "task_unknown"),
        (["session", "show", "S-99999"], 65, None),
        (["message", "show", "m_0"], 65, None),
        (["project", "add", "Not A Slug"], 65, None),
        (["session", "unlink", "S-1"], 77, "terminal_required"),
        (["events", "--cursor", "nonsense"], 65, "cursor_invalid"),
    ],
)
def test_a_refusal_has_its_code_and_exit_code(shared, words, code, name):
    error = shared.ask(*words, code=code)["error"]
    assert name is None or error["code"] == name
    assert error["spec_id"] and error["text"]


@pytest.mark.spec("CH-10", "75")
def test_an_agents_shell_reads_and_does_not_write(shared):
    agent = {"CLAUDECODE": "1"}
    assert shared.ask("project", "list", env=agent)["projects"] is not None
    assert shared.ask("project", "add", "cli-agent", code=77, env=agent)["error"]["code"] == "owner_only"
    assert "cli-agent" not in [row["slug"] for row in shared.ask("project", "list")["projects"]]
    assert "login" not in shared.ask("status", env=agent)["board_url"]
    assert "login" not in shared.ask("up", env=agent)["board_url"]


@pytest.mark.spec("40", "75")
def test_the_event_feed_goes_on_from_its_cursor(shared):
    begun = shared.ask("events")
    assert begun["events"] == []
    shared.ask("project", "add", "cli-events")
    key = shared.ask("task", "create", "T", "--project", "cli-events")["key"]
    found = shared.ask("events", "--cursor", begun["cursor"])
    assert key in json.dumps(found["events"])
    assert found["cursor"] != begun["cursor"]
    words = [sys.executable, "-m", "relaybay", "events", "--follow", "--json", "--cursor", begun["cursor"]]
    with subprocess.Popen(words, env=shared.env, stdout=subprocess.PIPE, text=True) as reader:
        first = json.loads(reader.stdout.readline())
        reader.send_signal(signal.SIGINT)
        assert reader.wait(5) == 130
    assert first["id"] == found["events"][0]["id"]


@pytest.mark.spec("40", "75")
def test_the_event_feed_shows_what_has_happened(shared):
    key = shared.ask("task", "create", "T", "--project", "cli-past")["key"]
    whole = shared.ask("events", "--all")
    assert key in json.dumps(whole["events"]) and whole["events"][0]["id"] == 1
    ids = [event["id"] for event in whole["events"]]
    assert ids == sorted(set(ids))
    assert shared.ask("events", "--cursor", whole["cursor"])["events"] == []
    recent = [event["id"] for event in shared.ask("events", "--since", "1h")["events"]]
    assert recent == ids
    assert shared.ask("events", "--since", "2999-01-01")["events"] == []
    first = shared.ask("events", "--all", "--limit", "2")
    assert [event["id"] for event in first["events"]] == ids[:2]
    rest = shared.ask("events", "--cursor", first["cursor"], "--limit", "200")
    assert [event["id"] for event in rest["events"]][: len(ids) - 2] == ids[2:202]
    only = shared.ask("events", "--all", "--types", "task.*")["events"]
    assert only and {event["type"].partition(".")[0] for event in only} == {"task"}


@pytest.mark.spec("40")
def test_a_project_by_a_slip_is_told_once(shared):
    made = shared.run("task", "create", "T", "--project", "cli-slip", check=0)
    assert "There was no project cli-slip" in made.stderr
    assert "There was no project" not in shared.run("task", "create", "U", "--project", "cli-slip", check=0).stderr
    shared.ask("project", "add", "cli-meant")
    assert "There was no project" not in shared.run("task", "create", "T", "--project", "cli-meant", check=0).stderr


@pytest.mark.spec("70", "75")
def test_a_link_from_open_logs_in_once(shared):
    url = shared.ask("open", "--print")["url"]

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None

    opener = urllib.request.build_opener(Stay)
    seen = []
    for _ in range(2):
        with pytest.raises(urllib.error.HTTPError) as answer:
            opener.open(url, timeout=5)
        seen.append(answer.value.code)
        answer.value.close()
    assert seen == [303, 401]


@pytest.mark.spec("75")
def test_a_rotated_token_opens_and_the_old_one_does_not(home):
    line = home.ask("up", "--port", "0")
    old = Path(line["token_file"]).read_text().strip()
    home.ask("token", "rotate")
    new = Path(line["token_file"]).read_text().strip()
    assert new != old
    time.sleep(1.0)
    assert status_of(line["mcp_url"], Authorization=f"Bearer {old}") == 401
    assert status_of(line["mcp_url"], Authorization=f"Bearer {new}") != 401


@pytest.mark.spec("70", "75")
def test_a_backup_of_a_running_server_is_restored(home):
    home.ask("up", "--port", "0")
    home.ask("project", "add", "kept")
    file = home.ask("backup")["file"]
    home.ask("project", "add", "later")
    assert home.ask("restore", file, code=75)["error"]["code"] == "data_folder_locked"
    assert home.ask("restore", file, "--check")["ok"] is True
    home.run("down", check=0)
    kept = home.ask("restore", file)["kept"]
    assert Path(kept).is_file()
    home.ask("up", "--port", "0")
    assert [row["slug"] for row in home.ask("project", "list")["projects"]] == ["kept"]


@pytest.mark.spec("20")
def test_doctor_asks_the_server(shared):
    document = json.loads(shared.run("doctor", "--deep", "--json").stdout)
    checks = {check["name"]: check for check in document["checks"]}
    assert checks["server"]["ok"] is True and shared.line["url"] in checks["server"]["detail"]
    assert checks["integrity"]["ok"] is True
    assert checks["mcp calls"]["ok"] is True
    if checks["mcp calls"]["detail"] != "a client has called":  # Another test's.
        assert "since the server started" in checks["mcp calls"]["detail"]


@pytest.mark.spec("75")
def test_setup_writes_where_the_server_runs(shared):
    shared.run("setup", "claude-code", "--yes", check=0)
    server = json.loads((shared.folder / ".claude.json").read_text())["mcpServers"]["relaybay"]
    assert server["url"] == shared.line["mcp_url"]
    assert shared.ask("setup", "claude-code", "--uninstall", "--yes")["changed"]
    assert not (shared.folder / ".claude.json").exists()


# --- MCP over stdin and stdout ---


async def _over_stdio(home, mode, use):
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    program = StdioServerParameters(command=sys.executable, args=["-m", "relaybay", "mcp"], env=home.env)
    # The library's own choice is whatever stderr was when it was imported: under a capture that is no file.
    with tempfile.TemporaryFile("w+") as said:
        async with Client(stdio_client(program, errlog=said), mode=mode, read_timeout_seconds=20.0) as client:
            return await use(client)


@pytest.mark.spec("70")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
def test_mcp_over_stdio_in_both_eras(shared, mode):
    async def use(client):
        tools = {tool.name for tool in (await client.list_tools()).tools}
        made = await client.call_tool(
            "task_create",
            {"project": "cli-mcp", "title": "über", "session": f"by {mode}"},
            meta={"claudecode/toolUseId": "toolu_1"},
        )
        refused = await client.call_tool("task_get", {"task": "nope-1"})
        return tools, made, refused

    tools, made, refused = asyncio.run(_over_stdio(shared, mode, use))
    assert {"message_send", "messages_list", "message_ack", "task_get", "events_since"} <= tools
    assert not made.is_error and json.loads(made.structured_content["title"]) == "über"
    assert refused.is_error and "[task_unknown" in refused.content[0].text


@pytest.mark.spec("70")
def test_mcp_over_stdio_outlives_a_restart_of_the_server(home):
    home.ask("up", "--port", "0")

    async def use(client):
        await client.list_tools()
        home.run("down", check=0)
        failed = None
        try:
            await client.call_tool("tasks_list", {})
        except Exception as error:
            failed = str(error)
        home.ask("up", "--port", "0")
        return failed, await client.call_tool("tasks_list", {})

    failed, after = asyncio.run(_over_stdio(home, "legacy", use))
    assert failed and "relaybay up" in failed
    assert not after.is_error


# --- the page that shows hooks by hand ---


@pytest.mark.spec("20")
@pytest.mark.skipif(shutil.which("curl") is None, reason="the page's examples use curl")
def test_the_examples_of_hooks_by_hand_do_what_the_page_says(home):
    page = (Path(TREE) / "docs" / "hooks-by-hand.md").read_text(encoding="utf-8")
    examples = [part.partition("```")[0] for part in page.split("```sh\n")[1:]]
    assert len(examples) == 2
    home.ask("up", "--port", "0")
    program = home.folder / "bin" / "relaybay"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m relaybay "$@"\n')
    program.chmod(0o755)
    env = home.env | {"PATH": f"{program.parent}:{home.env['PATH']}"}
    answers_ = []
    for example in examples:
        done = subprocess.run(
            ["sh", "-euc", example], env=env, cwd=home.folder, capture_output=True, text=True, check=False, timeout=40
        )
        assert (done.returncode, done.stderr) == (0, "")
        answers_.append(json.loads(done.stdout))
    assert "additionalContext" in answers_[0]["hookSpecificOutput"]
    assert answers_[1] == {}
    (row,) = home.ask("session", "list")["sessions"]
    assert (row["title"], row["activity"]) == ("tmp", "working")
