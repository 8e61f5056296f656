"""`relaybay status`, `open` and `paths`: what runs, and where everything is."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from relaybay.cli import exits, output
from relaybay.cli.exits import failure
from relaybay.cli.options import json_option
from relaybay.cli.shell import Shell
from relaybay.cli.talk import Card, Server, find_running


def start_line(shell: Shell, card: Card, *, login: bool = True) -> dict[str, Any]:
    """The members of a start line (page 70) for a server that runs already. `login`: with a fresh one-time code,
    where the socket is there to ask for one and the shell is not an agent's.
    """
    board = card.url + "/"
    if login and not shell.of_agent and not card.lost_run and shell.paths.socket.exists():
        board = Server.find(shell.paths).post("login-codes")["url"]
    return {
        "url": card.url,
        "mcp_url": card.url + "/mcp",
        "board_url": board,
        "token_file": str(shell.paths.token),
        "database": str(shell.paths.database),
        "pid": card.pid,
    }


def note_lost_run(card: Card) -> None:
    """Says that no socket leads to a running server, and what helps."""
    from relaybay.answers import word

    output.note("relaybay: " + word("cli.run_lost", pid=card.pid, url=card.url, run=card.lost_run).text)


@click.command("status")
@json_option
@click.pass_obj
def status_command(shell: Shell, as_json: bool) -> int:
    """Say whether a server runs, and which. Exit code 69 when none does."""
    card = find_running(shell.paths)
    if card is None:
        if as_json:
            output.document({"running": False})
        output.note(f"No server runs on {shell.paths.run}. Start one with `relaybay up`.")
        return exits.NO_SERVER
    told: dict[str, Any] = {}
    if card.lost_run:
        note_lost_run(card)
    elif shell.paths.socket.exists():
        told = shell.server.get("status")
    found = {"running": True, **start_line(shell, card), "version": card.version or None}
    # What the server says of itself wins, but for the link: a code is only worth showing when it is new.
    found |= told | {"running": True, "board_url": found["board_url"]}
    if as_json:
        output.document({name: value for name, value in found.items() if name != "v"})
        return 0
    shown = ("url", "mcp_url", "board_url", "pid", "version", "database")
    output.lines(f"{name.ljust(9)}  {output.shown(found[name])}" for name in shown if found.get(name) is not None)
    return 0


@click.command("open")
@click.option("--print", "only_print", is_flag=True, help="Print the link and start no browser.")
@json_option
@click.pass_obj
def open_command(shell: Shell, only_print: bool, as_json: bool) -> None:
    """Open the board in a browser, by a link that works once, for ten minutes."""
    shell.need_owner()
    url = shell.server.post("login-codes")["url"]
    opened = False
    if not only_print and _has_display(shell):
        import webbrowser

        opened = webbrowser.open(url)
    if as_json:
        output.document({"url": url, "opened": opened})
    else:
        output.lines([url])
        output.note("The link works once, for ten minutes.")


def _has_display(shell: Shell) -> bool:
    # On a machine without a screen a text browser would take the terminal and use the link up.
    return sys.platform == "darwin" or any(shell.env.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


@click.command("paths")
@json_option
@click.pass_obj
def paths_command(shell: Shell, as_json: bool) -> None:
    """Say where everything is. Nothing is started; without a server the addresses are empty."""
    paths = shell.paths
    card = find_running(paths)
    live = start_line(shell, card, login=False) if card is not None and card.port else {}
    found = {
        "url": live.get("url"),
        "mcp_url": live.get("mcp_url"),
        "board_url": live.get("board_url"),
        "token_file": str(paths.token),
        "database": str(paths.database),
        "pid": None if card is None else card.pid,
        "home": None if paths.home is None else str(paths.home),
        "config": str(paths.config_file),
        "socket": str(paths.socket),
        "spool": str(paths.spool),
        "log": str(paths.server_log),
        "backups": str(paths.backups),
    }
    if as_json:
        output.document(found)
    else:
        output.lines(f"{name.ljust(10)}  {value}" for name, value in found.items() if value is not None)


def need_no_server(shell: Shell) -> None:
    """Refuses while a server has the data folder."""
    if find_running(shell.paths) is not None:
        raise failure("cli.data_folder_locked", exits.LOCKED, folder=os.fspath(shell.paths.data))
