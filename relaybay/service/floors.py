"""What a project's `.relaybay.toml` says of messaging: the floor of its sessions' policy and their lower bounds (page
50, SET-2 to 4). A file that can't be used holds everything (SET-6).

The nearest file upwards from a session's folder counts. It is read anew when it changed; to look whether it did is one
`stat` for each folder on the way up.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal, cast

from relaybay.errors import SettingsError
from relaybay.rules.policy import Policy
from relaybay.settings import Value, project_file
from relaybay.settings.toml_file import read_file

_FILES_KEPT = 256


@dataclass(frozen=True, slots=True)
class Floor:
    """`inbound` is the project's floor, '' without one. `values` are the bounds it sets, by key. `problem` says file,
    line and what is wrong in a file that can't be used, `place` file and line alone; `file` is that file, '' without
    one.
    """

    inbound: Policy | Literal[""] = ""
    values: Mapping[str, Value] = field(default_factory=dict)
    problem: str = ""
    file: str = ""
    place: str = ""

    def lowered(self, key: str, own: int) -> int:
        """A bound that a project may lower: the smaller of both (SET-3, SET-4)."""
        return min(own, int(self.values.get(key, own)))


NONE = Floor()


def canonical(folder: str) -> str:
    """A folder without symbolic links, as two of them are compared (COHORT-3); '' stays unknown."""
    return os.path.realpath(folder) if folder else ""


def of(folder: str) -> Floor:
    """The floor of whoever works in this folder; '' has none."""
    if not folder:
        return NONE
    try:
        path = project_file(Path(folder))
        if path is None:
            return NONE
        found = path.stat()
    except (OSError, ValueError):
        # A folder that is gone, or that is no path on this machine (a session of another one): nothing is set there.
        return NONE
    # What copies a file with its times, or lets it be read, changes the inode's own time all the same.
    return _read(path, (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino))


@lru_cache(maxsize=_FILES_KEPT)
def _read(path: Path, _version: tuple[int, ...]) -> Floor:
    try:
        layer = read_file(path, project=True)
    except SettingsError as error:
        return Floor("hold", problem=str(error), file=str(path), place=error.where)
    values = {name: value for name, (value, _) in layer.items()}
    return Floor(cast("Policy | Literal['']", values.get("messaging.inbound", "")), values, file=str(path))
