"""`relaybay automation`: the owner's rules that answer messages; they are written in `automations.toml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from relaybay.cli import exits, output
from relaybay.cli.options import json_option, page_options, show_list
from relaybay.cli.shell import Shell

COLUMNS = (
    ("name", "NAME"),
    ("session", "SESSION"),
    ("does", "DOES"),
    ("consume", "CONSUMES"),
    ("firings_per_hour", "PER HOUR"),
    ("cool_down_seconds", "COOL-DOWN"),
    ("so_far", "SO FAR"),
)
FIRINGS = (
    ("id", "ID"),
    ("queued_at", "QUEUED"),
    ("automation", "AUTOMATION"),
    ("message_id", "MESSAGE"),
    ("for", "SESSION"),
    ("state", "STATE"),
    ("reason", "REASON"),
)


@click.group("automation")
def automation_command() -> None:
    """Check automations.toml, list the rules in use, see what they did.

    \b
      relaybay automation check
      relaybay automation log --rule ci-triage
    """  # noqa: D301 - Click reads the escape.


@automation_command.command("check")
@click.option("--file", "file", type=click.Path(path_type=Path), help="Another file than the one in use.")
@json_option
@click.pass_obj
def _check(shell: Shell, file: Path | None, as_json: bool) -> int:
    """Read the rules as the server would at its start, and say what is wrong, with file and line."""
    from relaybay.service.automation_rules import read_book

    path = shell.paths.automations if file is None else file.absolute()
    book = read_book(path)
    if as_json:
        names = [rule.name for rule in book.rules]
        output.document({"file": str(path), "automations": names, "problems": list(book.problems)})
    elif book.problems:
        output.lines(output.shown(problem) for problem in book.problems)
        output.note("None of the rules is used as long as one of them is wrong.")
    elif not book.rules:
        output.note(f"{output.shown(path)} has no rules." if path.exists() else f"There is no {output.shown(path)}.")
    else:
        output.lines([f"{len(book.rules)} rules, nothing wrong: " + ", ".join(rule.name for rule in book.rules)])
        output.note("A running server goes by what it read when it started.")
    return exits.CONFIG if book.problems else 0


@automation_command.command("list")
@json_option
@click.pass_obj
def _list(shell: Shell, as_json: bool) -> None:
    """The rules that the running server goes by."""
    answer = shell.server.get("automations")
    if as_json:
        output.document(answer)
        return
    for problem in answer.get("problems") or []:
        output.note(output.shown(problem))
    shown = answer | {"automations": [_shown(rule) for rule in answer["automations"]]}
    show_list(shown, "automations", COLUMNS, output.shown(answer.get("text", "")), as_json=False)


def _shown(rule: dict[str, Any]) -> dict[str, Any]:
    counts = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in rule["firings"].items())
    return rule | {"does": ", ".join(rule["actions"]), "so_far": counts}


@automation_command.command("log")
@click.option("--rule", metavar="NAME", help="Only of this rule.")
@page_options
@json_option
@click.pass_obj
def _log(shell: Shell, rule: str | None, limit: int | None, before: str | None, as_json: bool) -> None:
    """What set off the rules, newest first, and how each ended."""
    answer = shell.server.get("automations", "log", rule=rule, limit=limit, before=before)
    if not as_json:
        shown = [one | {"for": one["session"].get("ref") or one["session"]["title"]} for one in answer["firings"]]
        answer = answer | {"firings": shown}
    show_list(answer, "firings", FIRINGS, "Nothing has set off a rule yet.", as_json=as_json)
