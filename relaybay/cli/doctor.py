"""`relaybay doctor`: asks the server for what only it knows, and prints the checks of `relaybay.setup.doctor`."""

from __future__ import annotations

from pathlib import Path

import click

from relaybay import settings
from relaybay.cli import exits, output
from relaybay.cli.exits import Failure
from relaybay.cli.options import json_option
from relaybay.cli.setup import folders_of, install_of
from relaybay.cli.shell import Shell
from relaybay.cli.talk import find_running
from relaybay.errors import SettingsError
from relaybay.setup import Check, Refusal, ServerFacts, doctor, read_claude_code

_MARKS = {True: "ok  ", False: "FAIL", None: "warn"}


@click.command("doctor")
@click.option("--deep", is_flag=True, help="Also check the whole database, which takes a while.")
@json_option
@click.pass_obj
def doctor_command(shell: Shell, deep: bool, as_json: bool) -> int:
    """Check this machine: one line each, with a fix where something is wrong. Exit code 1 on any fault."""
    checks = _checks(shell, deep=deep)
    broken = any(check.ok is False for check in checks)
    if as_json:
        found = [{"name": c.name, "ok": c.ok, "detail": c.detail, "fix": c.fix or None} for c in checks]
        output.document({"ok": not broken, "checks": found})
    else:
        for check in checks:
            output.lines([f"{_MARKS[check.ok]}  {check.name}: {output.shown(check.detail)}"])
            if check.fix:
                output.lines([f"      {output.shown(check.fix)}"])
    return exits.FAILED if broken else 0


def _checks(shell: Shell, *, deep: bool) -> list[Check]:
    more: list[Check] = []
    try:
        configured = shell.settings
    except SettingsError as error:
        # What is broken is shown beside the rest; the checks themselves run on the defaults.
        more.append(Check("settings", ok=False, detail=str(error), fix=f"Correct it: {error.where}"))
        configured = settings.load(settings.Paths(*(Path("/nonexistent"),) * 4), {})
    folders = folders_of(shell)
    files = read_claude_code(folders, "user", Path.cwd(), shell.env)
    if isinstance(files, Refusal):
        more.append(Check(files.code, ok=False, detail=files.text, fix=""))
    install = None
    try:
        install = install_of(shell, configured)
    except Failure as refused:
        more.append(Check(refused.code, ok=False, detail=refused.text, fix=""))
    server = _ask_server(shell, configured, more, deep=deep)
    return doctor.run(folders, shell.env, None if isinstance(files, Refusal) else files, install, server) + more


def _ask_server(shell: Shell, configured: settings.Settings, more: list[Check], *, deep: bool) -> ServerFacts:
    url, told = f"http://{configured.server_host}:{configured.server_port}", {}
    reachable = False
    try:
        card = find_running(shell.paths)
        if card is not None:
            url = card.url or url
            told = shell.server.get("doctor")
            reachable = True
    except Failure as refused:
        more.append(Check(refused.code, ok=False, detail=refused.text, fix=""))
    return ServerFacts(
        url=url,
        reachable=reachable,
        last_events=told.get("last_events"),
        mcp_seen=told.get("mcp_seen"),
        integrity=_integrity(shell) if deep else None,
    )


def _integrity(shell: Shell) -> str | None:
    from relaybay.store import sqlite

    if not shell.paths.database.is_file():
        return None
    return "; ".join(sqlite.problems(shell.paths.database)) or "ok"
