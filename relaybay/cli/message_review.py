"""`relaybay message held`, `review`, `approve`, `reject`: the owner's decision about one held message (OWN-2 to 4).

Only opening a review gives a token, a decision needs it, and there is no batch. What a message says is shown to a
person at a terminal alone; an agent's shell is refused (CH-10).
"""

from __future__ import annotations

from typing import Any

import click

from relaybay.cli import output, parties, scripted
from relaybay.cli.options import json_option
from relaybay.cli.shell import Shell

_COLUMNS = (
    ("message_id", "ID"),
    ("held_shown", "HELD SINCE"),
    ("from_shown", "FROM"),
    ("to_shown", "TO"),
    ("audience_shown", "AUDIENCE"),
    ("reason_code", "WHY"),
)
_session_option = click.option("--session", metavar="S", default="", help="At which session, where several hold it.")
_token_option = click.option("--review", "token", required=True, metavar="TOKEN", help="What `message review` printed.")


@click.command("held")
@click.option("--session", metavar="S", help="Only what is held for this session.")
@json_option
@click.pass_obj
def held_command(shell: Shell, session: str | None, as_json: bool) -> None:
    """What waits for your decision, oldest first, without any text."""
    with scripted.exit_codes():
        answer = shell.server.get("held", session=session)
    scripted.note_switch(answer, anything=bool(answer.get("held")))
    if as_json:
        output.document(answer)
        return
    rows = [one | _shown(one) for one in answer.get("held") or []]
    if not rows:
        output.note("Nothing is held.")
        return
    output.lines(output.table(rows, _COLUMNS))
    output.note("relaybay message review ID shows one, and gives the token to approve or reject it.")


def _shown(one: dict[str, Any]) -> dict[str, str]:
    # Made visible already; in the table's cells a second time changes nothing.
    return {
        "held_shown": parties.local_time(str(one.get("held_at", ""))),
        "from_shown": parties.sender(one.get("from") or {}),
        "to_shown": parties.to(one.get("recipient") or {}),
        "audience_shown": parties.audience(one.get("audience") or {}),
    }


def _need_person(shell: Shell, what: str) -> None:
    shell.need_owner()
    shell.need_terminal(what)


@click.command("review")
@click.argument("message", metavar="ID")
@_session_option
@json_option
@click.pass_obj
def review_command(shell: Shell, message: str, session: str, as_json: bool) -> None:
    """Open the review of one held message: its text, who wrote it, why it is held. Only at a terminal.

    It prints the token that approve and reject take. The token is void as soon as the session's mode, folder, link or
    policy changes; then open the review again.
    """
    _need_person(shell, "The review of a held message")
    with scripted.exit_codes():
        answer = shell.server.post("messages", message, "review", session=session)
    if as_json:
        output.document(answer)
        return
    shown = output.shown
    recipient = answer.get("recipient") or {}
    facts = [
        ("from", parties.sender(answer.get("from") or {})),
        ("to", f"{parties.to(recipient)} {shown(recipient.get('ref', ''))}"),
        ("audience", parties.audience(answer.get("audience") or {})),
        ("sent", parties.local_time(str(answer.get("sent_at", "")))),
        ("folder", shown(answer.get("folder") or "not known")),
        ("mode", shown(answer.get("mode") or "not known")),
        ("task", shown(answer.get("task", ""))),
        ("answers", shown(answer.get("in_reply_to", ""))),
        ("held", f"{shown(answer.get('reason_code', ''))}: {shown(answer.get('reason', ''))}"),
        ("policy", shown(answer.get("policy", ""))),
        ("token", shown(answer.get("token", ""))),
    ]
    output.lines([f"{shown(answer.get('message_id', message))}  {shown(answer.get('state', ''))}"])
    output.lines(f"{name.ljust(8)}  {value}" for name, value in facts if value.strip())
    output.lines(["", *output.body(output.written(answer.get("body")), "    "), ""])
    if answer.get("blocked_by"):
        output.note(f"It can't be approved now ({shown(answer['blocked_by'])}); it can be rejected.")
    output.note(shown(answer.get("text", "")))


@click.command("approve")
@click.argument("message", metavar="ID")
@_token_option
@_session_option
@json_option
@click.pass_obj
def approve_command(shell: Shell, message: str, token: str, session: str, as_json: bool) -> None:
    """Let this one message through, once. Only at a terminal."""
    _decide(shell, "approve", message, token, session, as_json=as_json)


@click.command("reject")
@click.argument("message", metavar="ID")
@_token_option
@_session_option
@json_option
@click.pass_obj
def reject_command(shell: Shell, message: str, token: str, session: str, as_json: bool) -> None:
    """Keep this message from its session for good. Only at a terminal."""
    _decide(shell, "reject", message, token, session, as_json=as_json)


def _decide(shell: Shell, event: str, message: str, token: str, session: str, *, as_json: bool) -> None:
    _need_person(shell, "Approving or rejecting a message")
    with scripted.exit_codes():
        answer = shell.server.post("messages", message, event, review=token, session=session)
    if as_json:
        output.document(answer)
        return
    output.lines([output.shown(answer.get("text", ""))])
    after = answer.get("next") or {}
    if after:
        told = f"{output.shown(after.get('message_id', ''))} --session {output.shown(after.get('session', ''))}"
        output.note(f"Next: relaybay message review {told}")
