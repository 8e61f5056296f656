"""Where Claude Code keeps its files, and what is in them now.

Measured on 2.1.332 and 2.1.197: with `CLAUDE_CONFIG_DIR` both `settings.json` and `.claude.json` lie in that
folder; without it they are `~/.claude/settings.json` and `~/.claude.json`. A file `.config.json` in the folder,
left by old clients, is used instead of `.claude.json`. Servers of scope local stand under the root of the git
repository, that of the main work tree included, else under the folder itself; links are followed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from relaybay.setup import words
from relaybay.setup.claude_code import CLIENT
from relaybay.setup.files import NotAFileError, read_file
from relaybay.setup.manifest import Manifest, ManifestError, load, record_of
from relaybay.setup.values import ClaudeFiles, FileNow, Folders, Refusal, Scope

EXCLUDE_LINE = "**/.claude/settings.local.json"
_GIT_WAIT_S = 10.0
_VERSION_WAIT_S = 10.0


def read_claude_code(folders: Folders, scope: Scope, folder: Path, env: Mapping[str, str]) -> ClaudeFiles | Refusal:
    """The client's files as they are, with what the manifest knows of them.

    Args:
        folders: relaybay's own folders.
        scope: what is to be set up.
        folder: where the person is.
        env: the environment: `HOME`, `CLAUDE_CONFIG_DIR`, and what git needs.

    Refusals: `not_a_file`, `file_not_readable`, `manifest_unreadable`.
    """
    settings, claude_json = user_files(env)
    here = Path(os.path.realpath(folder))
    local = here / ".claude" / "settings.local.json"
    root = git_root(here)
    scope_id = "user" if scope == "user" else f"{scope}:{here}"
    try:
        manifest = load(folders, CLIENT)
        reader = _Reader(folders, manifest, scope_id)
        files = ClaudeFiles(
            scope=scope,
            folder=str(here),
            project_key=str(main_root(root) if root is not None else here),
            settings=reader.read(settings),
            claude_json=reader.read(claude_json, ask_git=scope != "project"),
            mcp_json=reader.read(here / ".mcp.json"),
            project_settings=reader.read(here / ".claude" / "settings.json"),
            local_settings=reader.read(local, ask_git=scope == "project"),
            exclude_line=EXCLUDE_LINE,
        )
        exclude = _git_exclude(here, env) if scope == "project" and root is not None else None
        return replace(files, git_exclude=reader.read(exclude)) if exclude is not None else files
    except ManifestError as error:
        return Refusal("manifest_unreadable", words.not_readable(str(error.path), error.why), str(error.path))
    except NotAFileError as error:
        return Refusal("not_a_file", words.not_a_file(str(error)), str(error))
    except OSError as error:
        path = str(error.filename)
        return Refusal("file_not_readable", words.not_readable(path, error.strerror or str(error)), path)


def user_files(env: Mapping[str, str]) -> tuple[Path, Path]:
    """The user's `settings.json` and `.claude.json`."""
    home = Path(env.get("HOME") or Path.home())
    chosen = env.get("CLAUDE_CONFIG_DIR")
    config = Path(chosen).absolute() if chosen else home / ".claude"
    old = config / ".config.json"
    if old.is_file() and old.stat().st_size > 0:
        return config / "settings.json", old
    return config / "settings.json", (config if chosen else home) / ".claude.json"


class _Reader:
    """Reads files for one scope."""

    def __init__(self, folders: Folders, manifest: Manifest, scope_id: str) -> None:
        self.folders, self.manifest, self.scope_id = folders, manifest, scope_id

    def read(self, path: Path, *, ask_git: bool = False) -> FileNow:
        """The file behind a path, links followed: dotfile managers link the client's files into a repository.

        `ask_git`: the file gets a token, so it matters what git would do with it.
        """
        real = Path(os.path.realpath(path))
        found = read_file(real)
        entry = self.manifest.entries.get((self.scope_id, str(real)))
        in_git = git_root(real.parent) is not None
        asked = in_git and ask_git
        return FileNow(
            path=str(real),
            data=None if found is None else found[0],
            mode=None if found is None else found[1],
            in_git=in_git,
            ignored=asked and _git(real.parent, "check-ignore", "-q", "--", str(real)) is not None,
            tracked=asked and _git(real.parent, "ls-files", "--error-unmatch", "--", str(real)) is not None,
            record=None if entry is None else record_of(self.folders, entry),
        )


def git_root(folder: Path) -> Path | None:
    """The root of the work tree that a folder lies in; None outside of one."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def main_root(root: Path) -> Path:
    """The root of the main work tree that a linked one belongs to; any other root as it is."""
    marker = root / ".git"
    try:
        named = marker.read_text().removeprefix("gitdir:").strip() if marker.is_file() else ""
        if not named:
            return root
        common = (root / named / "commondir").read_text().strip()
    except (OSError, UnicodeDecodeError):
        return root
    shared = Path(os.path.realpath(root / named / common))
    return shared.parent if shared.name == ".git" else root


def _git(folder: Path, *words_: str, env: Mapping[str, str] | None = None) -> str | None:
    """What git answers; None when it says no, is not there, or takes too long."""
    program = shutil.which("git")
    here = next((each for each in (folder, *folder.parents) if each.is_dir()), None)
    if program is None or here is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program and fixed options.
            [program, "-C", str(here), *words_],
            env=None if env is None else dict(env),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_GIT_WAIT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return os.fsdecode(done.stdout).rstrip("\n")


def _git_exclude(folder: Path, env: Mapping[str, str]) -> Path | None:
    named = _git(folder, "rev-parse", "--git-path", "info/exclude", env=env)
    return None if not named else folder / named


def client_program(env: Mapping[str, str]) -> Path | None:
    """The client's program: on the PATH, or where its own installers put it."""
    found = shutil.which("claude", path=env.get("PATH"))
    if found is not None:
        return Path(found)
    home = Path(env.get("HOME") or Path.home())
    usual = (home / ".local" / "bin" / "claude", home / ".claude" / "local" / "claude")
    return next((each for each in usual if os.access(each, os.X_OK) and each.is_file()), None)


def client_version(program: Path, env: Mapping[str, str]) -> str | None:
    """What the client says its version is; None when it does not say so in time."""
    try:
        done = subprocess.run(  # noqa: S603 - the client itself, asked for its version.
            [str(program), "--version"],
            env=dict(env),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_VERSION_WAIT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout.strip() or None
