"""Tasks and projects as Markdown (page 40, export): front matter, steps, comments with their marks, no message's text.

Whatever somebody else wrote stands where no reader of Markdown finds markup in it: a line as inline code, a text as a
block of code with a fence longer than any in it. So no text can forge a heading, a mark or a comment, load an image, or
call a function of the program that shows the file; and what nobody would see in it is made visible. The same rows give
the same bytes: nothing here depends on when it is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from relaybay.rules.text import literal

_ESCAPE = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\u([0-9a-f]{4})|\\(.)")
_SHORT = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "r": "[U+000D]", "b": "[U+0008]", "f": "[U+000C]"}
_SHOWN = "<>&"
_BACKTICKS = re.compile("`+")
_FENCE_MIN = 3
_YAML_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


@dataclass(frozen=True, slots=True)
class Who:
    """An author or a recipient: `ref` is empty where the row is gone. The owner is None, wherever one is asked for."""

    title: str
    ref: str
    verified: bool = True


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark of a comment: its name, its time as text, and what is said of it (`by tool`, `verified`)."""

    name: str
    at: str
    note: str = ""
    to: Who | None = None


@dataclass(frozen=True, slots=True)
class CommentPart:
    """One comment. `step` 0, and an empty `in_reply_to` and `attachment`, where it has none."""

    id: str
    author: Who | None
    state: str
    marks: Sequence[Mark]
    body: str
    in_reply_to: str = ""
    step: int = 0
    attachment: str = ""


@dataclass(frozen=True, slots=True)
class FilePart:
    """One attachment."""

    name: str
    media_type: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class TaskPart:
    """One task with all of it. `author`: `owner`, a session's ref, or `unnamed`; `session` the one bound to it."""

    key: str
    project: str
    title: str
    status: str
    author: str
    session: Who | None
    created: str
    updated: str
    body: str
    steps: Sequence[tuple[int, str, bool]]
    files: Sequence[FilePart]
    comments: Sequence[CommentPart]


@dataclass(frozen=True, slots=True)
class ProjectPart:
    """A project with its tasks in the order of their numbers; `left_out` counts those that are not in the export."""

    slug: str
    title: str
    root: str
    created: str
    tasks: Sequence[TaskPart]
    left_out: int = 0


def task_document(task: TaskPart) -> str:
    """The task as one Markdown document."""
    matter = [
        ("key", task.key),
        ("project", _plain(task.project)),
        ("title", _quoted(task.title)),
        *_task_facts(task),
    ]
    return _joined([*_front(matter), f"# {task.key}: {code(task.title)}", "", *_task_body(task, "##")])


def project_document(project: ProjectPart) -> str:
    """The project and all its tasks as one Markdown document."""
    matter = [
        ("project", _plain(project.slug)),
        ("title", _quoted(project.title)),
        *([("root", _quoted(project.root))] if project.root else []),
        ("created", project.created),
        ("tasks", str(len(project.tasks) + project.left_out)),
        *([("left_out", str(project.left_out))] if project.left_out else []),
    ]
    lines = [*_front(matter), f"# {project.slug}: {code(project.title)}", ""]
    for task in project.tasks:
        lines += [f"## {task.key}: {code(task.title)}", ""]
        lines += [f"- {name}: {value}" for name, value in _task_facts(task, inline=True)]
        lines += ["", *_task_body(task, "###")]
    return _joined(lines)


def shown(text: str) -> str:
    """The text with every character that nobody would see as a sign with its number, as the board shows it."""

    def put(match: re.Match[str]) -> str:
        high, low, one, short = match.groups()
        if short is not None:
            return _SHORT[short]
        if one is None:
            return f"[U+{0x10000 + (int(high, 16) - 0xD800 << 10) + int(low, 16) - 0xDC00:04X}]"
        return chr(int(one, 16)) if chr(int(one, 16)) in _SHOWN else f"[U+{int(one, 16):04X}]"

    return _ESCAPE.sub(put, literal(text)[1:-1])


def code(text: str) -> str:
    """One line of somebody's text as inline code, whatever stands in it."""
    line = " ".join(shown(text).split()) or "-"
    ticks = "`" * (_longest(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def block(text: str) -> list[str]:
    """Somebody's text as a block of code, line by line; nothing where there is none."""
    if not text:
        return []
    fence = "`" * max(_longest(text) + 1, _FENCE_MIN)
    return [f"{fence}markdown", *shown(text).split("\n"), fence, ""]


def _longest(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def _quoted(text: str) -> str:
    """A scalar of the front matter. What cannot be seen is a sign in it, so quote and backslash are all to escape."""
    line = " ".join(shown(text).split()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{line}"'


def _plain(slug: str) -> str:
    """A slug as a scalar: quoted where YAML would take it for a number, a date, a truth or nothing."""
    return f'"{slug}"' if slug[0].isdigit() or slug in _YAML_WORDS else slug


def _front(matter: Iterable[tuple[str, str]]) -> list[str]:
    return ["---", *(f"{name}: {value}" for name, value in matter), "---", ""]


def _task_facts(task: TaskPart, *, inline: bool = False) -> list[tuple[str, str]]:
    text = code if inline else _quoted
    facts = [("status", task.status), ("author", task.author)]
    if task.session is not None:
        facts += [("session", task.session.ref), ("session_title", text(task.session.title))]
    return [*facts, ("created", task.created), ("updated", task.updated)]


def _task_body(task: TaskPart, head: str) -> list[str]:
    lines = block(task.body)
    if task.steps:
        lines += [f"{head} Steps", ""]
        lines += [f"- [{'x' if done else ' '}] {n}: {code(text)}" for n, text, done in task.steps]
        lines += [""]
    if task.files:
        lines += [f"{head} Attachments", ""]
        lines += [
            f"- {code(file.name)}: {code(file.media_type)}, {file.size_bytes} bytes, sha256 {file.sha256}"
            for file in task.files
        ]
        lines += [""]
    if task.comments:
        lines += [f"{head} Comments", ""]
        for comment in task.comments:
            lines += _comment(comment, f"{head}#")
    return lines


def _comment(comment: CommentPart, head: str) -> list[str]:
    lines = [f"{head} {comment.id}", "", f"- author: {_who(comment.author)}"]
    if comment.in_reply_to:
        lines.append(f"- in reply to: {comment.in_reply_to}")
    if comment.step:
        lines.append(f"- on step: {comment.step}")
    if comment.attachment:
        lines.append(f"- on file: {code(comment.attachment)}")
    lines.append(f"- state: {comment.state}")
    for mark in comment.marks:
        to = f" to {_who(mark.to)}" if mark.to is not None else ""
        note = f", {mark.note}" if mark.note else ""
        lines.append(f"- {mark.name}: {mark.at}{to}{note}")
    return [*lines, "", *block(comment.body)]


def _who(who: Who | None) -> str:
    if who is None:
        return "owner"
    ref = f" ({who.ref})" if who.ref else ""
    return f"{code(who.title)}{ref}{'' if who.verified else ', name not verified'}"


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"
