"""`relaybay project`: the projects that tasks belong to."""

from __future__ import annotations

from pathlib import Path

import click

from relaybay.cli import output
from relaybay.cli.options import json_option, show_done, show_list
from relaybay.cli.shell import Shell

_COLUMNS = (("slug", "SLUG"), ("open_tasks", "OPEN"), ("title", "TITLE"), ("root", "ROOT"))


@click.group("project")
def project_command() -> None:
    """List and add projects."""


@project_command.command("list")
@json_option
@click.pass_obj
def _list(shell: Shell, as_json: bool) -> None:
    """All projects."""
    empty = "No project yet. `relaybay project add SLUG --root DIR` adds one."
    answer = shell.server.get("projects")
    if not as_json:
        written = [
            row | {name: output.written(row.get(name)) for name in ("title", "root")} for row in answer["projects"]
        ]
        answer |= {"projects": written}
    show_list(answer, "projects", _COLUMNS, empty, as_json=as_json)


@project_command.command("add")
@click.argument("slug")
@click.option("--title", metavar="T", help="What to call it; the slug when left out.")
@click.option("--root", metavar="DIR", type=click.Path(path_type=Path), help="Its root folder.")
@json_option
@click.pass_obj
def _add(shell: Shell, slug: str, title: str | None, root: Path | None, as_json: bool) -> None:
    """Add a project. SLUG begins the keys of its tasks: acme-shop gives acme-shop-1."""
    shell.need_owner()
    folder = None if root is None else str(root.absolute())
    answer = shell.server.post("projects", slug=slug, title=title, root=folder)
    if root is not None and not root.is_dir():
        from relaybay.answers import word

        output.note("relaybay: " + word("cli.root_missing", root=output.shown(folder)).text)
    show_done(answer, f"Added project {slug}.", as_json=as_json)
