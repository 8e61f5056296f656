"""`relaybay down`: ends the server by SIGTERM, once it is known to be ours."""

from __future__ import annotations

import os
import signal
import time

import click

from relaybay.cli import exits, output
from relaybay.cli.exits import failure
from relaybay.cli.holder import folder_taken
from relaybay.cli.options import json_option
from relaybay.cli.shell import Shell
from relaybay.cli.talk import find_running
from relaybay.settings import Paths

# A server ends within 5 s (page 70); a loaded machine gets a little more before this is called a failure.
STOP_SECONDS = 7.0
_STEP_SECONDS = 0.02


@click.command("down")
@json_option
@click.pass_obj
def down_command(shell: Shell, as_json: bool) -> None:
    """End the server. It answers open requests first; nothing that was acknowledged is lost."""
    card = find_running(shell.paths)
    if card is not None:
        if not shell.paths.socket.exists() and not folder_taken(shell.paths):
            # Without a socket only the card names the process, and a card may be older than it.
            raise failure("cli.server_not_ours", exits.FAILED, pid=card.pid, path=shell.paths.server_json)
        _end(card.pid, shell.paths)
    elif folder_taken(shell.paths):
        raise failure("cli.folder_held", exits.FAILED, folder=shell.paths.data, lock=shell.paths.lock)
    if as_json:
        output.document({"stopped": card is not None, "pid": None if card is None else card.pid})
    elif card is None:
        output.note("No server runs.")
    else:
        output.lines([f"relaybay (pid {card.pid}) has ended."])


def _end(pid: int, paths: Paths) -> None:
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    until = time.monotonic() + STOP_SECONDS
    while time.monotonic() < until:
        # The lock and not the process id: it is what the next start needs, and a zombie keeps its id.
        if not _runs(pid) or not folder_taken(paths):
            return
        time.sleep(_STEP_SECONDS)
    raise failure("cli.stop_slow", exits.FAILED, pid=pid, seconds=round(STOP_SECONDS), log=paths.server_log)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
