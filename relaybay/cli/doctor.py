"""`relaybay doctor`: asks the server for what only it knows, and prints the checks of `relaybay.setup.doctor`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from relaybay import settings
from relaybay.cli import exits, output
from relaybay.cli.exits import Failure, failure
from relaybay.cli.options import json_option
from relaybay.cli.setup import configured_url, folders_of, install_of
from relaybay.cli.shell import Shell
from relaybay.cli.talk import find_running
from relaybay.errors import SettingsError
from relaybay.setup import Check, Refusal, ServerFacts, doctor, read_claude_code
from relaybay.setup.port import listener

if TYPE_CHECKING:
    from relaybay.service.house import Told

_MARKS = {True: "ok  ", False: "FAIL", None: "warn"}


@click.command("doctor")
@click.option("--deep", is_flag=True, help="Also check the whole database, which takes a while.")
@click.option("--clear-dropped", is_flag=True, help="Show the count of dropped hook events and set it to 0.")
@json_option
@click.pass_obj
def doctor_command(shell: Shell, deep: bool, clear_dropped: bool, as_json: bool) -> int:
    """Check this machine: one line each, with a fix where something is wrong. Exit code 1 on any fault."""
    if clear_dropped:
        shell.need_owner()
    checks = _checks(shell, Path.cwd(), lambda configured: _ask_server(shell, configured, deep=deep))
    if clear_dropped:
        _clear_dropped(shell.paths.spool / "dropped")
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


def server_checks(shell: Shell, told: Told, heard: Mapping[str, int], integrity: str) -> list[Check]:
    """The same checks from within the server that they are about, for `/health`: it need not be asked over a socket."""
    from relaybay.service.clock import rfc3339

    def facts(configured: settings.Settings) -> ServerFacts:
        return ServerFacts(
            url=told.url or configured_url(configured),
            reachable=True,
            last_events={client: rfc3339(at_us) for client, at_us in heard.items()},
            mcp_seen=bool(told.mcp_seen_us),
            integrity=integrity,
            up_seconds=max(0.0, time.time() - told.started_us / 1e6),
            hooks_since_start=any(at_us >= told.started_us for at_us in heard.values()),
        )

    # The server's own folder says nothing about any project.
    return _checks(shell, Path("/"), facts)


def _checks(shell: Shell, folder: Path, ask: Callable[[settings.Settings], ServerFacts]) -> list[Check]:
    more: list[Check] = []
    try:
        configured = shell.settings
    except SettingsError as error:
        # What is broken is shown beside the rest; the checks themselves run on the defaults.
        more.append(Check("settings", ok=False, detail=str(error), fix=f"Correct it: {error.where}"))
        configured = settings.load(settings.Paths(*(Path("/nonexistent"),) * 4), {})
    folders = folders_of(shell)
    files = read_claude_code(folders, "user", folder, shell.env)
    if isinstance(files, Refusal):
        more.append(Check(files.code, ok=False, detail=files.text, fix=""))
    install = None
    try:
        install = install_of(shell, configured)
    except Failure as refused:
        more.append(Check(refused.code, ok=False, detail=refused.text, fix=""))
    return (
        doctor.run(folders, shell.env, None if isinstance(files, Refusal) else files, install, ask(configured)) + more
    )


def _clear_dropped(counter: Path) -> None:
    """Sets the hook's counter of lost events to none. Its line end stays: it holds a block for a full disk."""
    try:
        file = os.open(counter, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    except OSError as error:
        raise failure("cli.file_not_written", exits.STORE, path=counter, why=error.strerror or str(error)) from None
    try:
        os.ftruncate(file, 0)
        os.write(file, b"\n")
    finally:
        os.close(file)
    output.note("The count of dropped hook events is 0 again.")


def _ask_server(shell: Shell, configured: settings.Settings, *, deep: bool) -> ServerFacts:
    url = configured_url(configured)
    told: dict[str, Any] = {}
    reachable, held_by, fault = False, None, ""
    try:
        card = find_running(shell.paths)
        if card is not None:
            url = card.url or url
            told = shell.server.get("doctor") | {"started_at": shell.server.get("status").get("started_at")}
            reachable = True
        else:
            held_by = listener(configured.server_host, configured.server_port)
    except Failure as refused:
        fault = refused.text
    return ServerFacts(
        url=url,
        reachable=reachable,
        last_events=told.get("last_events"),
        mcp_seen=told.get("mcp_seen"),
        integrity=_integrity(shell) if deep else None,
        project_files=tuple(told.get("project_files") or ()),
        port_held_by=held_by,
        fault=fault,
        **_since_start(told),
    )


def _since_start(told: dict[str, Any]) -> dict[str, Any]:
    """How long the server has run, and whether a hook event came meanwhile; nothing when it does not say."""
    if not told.get("started_at"):
        return {}
    began = datetime.fromisoformat(told["started_at"])
    events = [datetime.fromisoformat(at) for at in (told.get("last_events") or {}).values() if at]
    up = max(0.0, (datetime.now(UTC) - began).total_seconds())
    return {"up_seconds": up, "hooks_since_start": any(at >= began for at in events)}


def _integrity(shell: Shell) -> str | None:
    from relaybay.store import sqlite

    if not shell.paths.database.is_file():
        return None
    return "; ".join(sqlite.problems(shell.paths.database)) or "ok"
