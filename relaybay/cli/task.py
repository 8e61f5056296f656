"""`relaybay task` and `relaybay comment`: the cards of the board, and the owner's word on them."""

from __future__ import annotations

from typing import Any

import click

from relaybay.cli import exits, output
from relaybay.cli.exits import Failure, failure
from relaybay.cli.options import filter_option, json_option, page_options, show_done, show_list
from relaybay.cli.shell import Shell, read_text

STATUSES = ("inbox", "todo", "doing", "review", "done", "dropped")
COLUMNS = (
    ("key", "KEY"),
    ("status", "STATUS"),
    ("session_shown", "SESSION"),
    ("unread_comments", "UNREAD"),
    ("title", "TITLE"),
)
_STATUS = click.Choice(STATUSES)


@click.group("task")
def task_command() -> None:
    """List, show, create, change and bind tasks.

    \b
      relaybay task create "Fix the login" --project acme-shop
      relaybay task bind acme-shop-1 S-12
      relaybay task update acme-shop-1 --status doing
    """  # noqa: D301 - Click reads the escape.


@task_command.command("list")
@click.option("--project", metavar="SLUG", help="Only this project's (default: project.slug of the configuration).")
@click.option("--status", type=_STATUS, help="Only those that are there.")
@click.option("--session", metavar="S", help="Only those bound to this session.")
@filter_option("cart status:doing is:unread")
@page_options
@json_option
@click.pass_obj
def _list(shell: Shell, /, project: str | None, as_json: bool, **query: Any) -> None:
    """Tasks, newest first.

    \b
      relaybay task list -q "cart status:doing,review is:undelivered"
      relaybay task list -q "older:3d -status:done sort:updated"
    """  # noqa: D301 - Click reads the escape.
    # A filter may name a project of its own.
    own = "" if "project:" in (query["q"] or "") else shell.settings.project_slug
    answer = shell.server.get("tasks", project=project or own or None, **query)
    if not as_json:
        answer |= {"tasks": [_shown(task) for task in answer["tasks"]]}
    show_list(answer, "tasks", COLUMNS, "No task here. `relaybay task create TITLE` makes one.", as_json=as_json)


@task_command.command("show")
@click.argument("task", metavar="KEY")
@json_option
@click.pass_obj
def _show(shell: Shell, task: str, as_json: bool) -> None:
    """One task, with its steps."""
    answer = shell.server.get("tasks", task)
    if as_json:
        output.document(answer)
        return
    shown, written = output.shown, output.written
    output.lines([f"{answer['key']}  {shown(written(answer['title']))}"])
    output.lines([f"status {answer['status']}, session {shown(_session(answer) or 'none')}"])
    for step in answer["steps"]:
        output.lines([f"  [{'x' if step['done'] else ' '}] {step['n']} {shown(written(step['text']))}"])
    if written(answer.get("body")):
        output.lines(["", *output.body(written(answer["body"]))])
    for comment in reversed(answer.get("comments", [])):
        output.lines(["", _head(comment), *output.body(written(comment["body"]))])


@task_command.command("create")
@click.argument("title")
@click.option("--project", metavar="SLUG", help="Where it belongs (default: project.slug of the configuration).")
@click.option("--body", metavar="TEXT", help="Its text in Markdown; - reads stdin.")
@click.option("--status", type=_STATUS, help="Where it begins.")
@json_option
@click.pass_obj
def _create(shell: Shell, title: str, project: str | None, body: str | None, status: str | None, as_json: bool) -> None:
    """Make a task. A project nobody has is made with it."""
    shell.need_owner()
    slug = project or shell.settings.project_slug
    if not slug:
        raise failure("cli.project_needed", exits.BAD_INPUT)
    text = None if body is None else read_text(body)
    answer = shell.server.post("tasks", project=slug, title=title, body=text, status=status)
    _tell_new_project(shell, slug, answer)
    show_done(answer, f"Created {answer.get('key', '')}.", as_json=as_json)


def _tell_new_project(shell: Shell, slug: str, task: dict[str, Any]) -> None:
    """Says that the project came to be with its first task: nobody may have meant that."""
    if task.get("key") != f"{slug}-1" or "created_at" not in task:
        return
    try:
        projects = shell.server.get("projects").get("projects", [])
    except Failure:  # The task is made, and that is what was asked.
        return
    # Both were made by one commit, so they are of one time; a project that stood before is older.
    if any(each["slug"] == slug and each["created_at"] == task["created_at"] for each in projects):
        from relaybay.answers import word

        known = ", ".join(sorted(each["slug"] for each in projects if each["slug"] != slug)) or "no others"
        output.note("relaybay: " + word("cli.project_made", project=slug, task=task["key"], known=known).text)


@task_command.command("update")
@click.argument("task", metavar="KEY")
@click.option("--title", metavar="T", help="Another title.")
@click.option("--body", metavar="TEXT", help="Another text; - reads stdin.")
@click.option("--status", type=_STATUS, help="Move it there.")
@click.option("--step-add", metavar="TEXT", help="Add a step at the end.")
@click.option("--step-done", metavar="N", type=click.IntRange(min=1), help="Tick this step.")
@click.option("--step-undone", metavar="N", type=click.IntRange(min=1), help="Take its tick away.")
@json_option
@click.pass_obj
def _update(shell: Shell, /, task: str, body: str | None, as_json: bool, **changes: Any) -> None:
    """Change a task."""
    shell.need_owner()
    if body is None and all(value is None for value in changes.values()):
        raise failure("cli.nothing_to_change", exits.USAGE)
    answer = shell.server.post("tasks", task, body=None if body is None else read_text(body), **changes)
    show_done(answer, f"Changed {task}.", as_json=as_json)


@task_command.command("bind")
@click.argument("task", metavar="KEY")
@click.argument("session", metavar="S")
@json_option
@click.pass_obj
def _bind(shell: Shell, task: str, session: str, as_json: bool) -> None:
    """Bind a task to a session: its agent gets the comments on it."""
    shell.need_owner()
    answer = shell.server.post("tasks", task, "bind", session=session)
    show_done(answer, f"{task} is bound to {session}.", as_json=as_json)


@task_command.command("unbind")
@click.argument("task", metavar="KEY")
@json_option
@click.pass_obj
def _unbind(shell: Shell, task: str, as_json: bool) -> None:
    """Bind a task to nobody: its comments wait."""
    shell.need_owner()
    show_done(shell.server.post("tasks", task, "unbind"), f"{task} is bound to nobody.", as_json=as_json)


@click.command("comment")
@click.argument("task", metavar="TASK")
@click.argument("text", metavar="TEXT|-")
@click.option("--in-reply-to", metavar="ID", help="The comment that this one answers.")
@click.option("--step", metavar="N", type=click.IntRange(min=1), help="The step that it is about.")
@click.option("--attachment", metavar="N", help="The file of the task that it is about, by its number.")
@json_option
@click.pass_obj
def comment_command(
    shell: Shell, task: str, text: str, in_reply_to: str | None, step: int | None, attachment: str | None, as_json: bool
) -> None:
    """Comment on a task: the agent of the session bound to it gets the text.

    \b
      relaybay comment acme-shop-1 "Use the existing form, please."
      git diff | relaybay comment acme-shop-1 -
    """  # noqa: D301 - Click reads the escape.
    shell.need_owner()
    about = {"in_reply_to": in_reply_to, "step": step, "attachment": attachment}
    answer = shell.server.post("tasks", task, "comments", body=read_text(text), **about)
    said = f"Commented on {task} ({answer.get('id', '')}): {answer.get('state', 'sent')}"
    reason = answer.get("reason_code")
    show_done(answer, f"{said}, {reason}." if reason else f"{said}.", as_json=as_json)


def _head(comment: dict[str, Any]) -> str:
    """The line above a comment's text: whose, since when, and its mark with the reason where it still waits."""
    author = comment["author"]
    who = author.get("title") or author["kind"]
    verified = "" if author.get("verified", True) else " (name not verified)"
    reason = f", {comment['reason']}" if comment.get("reason") else ""
    return output.shown(f"{comment['id']} {who}{verified} {comment['created_at']} {comment['state']}{reason}")


def _shown(task: dict[str, Any]) -> dict[str, Any]:
    return task | {"session_shown": _session(task), "title": output.written(task["title"])}


def _session(task: dict[str, Any]) -> str:
    session = task.get("session") or {}
    return f"{session.get('ref', '')} {session.get('title', '')}".strip()
