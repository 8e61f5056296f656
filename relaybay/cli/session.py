"""`relaybay session`: the sessions on the board, and what only their owner may do with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from relaybay.cli import exits, output, session_messaging
from relaybay.cli.exits import failure
from relaybay.cli.options import filter_option, json_option, show_list, show_thing
from relaybay.cli.reached import sentence
from relaybay.cli.shell import Shell, ask

COLUMNS = (
    ("ref", "REF"),
    ("title", "TITLE"),
    ("name", "NAME"),
    ("activity", "ACTIVITY"),
    ("link", "LINK"),
    ("unread_messages", "UNREAD"),
    ("last_seen_at", "LAST SEEN"),
)
MEMBERS = (
    *COLUMNS,
    ("kind", "KIND"),
    ("cwd", "FOLDER"),
    ("aliases", "ALIASES"),
    ("client", "CLIENT"),
    ("tasks", "TASKS"),
    ("reached", "REACHED"),
)


@click.group("session")
def session_command() -> None:
    """List, add, rename, end and unlink sessions, and decide what reaches them. S is a ref (S-12), a title or an @name.

    \b
      relaybay session list --live
      relaybay session add --desktop 7f3a… --title "Design review"
      relaybay session policy S-12 hold
      relaybay session subscribe @brave-otter-quay 'ci.**'
    """  # noqa: D301 - Click reads the escape.


for _command in session_messaging.COMMANDS:
    session_command.add_command(_command)


@session_command.command("list")
@click.option("--live", is_flag=True, help="Only those that live.")
@filter_option("state:idle has:undelivered")
@json_option
@click.pass_obj
def _list(shell: Shell, live: bool, q: str | None, as_json: bool) -> None:
    """All sessions, newest first."""
    answer = shell.server.get("sessions", live=live, q=q)
    show_list(answer, "sessions", COLUMNS, "No session yet. One appears with its first hook event.", as_json=as_json)


@session_command.command("show")
@click.argument("session", metavar="S")
@json_option
@click.pass_obj
def _show(shell: Shell, session: str, as_json: bool) -> None:
    """One session, with its messaging when channels are on."""
    answer = shell.server.get("sessions", session)
    if not as_json:
        messaging = answer.get("messaging")
        answer |= {"reached": _reached(answer)} | (session_messaging.shown(messaging) if messaging else {})
    show_thing(answer, (*MEMBERS, *session_messaging.MEMBERS), as_json=as_json)


@session_command.command("add")
@click.option("--desktop", metavar="ID", required=True, help="The desktop app's own id of the session.")
@click.option("--title", metavar="T", required=True, help="What to call it.")
@click.option("--alias", metavar="A", help="Another name for it.")
@click.option("--cwd", metavar="DIR", type=click.Path(path_type=Path), help="The folder it works in.")
@json_option
@click.pass_obj
def _add(shell: Shell, desktop: str, title: str, alias: str | None, cwd: Path | None, as_json: bool) -> None:
    """Add a desktop app's session, which has no hooks to report itself."""
    shell.need_owner()
    folder = None if cwd is None else str(cwd.absolute())
    answer = shell.server.post("sessions", desktop=desktop, title=title, alias=alias, cwd=folder)
    _say_changed(answer, f"Added {answer['ref']}: {answer['title']}", as_json=as_json)


@session_command.command("rename")
@click.argument("session", metavar="S")
@click.argument("title")
@json_option
@click.pass_obj
def _rename(shell: Shell, session: str, title: str, as_json: bool) -> None:
    """Give a session another title. The old one stays as an alias."""
    shell.need_owner()
    answer = shell.server.post("sessions", session, "rename", title=title)
    _say_changed(answer, f"{answer['ref']} is now called {answer['title']}", as_json=as_json)


@session_command.command("end")
@click.argument("session", metavar="S")
@json_option
@click.pass_obj
def _end(shell: Shell, session: str, as_json: bool) -> None:
    """Say that a session has ended. Its names are free again."""
    shell.need_owner()
    answer = shell.server.post("sessions", session, "end")
    _say_changed(answer, f"{answer.get('ref', session)} has ended.", as_json=as_json)


@session_command.command("unlink")
@click.argument("session", metavar="S")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_obj
def _unlink(shell: Shell, session: str, yes: bool, as_json: bool) -> None:
    """Take the conversation off a session: the way out of a wrong link. Only at a terminal."""
    shell.need_owner()
    shell.need_terminal("Unlinking a session")
    warning = (
        f"Unlink {session}? Its conversation is taken off it for good, and what was delivered and not read waits again."
    )
    if not yes and not ask(warning):
        raise failure("cli.declined", exits.FAILED)
    answer = shell.server.post("sessions", session, "unlink")
    _say_changed(answer, f"{answer.get('ref', session)} has no link any more.", as_json=as_json)


def _say_changed(answer: dict[str, Any], said: str, *, as_json: bool) -> None:
    """The row's own sentence is about how it can be reached: a word beside what was done."""
    if as_json:
        output.document(answer)
        return
    output.lines([output.shown(said)])
    output.note(_reached(answer))


def _reached(answer: dict[str, Any]) -> str:
    """How it can be reached, to its owner; the server's own sentence for a reason this command does not know."""
    said = sentence(str(answer.get("reach") or ""), output.shown(answer.get("title", "")))
    return said or output.shown(answer.get("text", ""))
