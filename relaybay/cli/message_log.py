"""`relaybay message log`: the history, with every recipient's outcome under the name it had then (CLI-4, OWN-7)."""

from __future__ import annotations

from typing import Any

import click

from relaybay.cli import output, parties, scripted
from relaybay.cli.options import json_option
from relaybay.cli.shell import Shell

_LINES = 20
_LINES_MAX = 1_000


@click.command("log")
@click.option("--topic", metavar="PATTERN", help="Only what was published to such topics.")
@click.option("--broadcast", is_flag=True, help="Only broadcasts.")
@click.option("--with", "party", metavar="NAME", help="Only direct messages with whoever went by that @name then.")
@click.option(
    "-n", "count", type=click.IntRange(1, _LINES_MAX), default=_LINES, show_default=True, help="How many, the newest."
)
@click.option("--before", metavar="ID", help="Only what is older than this one.")
@json_option
@click.pass_obj
def log_command(
    shell: Shell,
    topic: str | None,
    broadcast: bool,
    party: str | None,
    count: int,
    before: str | None,
    as_json: bool,
) -> None:
    """The newest messages, oldest first, with their text and what became of each.

    \b
      relaybay message log --topic 'ci.**' -n 5
      relaybay message log --with @brave-otter-quay --json

    With --json one object a line, and nothing at all when there is nothing. Inside an agent's shell the text of what
    did not get through is left out.
    """  # noqa: D301 - Click reads the escape.
    if sum((topic is not None, broadcast, party is not None)) > 1:
        raise click.UsageError("--topic, --broadcast and --with exclude each other.")
    if topic is not None:
        scripted.need_patterns((topic,))
    if party is not None:
        scripted.need_name(party)
    query: dict[str, Any] = {"topic": topic, "broadcast": broadcast, "with": party, "n": count, "before": before}
    if shell.of_agent:
        query["texts"] = "0"
    with scripted.exit_codes():
        answer = shell.server.get("log", **query)
    messages = answer.get("messages") or []
    scripted.note_switch(answer, anything=bool(messages))
    if as_json:
        for message in messages:
            output.document(message)
        return
    if not messages:
        output.lines(["Nothing recorded."])
        return
    for message in messages:
        output.lines(entry(message))
    if answer.get("before"):
        output.note(f"There is more: --before {output.shown(answer['before'])}")


def entry(message: dict[str, Any]) -> list[str]:
    """One message: its head, its text with each line indented, one arrow line per recipient (§ 6.4)."""
    head = [
        parties.local_time(str(message.get("sent_at", ""))),
        parties.audience(message.get("audience") or {}),
        parties.sender(message.get("from") or {}),
        output.shown(message.get("message_id", "")),
    ]
    if message.get("skipped"):
        head.append(f"{message['skipped']} skipped")
    text = [f"  {parties.WITHHELD}"] if message.get("withheld") else output.body(str(message.get("body", "")), "    ")
    return ["  ".join(head), *text, *parties.outcomes(message.get("recipients") or [], "  -> ")]
