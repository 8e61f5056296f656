"""What a server leaves in the lock of its data folder, and who is believed to have it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from filelock import FileLock

from relaybay.cli import holder
from relaybay.cli.root import run
from relaybay.cli.shell import AGENT_VARIABLES
from relaybay.cli.talk import find_running
from relaybay.settings import Paths

pytestmark = pytest.mark.spec("75")


@pytest.fixture
def paths(tmp_path, monkeypatch):
    for name in [*AGENT_VARIABLES, *(name for name in os.environ if name.startswith("RELAYBAY_"))]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RELAYBAY_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    found = Paths.find({"RELAYBAY_HOME": str(tmp_path)})
    found.make()
    return found


@contextlib.contextmanager
def answering():
    """Somebody who answers on a port, as a server does; gives the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_the_note_is_found_while_all_of_it_is_true(paths):
    with answering() as url, FileLock(paths.lock):
        holder.sign(paths, url, "1.2.3")
        card = find_running(paths)
        assert (card.pid, card.url, card.version, card.lost_run) == (os.getpid(), url, "1.2.3", str(paths.run))
    assert find_running(paths) is None, "nobody answers"


def test_without_the_lock_nobody_has_the_folder(paths):
    with answering() as url:
        with FileLock(paths.lock):
            holder.sign(paths, url, "1.2.3")
        assert find_running(paths) is None


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system tells no start times")
def test_a_process_that_took_over_the_number_is_not_believed(paths):
    with answering() as url, FileLock(paths.lock):
        holder.sign(paths, url, "1.2.3")
        said = json.loads(paths.lock.read_text())
        paths.lock.write_text(json.dumps(said | {"started": "1"}))
        assert find_running(paths) is None
        paths.lock.write_text(json.dumps(said))
        assert find_running(paths) is not None


def test_a_process_that_ended_is_not_believed(paths):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with answering() as url, FileLock(paths.lock):
        holder.sign(paths, url, "1.2.3")
        paths.lock.write_text(json.dumps(json.loads(paths.lock.read_text()) | {"pid": gone.pid}))
        assert find_running(paths) is None


@pytest.mark.parametrize("content", ["", "{}", "[]", "no json", '{"relaybay": 1}', '{"relaybay": 1, "pid": "x"}'])
def test_a_lock_that_says_nothing_of_ours_names_nobody(paths, content):
    paths.lock.write_text(content)
    assert holder.read(paths.lock) is None


def test_a_lock_whose_content_is_the_lock_is_left_alone(paths):
    paths.lock.write_text("4711\nhost\n")
    holder.sign(paths, "http://127.0.0.1:1", "1")
    assert paths.lock.read_text() == "4711\nhost\n"


def test_a_longer_note_of_before_leaves_no_rest(paths):
    paths.lock.touch()
    holder.sign(paths, "http://127.0.0.1:1/" + "x" * 500, "1")
    holder.sign(paths, "http://127.0.0.1:2", "1")
    assert holder.read(paths.lock).url == "http://127.0.0.1:2"


def test_a_lock_that_nobody_explains_is_told_with_a_way_to_find_out(paths, capsys):
    with FileLock(paths.lock):
        assert run(["down"]) == 1
        said = capsys.readouterr().err
        assert "[data_folder_locked" in said and f"fuser {paths.lock}" in said
        assert run(["up", "--foreground", "--port", "0"]) == 75
        said = capsys.readouterr().err
        assert f"fuser {paths.lock}" in said and "End it with" not in said


@pytest.mark.parametrize("words", [["up"], ["up", "--foreground"], ["status"], ["down"], ["setup", "--yes"], ["open"]])
@pytest.mark.parametrize("which", ["run", "data"])
def test_a_folder_of_another_user_is_refused_in_words(paths, monkeypatch, capsys, which, words):
    folder = getattr(paths, which)
    real = type(folder).stat
    other = os.stat_result([*real(folder)[:4], 4_000_000, *real(folder)[5:10]])
    monkeypatch.setattr(type(folder), "stat", lambda self, **k: other if self == folder else real(self, **k))
    assert run(words) == 77
    said = capsys.readouterr().err
    assert str(folder) in said and "[folder_refused 75]" in said and "RELAYBAY_HOME" in said
    assert "fault of relaybay" not in said and not paths.token.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everywhere")
def test_a_folder_that_may_not_be_entered_is_refused_in_words(paths, capsys):
    paths.run.chmod(0)
    try:
        for words in (["up", "--foreground"], ["token", "rotate"]):
            assert run(words) == 77
            said = capsys.readouterr().err
            assert str(paths.run) in said and "fault of relaybay" not in said
    finally:
        paths.run.chmod(0o700)


def test_a_file_that_may_not_be_touched_is_no_fault_of_ours(paths, monkeypatch, capsys):
    def refused(_):
        raise PermissionError(13, "Permission denied", str(paths.config_file))

    monkeypatch.setattr("relaybay.cli.status.find_running", refused)
    assert run(["status"]) == 77
    said = capsys.readouterr().err
    assert str(paths.config_file) in said and "[no_permission 75]" in said and "fault of relaybay" not in said
