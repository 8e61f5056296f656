"""`relaybay message`: what sessions wrote to each other, with its marks."""

from __future__ import annotations

from typing import Any

import click

from relaybay.cli import output
from relaybay.cli.exits import Failure, failure
from relaybay.cli.options import filter_option, json_option, page_options, show_list
from relaybay.cli.reached import sentence
from relaybay.cli.shell import Shell

COLUMNS = (
    ("message_id", "ID"),
    ("sent_at", "SENT"),
    ("from_shown", "FROM"),
    ("to_shown", "TO"),
    ("state", "STATE"),
    ("reason_code", "WHY"),
)
_MARKS = ("sent_at", "delivered_at", "in_context_at", "read_at", "read_how", "reason_code", "task", "in_reply_to")


@click.group("message")
def message_command() -> None:
    """List and show messages.

    \b
      relaybay message list --session S-12 --unread
      relaybay message list -q "from:shop-web is:undelivered older:10m"
      relaybay message show m_01J…
    """  # noqa: D301 - Click reads the escape.


@message_command.command("list")
@click.option("--session", metavar="S", help="Only those from and to this session.")
@click.option("--box", type=click.Choice(["in", "out", "all"]), help="Only what the session got, or sent.")
@click.option("--unread", is_flag=True, help="Only unread ones.")
@click.option("--task", metavar="KEY", help="Only those about this task.")
@filter_option("from:shop-web is:undelivered older:10m")
@page_options
@json_option
@click.pass_obj
def _list(shell: Shell, /, unread: bool, as_json: bool, **query: Any) -> None:
    """Messages, newest first, without their text (--json has it)."""
    answer = shell.server.get("messages", unread_only=unread, **query)
    if not as_json:
        rows = [m | {"from_shown": _who(m, "from"), "to_shown": _who(m, "to")} for m in answer.get("messages", [])]
        answer |= {"messages": rows}
    show_list(answer, "messages", COLUMNS, "No message here.", as_json=as_json)


@message_command.command("show")
@click.argument("message", metavar="ID")
@json_option
@click.pass_obj
def _show(shell: Shell, message: str, as_json: bool) -> None:
    """One message with its text and marks."""
    try:
        answer = shell.server.get("messages", message)
    except Failure as refused:
        if refused.code != "message_unknown":
            raise
        raise failure("cli.message_unknown", refused.exit_code) from None
    if as_json:
        output.document(answer)
        return
    shown = output.shown
    output.lines([f"{shown(answer.get('message_id', message))}  {shown(answer.get('state', ''))}"])
    verified = "" if (answer.get("from") or {}).get("verified", True) else " (name not verified)"
    output.lines([f"from {shown(_who(answer, 'from'))}{verified} to {shown(_who(answer, 'to'))}"])
    why = sentence(answer.get("reason_code") or "", shown(_who(answer, "to")))
    output.lines([why] if why else [])
    output.lines(f"{name} {shown(answer[name])}" for name in _MARKS if answer.get(name) not in (None, ""))
    output.lines(["", *output.body(output.written(answer.get("body")))])


def _who(message: dict[str, Any], end: str) -> str:
    party = message.get(end) or {}
    return str(party.get("title") or party.get("name") or party.get("ref") or "")
