"""Options that several commands share, and lists printed the same way everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from relaybay.cli import output

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """`--json`: one document on stdout instead of lines."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")(command)


def filter_option(example: str) -> Callable[[F], F]:
    """`--query`: the filter of the board's address bar; what is wrong with it is said with its place."""
    return click.option("--query", "-q", "q", metavar="FILTER", help=f'Only those that fit, as in -q "{example}".')


def page_options(command: F) -> F:
    """`--limit` and `--before`, for lists that are newest first."""
    command = click.option("--before", metavar="ID", help="Only what is older than this one.")(command)
    return click.option("--limit", type=click.IntRange(min=1), help="How many at most.")(command)


def show_list(
    answer: Mapping[str, Any], name: str, columns: Sequence[tuple[str, str]], empty: str, *, as_json: bool
) -> None:
    """A list answer: the whole document, or a table with a word on how to go on."""
    if as_json:
        output.document(answer)
        return
    rows = answer.get(name, [])
    if not rows:
        output.note(empty)
        return
    output.lines(output.table(rows, columns))
    if answer.get("before"):
        output.note(f"There is more: --before {output.shown(answer['before'])}")


def show_thing(answer: Mapping[str, Any], members: Sequence[tuple[str, str]], *, as_json: bool) -> None:
    """One thing: the whole document, or a line per member that it has."""
    if as_json:
        output.document(answer)
        return
    given = [(heading, answer[member]) for member, heading in members if answer.get(member) not in (None, "", [])]
    width = max((len(heading) for heading, _ in given), default=0)
    output.lines(f"{heading.ljust(width)}  {_text(value)}" for heading, value in given)


def _text(value: Any) -> str:
    return ", ".join(output.shown(each) for each in value) if isinstance(value, list) else output.shown(value)


def show_done(answer: Mapping[str, Any], said: str, *, as_json: bool) -> None:
    """What a writing command did: the document, or the server's own sentence, else ours."""
    for warning in answer.get("warnings") or []:
        output.note(f"relaybay: {output.shown(warning.get('text', ''))}")
    if as_json:
        output.document(answer)
    else:
        output.lines([output.shown(answer.get("text") or said)])
