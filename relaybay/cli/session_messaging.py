"""`relaybay session policy`, `subscribe`, `unsubscribe`, `broadcasts`, `name`: what only the owner decides about a
session's messaging (OWN-5, OWN-8 to 10). Each refuses inside an agent's shell and without a terminal (CH-10).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from relaybay.cli import exits, output, scripted
from relaybay.cli.exits import Failure, failure
from relaybay.cli.options import json_option, show_done
from relaybay.cli.shell import Shell, ask

_POLICIES = ("accept", "auto", "hold", "refuse", "default")
_MESSAGING = "messaging"

MEMBERS = (
    ("name_chosen", "CHOSEN NAME"),
    ("policy_shown", "POLICY"),
    ("suppressed_shown", "SUPPRESSED"),
    ("topics_shown", "TOPICS"),
    ("broadcasts", "BROADCASTS"),
    ("held_shown", "HELD"),
)


def shown(found: Mapping[str, Any]) -> dict[str, Any]:
    """A session's messaging as a person reads it (`session show`, OWN-1)."""
    policy = found.get("policy") or {}
    own, floor = policy.get("own", "default"), policy.get("floor", "none")
    said = f"{policy.get('effective', '')} (its own: {own}, the default: {policy.get('default', '')}, floor: {floor}"
    if policy.get("file"):
        said += f" by {policy['file']}"
    said += ")" + (f"; {policy['problem']}" if policy.get("problem") else "")
    chosen = found.get("name_chosen") or ""
    holder = found.get("name_held_by") or {}
    if holder:
        chosen += f" (in use by {holder.get('title', '')}, {holder.get('ref', '')})"
    topics = found.get("topics") or []
    return {
        "name_chosen": chosen,
        "policy_shown": said,
        "suppressed_shown": "until its user types a prompt there" if found.get("suppressed") else "",
        "topics_shown": [*topics, f"({len(topics)} of {found.get('topics_max', '')})"] if topics else [],
        "broadcasts": "received" if found.get("broadcasts") else "not received",
        "held_shown": found["held"] if found.get("held") else "",
    }


def _need_person(shell: Shell, what: str) -> None:
    shell.need_owner()
    shell.need_terminal(what)


def _post(shell: Shell, session: str, control: str, **body: Any) -> dict[str, Any]:
    with scripted.switch():
        return shell.server.post("sessions", session, _MESSAGING, control, **body)


@click.command("policy")
@click.argument("session", metavar="S")
@click.argument("policy", type=click.Choice(_POLICIES))
@click.option("--yes", is_flag=True, help="Do not ask, even when the new policy is laxer.")
@json_option
@click.pass_obj
def policy_command(shell: Shell, session: str, policy: str, yes: bool, as_json: bool) -> None:
    """Which messages a session is given: all (accept), those of its own cohort (auto), none before you approved them
    (hold), none at all (refuse), or what the configuration says (default). Only at a terminal.
    """
    _need_person(shell, "A session's policy")
    if yes:
        show_done(_post(shell, session, "policy", policy=policy, confirmed=True), "Done.", as_json=as_json)
        return
    # Read before the question is asked: another policy or floor by the time of the answer makes it void (RELAX-3).
    with scripted.switch():
        seen = str(shell.server.get("sessions", session, _MESSAGING).get("seen", ""))
    try:
        answer = _post(shell, session, "policy", policy=policy, seen=seen)
    except Failure as refused:
        if refused.code != "confirmation_required":
            raise
        output.note(output.shown(refused.text))
        if not ask(f"Set the policy of {output.shown(session)} to {policy}?"):
            raise failure("cli.declined", exits.FAILED) from None
        answer = _post(shell, session, "policy", policy=policy, confirmed=True, seen=seen)
    show_done(answer, "Done.", as_json=as_json)


@click.command("subscribe")
@click.argument("session", metavar="S")
@click.argument("patterns", metavar="P…", nargs=-1, required=True)
@json_option
@click.pass_obj
def subscribe_command(shell: Shell, session: str, patterns: tuple[str, ...], as_json: bool) -> None:
    """Subscribe a session to topics: names, or patterns such as 'ci.*' and 'ci.**'. All of them or none. Only at a
    terminal.
    """
    _need_person(shell, "A session's topics")
    show_done(_post(shell, session, "topics", add=list(patterns)), "Done.", as_json=as_json)


@click.command("unsubscribe")
@click.argument("session", metavar="S")
@click.argument("patterns", metavar="P…", nargs=-1, required=True)
@json_option
@click.pass_obj
def unsubscribe_command(shell: Shell, session: str, patterns: tuple[str, ...], as_json: bool) -> None:
    """Take patterns from a session, each as it was written. All of them or none. Only at a terminal."""
    _need_person(shell, "A session's topics")
    show_done(_post(shell, session, "topics", remove=list(patterns)), "Done.", as_json=as_json)


@click.command("broadcasts")
@click.argument("session", metavar="S")
@click.argument("switch", type=click.Choice(["on", "off"]))
@json_option
@click.pass_obj
def broadcasts_command(shell: Shell, session: str, switch: str, as_json: bool) -> None:
    """Whether a session receives broadcasts. Only at a terminal."""
    _need_person(shell, "Whether a session receives broadcasts")
    show_done(_post(shell, session, "broadcasts", on=switch == "on"), "Done.", as_json=as_json)


@click.command("name")
@click.argument("session", metavar="S")
@click.argument("name", required=False)
@click.option("--clear", is_flag=True, help="Back to the generated name.")
@json_option
@click.pass_obj
def name_command(shell: Shell, session: str, name: str | None, clear: bool, as_json: bool) -> None:
    """Choose a session's @name, with or without the @. It is kept over ends and comes back. Only at a terminal."""
    if bool(name) == clear:
        raise click.UsageError("Give a name, or --clear.")
    _need_person(shell, "A session's name")
    show_done(_post(shell, session, "name", name=name or ""), "Done.", as_json=as_json)


COMMANDS = (policy_command, subscribe_command, unsubscribe_command, broadcasts_command, name_command)
