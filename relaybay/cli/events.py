"""`relaybay events`: the event feed, once or followed."""

from __future__ import annotations

import json
from typing import Any

import click

from relaybay.cli import output
from relaybay.cli.options import json_option
from relaybay.cli.shell import Shell

WAIT_SECONDS = 25
_ANSWER_SECONDS = WAIT_SECONDS + 15.0


@click.command("events")
@click.option("--cursor", metavar="C", help="Only what came after it; without it, the present cursor and no events.")
@click.option("--types", metavar="T,…", help="Only these types.")
@click.option("--limit", type=click.IntRange(min=1), help="How many at most.")
@click.option("--follow", "-f", is_flag=True, help="Go on with what comes, until Ctrl-C. With --json: one line each.")
@json_option
@click.pass_obj
def events_command(shell: Shell, /, follow: bool, as_json: bool, **query: Any) -> None:
    """Read the event feed. A reader that keeps the cursor misses nothing.

    \b
      relaybay events --follow
      relaybay events --follow --json --types message.sent,message.delivered
    """  # noqa: D301 - Click reads the escape.
    answer = shell.server.get("events", seconds=_ANSWER_SECONDS, **query)
    if not follow:
        if as_json:
            output.document(answer)
            return
        output.lines(_line(event) for event in answer.get("events", []))
        output.note(f"cursor {output.shown(answer.get('cursor', ''))}")
        return
    while True:
        for event in answer.get("events", []):
            if as_json:
                print(json.dumps({"v": 1, **event, "cursor": answer.get("cursor")}), flush=True)
            else:
                print(_line(event), flush=True)
        query["cursor"] = answer.get("cursor")
        answer = shell.server.get("events", seconds=_ANSWER_SECONDS, wait_s=WAIT_SECONDS, **query)


def _line(event: dict[str, Any]) -> str:
    data = output.shown(json.dumps(event.get("data", {}), ensure_ascii=False))
    return f"{output.shown(event.get('at', ''))}  {output.shown(event.get('type', ''))}  {data}"
