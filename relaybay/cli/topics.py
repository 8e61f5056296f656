"""`relaybay topics`: the topics there are, and how a session receives each (OWN-6)."""

from __future__ import annotations

from typing import Any

import click

from relaybay.cli import output, parties, scripted
from relaybay.cli.options import json_option
from relaybay.cli.shell import Shell

_COLUMNS = (("topic", "TOPIC"), ("count", "MESSAGES"), ("last_shown", "LAST"))
_RECEIVED = (*_COLUMNS, ("received_shown", "RECEIVED"))
_PEERS = (("title", "DIRECT WITH"), ("ref", "REF"), ("name", "NAME"), ("count", "MESSAGES"), ("last_shown", "LAST"))
_HOW = {"exact": "yes", "pattern": "by a pattern", "not": "no"}


@click.command("topics")
@click.option("--session", metavar="S", help="Also how this session receives each, and with whom it writes directly.")
@json_option
@click.pass_obj
def topics_command(shell: Shell, session: str | None, as_json: bool) -> None:
    """Topics with their counts, by last activity.

    \b
      relaybay topics --session @brave-otter-quay
    """  # noqa: D301 - Click reads the escape.
    with scripted.switch():
        answer = shell.server.get("channels", session=session)
    if as_json:
        output.document(answer)
        return
    topics = [_shown(one) for one in answer.get("topics") or []]
    if topics:
        output.lines(output.table(topics, _RECEIVED if session else _COLUMNS))
    else:
        output.note("No topic yet. One appears with the first message that is published to it.")
    output.lines([_broadcasts(answer.get("broadcasts") or {})])
    if answer.get("patterns"):
        output.lines([f"Subscribed to: {', '.join(map(output.shown, answer['patterns']))}"])
    peers = [_shown(one) for one in answer.get("conversations") or []]
    if peers:
        output.lines(["", *output.table(peers, _PEERS)])


def _shown(one: dict[str, Any]) -> dict[str, Any]:
    last = parties.local_time(str(one["last_at"])) if one.get("last_at") else ""
    return one | {"last_shown": last, "received_shown": _HOW.get(str(one.get("received")), "")}


def _broadcasts(found: dict[str, Any]) -> str:
    said = f"Broadcasts: {found.get('count', 0)}"
    if found.get("last_at"):
        said += f", the last at {parties.local_time(str(found['last_at']))}"
    if "received" in found:
        said += "; received" if found["received"] else "; not received"
    return said
