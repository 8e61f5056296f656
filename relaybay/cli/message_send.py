"""`relaybay message send`, `publish` and `broadcast`: what a script says, with a label and nothing else (table CLI).

They work without a terminal and inside an agent's shell: whoever sends so is a script, and nobody can answer it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from relaybay.cli import exits, output, parties, scripted
from relaybay.cli.options import json_option
from relaybay.cli.shell import Shell

F = TypeVar("F", bound=Callable[..., Any])
_LABEL = "script"
# A send has done its work once the message is with its session, or waits for it or for the owner.
_ARRIVING = frozenset({"sent", "held", "delivered", "read", "taken"})


def _text_options(command: F) -> F:
    """What the three have in common: TEXT, `--from`, `--request-id`, `--json`."""
    command = json_option(command)
    command = click.option("--request-id", metavar="ID", help="The same again sends nothing twice.")(command)
    label = click.option("--from", "label", metavar="L", default=_LABEL, show_default=True, help="Who says it.")
    return click.argument("text", required=False)(label(command))


@click.command("send")
@click.option("--to", required=True, metavar="NAME", help="An @name, with or without the @, or a ref (S-12).")
@_text_options
@click.pass_obj
def send_command(shell: Shell, to: str, text: str | None, label: str, request_id: str | None, as_json: bool) -> int:
    """Send TEXT, or what is piped in, to one session.

    \b
      relaybay message send --to brave-otter-quay "The build is green."
      make test 2>&1 | tail -50 | relaybay message send --to @ci-watcher --from ci

    Exit 0 when it was sent or is held for the owner's review, 1 when it will not arrive.
    """  # noqa: D301 - Click reads the escape.
    scripted.need_label(label)
    _need_address(to)
    body = scripted.text_of(text)
    with scripted.exit_codes():
        posted = {"to": to, "body": body, "from": label, "request_id": request_id}
        answer = shell.server.post("script", "messages", **posted)
    recipient = dict(answer.get("recipient") or {})
    reached = recipient | {"state": answer.get("state", "")}
    if answer.get("reason_code"):
        reached["reason_code"] = answer["reason_code"]
    arrives = answer.get("state") in _ARRIVING
    answer |= {"audience": {"kind": "direct"}, "recipients": [reached], "skipped": 0, "queued": []}
    if as_json:
        output.document(answer)
    else:
        _show(answer, "Sent" if arrives else "Not let in:")
        output.lines([f"  {output.shown(answer.get('text', ''))}"])
    return 0 if arrives else exits.FAILED


def _need_address(to: str) -> None:
    given = to.strip()
    if not (given[:2].upper() == "S-" and given[2:].isascii() and given[2:].isdigit()):
        scripted.need_name(given)


@click.command("publish")
@click.option("--topic", required=True, metavar="T", help="One topic, such as ci.failures; no wildcards.")
@_text_options
@click.pass_obj
def publish_command(
    shell: Shell, topic: str, text: str | None, label: str, request_id: str | None, as_json: bool
) -> None:
    """Publish TEXT, or what is piped in, to all sessions that subscribe to a topic.

    \b
      relaybay message publish --topic ci.failures --from ci "main is red: test_login"

    Exit 0 once it is recorded, even when nobody receives it.
    """  # noqa: D301 - Click reads the escape.
    scripted.need_topic(topic)
    _publish(shell, text, label, request_id, as_json=as_json, topic=topic)


@click.command("broadcast")
@_text_options
@click.pass_obj
def broadcast_command(shell: Shell, text: str | None, label: str, request_id: str | None, as_json: bool) -> None:
    """Publish TEXT, or what is piped in, to all sessions that receive broadcasts.

    \b
      relaybay message broadcast --from ops "The database is read-only until 18:00."

    Exit 0 once it is recorded, even when nobody receives it.
    """  # noqa: D301 - Click reads the escape.
    _publish(shell, text, label, request_id, as_json=as_json, broadcast=True)


def _publish(
    shell: Shell, text: str | None, label: str, request_id: str | None, *, as_json: bool, **audience: Any
) -> None:
    scripted.need_label(label)
    body = scripted.text_of(text)
    with scripted.exit_codes():
        posted = audience | {"body": body, "from": label, "request_id": request_id}
        answer = shell.server.post("script", "publications", **posted)
    if as_json:
        output.document(answer)
        return
    _show(answer, "Published")


def _show(answer: dict[str, Any], verb: str) -> None:
    """§ 6.4: one head line, one line per recipient, one per work item."""
    recipients = answer.get("recipients") or []
    count = f"{len(recipients)} recipient{'' if len(recipients) == 1 else 's'}"
    skipped = f", {answer['skipped']} skipped" if answer.get("skipped") else ""
    again = " (said before; nothing was sent again)" if answer.get("repeat") else ""
    head = f"{verb} {output.shown(answer.get('message_id', ''))}  {parties.audience(answer.get('audience') or {})}"
    output.lines([f"{head}  {count}{skipped}{again}", *parties.outcomes(recipients, "  ")])
    output.lines(
        f"  {output.shown(one.get('work', ''))}  queued for {output.shown(one.get('group', ''))}"
        for one in answer.get("queued") or []
    )
    if not recipients:
        output.note(output.shown(answer.get("text", "")))
