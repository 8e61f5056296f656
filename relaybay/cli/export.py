"""`relaybay export`: a task or a project as Markdown, on stdout."""

from __future__ import annotations

import sys

import click

from relaybay.cli import output
from relaybay.cli.options import json_option
from relaybay.cli.shell import Shell


@click.group("export")
def export_command() -> None:
    """Write a task or a project as Markdown: steps and comments with their marks, no message's text.

    \b
      relaybay export task acme-shop-12 > acme-shop-12.md
      relaybay export project acme-shop > acme-shop.md
    """  # noqa: D301 - Click reads the escape.


@export_command.command("task")
@click.argument("key", metavar="KEY")
@json_option
@click.pass_obj
def _task(shell: Shell, key: str, as_json: bool) -> None:
    """One task. KEY is its key, such as acme-shop-12."""
    _put(shell, "tasks", key, as_json=as_json)


@export_command.command("project")
@click.argument("slug", metavar="SLUG")
@json_option
@click.pass_obj
def _project(shell: Shell, slug: str, as_json: bool) -> None:
    """A project with all its tasks."""
    _put(shell, "projects", slug, as_json=as_json)


def _put(shell: Shell, kind: str, name: str, *, as_json: bool) -> None:
    answer = shell.server.get(kind, name, "export")
    if as_json:
        output.document(answer)
        return
    # As it is, for a file; nothing in it controls a terminal, since what cannot be seen is a sign with its number.
    sys.stdout.write(answer["markdown"])
