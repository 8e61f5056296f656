"""What can be wrong on this machine, each as a value with a name, a verdict, a detail and a way to mend it.

What belongs here: looking. Nothing is changed, and no sentence is made up here (`doctor_words.py`). What only a
running server knows (reachable, last event per client, integrity) is asked by the command line and passed in.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
import time
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from relaybay.setup import doctor_words as words
from relaybay.setup import hook_files
from relaybay.setup.claude_places import client_program, client_version
from relaybay.setup.doctor_automations import automations
from relaybay.setup.doctor_claude import claude_checks
from relaybay.setup.doctor_values import Check, broken, judged, warned, well
from relaybay.setup.values import OTHERS, ClaudeFiles, Folders, Install
from relaybay.spool import DROPPED_BYTES_MAX, DROPPED_MARK, NO_SYMLINK

KEY_FILES = ("token", "hook.key", "owner.key")
SQLITE_MIN = (3, 51, 3)
"""Older ones can lose a commit when the write-ahead log is reset (page 20, Setup and doctor)."""
DISK_BYTES_MIN = 200 << 20
SKEW_S_MAX = 2.0
SPOOL_BYTES_WARN = 8 << 20
"""Half of what the spool may grow to (CMD-4)."""
LOG_TAIL_BYTES = 64 << 10
MCP_SECONDS_WARN = 30 * 60
"""Sessions that work for this long without one MCP call have probably not got the server registered."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What the command line learned from the server; None where it did not ask or got no answer.

    Attributes:
        url: where it was looked for.
        reachable: whether it answered.
        last_events: per client (`claude-code`), when its last event came, as text; None when none ever did.
        mcp_seen: whether an MCP client has called since the server started.
        integrity: what the database's own check said; `ok` when all is well.
        project_files: what is wrong in projects' files of sessions that are there (SET-6).
        port_held_by: who listens at `url` although no server of ours does; None when nobody.
        up_seconds: how long the server has run.
        hooks_since_start: whether a hook event has come since it started.
        fault: why the command line could not ask a server that runs, in words.
    """

    url: str
    reachable: bool
    last_events: Mapping[str, str | None] | None = None
    mcp_seen: bool | None = None
    integrity: str | None = None
    project_files: tuple[str, ...] = ()
    port_held_by: str | None = None
    up_seconds: float | None = None
    hooks_since_start: bool = False
    fault: str = ""

    @property
    def mcp_missing(self) -> bool:
        """No MCP call, although sessions have been at work for long. Soon after a start that says nothing."""
        if self.mcp_seen or self.up_seconds is None:
            return not self.mcp_seen
        return self.hooks_since_start and self.up_seconds >= MCP_SECONDS_WARN


def run(
    folders: Folders,
    env: Mapping[str, str],
    files: ClaudeFiles | None = None,
    install: Install | None = None,
    server: ServerFacts | None = None,
) -> list[Check]:
    """All checks, in the order a person would look. `ok` False on any means exit code 1; None is a warning.

    Args:
        folders: relaybay's own folders.
        env: the environment, to find the client.
        files: the client's files as `read_claude_code` gives them; None leaves their checks out.
        install: what a setup of today would write; None leaves the comparison out.
        server: what the server said; None leaves its checks out.
    """
    checks = [] if server is None else list(server_checks(server))
    checks += [config_parses(folders.config_file), *automations(folders.config_file.parent / "automations.toml")]
    checks += [key_file(folders.run / name) for name in KEY_FILES]
    program = client_program(env)
    version = None if program is None else client_version(program, env)
    checks.append(client_found(program, version))
    if install is not None:
        checks.append(hook_copies(Path(install.hook_script)))
        if files is not None:
            checks += claude_checks(files, install, version)
    checks += [spool(folders.state / "spool"), hook_log(folders.state / "hook.log")]
    checks += [sqlite_version(sqlite3.sqlite_version), disk_space(folders.data), clock(folders.state)]
    return checks


def server_checks(server: ServerFacts) -> Iterable[Check]:
    """What the server said of itself, as checks."""
    line = (server.fault, "") if server.fault else words.server(server.url, server.reachable, server.port_held_by)
    yield judged("server", line, ok=server.reachable)
    for client, last in (server.last_events or {}).items():
        yield judged(f"{client} events", words.last_event(last), ok=True if last else None)
    if server.mcp_seen is not None:
        line = words.mcp_seen(server.mcp_seen, server.up_seconds, missing=server.mcp_missing)
        yield judged("mcp calls", line, ok=None if server.mcp_missing else True)
    for problem in server.project_files:
        yield broken("project file", words.project_file(problem))
    if server.integrity is not None:
        yield judged("integrity", words.integrity(server.integrity), ok=server.integrity == "ok")


def config_parses(path: Path) -> Check:
    """Whether the configuration can be read; no file at all is well."""
    try:
        tomllib.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return well("config", words.config_absent(str(path)))
    except (OSError, ValueError, RecursionError) as error:
        return broken("config", words.config_broken(str(path), str(error)))
    return well("config", words.config_fine(str(path)))


def key_file(path: Path) -> Check:
    """Whether a key's file is the owner's alone. No file is a warning: the server makes it at its first start."""
    try:
        seen = path.lstat()
    except OSError:
        return warned(path.name, words.key_absent(str(path)))
    regular = stat.S_ISREG(seen.st_mode)
    mode = stat.S_IMODE(seen.st_mode)
    if not regular or seen.st_uid != os.geteuid() or mode & OTHERS:
        return broken(path.name, words.key_open(str(path), mode, mine=seen.st_uid == os.geteuid()))
    return well(path.name, words.key_fine(str(path)))


def client_found(program: Path | None, version: str | None) -> Check:
    """Whether the client is there and says its version."""
    ok = None if program is None or version is None else True
    return judged("claude", words.client(None if program is None else str(program), version), ok=ok)


def hook_copies(script: Path) -> Check:
    """Whether the copied hook is the one of this version."""
    try:
        shipped = hook_files.source()
        differing = hook_files.differing(script, shipped)
    except OSError as error:
        return broken("hook program", words.hook_unreadable(str(error)))
    missing = len(differing) == len(shipped)
    return judged("hook program", words.hook_copies(str(script.parent), differing, missing=missing), ok=not differing)


def spool(folder: Path) -> Check:
    """How much waits to be replayed, how much was dropped, how much could not be read (CMD-4, SPOOL-3)."""
    waiting = dropped = bad = 0
    try:
        for each in os.scandir(folder):
            size = each.stat(follow_symlinks=False).st_size
            if each.name == "dropped":
                dropped = _dropped(Path(each.path))
            elif each.name.endswith(".bad"):
                bad += size
            elif each.name.startswith("spool"):
                waiting += size
    except FileNotFoundError:
        return well("spool", words.spool(0, 0, 0))
    except OSError as error:
        return broken("spool", words.spool_unreadable(str(folder), str(error)))
    ok = False if dropped else (None if waiting > SPOOL_BYTES_WARN or bad else True)
    return judged("spool", words.spool(waiting, dropped, bad), ok=ok)


def _dropped(counter: Path) -> int:
    """How many events the counter holds: one mark each, beside the line end that reserves its place on the disk."""
    with os.fdopen(os.open(counter, NO_SYMLINK), "rb") as file:
        return file.read(DROPPED_BYTES_MAX).count(DROPPED_MARK)


def hook_log(path: Path) -> Check:
    """Whether the server has turned the hook away (CMD-3): the newest such line of its log."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LOG_TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return well("hook log", words.hook_log(None))
    except OSError as error:
        return broken("hook log", words.hook_log_unreadable(str(path), str(error)))
    refused = next((line for line in reversed(lines) if "unauthorized" in line.split()), None)
    return judged("hook log", words.hook_log(refused and refused.split()[0]), ok=None if refused else True)


def sqlite_version(version: str) -> Check:
    """Whether SQLite is new enough to be free of the fault in resetting its log."""
    old = tuple(int(part) for part in version.split(".")) < SQLITE_MIN
    wanted = ".".join(str(part) for part in SQLITE_MIN)
    return judged("sqlite", words.sqlite(version, wanted, old=old), ok=None if old else True)


def disk_space(folder: Path) -> Check:
    """Whether the data folder's disk has room left."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    free = shutil.disk_usage(there).free
    return judged("disk", words.disk(str(there), free, low=free < DISK_BYTES_MIN), ok=free >= DISK_BYTES_MIN)


def clock(folder: Path) -> Check:
    """Whether files get the time that the clock shows: over a network file system they may not."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(b"x")
            file.flush()
            skew = os.fstat(file.fileno()).st_mtime - time.time()
    except OSError as error:
        return broken("clock", words.not_writable(str(there), str(error)))
    return judged("clock", words.clock(skew, off=abs(skew) > SKEW_S_MAX), ok=abs(skew) <= SKEW_S_MAX)
