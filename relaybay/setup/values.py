"""The values that setup hands around: what is there, what is wanted, what would change, what was refused.

Nothing here reads a file or words a sentence. A plan is made from these values alone, so that the diff shown
with `--dry-run` and the one applied cannot differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Scope = Literal["user", "project", "local"]
Mode = Literal["http", "command"]
Role = Literal["event", "wake"]
Kind = Literal["setup", "undo"]

JsonPath = tuple[str | int, ...]

SECRET_MODE = 0o600
"""Mode of every file that holds a key: its owner alone may read it."""
WAIT_S = 1500
"""How long the wake-up waits unless it is told otherwise: 25 minutes (page 20, Wake-up)."""
OTHERS = 0o077
"""The permission bits of everybody but the owner."""


@dataclass(frozen=True, slots=True)
class Install:
    """What a client has to be told about this relaybay.

    Attributes:
        url: base URL of the server, with a literal loopback address, e.g. `http://127.0.0.1:7717`.
        mcp_url: URL of the MCP endpoint.
        token: bearer token for MCP.
        hook_key: key that opens `/hooks` and nothing else.
        python: absolute path of the base interpreter that runs the command hook.
        hook_script: absolute path of the copy of the command hook (`data/bin/hook.py`); the files that it
            imports stand beside it.
        run_dir: folder of the socket and the keys.
        state_dir: folder of the spool and the hook's log.
        wait_s: how long the wake-up's hook waits for something, in seconds.
    """

    url: str
    mcp_url: str
    token: str = field(repr=False)
    hook_key: str = field(repr=False)
    python: str
    hook_script: str
    run_dir: str
    state_dir: str
    wait_s: int = WAIT_S

    @property
    def hook_url(self) -> str:
        """Where the http hooks of Claude Code post their events."""
        return self.url.rstrip("/") + "/hooks/claude-code"


@dataclass(frozen=True, slots=True)
class Choices:
    """What the person asked for on the command line.

    `client_version` is what `claude --version` printed, or None when there is no such program on the PATH.
    """

    scope: Scope = "user"
    mode: Mode = "http"
    wake: bool = False
    force_wake: bool = False
    lean: bool = False
    client_version: str | None = None


@dataclass(frozen=True, slots=True)
class Folders:
    """Where relaybay keeps its own files."""

    config_file: Path
    data: Path
    state: Path
    run: Path


@dataclass(frozen=True, slots=True)
class Record:
    """What the manifest remembers of one file that setup wrote.

    Attributes:
        sha256_after: digest of the file as setup left it.
        baseline: the file's bytes without anything of ours; None when there was no file. Undo puts them back.
        baseline_lost: the backup that held them is gone, so undo can only take our entries out.
        mode_before: the file's mode before setup touched it; None when there was no file.
        mode_after: the mode that setup gave it.
        pointers: what setup put in, as JSON pointers at the time of writing.
        created: containers that setup made to put its entries in, as JSON pointers.
    """

    sha256_after: str
    baseline: bytes | None = field(repr=False)
    baseline_lost: bool
    mode_before: int | None
    mode_after: int
    pointers: tuple[str, ...]
    created: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileNow:
    """A file as it is, symbolic links followed.

    Attributes:
        path: absolute path of the real file.
        data: its bytes; None when it does not exist.
        mode: its permission bits; None when it does not exist.
        in_git: it lies inside a git work tree.
        ignored: git ignores it there.
        tracked: it is committed there already.
        record: what the manifest knows of it, for the scope that is being set up.
    """

    path: str
    data: bytes | None = field(default=None, repr=False)
    mode: int | None = None
    in_git: bool = False
    ignored: bool = False
    tracked: bool = False
    record: Record | None = None

    @property
    def committable(self) -> bool:
        """True when the next `git add` may take this file along: no secret may go in."""
        return self.in_git and (self.tracked or not self.ignored)


@dataclass(frozen=True, slots=True)
class ClaudeFiles:
    """The files of Claude Code that a plan may touch.

    Attributes:
        scope: the scope that they were read for (it decides which manifest records are attached).
        folder: absolute path of the folder the person is in; the project of the scopes `project` and `local`.
        project_key: how the client names that project in `.claude.json`.
        settings: `settings.json` of the user.
        claude_json: `.claude.json` of the user, which holds the MCP servers.
        mcp_json: `.mcp.json` of the project, meant to be committed.
        project_settings: `.claude/settings.json` of the project, meant to be committed.
        local_settings: `.claude/settings.local.json` of the project, meant to stay on this machine.
        git_exclude: the repository's own, uncommitted list of ignored files; None when not needed.
        exclude_line: the line that keeps `local_settings` out of commits.
    """

    scope: Scope
    folder: str
    project_key: str
    settings: FileNow
    claude_json: FileNow
    mcp_json: FileNow
    project_settings: FileNow
    local_settings: FileNow
    git_exclude: FileNow | None = None
    exclude_line: str = ""

    @property
    def scope_id(self) -> str:
        """Names this scope in the manifest: user, or the kind and the folder it is for."""
        return "user" if self.scope == "user" else f"{self.scope}:{self.folder}"


@dataclass(frozen=True, slots=True)
class FileEdit:
    """One file's change. `after` None deletes it, `before` None means that it must not exist yet.

    `baseline` is the file without anything of ours, as far as its bytes tell: what undo restores.
    """

    path: str
    before: bytes | None = field(repr=False)
    after: bytes | None = field(repr=False)
    mode: int
    mode_before: int | None
    baseline: bytes | None = field(repr=False)
    pointers: tuple[str, ...] = ()
    created: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """Something a person should know about a plan, with a stable code."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All that one run of setup, or of its undo, would change. No edits: everything is as it should be.

    Attributes:
        kind: whether it puts our entries in or takes them out.
        client: whose files these are.
        scope_id: the manifest's name for the scope.
        edits: the files that change, in the order they are written.
        notes: what to tell the person besides the diff.
        forget: paths whose manifest records are dropped once the plan is applied.
        secrets: values that a shown diff must hide.
        install: what was installed; None in an undo.
    """

    kind: Kind
    client: str
    scope_id: str
    edits: tuple[FileEdit, ...]
    notes: tuple[Note, ...] = ()
    forget: tuple[str, ...] = ()
    secrets: tuple[str, ...] = field(default=(), repr=False)
    install: Install | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing was changed, with a stable code and the sentence for a person."""

    code: str
    text: str
    path: str = ""
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class Applied:
    """What was really written.

    Attributes:
        changed: paths of the files that are different now.
        backup: folder with the files as they were; None when nothing had to be kept.
        notes: what to tell the person.
    """

    changed: tuple[str, ...]
    backup: Path | None
    notes: tuple[Note, ...] = ()
