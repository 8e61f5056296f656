"""The server's life: ready when it says so, both sockets as they should be, gone within five seconds."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sanic import HTTPResponse

from relaybay.api.keys import Keys
from relaybay.api.listeners import UNIX_PATH_BYTES_MAX, BindRefused, UnixListener, bind_tcp
from relaybay.api.routes import Routes
from relaybay.api.serving import ServerThread, make_app
from tests.api.conftest import Clock, build
from tests.api.wire import Wire

ROOT = Path(__file__).parents[2]


@contextmanager
def served(
    port: int = 0, socket_path: Path | None = None, *more: str
) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    # A session of its own: nothing it does to its process group can reach the tests.
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.api.served", str(port), str(socket_path or ""), *more],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield process, json.loads(line) if line else {}
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> tuple[float, int, str]:
    begun = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert out == "", "the ready line is the only one on stdout"
    return time.monotonic() - begun, process.returncode, err


def wire_of(ready: dict[str, Any]) -> Wire:
    return Wire(int(ready["url"].rpartition(":")[2]))


# --- ready ---


@pytest.mark.spec("70")
def test_it_answers_at_once_when_it_says_ready(socket_path: Path) -> None:
    with served(0, socket_path) as (process, ready):
        assert ready["socket"] == str(socket_path)
        assert wire_of(ready).get("/healthz").status == 200
        assert Wire(socket_path).get("/healthz").status == 200
        took, code, log = ended(process)
    assert code == 0, log
    assert took < 2
    assert log.splitlines()[-3:] == ["stopping", "stopped", "left"]
    assert not socket_path.exists()


def test_the_socket_is_private_and_replaces_a_dead_one(socket_path: Path) -> None:
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(socket_path))
    dead.close()
    before = os.umask(0)
    try:
        with served(0, socket_path) as (process, _):
            facts = socket_path.lstat()
            assert stat.S_ISSOCK(facts.st_mode) and stat.S_IMODE(facts.st_mode) == 0o600
            assert [file.name for file in socket_path.parent.iterdir()] == ["relaybay.sock"]
            assert Wire(socket_path).get("/healthz").status == 200
            process.kill()
            process.wait()
            assert socket_path.exists()
    finally:
        os.umask(before)
    with served(0, socket_path):
        assert Wire(socket_path).get("/healthz").status == 200


def test_the_socket_is_private_from_its_first_moment(socket_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    chmod = Path.chmod

    def watched(path: Path, mode: int) -> None:
        seen.append(stat.S_IMODE(path.lstat().st_mode))
        chmod(path, mode)

    monkeypatch.setattr(Path, "chmod", watched)
    before = os.umask(0)
    try:
        listener = UnixListener.bind(socket_path)
    finally:
        assert os.umask(before) == 0, "the process has its own umask again"
    assert listener is not None
    listener.close()
    assert [mode & 0o077 for mode in seen] == [0]


def test_the_name_of_another_server_is_left_alone(socket_path: Path) -> None:
    first = UnixListener.bind(socket_path)
    second = UnixListener.bind(socket_path)
    assert first is not None and second is not None
    first.close()
    assert socket_path.exists()
    second.close()
    assert not socket_path.exists()


@pytest.mark.spec("75")
def test_a_path_too_long_means_no_socket_and_one_warning(
    tmp_path: Path, keys: Keys, caplog: pytest.LogCaptureFixture
) -> None:
    fits = Path("/tmp") / ("x" * (UNIX_PATH_BYTES_MAX - 5))
    assert len(str(fits)) == UNIX_PATH_BYTES_MAX
    listener = UnixListener.bind(fits)
    assert listener is not None
    listener.close()
    routes, _ = build(keys, Clock(), [])
    with caplog.at_level(logging.WARNING), ServerThread(routes.app, socket_path=Path(f"{fits}y")) as server:
        assert server.listening.socket_path is None
        assert Wire(server.port).get("/healthz").status == 200
    assert [r.message for r in caplog.records if "no Unix socket" in r.message] == [
        f"no Unix socket: {fits}y is {UNIX_PATH_BYTES_MAX + 1} bytes long, {UNIX_PATH_BYTES_MAX} at most"
    ]


def test_no_other_file_is_replaced_by_the_socket(socket_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    socket_path.write_text("mine")
    assert UnixListener.bind(socket_path) is None
    assert socket_path.read_text() == "mine"
    assert UnixListener.bind(socket_path.parent / "none" / "s") is None
    assert len(caplog.records) == 2


# --- the port ---


@pytest.mark.spec("75")
def test_a_taken_port_is_said_by_name(socket_path: Path) -> None:
    with served(0) as (_, ready), served(wire_of(ready).address, socket_path) as (second, said):
        assert said["code"] == "port_taken"
        assert str(wire_of(ready).address) in said["text"]
        assert second.wait(10) == 1
        assert not socket_path.exists()


def test_only_one_of_two_sockets_may_have_a_port() -> None:
    with bind_tcp("127.0.0.1", 0) as first, pytest.raises(BindRefused) as refused:
        bind_tcp("127.0.0.1", first.getsockname()[1])
    assert refused.value.answer.code == "port_taken"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
@pytest.mark.spec("80")
def test_16_only_loopback_is_listened_on(host: str) -> None:
    with pytest.raises(BindRefused) as refused:
        bind_tcp(host, 0)
    assert refused.value.answer.code == "host_not_loopback"


def test_impossible_ports_are_refused_with_words() -> None:
    with pytest.raises(BindRefused) as refused:
        bind_tcp("127.0.0.1", 99999)
    assert refused.value.answer.code == "bind_failed"


# --- the end ---


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.spec("70")
def test_a_signal_ends_it_with_waits_and_streams_open(socket_path: Path, number: int) -> None:
    with served(0, socket_path) as (process, ready):
        wire = wire_of(ready)
        open_ends = [wire.connect() for _ in range(3)] + [Wire(socket_path).connect() for _ in range(2)]
        for connection, path in zip(open_ends, ("/wait", "/stream", None, "/wait", "/stream"), strict=True):
            if path:
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{wire.address}\r\n\r\n".encode())
            if path == "/stream":
                assert connection.recv(100).startswith(b"HTTP/1.1 200")
        half = wire.connect()
        half.sendall(b"GET /heal")
        time.sleep(0.2)
        took, code, log = ended(process, number)
        for connection in [*open_ends, half]:
            connection.close()
    assert code == 0, log
    assert took < 5
    assert log.count("wait ended") == 2
    assert log.splitlines()[-2:] == ["stopped", "left"]
    assert "Traceback" not in log


@pytest.mark.spec("70")
def test_a_listener_or_a_handler_that_hangs_cannot_hold_it(socket_path: Path) -> None:
    with served(0, socket_path, "slow") as (process, ready):
        wire = wire_of(ready)
        with wire.connect() as connection:
            connection.sendall(f"GET /stubborn HTTP/1.1\r\nHost: 127.0.0.1:{wire.address}\r\n\r\n".encode())
            time.sleep(0.2)
            took, code, log = ended(process)
    assert code == 0, log
    assert took < 5
    assert "stop listeners failed or took longer" in log
    assert "stopped" in log


def test_a_second_signal_skips_the_waiting() -> None:
    with served(0) as (process, ready):
        wire = wire_of(ready)
        with wire.connect() as connection:
            connection.sendall(f"GET /wait HTTP/1.1\r\nHost: 127.0.0.1:{wire.address}\r\n\r\n".encode())
            time.sleep(0.2)
            process.send_signal(signal.SIGTERM)
            time.sleep(0.1)
            took, code, _ = ended(process)
    assert (code, took < 0.8) == (0, True)


def test_an_early_signal_ends_it_too() -> None:
    for delay in (0.0, 0.02, 0.05):
        with served(0) as (process, _):
            time.sleep(delay)
            took, code, log = ended(process)
            assert (code, took < 3) == (0, True), log


# --- in a thread ---


def test_many_lives_in_one_process(keys: Keys) -> None:
    threads = threading.active_count()
    for _ in range(5):
        routes, _ = build(keys, Clock(), [])
        with ServerThread(routes.app) as server:
            assert Wire(server.port).get("/healthz").status == 200
        with pytest.raises(ConnectionRefusedError):
            Wire(server.port).connect()
    assert threading.active_count() == threads


def test_a_failed_start_is_raised_where_it_was_asked_for() -> None:
    app = make_app()
    stopped = []

    async def root(request):
        return HTTPResponse(b"")

    Routes(app).op("GET", "/", "root", root, door="open")

    @app.before_server_start
    async def fail(_):
        raise RuntimeError("no database")

    @app.after_server_stop
    async def stop(_):
        stopped.append(True)

    server = ServerThread(app)
    with pytest.raises(RuntimeError, match="no database"):
        server.start()
    assert stopped == [True]


def test_requests_before_the_start_listeners_are_done_wait(keys: Keys) -> None:
    """The port is bound first, so a client may connect early; it is answered when the server can."""
    app = make_app()
    routes = Routes(app)
    released = threading.Event()
    port = []

    async def ok(request):
        return HTTPResponse(b"{}", content_type="application/json")

    routes.op("GET", "/healthz", "healthz", ok, door="open")

    @app.before_server_start
    async def slow(app):
        port.append(app.ctx.listening.port)
        while not released.is_set():
            await __import__("asyncio").sleep(0.01)

    server = ServerThread(app)
    starting = threading.Thread(target=server.start)
    starting.start()
    while not port:
        time.sleep(0.01)
    answers = []
    asking = threading.Thread(target=lambda: answers.append(Wire(port[0]).get("/healthz").status))
    asking.start()
    time.sleep(0.2)
    assert answers == []
    released.set()
    asking.join(5)
    starting.join(5)
    server.stop()
    assert answers == [200]
