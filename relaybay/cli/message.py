"""`relaybay message`: what sessions and scripts write, with its marks; the commands of channels hang below it."""

from __future__ import annotations

from typing import Any

import click

from relaybay.cli import message_log, message_review, message_send, output, parties
from relaybay.cli.exits import Failure, failure
from relaybay.cli.options import filter_option, json_option, page_options, show_list
from relaybay.cli.reached import kept_out, sentence
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
    """List, show, send, publish and review messages.

    \b
      relaybay message list --session S-12 --unread
      relaybay message list -q "from:shop-web is:undelivered older:10m"
      relaybay message show m_01J…
      relaybay message send --to @ci-watcher "The build is green."
      relaybay message log --topic 'ci.**'
    """  # noqa: D301 - Click reads the escape.


for _command in (
    message_send.send_command,
    message_send.publish_command,
    message_send.broadcast_command,
    message_log.log_command,
    message_review.held_command,
    message_review.review_command,
    message_review.approve_command,
    message_review.reject_command,
):
    message_command.add_command(_command)


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
    rows = answer.get("messages", [])
    if shell.of_agent:
        rows = [parties.withhold(message) for message in rows]
    if not as_json:
        rows = [m | {"from_shown": _sender(m), "to_shown": _recipient(m)} for m in rows]
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
    if shell.of_agent:
        answer = parties.withhold(answer)
    if as_json:
        output.document(answer)
        return
    shown = output.shown
    output.lines([f"{shown(answer.get('message_id', message))}  {shown(answer.get('state', ''))}"])
    verified = "" if (answer.get("from") or {}).get("verified", True) or _by_script(answer) else " (name not verified)"
    output.lines([f"from {shown(_sender(answer))}{verified} to {shown(_recipient(answer))}"])
    code = answer.get("reason_code") or ""
    why = sentence(code, shown(_who(answer, "to"))) or kept_out(answer.get("state") or "", code)
    output.lines([why] if why and not answer.get("recipients") else [])
    output.lines(f"{name} {shown(answer[name])}" for name in _MARKS if answer.get(name) not in (None, ""))
    text = [f"  {parties.WITHHELD}"] if answer.get("withheld") else output.body(output.written(answer.get("body")))
    output.lines(["", *text])
    output.lines(parties.outcomes(answer.get("recipients") or [], "  -> "))


def _who(message: dict[str, Any], end: str) -> str:
    party = message.get(end) or {}
    return str(party.get("title") or party.get("name") or party.get("ref") or "")


def _by_script(message: dict[str, Any]) -> bool:
    return bool((message.get("from") or {}).get("script"))


def _sender(message: dict[str, Any]) -> str:
    return _who(message, "from") + (" (script)" if _by_script(message) else "")


def _recipient(message: dict[str, Any]) -> str:
    """To whom it went, and by which channel when it was published."""
    audience = message.get("audience") or {}
    if audience.get("kind", "direct") == "direct":
        return _who(message, "to")
    channel = parties.audience(audience)
    return f"{_who(message, 'to')} ({channel})" if message.get("to") else channel
