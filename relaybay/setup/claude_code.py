"""The plan for Claude Code: from the files as they are to the files as they should be. Pure.

Where a secret may go (page 75, Doors and keys): the MCP header literally into `.claude.json`; the hook key
literally into the hooks' headers, in a file that is made 0600; and neither into a file that may be committed.
So a file inside a git work tree gets command hooks, which need no key, and names a variable instead of the
token. Project scope is that case on purpose: the committed `.mcp.json` names the variable, and the value and
the hooks (whose absolute paths mean this machine only) go to `.claude/settings.local.json`.
"""

from __future__ import annotations

import json
from typing import Any

from relaybay.setup import claude_edits, words
from relaybay.setup.claude_bare import text_of, without_hooks, without_server
from relaybay.setup.claude_edits import Text, server_path
from relaybay.setup.claude_entries import (
    TOKEN_VARIABLE,
    WAKE_VERSION_MIN,
    Wanted,
    mcp_entry,
    roles,
    version_of,
    wake_measured,
    wanted_hooks,
)
from relaybay.setup.json_read import NotJsonError, WrongShapeError, parse, pointer
from relaybay.setup.values import (
    OTHERS,
    SECRET_MODE,
    Choices,
    ClaudeFiles,
    FileEdit,
    FileNow,
    Install,
    JsonPath,
    Mode,
    Note,
    Plan,
    Refusal,
)

CLIENT = "claude-code"
PLAIN_MODE = 0o644
"""Mode of a file that setup makes and that holds no secret."""


class _RefusedError(Exception):
    """Carries a refusal out of the middle of a plan; never leaves this module."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.code)
        self.refusal = refusal


def plan_claude_code(files: ClaudeFiles, install: Install, choices: Choices) -> Plan | Refusal:
    """What `relaybay setup claude-code` would change.

    A second plan, made after the first was applied, has no edits. Refusals: `settings_not_json` (with the place
    and, for a file with comments, the snippet to paste), `settings_unexpected`, `mcp_name_taken`,
    `wake_unverified`, `token_would_be_committed`.
    """
    assert choices.scope == files.scope, "the files were read for another scope"
    if choices.wake and not choices.force_wake and not wake_measured(choices.client_version):
        wanted = ".".join(str(part) for part in WAKE_VERSION_MIN)
        return Refusal("wake_unverified", words.wake_unverified(choices.client_version, wanted))
    try:
        return _Planner(files, install, choices).plan()
    except _RefusedError as refused:
        return refused.refusal


class _Planner:
    """One plan in the making."""

    def __init__(self, files: ClaudeFiles, install: Install, choices: Choices) -> None:
        self.files, self.install, self.choices = files, install, choices
        self.notes: list[Note] = []

    def plan(self) -> Plan:
        """The plan.

        Raises:
            _RefusedError: there can be none.
        """
        edits = self._project() if self.choices.scope == "project" else self._private()
        if self.choices.wake and not wake_measured(self.choices.client_version):
            version = version_of(self.choices.client_version)
            said = ".".join(str(part) for part in version) if version else None
            self._note("wake_unverified", words.wake_forced(said))
        return Plan(
            kind="setup",
            client=CLIENT,
            scope_id=self.files.scope_id,
            edits=tuple(edit for edit in edits if edit is not None),
            notes=tuple(self.notes),
            secrets=(self.install.token, self.install.hook_key),
            install=self.install,
        )

    def _note(self, code: str, text: str) -> None:
        self.notes.append(Note(code, text))

    def _private(self) -> list[FileEdit | None]:
        """Scopes user and local: the MCP server in `.claude.json`, the hooks in settings of this machine."""
        local = self.choices.scope == "local"
        settings = self.files.local_settings if local else self.files.settings
        server = server_path(self.files.project_key if local else None)
        return [self._servers(self.files.claude_json, server), self._settings(settings)]

    def _project(self) -> list[FileEdit | None]:
        """Scope project: see the head of this file."""
        exclude = self._keep_out_of_git(self.files.local_settings)
        self._note("approval_needed", words.needs_approval(self.files.mcp_json.path))
        self._note("token_in_environment", words.token_leaks(self.files.local_settings.path, TOKEN_VARIABLE))
        return [
            exclude,
            self._servers(self.files.mcp_json, server_path(None)),
            self._settings(self.files.local_settings, token=True),
        ]

    def _servers(self, now: FileNow, path: JsonPath) -> FileEdit | None:
        literal = self.choices.scope != "project" and not now.committable
        if self.choices.scope != "project" and not literal:
            self._note("token_by_variable", words.token_by_variable(now.path, TOKEN_VARIABLE))
        entry = mcp_entry(self.install, literal=literal)
        document = _read(now, {"mcpServers": {"relaybay": entry}})
        baseline = without_server(now, self.install, path)
        try:
            ours = claude_edits.put_server(document, self.install, path, entry)
        except WrongShapeError as error:
            raise _wrong_shape(now.path, error) from None
        if not ours:
            text = words.name_taken(now.path, pointer(path))
            raise _RefusedError(Refusal("mcp_name_taken", text, now.path))
        return _edit(now, document, baseline, secret=literal)

    def _settings(self, now: FileNow, *, token: bool = False) -> FileEdit | None:
        mode: Mode = "command" if self.choices.scope == "project" else self.choices.mode
        if mode == "http" and now.in_git:
            mode = "command"
            self._note("command_mode", words.key_in_git(now.path))
        hooks = wanted_hooks(self.install, mode, lean=self.choices.lean, wake=self.choices.wake)
        hooks = self._not_doubled(hooks)
        snippet: dict[str, Any] = {"hooks": {}}
        for hook in hooks:
            snippet["hooks"].setdefault(hook.event, []).append(hook.group)
        document = _read(now, snippet)
        self._warn_of_switches(now, document.value, mode)
        baseline = without_hooks(now, token=token)
        try:
            claude_edits.put_hooks(document, hooks)
            if token:
                claude_edits.put_token(document, self.install.token)
        except WrongShapeError as error:
            raise _wrong_shape(now.path, error) from None
        return _edit(now, document, baseline, secret=token or mode == "http")

    def _keep_out_of_git(self, now: FileNow) -> FileEdit | None:
        """The line that makes git ignore the file with the token, unless git does so already."""
        if not now.committable:
            return None
        if now.tracked:
            text = words.token_committed(now.path)
            raise _RefusedError(Refusal("token_would_be_committed", text, now.path))
        exclude = self.files.git_exclude
        if exclude is None:
            text = words.no_git_exclude(now.path)
            raise _RefusedError(Refusal("token_would_be_committed", text, now.path))
        self._note("git_exclude", words.excluded(exclude.path, self.files.exclude_line))
        before = exclude.data or b""
        gap = b"\n" if before and not before.endswith(b"\n") else b""
        after = before + gap + self.files.exclude_line.encode() + b"\n"
        mode = PLAIN_MODE if exclude.mode is None else exclude.mode
        return FileEdit(exclude.path, exclude.data, after, mode, exclude.mode, exclude.data)

    def _warn_of_switches(self, now: FileNow, value: Any, mode: Mode) -> None:
        """Settings of the client that keep our hooks from running are told, and left alone."""
        if value.get("disableAllHooks") is True:
            self._note("hooks_disabled", words.hooks_off(now.path, "disableAllHooks"))
        allowed = value.get("allowedHttpHookUrls")
        if mode == "http" and isinstance(allowed, list):
            self._note("hook_urls_restricted", words.hooks_off(now.path, "allowedHttpHookUrls"))

    def _not_doubled(self, hooks: tuple[Wanted, ...]) -> tuple[Wanted, ...]:
        """The hooks of a project without those that the user has for all projects: they would run twice."""
        if self.choices.scope == "user":
            return hooks
        try:
            user = _read(self.files.settings, {}).value
        except _RefusedError:  # That file is not ours to judge here: this scope does not write it.
            return hooks
        everywhere = {(event, role) for event, _group, _at, role in roles(user.get("hooks"))}
        left = tuple(hook for hook in hooks if (hook.event, hook.role) not in everywhere)
        if left != hooks:
            self._note("hooks_in_user_scope", words.hooks_in_user_scope(self.files.settings.path))
        return left


def _read(now: FileNow, snippet: dict[str, Any]) -> Text:
    """The file as a document.

    Raises:
        _RefusedError: it is none, or its root is no object.
    """
    try:
        document = Text(text_of(now))
        value = document.value
    except NotJsonError as error:
        raise _RefusedError(_not_json(now.path, error, snippet)) from None
    if not isinstance(value, dict):
        raise _wrong_shape(now.path, WrongShapeError("", "object"))
    return document


def _not_json(path: str, error: NotJsonError, snippet: dict[str, Any]) -> Refusal:
    if not error.comments:
        return Refusal("settings_not_json", words.not_json(path, error.reason, error.line, error.column), path)
    text = words.has_comments(path, error.line)
    return Refusal("settings_not_json", text, path, json.dumps(snippet, indent=2))


def _wrong_shape(path: str, error: WrongShapeError) -> _RefusedError:
    text = words.wrong_shape(path, error.pointer, error.wanted)
    return _RefusedError(Refusal("settings_unexpected", text, path))


def _edit(now: FileNow, document: Text, baseline: bytes | None, *, secret: bool) -> FileEdit | None:
    """The change of one file; None when there is none to make."""
    after = document.text.encode()
    mode = PLAIN_MODE if now.mode is None else now.mode
    if secret and (now.mode is None or now.mode & OTHERS):
        mode = SECRET_MODE
    if after == now.data and mode == now.mode:
        return None
    parse(document.text)  # What setup writes is JSON, or setup is broken.
    earlier = () if now.record is None else now.record.created
    return FileEdit(
        path=now.path,
        before=now.data,
        after=after,
        mode=mode,
        mode_before=now.mode,
        baseline=baseline,
        pointers=tuple(document.pointers),
        created=tuple(dict.fromkeys((*earlier, *document.created))),
    )
