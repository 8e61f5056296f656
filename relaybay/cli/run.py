"""`relaybay run`: starts an agent client as a session with a name, topics, broadcasts and groups (OWN-14).

The server is asked first, because nothing can stop a client afterwards: a refused start starts nothing. Then this
process becomes the client, with a ticket in its environment that its first session hands in, once.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

import click

from relaybay.cli import exits, output, scripted
from relaybay.cli.exits import failure
from relaybay.cli.options import json_option
from relaybay.cli.shell import Shell

TICKET = "RELAYBAY_START"


@click.command(
    "run", context_settings={"allow_interspersed_args": False}, options_metavar="[OPTIONS] --", no_args_is_help=True
)
@click.option("--name", metavar="N", help="The session's @name; the start is refused when another live one has it.")
@click.option("--topic", "topics", metavar="P", multiple=True, help="A topic or pattern to subscribe to; repeatable.")
@click.option("--receive-broadcasts", "broadcasts", is_flag=True, help="Receive broadcasts.")
@click.option("--group", "groups", metavar="G", multiple=True, help="A group to join; repeatable.")
@json_option
@click.argument("client", metavar="CLIENT")
@click.argument("arguments", metavar="[ARG]…", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def run_command(
    shell: Shell,
    name: str | None,
    topics: tuple[str, ...],
    broadcasts: bool,
    groups: tuple[str, ...],
    as_json: bool,  # noqa: ARG001 - every command takes it; here it shapes what is refused.
    client: str,
    arguments: tuple[str, ...],
) -> None:
    """Start CLIENT as a session with this name and these topics; what a resumed one has already is kept. Only at a
    terminal.

    \b
      relaybay run --name ci-watcher --topic 'ci.**' -- claude --resume
    """  # noqa: D301 - Click reads the escape.
    chosen = scripted.need_name(name) if name is not None else ""
    scripted.need_patterns(topics)
    scripted.need_groups(groups)
    shell.need_owner()
    shell.need_terminal("Starting a client with a name and topics")
    program = shutil.which(client, path=shell.env.get("PATH"))
    if program is None:
        raise failure("cli.client_missing", exits.FAILED, client=output.shown(client))
    with scripted.exit_codes():
        wanted: dict[str, Any] = {"name": chosen, "topics": list(topics), "broadcasts": broadcasts}
        answer = shell.server.post("starts", **wanted, groups=list(groups))
    for warning in answer.get("warnings") or []:
        output.note(f"relaybay: {output.shown(warning.get('text', ''))}")
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        # An inherited ticket is another session's, used or not; ours takes its place.
        os.execve(program, [client, *arguments], {**shell.env, TICKET: str(answer["ticket"])})  # noqa: S606
    except OSError as error:
        why = error.strerror or str(error)
        raise failure("cli.client_not_started", exits.FAILED, client=output.shown(client), why=why) from None
