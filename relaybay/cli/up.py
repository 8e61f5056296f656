"""`relaybay up`: the server in the foreground, or detached and waited for."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Any

import click

from relaybay import __version__
from relaybay.cli import exits, holder, output, server_log
from relaybay.cli.exits import failure
from relaybay.cli.options import json_option
from relaybay.cli.shell import Shell
from relaybay.cli.status import note_lost_run, start_line
from relaybay.cli.talk import find_running, need_own
from relaybay.errors import StoreLocked
from relaybay.settings import Paths

if TYPE_CHECKING:
    from relaybay.service.house import Doctor, Told
    from relaybay.setup import Check

READY_SECONDS = 10.0
_LINE_BYTES_MAX = 1 << 16
_STDERR_BYTES_MAX = 1 << 16
_STEP_SECONDS = 0.05
_DETACHED = "RELAYBAY_UP_DETACHED"


@click.command("up")
@click.option("--foreground", is_flag=True, help="Stay here and log to stderr, until SIGTERM or Ctrl-C.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Listen here this time; 0 takes a free port.")
@json_option
@click.pass_obj
def up_command(shell: Shell, foreground: bool, port: int | None, as_json: bool) -> None:
    """Start the server and print where it is. When one runs already, print where that is.

    \b
      relaybay up                           start it and come back
      relaybay up --foreground              for a service manager
      relaybay up --foreground --port 0 --json
    """  # noqa: D301 - Click reads the escape.
    paths = shell.paths
    # What cannot be read is told here, and not by the process that is started.
    assert shell.settings
    need_own(paths)
    try:
        paths.make()
    except OSError as error:
        raise failure("cli.store_read_only", exits.STORE, why=f"{error.filename}: {error.strerror}") from None
    if foreground:
        # Asked before the lock is tried, so that the refusal can say where the other is.
        _need_free(paths)
        _serve(shell, port, as_json=as_json, detached=shell.env.get(_DETACHED) == "1")
        return
    line, new = _existing(shell), False
    if line is None:
        line, new = _start(shell, port)
    elif port not in (None, 0, _port(line)):
        output.note(f"relaybay: a server runs already, on port {_port(line)}; --port {port} was not used.")
    if as_json:
        output.document({name: value for name, value in line.items() if name != "v"})
        return
    output.note("relaybay started." if new else "relaybay runs already.")
    output.lines([f"url    {line['url']}", f"board  {line['board_url']}"])
    card = None if new else find_running(paths)
    if card is not None and card.lost_run:
        note_lost_run(card)
        return
    output.note("The board link works once, for ten minutes; `relaybay open` makes another.")


def _need_free(paths: Paths) -> None:
    """Refuses while a server has the data folder, and says where it is."""
    card = find_running(paths)
    if card is not None:
        where = card.url if card.port else "an address it has not told yet"
        raise failure("cli.server_runs", exits.LOCKED, folder=paths.data, url=where, pid=card.pid)


def _port(line: dict[str, Any]) -> int:
    tail = str(line["url"]).rstrip("/").rpartition(":")[2]
    return int(tail) if tail.isdigit() else 0


def _existing(shell: Shell) -> dict[str, Any] | None:
    """The start line of the server that runs already; None when none does."""
    card = find_running(shell.paths)
    if card is None:
        return None
    until = time.monotonic() + READY_SECONDS
    while card is not None and card.port == 0 and time.monotonic() < until:  # It is just starting.
        time.sleep(_STEP_SECONDS)
        card = find_running(shell.paths)
    return None if card is None else start_line(shell, card)


# --- the server's own process ---


def _serve(shell: Shell, port: int | None, *, as_json: bool, detached: bool) -> None:
    paths = shell.paths
    os.umask(0o077)
    log = None
    if detached:
        try:
            log = server_log.to_file(paths.server_log)
        except OSError as error:
            raise failure("cli.store_read_only", exits.STORE, why=f"{error.filename}: {error.strerror}") from None
    else:
        server_log.to_stderr()

    def ready(line: dict[str, Any]) -> None:
        holder.sign(paths, line["url"], __version__)
        if as_json or detached:
            output.document({name: value for name, value in line.items() if name != "v"})
        else:
            output.lines([f"relaybay runs at {line['url']} (pid {line['pid']}), board {line['board_url']}"])
            sys.stdout.flush()
        if log is not None:
            # The starter has read its line and goes; its pipes go with it.
            log.take_stderr()
            os.chdir("/")

    _run(shell, port, ready)


def _look(shell: Shell) -> Doctor:
    """Doctor for `/health`. What it needs is imported when the page is asked for: starting is a measured figure."""

    def look(told: Told, heard: Mapping[str, int], integrity: str) -> list[Check]:
        from relaybay.cli.doctor import server_checks

        return server_checks(shell, told, heard, integrity)

    return look


def _run(shell: Shell, port: int | None, ready: Callable[[dict[str, Any]], None]) -> None:
    settings, paths = shell.settings, shell.paths
    from relaybay.api.app import run
    from relaybay.api.keys import KeyFileRefused
    from relaybay.api.listeners import BindRefused

    try:
        run(settings, paths, port=port, ready=ready, doctor=_look(shell))
    except StoreLocked:
        _need_free(paths)
        raise failure("cli.folder_held", exits.LOCKED, folder=paths.data, lock=paths.lock) from None
    except BindRefused as refused:
        raise exits.Failure.of(refused.answer, exits.FAILED) from None
    except KeyFileRefused as refused:
        raise failure("cli.key_file", exits.REFUSED, path=refused.path, why=refused.why) from None


# --- the starter ---


def _start(shell: Shell, port: int | None) -> tuple[dict[str, Any], bool]:
    """Starts a detached server and waits for its line. Returns (line, whether it is the new server's)."""
    words = [sys.executable, "-m", "relaybay", "up", "--foreground", "--json"]
    if port is not None:
        words += ["--port", str(port)]
    env = dict(shell.env) | {_DETACHED: "1"}
    if shell.paths.home is not None:
        env["RELAYBAY_HOME"] = str(shell.paths.home)
    process = subprocess.Popen(  # noqa: S603 - this very program.
        words,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    line, said = _first_line(process.stdout, process.stderr)
    if line is not None:
        return _board_link(shell, line), True
    if process.poll() is None and not said.closed:
        process.terminate()
        _end(process)
        raise failure("cli.start_slow", exits.FAILED, seconds=round(READY_SECONDS), log=shell.paths.server_log)
    process.wait()
    if process.returncode == exits.LOCKED:
        # Somebody else's start was quicker: theirs is the server then.
        running = _wait_for_other(shell)
        if running is not None:
            return running, False
    raise _failed(process.returncode, said.text, shell.paths)


class _Said:
    """What a starting server wrote to stderr, and whether it has ended."""

    def __init__(self) -> None:
        self.data = b""
        self.closed = False

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace").strip()


def _first_line(out: IO[bytes], err: IO[bytes]) -> tuple[dict[str, Any] | None, _Said]:
    """The start line, or None with what was said instead, when the time is over or the server ended."""
    said, line = _Said(), b""
    until = time.monotonic() + READY_SECONDS
    waiting = [out, err]
    while waiting and (left := until - time.monotonic()) > 0:
        for stream in select.select(waiting, [], [], left)[0]:
            part = os.read(stream.fileno(), _LINE_BYTES_MAX)
            if not part:
                waiting.remove(stream)
            elif stream is err:
                said.data = (said.data + part)[-_STDERR_BYTES_MAX:]
            else:
                line += part
        if b"\n" in line:
            found: dict[str, Any] = json.loads(line)
            # With a failure a JSON document comes as well, and its words are on stderr.
            if "url" in found:
                return found, said
            line = b""
    said.closed = not waiting
    return None, said


def _board_link(shell: Shell, line: dict[str, Any]) -> dict[str, Any]:
    """An agent's shell gets the board's address without the code that would log it in as the owner."""
    return line | {"board_url": line["url"] + "/"} if shell.of_agent else line


def _wait_for_other(shell: Shell) -> dict[str, Any] | None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        line = _existing(shell)
        if line is not None:
            return line
        time.sleep(_STEP_SECONDS)
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(READY_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _failed(exit_code: int, said: str, paths: Paths) -> exits.Failure:
    """The server's own refusal, handed on with its code; else that it ended."""
    last = said.rpartition("\n")[2]
    text, _, code = last.removeprefix("relaybay: ").removesuffix("]").rpartition(" [")
    if last.startswith("relaybay: ") and text and exit_code > 0:
        name, _, spec_id = code.partition(" ")
        return exits.Failure(name, spec_id, text, exit_code)
    if said:
        output.note(said)
    return failure("cli.start_failed", exits.FAILED, exit_code=exit_code, log=paths.server_log)
