"""`relaybay backup` and `restore`: a whole copy of the database, made while it is in use, and put back."""

from __future__ import annotations

import os
import secrets
from datetime import UTC, datetime
from pathlib import Path

import click

from relaybay.cli import exits, output
from relaybay.cli.exits import failure
from relaybay.cli.options import json_option
from relaybay.cli.shell import Shell, ask, has_terminal
from relaybay.cli.status import need_no_server
from relaybay.settings import Paths

_BESIDE = ("-wal", "-shm", "-journal")


@click.command("backup")
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(path_type=Path, dir_okay=False))
@json_option
@click.pass_obj
def backup_command(shell: Shell, file: Path | None, as_json: bool) -> None:
    """Copy the database to FILE, which must not exist yet; by default to a dated one among the backups.

    The server may run meanwhile: the copy is of one moment, and is checked before it gets its name.
    """
    paths = shell.paths
    if not paths.database.is_file():
        raise failure("cli.no_database", exits.FAILED, path=paths.database)
    target = paths.backups / f"relaybay-{_stamp()}.db" if file is None else file.absolute()
    if target.exists() or target.is_symlink():
        raise failure("cli.file_exists", exits.BAD_INPUT, path=target)
    try:
        if file is None:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        copy_checked(paths.database, target)
    except FileExistsError:
        raise failure("cli.file_exists", exits.BAD_INPUT, path=target) from None
    except OSError as error:
        raise failure("cli.file_not_written", exits.STORE, path=target, why=error.strerror or str(error)) from None
    size = target.stat().st_size
    if as_json:
        output.document({"file": str(target), "bytes": size})
    else:
        output.lines([str(target)])
        output.note(f"{size} bytes. `relaybay restore --check {target}` looks at it again.")


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Only look whether the file is good; change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_obj
def restore_command(shell: Shell, file: Path, check: bool, yes: bool, as_json: bool) -> None:
    """Put a backup in the database's place. The database as it was is kept beside it.

    No server may run. At a terminal it asks first. `--check` needs no stop and changes nothing.
    """
    source = file.absolute()
    schema = check_backup(source)
    if check:
        if as_json:
            output.document({"file": str(source), "ok": True, "schema": schema})
        else:
            output.lines([f"{source} is whole (schema {schema})."])
        return
    shell.need_owner()
    need_no_server(shell)
    question = f"Replace the database {shell.paths.database} by {source}? What was written since then is set aside."
    if not yes and has_terminal() and not ask(question):
        raise failure("cli.declined", exits.FAILED)
    kept = put_back(source, shell.paths)
    if as_json:
        output.document({"file": str(source), "kept": None if kept is None else str(kept), "schema": schema})
        return
    output.lines([f"The database is the one of {source}."])
    if kept is not None:
        output.note(f"What was there before is {kept}.")


def check_backup(path: Path) -> int:
    """The schema of a file that can be restored. Raises Failure: missing, damaged, no backup, newer."""
    import sqlite3

    from relaybay.store import sqlite
    from relaybay.store.migrations import STEPS

    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError:
        raise failure("cli.file_missing", exits.BAD_INPUT, path=path) from None
    if head != b"SQLite format 3\0":
        raise failure("cli.not_a_backup", exits.BAD_INPUT, path=path)
    try:
        schema: int | None = sqlite.schema_of(path)
    except (sqlite3.Error, TypeError, ValueError):
        schema = None
    if schema is not None and schema > len(STEPS):
        # Before it is looked into: what a newer program's file has to hold is not known here.
        what = f"schema {schema}, this program knows {len(STEPS)}"
        raise failure("cli.schema_newer", exits.CONFIG, what=what)
    found = sqlite.problems(path)
    if schema is None and found in ([], [sqlite.FOREIGN]):
        raise failure("cli.not_a_backup", exits.BAD_INPUT, path=path)
    if found or schema is None:
        raise failure("cli.backup_damaged", exits.BAD_INPUT, path=path, what="; ".join(found[:3]))
    return schema


def copy_checked(source: Path, target: Path) -> None:
    """Copies a database that may be in use; the copy gets its name only when it is whole, and takes nobody's.

    Raises:
        OSError: it cannot be written; FileExistsError when the name is taken.
        Failure: the copy is damaged, so the source is.
    """
    from relaybay.store import sqlite

    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        # Made by us first: it holds everybody's messages, so nobody else may ever read it.
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        _copy(source, temporary)
        found = sqlite.problems(temporary)
        if found:
            raise failure("cli.backup_damaged", exits.FAILED, path=source, what="; ".join(found[:3]))
        _sync(temporary)
        os.link(temporary, target)
        _sync(target.parent)
    finally:
        temporary.unlink(missing_ok=True)
        for tail in _BESIDE:
            temporary.with_name(temporary.name + tail).unlink(missing_ok=True)


def put_back(source: Path, paths: Paths) -> Path | None:
    """Makes a checked backup the database. Returns where the old one is kept. Raises Failure."""
    from filelock import FileLock, Timeout

    from relaybay.store.mark import file_of

    try:
        paths.make()
        # Held to the end: a server that starts meanwhile would open a file that is being replaced.
        with FileLock(paths.lock, timeout=0, mode=0o600):
            kept = _keep_old(paths.database) if paths.database.exists() else None
            fresh = paths.database.with_name(f".restore-{secrets.token_hex(4)}.db")
            try:
                copy_checked(source, fresh)
                # What was acknowledged since the backup is set aside with the old file.
                file_of(paths.database).unlink(missing_ok=True)
                for tail in _BESIDE:
                    # The old log goes first: beside the new file it would be replayed into it.
                    paths.database.with_name(paths.database.name + tail).unlink(missing_ok=True)
                fresh.replace(paths.database)
                _sync(paths.data)
            finally:
                fresh.unlink(missing_ok=True)
    except Timeout:
        raise failure("cli.folder_held", exits.LOCKED, folder=paths.data, lock=paths.lock) from None
    except OSError as error:
        path = error.filename or paths.database
        raise failure("cli.file_not_written", exits.STORE, path=path, why=error.strerror or str(error)) from None
    return kept


def _keep_old(database: Path) -> Path:
    """The database as it is under another name, its log with it. Hard links: no bytes are moved, nothing is open."""
    kept = database.with_name(f"{database.stem}.before-{_stamp()}{database.suffix}")
    for tail in ("", *_BESIDE):
        beside = database.with_name(database.name + tail)
        if beside.exists():
            os.link(beside, kept.with_name(kept.name + tail))
    return kept


def _copy(source: Path, target: Path) -> None:
    import sqlite3

    from relaybay.store import sqlite

    try:
        sqlite.back_up(source, target)
    except sqlite3.Error as error:
        raise sqlite.named(error) or OSError(None, str(error)) from error


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
