"""What setup has written, remembered: one file per client under `state/setup/`, and the backups it points to.

A record belongs to a scope and a file, since one file may hold the entries of several scopes (`.claude.json`
has the user's servers and those of every project). The manifest is written before the files it speaks of: after
a crash in between it names a state that was never reached, and the digests tell.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relaybay.setup.files import write_file
from relaybay.setup.values import SECRET_MODE, Folders, Record

VERSION = 1
BACKUPS_KEPT = 20
_INDEX = "setup.json"


class ManifestError(ValueError):
    """The manifest cannot be read. `path` says which."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path, self.why = path, why


@dataclass(frozen=True, slots=True)
class Entry:
    """One record as it is stored. `baseline` is a path below the backups, None when there was no file."""

    scope_id: str
    path: str
    at: str
    sha256_before: str | None
    sha256_after: str
    mode_before: int | None
    mode_after: int
    baseline: str | None
    folder_made: bool
    pointers: tuple[str, ...]
    created: tuple[str, ...]


@dataclass(slots=True)
class Manifest:
    """All records of one client, by scope and path, and the digests of the hook's files."""

    client: str
    entries: dict[tuple[str, str], Entry] = field(default_factory=dict)
    hook: dict[str, str] = field(default_factory=dict)


def sha256(data: bytes) -> str:
    """The digest that the manifest keeps."""
    return hashlib.sha256(data).hexdigest()


def manifest_path(folders: Folders, client: str) -> Path:
    """Where the manifest of a client is."""
    return folders.state / "setup" / f"{client}.json"


def backups_path(folders: Folders) -> Path:
    """Where the backups are."""
    return folders.state / "backups"


def load(folders: Folders, client: str) -> Manifest:
    """The manifest of a client; an empty one when there is none yet.

    Raises:
        ManifestError: it cannot be read, or is of a newer program.
    """
    path = manifest_path(folders, client)
    manifest = Manifest(client)
    try:
        stored = json.loads(path.read_bytes())
        for each in stored["files"] if stored["v"] == VERSION else ():
            each["pointers"], each["created"] = tuple(each["pointers"]), tuple(each["created"])
            entry = Entry(**each)
            manifest.entries[entry.scope_id, entry.path] = entry
        manifest.hook = dict(stored["hook"])
    except FileNotFoundError:
        return manifest
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ManifestError(path, str(error) or type(error).__name__) from None
    if stored["v"] != VERSION:
        raise ManifestError(path, f"version {stored['v']} is of another relaybay")
    return manifest


def save(folders: Folders, manifest: Manifest) -> None:
    """Writes the manifest; an empty one is removed."""
    path = manifest_path(folders, manifest.client)
    if not manifest.entries:
        path.unlink(missing_ok=True)
        return
    files = [{name: getattr(entry, name) for name in Entry.__slots__} for entry in manifest.entries.values()]
    stored: dict[str, Any] = {"v": VERSION, "client": manifest.client, "hook": manifest.hook, "files": files}
    write_file(path, json.dumps(stored, indent=2).encode() + b"\n", SECRET_MODE)


def record_of(folders: Folders, entry: Entry) -> Record:
    """The record with the bytes to go back to, checked against their digest."""
    baseline, lost = None, False
    if entry.baseline is not None:
        try:
            baseline = (backups_path(folders) / entry.baseline).read_bytes()
        except OSError:
            lost = True
        if baseline is not None and sha256(baseline) != entry.sha256_before:
            baseline, lost = None, True
    return Record(
        sha256_after=entry.sha256_after,
        baseline=baseline,
        baseline_lost=lost,
        mode_before=entry.mode_before,
        mode_after=entry.mode_after,
        pointers=entry.pointers,
        created=entry.created,
    )


def new_backup(folders: Folders, stamp: str) -> Path:
    """A new, empty folder for one run's backups."""
    above = backups_path(folders)
    above.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number in range(1000):
        folder = above / (stamp if number == 0 else f"{stamp}-{number}")
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(str(above / stamp))


def write_index(folder: Path, client: str, scope_id: str, files: list[dict[str, Any]]) -> None:
    """Says in a backup what is in it; only folders with an index are ever pruned."""
    stored = {"v": VERSION, "client": client, "scope": scope_id, "files": files}
    write_file(folder / _INDEX, json.dumps(stored, indent=2).encode() + b"\n", SECRET_MODE)


def prune(folders: Folders) -> None:
    """Keeps the newest backups, and those that a manifest still needs for an undo."""
    needed = set()
    for path in (folders.state / "setup").glob("*.json"):
        try:
            entries = load(folders, path.stem).entries.values()
        except ManifestError:
            return  # What is needed is unknown, so nothing goes.
        needed |= {Path(entry.baseline).parts[0] for entry in entries if entry.baseline is not None}
    ours = sorted(path.parent for path in backups_path(folders).glob(f"*/{_INDEX}"))
    for folder in ours[:-BACKUPS_KEPT]:
        if folder.name not in needed:
            shutil.rmtree(folder, ignore_errors=True)
