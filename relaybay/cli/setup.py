"""`relaybay setup`: options, question and words around `relaybay.setup`, which does the work."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from relaybay.cli import exits, output
from relaybay.cli.exits import Failure, failure
from relaybay.cli.options import json_option
from relaybay.cli.shell import Shell, ask, has_terminal
from relaybay.cli.talk import find_running
from relaybay.settings import Settings
from relaybay.setup import (
    Applied,
    Choices,
    Folders,
    Install,
    Plan,
    Refusal,
    apply,
    client_program,
    client_version,
    diff,
    plan_claude_code,
    plan_undo_claude_code,
    read_claude_code,
)
from relaybay.setup.show import HIDDEN

CLIENTS = ("claude-code",)


@click.command("setup")
@click.argument("client", type=click.Choice(CLIENTS), default=CLIENTS[0])
@click.option("--scope", type=click.Choice(["user", "project", "local"]), default="user", show_default=True)
@click.option("--mode", type=click.Choice(["http", "command"]), default="http", show_default=True)
@click.option("--wake", is_flag=True, help="Also install the hook that wakes an idle session.")
@click.option("--force-wake", is_flag=True, help="With --wake: on a client where it was never measured, too.")
@click.option("--lean", is_flag=True, help="Fewer hooks: before a tool only for relaybay's own tools.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--uninstall", is_flag=True, help="Take everything out again.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--show-keys", is_flag=True, help="Where entries have to be put in by hand, print them with their keys.")
@json_option
@click.pass_obj
def setup_command(
    shell: Shell,
    client: str,
    scope: Any,
    mode: Any,
    wake: bool,
    force_wake: bool,
    lean: bool,
    dry_run: bool,
    uninstall: bool,
    yes: bool,
    show_keys: bool,
    as_json: bool,
) -> None:
    """Put relaybay into an agent client's own settings, and nothing else in them changes.

    At a terminal it shows the difference and asks. Without one it applies it and prints the difference on stderr;
    --dry-run only shows it. Run it again after `relaybay token rotate`, or when a setting such as wake.minutes changed.

    \b
      relaybay setup claude-code --dry-run
      relaybay setup claude-code --wake
      relaybay setup claude-code --uninstall
    """  # noqa: D301 - Click reads the escape.
    if show_keys:
        shell.need_owner()
    folders = folders_of(shell)
    files = read_claude_code(folders, scope, Path.cwd(), shell.env)
    if isinstance(files, Refusal):
        raise _refused(files)
    install = install_of(shell)
    if uninstall:
        plan = plan_undo_claude_code(files, install)
    else:
        program = client_program(shell.env)
        version = None if program is None else client_version(program, shell.env)
        choices = Choices(scope, mode, wake or force_wake, force_wake, lean, version)
        plan = plan_claude_code(files, install, choices)
    if isinstance(plan, Refusal):
        raise _refused(plan, hidden=() if show_keys else (install.token, install.hook_key))
    if dry_run:
        _show_plan(plan, as_json=as_json)
        return
    done = _carry_out(plan, folders, yes=yes)
    _show_done(plan, done, client, as_json=as_json)


def _carry_out(plan: Plan, folders: Folders, *, yes: bool) -> Applied:
    text = diff(plan)
    if text:
        print(text, end="", file=sys.stderr)
    for each in plan.notes:
        output.note(each.text)
    if plan.edits and not yes and has_terminal() and not ask("Change these files?"):
        raise failure("cli.declined", exits.FAILED)
    done = apply(plan, folders, datetime.now(UTC))
    if isinstance(done, Refusal):
        raise _refused(done)
    return done


def _show_plan(plan: Plan, *, as_json: bool) -> None:
    text = diff(plan)
    if as_json:
        output.document(
            {"dry_run": True, "would_change": [e.path for e in plan.edits], "diff": text, "notes": _notes(plan)}
        )
        return
    print(text, end="")
    for each in plan.notes:
        output.note(each.text)
    if not plan.edits:
        output.note("Nothing would change.")


def _show_done(plan: Plan, done: Applied, client: str, *, as_json: bool) -> None:
    if as_json:
        backup = None if done.backup is None else str(done.backup)
        output.document({"dry_run": False, "changed": list(done.changed), "backup": backup, "notes": _notes(plan)})
        return
    output.lines(f"changed {path}" for path in done.changed)
    if not done.changed:
        output.note(f"Nothing to change: {client} is as it should be.")
        return
    if done.backup is not None:
        output.note(f"The files as they were are in {done.backup}.")
    output.note("Sessions that are open already see it when they start anew.")


def _notes(plan: Plan) -> list[dict[str, str]]:
    return [{"code": each.code, "text": each.text} for each in plan.notes]


def _refused(refusal: Refusal, hidden: Sequence[str] = ()) -> Failure:
    """The refusal, and behind its sentence the entries that it speaks of, `hidden` keys masked."""
    failed = Failure(refusal.code, "20", refusal.text, exits.REFUSED)
    if refusal.snippet:
        entries = refusal.snippet
        for key in hidden:
            entries = entries.replace(key, HIDDEN)
        failed.entries = entries
        if entries != refusal.snippet:
            failed.entries += "\nThe keys are hidden; --show-keys prints them."
    return failed


def folders_of(shell: Shell) -> Folders:
    """Relaybay's folders, as setup takes them."""
    paths = shell.paths
    return Folders(paths.config_file, paths.data, paths.state, paths.run)


def install_of(shell: Shell, settings: Settings | None = None) -> Install:
    """What a client has to be told: the running server's address, else the configured one, and the keys.

    Keys that no server has made yet are made here. Raises Failure.
    """
    from relaybay.api.keys import KeyFileRefused, KeyFolder

    paths = shell.paths
    card = find_running(paths)
    try:
        keys = KeyFolder(paths.run).load()
    except KeyFileRefused as refused:
        raise failure("cli.key_file", exits.REFUSED, path=refused.path, why=refused.why) from None
    except OSError as error:
        raise failure("cli.file_not_written", exits.STORE, path=paths.run, why=error.strerror or str(error)) from None
    configured = settings or shell.settings
    url = card.url if card is not None and card.port else configured_url(configured)
    return Install(
        url=url,
        mcp_url=url + "/mcp",
        token=keys.token,
        hook_key=keys.hook_key,
        python=_base_interpreter(),
        hook_script=str(paths.hook_script),
        run_dir=str(paths.run),
        state_dir=str(paths.state),
        wait_s=configured.wake_minutes * 60,
    )


def configured_url(settings: Settings) -> str:
    """Where a server would listen."""
    host = f"[{settings.server_host}]" if ":" in settings.server_host else settings.server_host
    return f"http://{host}:{settings.server_port}"


def _base_interpreter() -> str:
    # The one behind the virtual environment: it starts faster, and outlives an upgrade of the environment.
    base = getattr(sys, "_base_executable", "") or sys.executable
    return os.path.realpath(base)
