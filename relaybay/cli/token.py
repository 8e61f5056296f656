"""`relaybay token`: new keys for agents, when an old one may have leaked."""

from __future__ import annotations

import click

from relaybay.cli import exits, output
from relaybay.cli.exits import failure
from relaybay.cli.options import json_option
from relaybay.cli.shell import Shell
from relaybay.cli.talk import find_running
from relaybay.settings import Paths


@click.group("token")
def token_command() -> None:
    """Replace the keys that agents hold."""


@token_command.command("rotate")
@json_option
@click.pass_obj
def _rotate(shell: Shell, as_json: bool) -> None:
    """Make a new token and a new hook key. The old ones open nothing any more; run setup again."""
    shell.need_owner()
    if find_running(shell.paths) is None:
        _rotate_files(shell.paths)
    else:
        shell.server.post("token", "rotate")
    if as_json:
        output.document({"rotated": True, "token_file": str(shell.paths.token)})
    else:
        output.lines(["The token and the hook key are new; the old ones open nothing any more."])
    output.note("Run `relaybay setup claude-code` again, and start the sessions that are open anew.")


def _rotate_files(paths: Paths) -> None:
    from relaybay.api.keys import KeyFileRefused, KeyFolder

    try:
        folder = KeyFolder(paths.run)
        for name in ("token", "hook_key"):
            folder.rotate(name)
    except KeyFileRefused as refused:
        raise failure("cli.key_file", exits.REFUSED, path=refused.path, why=refused.why) from None
    except OSError as error:
        raise failure("cli.file_not_written", exits.STORE, path=paths.run, why=error.strerror or str(error)) from None
