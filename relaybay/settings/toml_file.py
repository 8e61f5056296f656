"""Reading one TOML file as configuration. What is wrong in it is told with its line, which the parser does not keep."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from relaybay.errors import SettingsError
from relaybay.settings.keys import KEYS, Value, checked

PROJECT_FILE = ".relaybay.toml"
FILE_BYTES_MAX = 1 << 20

Source = Literal["flag", "environment", "project", "config", "default"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from: the kind of source, and the place in it (`file:line`, a variable, a flag)."""

    source: Source
    where: str = ""

    def __str__(self) -> str:
        """As `relaybay config show --origin` prints it."""
        return self.where or self.source


Layer = dict[str, tuple[Value, Origin]]


def read_file(path: Path, *, project: bool) -> Layer:
    """The keys of one TOML file; none when there is no file. Raises SettingsError."""
    try:
        # Without blocking: a pipe in the file's place would hold the program for ever, and is no configuration.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            kind = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(kind):
                raise SettingsError(str(path), "is no regular file")
            data = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(str(path), f"cannot be read ({error.strerror})") from error
    if len(data) > FILE_BYTES_MAX:
        raise SettingsError(str(path), f"is larger than {FILE_BYTES_MAX} bytes")
    return read_text(path, data, project=project)


def read_text(path: Path, data: bytes, *, project: bool) -> Layer:
    """The keys of one TOML document that is, or is to be, the file `path`. Raises SettingsError."""
    import tomllib  # noqa: PLC0415 - most commands find no file at all, and start-up time counts (PERF-10).

    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}:{data.count(10, 0, error.start) + 1}", "is not UTF-8") from error
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # The parser names its own errors; a number of thousands of digits, and lists in lists without end, it lets out
        # as Python's.
        raise SettingsError(f"{path}:{_line_of_error(str(error), text)}", f"is no TOML: {error}") from error
    source: Source = "project" if project else "config"
    layer: Layer = {}
    for name, value in _flat(document):
        where = f"{path}:{line_of(text, name)}"
        layer[name] = (checked(where, name, value, project=project), Origin(source, where))
    return layer


def _flat(document: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Every key with its value as `table.key`; tables and keys that nobody knows among them."""
    found: list[tuple[str, Any]] = []
    tables = {name.partition(".")[0] for name in KEYS}
    for name, value in document.items():
        if isinstance(value, dict) and name in tables:
            found += [(f"{name}.{inner}", of_inner) for inner, of_inner in value.items()]
        elif isinstance(value, dict) and value:
            found.append((f"{name}.{next(iter(value))}", value))  # Of an unknown table, its first key tells enough.
        else:
            found.append((name, value))
    return found


def project_file(folder: Path) -> Path | None:
    """The nearest `.relaybay.toml`, from a folder upwards."""
    here = Path(os.path.realpath(folder))
    return next((f / PROJECT_FILE for f in (here, *here.parents) if (f / PROJECT_FILE).is_file()), None)


_ERROR_LINE = re.compile(r"at line (\d+)")
# Each in one pass, blanks among the name: a line of a thousand blanks must cost no more than its length.
_HEADER = re.compile(r"\s*\[\[?(?P<name>[^\[\]]+)\]\]?\s*(?:#.*)?$")
_ENTRY = re.compile(r"(?P<name>[^#=\[]+)=")


def _line_of_error(message: str, text: str) -> int:
    found = _ERROR_LINE.search(message)
    return int(found[1]) if found else text.rstrip().count("\n") + 1


def line_of(text: str, name: str) -> int:
    """The line on which a key of a TOML document is set; the parser itself keeps none. 1 when it is not found."""
    table = ""
    nearest = 1
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        entry = None if header else _ENTRY.match(line)
        if header:
            table = full = _plain(header["name"])
        elif entry:
            full = _plain(f"{table}.{entry['name']}" if table else entry["name"])
        else:
            continue
        if full == name:
            return number
        if name.startswith(full + "."):
            nearest = number  # Its table, which is also where an inline table stands.
    return nearest


def _plain(name: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in name.split("."))
