"""The plan that takes relaybay out of Claude Code's files again. Pure.

While a file is byte for byte as setup left it, the old bytes come back. Otherwise somebody has written to it
since, so only our entries go, with the containers that setup made and that are empty; the plan says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from relaybay.setup import words
from relaybay.setup.claude_bare import without_hooks, without_server
from relaybay.setup.claude_code import CLIENT, PLAIN_MODE
from relaybay.setup.claude_edits import server_path
from relaybay.setup.json_read import NotJsonError
from relaybay.setup.values import ClaudeFiles, FileEdit, FileNow, Install, Note, Plan, Refusal

Bare = Callable[[FileNow], bytes | None]


def plan_undo_claude_code(files: ClaudeFiles, install: Install) -> Plan | Refusal:
    """What `relaybay setup claude-code --uninstall` would change, for the scope that the files were read for.

    Refusals: `settings_not_json` for a file that was changed since and can no longer be read.
    """
    edits: list[FileEdit] = []
    notes: list[Note] = []
    forget: list[str] = []
    for now, bare in _parts(files, install):
        if now.record is not None:
            forget.append(now.path)
        if now.data is None:
            continue
        try:
            after, said = _after(now, now.data, bare)
        except NotJsonError as error:
            text = words.not_json(now.path, error.reason, error.line, error.column)
            return Refusal("settings_not_json", text, now.path)
        mode = _mode(now)
        if after == now.data and mode == now.mode:
            continue
        if said is not None:
            notes.append(said)
        edits.append(FileEdit(now.path, now.data, after, mode, now.mode, None))
    return Plan(
        kind="undo",
        client=CLIENT,
        scope_id=files.scope_id,
        edits=tuple(edits),
        notes=tuple(notes),
        forget=tuple(forget),
        secrets=(install.token, install.hook_key),
    )


def _parts(files: ClaudeFiles, install: Install) -> list[tuple[FileNow, Bare]]:
    """The files of the scope, each with the function that takes our entries out of it."""
    project = files.scope == "project"
    server = server_path(files.project_key if files.scope == "local" else None)
    parts: list[tuple[FileNow, Bare]] = [
        (files.mcp_json if project else files.claude_json, lambda now: without_server(now, install, server)),
        (
            files.settings if files.scope == "user" else files.local_settings,
            lambda now: without_hooks(now, token=project),
        ),
    ]
    if project and files.git_exclude is not None and files.git_exclude.record is not None:
        parts.append((files.git_exclude, lambda now: _without_line(now, files.exclude_line)))
    return parts


def _without_line(now: FileNow, line: str) -> bytes | None:
    lines = (now.data or b"").splitlines(keepends=True)
    return b"".join(each for each in lines if each.strip() != line.encode())


def _after(now: FileNow, data: bytes, bare: Bare) -> tuple[bytes | None, Note | None]:
    """What the file becomes (None: it goes), and what to say about it."""
    record = now.record
    if record is None:
        return bare(now), None
    if hashlib.sha256(data).hexdigest() != record.sha256_after:
        return bare(now), Note("only_ours_removed", words.only_ours_removed(now.path))
    if record.baseline_lost:
        return bare(now), Note("backup_gone", words.backup_gone(now.path))
    return record.baseline, None


def _mode(now: FileNow) -> int:
    """The mode that the file had before setup, unless somebody has changed it since."""
    kept = PLAIN_MODE if now.mode is None else now.mode
    if now.record is None or now.record.mode_before is None or now.mode != now.record.mode_after:
        return kept
    return now.record.mode_before
