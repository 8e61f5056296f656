"""Carries a plan out: locks, compares, backs up, remembers, writes, looks again; or leaves everything as it was."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from relaybay.setup import hook_files, words
from relaybay.setup.files import BusyError, locked, read_file, sync_folder, write_file
from relaybay.setup.manifest import (
    Entry,
    Manifest,
    ManifestError,
    backups_path,
    load,
    new_backup,
    prune,
    save,
    sha256,
    write_index,
)
from relaybay.setup.values import SECRET_MODE, Applied, FileEdit, Folders, Plan, Refusal

_STATE_LOCK_WAIT_S = 10.0


def apply(plan: Plan, folders: Folders, now: datetime) -> Applied | Refusal:
    """Makes a plan true, all of it or nothing.

    Refusals: `file_changed` (it is not the file that the plan was made from), `file_busy`, `file_not_writable`,
    `manifest_unreadable`, and `roll_back_failed`, the one after which something is changed.
    """
    lock_path = folders.state / "setup" / "lock"
    try:
        folders.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock_path.parent.mkdir(mode=0o700, exist_ok=True)
        with FileLock(lock_path, timeout=_STATE_LOCK_WAIT_S), ExitStack() as locks:
            for edit in sorted(plan.edits, key=lambda each: each.path):
                locks.enter_context(locked(Path(edit.path)))
            done, empty = _apply(plan, folders, now)
    except (BusyError, Timeout) as busy:
        path = busy.path if isinstance(busy, BusyError) else str(lock_path)
        return Refusal("file_busy", words.file_busy(path), path)
    except ManifestError as error:
        return Refusal("manifest_unreadable", words.not_readable(str(error.path), error.why), str(error.path))
    except OSError as error:
        path = str(error.filename or folders.state)
        return Refusal("file_not_writable", words.not_writable(path, error.strerror or str(error)), path)
    for folder in empty:  # Only now: until here our own lock files were in there.
        with suppress(OSError):
            folder.rmdir()
    return done


def _apply(plan: Plan, folders: Folders, now: datetime) -> tuple[Applied | Refusal, list[Path]]:
    """The work under the locks; returns also the folders that setup once made and that may be empty now."""
    for edit in plan.edits:
        if not _as_planned(edit):
            return Refusal("file_changed", words.changed_meanwhile(edit.path), edit.path), []
    manifest = load(folders, plan.client)
    earlier = _copy(manifest)
    changed: list[str] = []
    if plan.install is not None:
        shipped = hook_files.source()
        changed.extend(hook_files.install(Path(plan.install.hook_script), shipped))
        manifest.hook = hook_files.digests(shipped)
    backup = _back_up(plan, folders, now, manifest) if plan.edits else None
    if plan.kind == "setup" and (plan.edits or (changed and manifest.entries)):
        save(folders, manifest)
    refusal = _write_all(plan, backup)
    if refusal is not None:
        save(folders, earlier)
        return refusal, []
    empty = _forget(plan, folders, manifest) if plan.kind == "undo" else []
    prune(folders)
    changed.extend(edit.path for edit in plan.edits)
    return Applied(tuple(changed), backup, plan.notes), empty


def _copy(manifest: Manifest) -> Manifest:
    """A copy that later changes do not reach."""
    return Manifest(manifest.client, dict(manifest.entries), dict(manifest.hook))


def _as_planned(edit: FileEdit) -> bool:
    """Whether the file is still the one that the plan was made from, at the place it was then."""
    if os.path.realpath(edit.path) != edit.path:
        return False
    found = read_file(Path(edit.path))
    return (None if found is None else found[0]) == edit.before


def _back_up(plan: Plan, folders: Folders, now: datetime, manifest: Manifest) -> Path:
    """Keeps every file as it is, and with it what undo will put back; enters both into the manifest."""
    at = now.astimezone(UTC)
    backup = new_backup(folders, at.strftime("%Y%m%dT%H%M%S.%fZ"))
    index: list[dict[str, Any]] = []
    for number, edit in enumerate(plan.edits):
        name = f"{number}-{Path(edit.path).name.lstrip('.')}"
        if edit.before is not None:
            write_file(backup / name, edit.before, SECRET_MODE)
        index.append(
            {
                "path": edit.path,
                "file": None if edit.before is None else name,
                "mode": edit.mode_before,
                "sha256_before": None if edit.before is None else sha256(edit.before),
                "sha256_after": None if edit.after is None else sha256(edit.after),
                "pointers": edit.pointers,
            }
        )
        if plan.kind == "setup":
            first = manifest.entries.get((plan.scope_id, edit.path))
            entry = _entry(plan.scope_id, edit, first, at)
            if first is not None and _goes_back_to_first(edit, first, folders):
                entry = replace(entry, sha256_before=first.sha256_before, baseline=first.baseline)
            elif edit.baseline is not None:
                entry = replace(entry, baseline=_keep_baseline(edit, edit.baseline, backup, name))
            manifest.entries[plan.scope_id, edit.path] = entry
    write_index(backup, plan.client, plan.scope_id, index)
    return backup


def _entry(scope_id: str, edit: FileEdit, first: Entry | None, at: datetime) -> Entry:
    """What the manifest remembers of one edit, but for where the baseline is."""
    assert edit.after is not None, "setup deletes no file"
    return Entry(
        scope_id=scope_id,
        path=edit.path,
        at=at.isoformat(timespec="microseconds"),
        sha256_before=None if edit.baseline is None else sha256(edit.baseline),
        sha256_after=sha256(edit.after),
        mode_before=edit.mode_before if first is None else first.mode_before,
        mode_after=edit.mode,
        baseline=None,
        folder_made=not Path(edit.path).parent.is_dir() if first is None else first.folder_made,
        pointers=edit.pointers,
        created=edit.created,
    )


def _goes_back_to_first(edit: FileEdit, first: Entry, folders: Folders) -> bool:
    """Whether undo, after a second setup, still goes back to the very bytes from before the first: nobody else
    has written to the file in between, and the bytes are still there. Else it goes back to the present bytes
    without our entries.
    """
    if edit.before is None or first.sha256_after != sha256(edit.before):
        return False
    return first.baseline is None or (backups_path(folders) / first.baseline).is_file()


def _keep_baseline(edit: FileEdit, baseline: bytes, backup: Path, name: str) -> str:
    """Where the baseline is kept: the backup of the file itself, if that has nothing of ours."""
    if baseline != edit.before:
        name += ".baseline"
        write_file(backup / name, baseline, SECRET_MODE)
    return f"{backup.name}/{name}"


def _write_all(plan: Plan, backup: Path | None) -> Refusal | None:
    """Writes every file, or puts those back that were written before one failed."""
    done: list[FileEdit] = []
    try:
        for edit in plan.edits:
            done.append(edit)
            _write(edit.path, edit.after, edit.mode)
    except OSError as error:
        stuck = [edit.path for edit in reversed(done) if not _put_back(edit)]
        if stuck:
            text = words.roll_back_failed(", ".join(stuck), str(backup))
            return Refusal("roll_back_failed", text, stuck[0])
        path = done[-1].path
        return Refusal("file_not_writable", words.not_writable(path, error.strerror or str(error)), path)
    return None


def _write(path: str, data: bytes | None, mode: int) -> None:
    if data is None:
        Path(path).unlink()
        sync_folder(Path(path).parent)
        return
    write_file(Path(path), data, mode)
    found = read_file(Path(path))
    if found is None or found[0] != data:
        raise OSError(None, "it does not read as it was written", path)


def _put_back(edit: FileEdit) -> bool:
    """Makes a file what it was before the plan; True when it is."""
    try:
        found = read_file(Path(edit.path))
        now = None if found is None else found[0]
        if now == edit.before:
            return True
        if now != edit.after:
            return False  # Somebody else has written to it; their bytes are not ours to replace.
        if edit.before is None:
            Path(edit.path).unlink()
        else:
            assert edit.mode_before is not None
            write_file(Path(edit.path), edit.before, edit.mode_before)
    except OSError:
        return False
    return True


def _forget(plan: Plan, folders: Folders, manifest: Manifest) -> list[Path]:
    """Drops the records of an undone plan, and with the last of all clients the hook itself. Returns the folders
    that setup made for files that are gone.
    """
    empty = []
    for path in plan.forget:
        entry = manifest.entries.pop((plan.scope_id, path), None)
        if entry is not None and entry.folder_made and not Path(path).exists():
            empty.append(Path(path).parent)
    save(folders, manifest)
    others = any((folders.state / "setup").glob("*.json"))
    if manifest.hook and not others:
        hook_files.remove(folders.data / "bin" / "hook.py", manifest.hook)
    return empty
