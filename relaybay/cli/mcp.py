"""`relaybay mcp`: an MCP server on stdin and stdout that hands everything to the running server."""

from __future__ import annotations

import http.client
import sys

import click

from relaybay.cli import exits
from relaybay.cli.exits import failure
from relaybay.cli.shell import Shell
from relaybay.cli.talk import ANSWER_SECONDS, KEY_BYTES_MAX, UnixConnection, find_running, own_file
from relaybay.settings import Paths

# Above the server's own pings and its longest poll: silence beyond this is a fault.
READ_SECONDS = 60.0


@click.command("mcp")
@click.pass_obj
def mcp_command(shell: Shell) -> None:
    """Serve MCP on stdin and stdout, for clients that start a program instead of calling a URL.

    Every call goes to the running server with the token of this user. Identity comes by the hooks, as everywhere.
    """
    from relaybay.cli.mcp_stdio import Forwarder

    paths = shell.paths
    if find_running(paths) is None:
        raise failure("cli.no_server", exits.NO_SERVER, run=paths.run)
    Forwarder(lambda: _connection(paths), lambda: _token(paths), sys.stdout.buffer).run(sys.stdin.buffer)


def _connection(paths: Paths) -> http.client.HTTPConnection:
    """A fresh connection to whichever server runs now: by the socket, else by TCP. Raises OSError."""
    card = find_running(paths)
    if card is None:
        raise ConnectionRefusedError("no server runs")
    if paths.socket.exists():
        return UnixConnection(paths.socket, f"127.0.0.1:{card.port}", READ_SECONDS)
    return http.client.HTTPConnection("127.0.0.1", card.port, timeout=ANSWER_SECONDS)


def _token(paths: Paths) -> str:
    """The token as it is now: it may have been replaced since the last call. Raises OSError."""
    data = own_file(paths.token, KEY_BYTES_MAX)
    if data is None:
        raise FileNotFoundError("the token file is missing")
    return data.decode("ascii", "replace").strip()
