"""Reading `automations.toml`: the owner's rules as they stand there, each with the lines of its keys.

Only what a file can be wrong in is told here: what a rule may hold is `rules/automation.py`'s, what follows from it the
service's. There is one such file, beside the configuration; no project has any.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relaybay.errors import SettingsError

FILE_BYTES_MAX = 1 << 20
RULES_MAX = 100
TABLE = "automation"

_ERROR_LINE = re.compile(r"at line (\d+)")
_BEGIN = re.compile(r"\s*\[\[\s*automation\s*\]\]")
_HEADER = re.compile(r"\s*\[\[?(?P<name>[^\[\]]+)\]\]?")
_ENTRY = re.compile(r"(?P<name>[A-Za-z0-9_.\"' \t-]+)=")


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """One `[[automation]]` table: its values, the line it begins on, and the lines of its keys (`run.command` …)."""

    values: Mapping[str, Any]
    line: int
    lines: Mapping[str, int] = field(default_factory=dict)

    def line_of(self, key: str) -> int:
        """Where a key stands, else where its table does, else where the rule begins."""
        return self.lines.get(key) or self.lines.get(key.partition(".")[0]) or self.line


def read(path: Path) -> tuple[WrittenRule, ...]:
    """The rules of the file, none when there is no file. Raises SettingsError with file and line."""
    try:
        # Without blocking, as for the configuration: a pipe in its place is no file of rules.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SettingsError(str(path), "is no regular file")
            data = file.read(FILE_BYTES_MAX + 1)
            facts = os.fstat(file.fileno())
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise SettingsError(str(path), f"cannot be read ({error.strerror})") from error
    if len(data) > FILE_BYTES_MAX:
        raise SettingsError(str(path), f"is larger than {FILE_BYTES_MAX} bytes")
    if facts.st_uid not in (os.geteuid(), 0) or facts.st_mode & 0o002:
        # It names commands that run as this user: whoever may write it may run anything.
        raise SettingsError(
            str(path),
            "may be written by every user of this machine, or is another user's; mend that with chmod o-w or chown",
        )
    return of_text(path, data)


def of_text(path: Path, data: bytes) -> tuple[WrittenRule, ...]:
    """The rules of one document that is, or is to be, the file `path`. Raises SettingsError."""
    import tomllib  # noqa: PLC0415 - most starts find no such file, and start-up time counts (PERF-10).

    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}:{data.count(10, 0, error.start) + 1}", "is not UTF-8") from error
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        found = _ERROR_LINE.search(str(error))
        line = int(found[1]) if found else text.rstrip().count("\n") + 1
        raise SettingsError(f"{path}:{line}", f"is no TOML: {error}") from error
    places = _places(text)
    for name in document:
        if name != TABLE:
            raise SettingsError(f"{path}:{_line(text, name)}", f"unknown key {name}; rules are [[{TABLE}]] tables")
    rules = document.get(TABLE, [])
    if not isinstance(rules, list) or not all(isinstance(one, dict) for one in rules):
        raise SettingsError(f"{path}:{_line(text, TABLE)}", f"{TABLE} must be written as [[{TABLE}]] tables")
    if len(rules) > RULES_MAX:
        raise SettingsError(f"{path}:1", f"has {len(rules)} rules; at most {RULES_MAX} are taken")
    # A list in one line has no tables to find, and then every rule stands where the list does.
    alone = {"": _line(text, TABLE)}
    found_at = places if len(places) == len(rules) else [alone] * len(rules)
    return tuple(WrittenRule(one, at[""], at) for one, at in zip(rules, found_at, strict=True))


def _places(text: str) -> list[dict[str, int]]:
    """For each rule the lines of its keys, `''` for its header. The parser keeps none."""
    found: list[dict[str, int]] = []
    table: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if _BEGIN.match(line):
            found.append({"": number})
            table = ""
            continue
        header = _HEADER.match(line)
        if header:
            name = _plain(header["name"])
            table = name.removeprefix(TABLE + ".") if found and name.startswith(TABLE + ".") else None
            if table:
                found[-1].setdefault(table, number)
            continue
        entry = _ENTRY.match(line)
        if entry and table is not None:
            name = _plain(entry["name"])
            found[-1].setdefault(f"{table}.{name}" if table else name, number)
    return found


def _plain(name: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in name.split("."))


def _line(text: str, name: str) -> int:
    for number, line in enumerate(text.splitlines(), start=1):
        found = _HEADER.match(line) or _ENTRY.match(line)
        if found and _plain(found["name"]).split(".")[0] == name:
            return number
    return 1
