"""The command hook as a real process: what it sends, what it prints, what it imports (table CMD)."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaybay import spool
from relaybay.client import FILES, wire
from relaybay.client import event as hook_event
from tests.unit import hook_rig
from tests.unit.hook_rig import (
    BASE_PYTHON,
    BODY,
    QUICK,
    SOURCE,
    Home,
    Server,
    make_home,
    ok,
    spooled,
)

script, home = hook_rig.script, hook_rig.home  # The fixtures.

# --- CMD-1: the server answers -------------------------------------------------------------------------------------


@pytest.mark.spec("CMD-1")
@pytest.mark.parametrize(
    "answer",
    [b"{}", '{"hookSpecificOutput": {"additionalContext": "Grüße 🌱"}}'.encode(), b'{"a":"' + b"x" * 200_000 + b'"}'],
)
def test_answer_is_printed_as_it_came(home, answer):
    with home.server(ok(answer)) as server:
        done = home.run(BODY)
    assert (done.returncode, done.stdout, done.stderr) == (0, answer, b"")
    assert [(r.target, r.body) for r in server.requests] == [("/hooks/claude-code", BODY)]
    assert not home.spool.exists()


@pytest.mark.spec("CMD-1")
def test_the_answer_ends_where_its_length_says(home):
    with home.server(ok(b"{}") + b"HTTP/1.1 200 OK\r\n\r\n{}"):
        assert home.run(BODY).stdout == b"{}"


@pytest.mark.spec("CMD-1")
def test_headers_tell_the_clients_process(home):
    env = {"CLAUDE_PID": str(os.getpid()), "CLAUDE_CODE_ENTRYPOINT": "cli", "AI_AGENT": "claude-code_2-1-332_agent"}
    before = time.time_ns() // 1000
    with home.server(ok(b"{}")) as server:
        home.run(BODY, env=env | {"RELAYBAY_START": "ticket", "RELAYBAY_NAME": "al\r\nx-evil: 1 ü"})
        home.run(BODY)
    first, second = (request.headers for request in server.requests)
    stat = Path(f"/proc/{os.getpid()}/stat").read_text()
    assert first["x-relaybay-client-pid"] == str(os.getpid())
    assert first["x-relaybay-client-started"] == stat.rpartition(")")[2].split()[19]
    assert first["x-relaybay-pid-ns"] == str(Path("/proc/self/ns/pid").readlink())
    assert (first["x-relaybay-entrypoint"], first["x-relaybay-client-version"]) == ("cli", "2.1.332")
    assert first["x-relaybay-start"] == "ticket"
    assert first["x-relaybay-name"] == "al??x-evil: 1 ??"
    assert "x-evil" not in first
    assert before <= int(first["x-relaybay-event-at"]) <= time.time_ns() // 1000
    assert re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", first["x-relaybay-event-id"])
    assert first["x-relaybay-event-id"] < second["x-relaybay-event-id"]
    assert (first["host"], "authorization" in first) == ("127.0.0.1", False)
    assert not {"x-relaybay-client-pid", "x-relaybay-start", "x-relaybay-name"} & set(second)


@pytest.mark.spec("CMD-1")
def test_the_client_option_chooses_the_endpoint(home):
    with home.server(ok(b"{}")) as server:
        home.run(BODY, "--client", "gemini-cli", "--a-newer-option", "7")
        home.silent(BODY, "--client", "../api")
    assert [r.target for r in server.requests] == ["/hooks/gemini-cli"]


@pytest.mark.spec("CMD-1")
def test_run_and_state_folders_may_be_apart(home):
    with home.server(ok(b"{}")):
        line = [
            BASE_PYTHON,
            "-I",
            "-S",
            str(home.script),
            "--run",
            str(home.path / "run"),
            "--state",
            str(home.path / "s"),
        ]
        assert subprocess.run(line, input=BODY, capture_output=True, check=True).stdout == b"{}"
    subprocess.run(line, input=BODY, capture_output=True, check=True)
    assert spool.sizes(home.path / "s" / "spool").waiting_bytes > 0


# --- which door ----------------------------------------------------------------------------------------------------


def serve_by_tcp(home: Home, pid: int, port: int, key: str = "k-_9" * 8) -> None:
    (home.path / "run" / "hook.key").write_text(key + "\n")
    (home.path / "run" / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:1", "port": port, "pid": pid}))


@pytest.mark.spec("CMD-1")
def test_a_long_path_goes_by_tcp_with_the_key(script, tmp_path):
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    home = make_home(script, str(deep))
    with Server(lambda _: ok(b"{}")) as server:
        serve_by_tcp(home, os.getpid(), server.port)
        assert home.run(BODY).stdout == b"{}"
    assert server.requests[0].headers["authorization"] == "Bearer " + "k-_9" * 8
    assert server.requests[0].headers["host"] == "127.0.0.1"


@pytest.mark.spec("CMD-1", "CMD-2")
def test_without_a_socket_tcp_counts_only_while_the_server_lives(home):
    gone = subprocess.Popen(["true"])
    gone.wait()
    with Server(lambda _: ok(b"{}")) as server:
        serve_by_tcp(home, os.getpid(), server.port)
        assert home.run(BODY).stdout == b"{}"
        serve_by_tcp(home, gone.pid, server.port)
        home.silent(BODY)
        serve_by_tcp(home, os.getpid(), server.port, key="two words")
        home.silent(BODY)
        serve_by_tcp(home, os.getpid(), server.port)
        (home.path / "run" / "server.json").chmod(0o666)
        home.silent(BODY)
    assert server.connections == 1  # A key is never shown at a port that a dead server left behind.
    assert len(spooled(home)) == 3
    assert [line.split()[1] for line in home.log.splitlines()] == ["hook_key", "file_refused"]


@pytest.mark.spec("CMD-2")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to play another user")
def test_another_users_socket_is_given_nothing(home):
    impostor = textwrap.dedent(f"""
        import os, socket
        s = socket.socket(socket.AF_UNIX); s.bind({home.sock!r}); s.listen(1); os.chmod({home.sock!r}, 0o666)
        os.setuid(65534); s.close()
        s = socket.socket(socket.AF_UNIX); s.bind({home.sock + "2"!r}); s.listen(1); os.chmod({home.sock + "2"!r}, 0o666)
        print("ready", flush=True)
        c, _ = s.accept(); print(len(c.recv(99999)), flush=True)
    """)
    for folder in (home.path, home.path / "run"):
        folder.chmod(0o777)
    with subprocess.Popen([sys.executable, "-c", impostor], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        Path(home.sock + "2").replace(home.sock)
        home.silent(BODY)
        assert process.stdout.readline() == b"0\n"
    assert len(spooled(home)) == 1
    assert "peer_refused" in home.log


NO_EVENTS = {
    "empty": b"",
    "blank": b" \n",
    "text": b"not json",
    "array": b"[1]",
    "open": b'{"session_id": "s',
    "over 1 MiB with blanks": BODY + b" " * (1 << 20),
    "over 1 MiB": b'{"session_id":"s","hook_event_name":"Stop","x":"' + b"x" * (1 << 20) + b'"}',
}
NEARLY_EVENTS = {
    "no JSON": b'{"session_id" "s"}',
    "no session": b'{"hook_event_name": "Stop"}',
    "no event name": b'{"session_id": "s"}',
    "other types": b'{"session_id": 7, "hook_event_name": true}',
    "half a pair": b'{"session_id": "\\ud800", "hook_event_name": "Stop"}',
    "deep": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "no UTF-8": b'{"session_id": "\xff", "hook_event_name": "Stop"}',
}


@pytest.mark.spec("CMD-5")
@pytest.mark.parametrize("body", NO_EVENTS.values(), ids=NO_EVENTS)
def test_input_that_is_no_event_goes_nowhere(home, body):
    with home.server(ok(b"{}")) as server:
        home.silent(body)
    home.silent(body)
    assert server.connections == 0
    assert not home.spool.exists()


@pytest.mark.spec("CMD-5")
@pytest.mark.parametrize("body", NEARLY_EVENTS.values(), ids=NEARLY_EVENTS)
def test_what_the_server_would_refuse_is_not_spooled(home, body):
    home.silent(body)
    assert spooled(home) == []


@pytest.mark.spec("CMD-5")
def test_1_mib_is_taken_whole(home):
    body = BODY + b" " * ((1 << 20) - len(BODY))
    with home.server(ok(b"{}")) as server:
        assert home.run(body).stdout == b"{}"
    assert server.requests[0].body == body


@pytest.mark.spec("CMD-5")
def test_input_that_never_ends_costs_the_deadline(home):
    with subprocess.Popen(home.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=QUICK) as process:
        process.stdin.write(BODY)
        process.stdin.flush()
        assert process.wait(5) == 0
    assert not home.spool.exists()
    assert not home.down.exists()


@pytest.mark.spec("CMD-2")
@pytest.mark.parametrize("args", [[], ["--home"], ["--home", ""], ["--run", "/x"], ["--wait"], ["--deadline-ms", "-1"]])
def test_a_line_that_names_no_folder_does_nothing(script, args):
    done = subprocess.run(
        [BASE_PYTHON, "-I", "-S", str(script), *args], input=BODY, capture_output=True, env={}, check=True
    )
    assert (done.stdout, done.stderr) == (b"", b"")


@pytest.mark.spec("CMD-2")
def test_a_missing_neighbour_is_no_fault_of_the_agents(home, tmp_path):
    alone = tmp_path / "hook.py"
    alone.write_bytes((SOURCE / "hook.py").read_bytes())
    Home(home.path, alone).silent(BODY)


# --- CMD-6 ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec("CMD-6")
def test_hot_path_imports_next_to_nothing(home):
    def loaded(*flags: str) -> set[str]:
        line = [BASE_PYTHON, "-I", "-S", "-X", "importtime", *flags]
        said = subprocess.run(line, input=BODY, capture_output=True, env={}, check=True).stderr.decode()
        return {part.split("|")[-1].strip() for part in said.splitlines()}

    with home.server(ok(b"{}")) as server:
        more = loaded(*home.command()[3:]) - loaded("-c", "pass")
    assert len(server.requests) == 1
    assert more <= {"_socket", "_signal", "relaybay_hook.event", "relaybay_hook.wire"}
    assert {"relaybay_hook.event", "relaybay_hook.wire"} <= more


@pytest.mark.spec("CMD-6")
@pytest.mark.parametrize("name", FILES)
def test_files_import_the_standard_library_alone(name):
    allowed = {"posix", "sys", "time", "_signal", "_socket", "json", "collections.abc"}
    for node in ast.walk(ast.parse((SOURCE / name).read_text())):
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= allowed
        if isinstance(node, ast.ImportFrom) and not node.level:
            assert node.module in allowed | {"relaybay_hook.event", "relaybay.client.event"}


@pytest.mark.spec("CMD-6")
def test_files_name_every_module():
    assert set(FILES) | {"__init__.py"} == {path.name for path in SOURCE.glob("*.py")}


@pytest.mark.spec("CMD-1", "CMD-6")
def test_console_script_does_the_same(home):
    code = "import sys; from relaybay.client.hook import main; main()"
    line = [sys.executable, "-c", code, "--home", str(home.path)]
    env = {"PYTHONPATH": str(SOURCE.parents[1])}
    with home.server(ok(b"{}")):
        done = subprocess.run(line, input=BODY, capture_output=True, env=env, check=True)
    assert (done.stdout, done.stderr) == (b"{}", b"")


@pytest.mark.spec("CMD-1")
@pytest.mark.parametrize(
    ("agent", "version"),
    [
        (b"claude-code_2-1-197_harness", b"2.1.197"),
        (b"claude-code/2.1.332/agent", b"2.1.332"),
        (b"other_1", b""),
        (b"claude-code_", b""),
    ],
)
def test_client_version(agent, version):
    assert hook_event.client_version({b"AI_AGENT": agent}) == version


@given(st.integers(0, 2**48 - 1))
def test_ids_sort_by_time(ms):
    made, later = hook_event.make_id(ms * 1000), hook_event.make_id((ms + 1) * 1000)
    assert len(made) == 26
    assert made < later or ms == 2**48 - 1


@given(st.binary())
def test_any_bytes_are_an_answer_or_none(data):
    head = data + b"\r\n\r\n"
    try:
        status, _, length, start = wire.parse_head(head)
    except ConnectionError:
        return
    assert 0 <= status <= 999
    assert length is None or length >= 0
    assert start <= len(head)


@pytest.mark.parametrize(
    ("card", "number"),
    [(b'{"port": 7717}', 7717), (b'{"port":1,"pid":2}', 1), (b'{"port": null}', 0), (b"{}", 0), (b'{"port": -5}', 0)],
)
def test_number_in(card, number):
    assert wire.number_in(card, b'"port"') == number
