"""The history of one run: what its clients asked for and what they were told, one JSON object a line.

The first line is the header: campaign, seed, commit, and the command that replays the run. Then, in the order in which
the client knew it, with the monotonic time:

* `invoke`: before the call leaves. `n` is the operation's number, `op` its kind, `client` who asks.
* `ok`: its answer said that it was done. From here on it must be true for ever.
* `fail`: its answer said that it was not done; it must have changed nothing.
* `unknown`: no answer came. It may have been done or not; whoever repeats it with the same key must not do it twice.
* `note`: what the campaign did to the product (`what` = `kill`, `fault`, `start` …).

What the checker knows of the operations:

| op | `invoke` has | `ok` has |
|---|---|---|
| `send` | `sender`, `key` (request id, may be empty), `sha256` of the body | `message_id` |
| `comment` | `sha256` | `comment_id` |
| `task` | `title` | `task` (its key) |
| `hook` | `session` (hook id), `event` (its name) | `shown`: ids of messages and comments, in the order of the text |
| `ack` | `ids` | `read`: the ids that are read now |
| `feed` | `cursor` | `events`: pairs of number and type |
| `counts` | | `open`: messages that are not read, `messages`, `tasks`: how many the product says there are |
| `replay` | `events`: ids of spooled events | `applied`, `repeated` |

Any other kind may be written too and is only counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parents[2]
Result = Literal["ok", "fail", "unknown"]


@cache
def commit() -> str:
    """The commit of this tree, with a `+` when there is more in it; `unknown` outside a repository."""
    try:
        told = subprocess.run(
            ["git", "describe", "--always", "--abbrev=40", "--dirty=+", "--exclude=*"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except OSError:
        return "unknown"
    return told.stdout.strip() or "unknown"


def digest(text: str) -> str:
    """SHA-256 of a body, as the history keeps it; a lone surrogate is hashed as what it is."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class History:
    """Writes a history. Safe to use from many threads; each line is with the system before the call returns.

    A child process appends to the history of its parent: `History(path, append=True)` writes no header. Its numbers start
    at `first`, so that two writers do not use one number.
    """

    def __init__(
        self,
        path: Path,
        campaign: str = "",
        seed: int = 0,
        replay: str = "",
        *,
        append: bool = False,
        first: int = 1,
    ) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._next = first
        # Without a buffer: a line is one write, and a process that is killed leaves whole lines.
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        if not append:
            self._write({"kind": "header", "campaign": campaign, "seed": seed, "commit": commit(), "replay": replay})

    def _write(self, line: dict[str, Any]) -> None:
        data = json.dumps(line, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            os.write(self._file, data)

    def invoke(self, op: str, client: str = "", **said: Any) -> int:
        """Something is about to be asked for; gives its number."""
        with self._lock:
            number = self._next
            self._next += 1
        self._write({"kind": "invoke", "n": number, "at": time.monotonic(), "op": op, "client": client, **said})
        return number

    def end(self, number: int, result: Result, **said: Any) -> None:
        self._write({"kind": result, "n": number, "at": time.monotonic(), **said})

    def ok(self, number: int, **said: Any) -> None:
        self.end(number, "ok", **said)

    def fail(self, number: int, **said: Any) -> None:
        self.end(number, "fail", **said)

    def unknown(self, number: int, **said: Any) -> None:
        self.end(number, "unknown", **said)

    def note(self, what: str, **said: Any) -> None:
        self._write({"kind": "note", "at": time.monotonic(), "what": what, **said})

    @contextmanager
    def asking(self, op: str, client: str = "", **said: Any) -> Iterator[dict[str, Any]]:
        """`with history.asking("send", key=…) as told: told["message_id"] = …`: ok with what was told, and unknown when
        the block raises, for then nobody knows.
        """
        number = self.invoke(op, client, **said)
        told: dict[str, Any] = {}
        try:
            yield told
        except BaseException as error:
            self.unknown(number, why=type(error).__name__)
            raise
        self.ok(number, **told)

    def close(self) -> None:
        os.close(self._file)


@dataclass(frozen=True)
class Operation:
    """One operation as it went. `begun` and `ended` are line numbers: of two operations one was over before the other
    began when its `ended` is smaller than the other's `begun`. Nothing heard until the end of the history is `unknown`.
    """

    n: int
    op: str
    client: str
    said: dict[str, Any]
    begun: int
    result: Result = "unknown"
    told: dict[str, Any] = field(default_factory=dict)
    ended: int = 1 << 62


@dataclass(frozen=True)
class Told:
    """A history that was read: its header, the operations in the order of their beginning, the notes."""

    header: dict[str, Any]
    operations: list[Operation]
    notes: list[dict[str, Any]]

    def of(self, *ops: str) -> list[Operation]:
        return [one for one in self.operations if one.op in ops]


def read(path: Path) -> Told:
    """Reads a history. A last line that was cut short is nothing that anybody was told; any other one is an error."""
    whole, _, _cut = path.read_bytes().rpartition(b"\n")
    header: dict[str, Any] = {}
    begun: dict[int, tuple[int, dict[str, Any]]] = {}
    ended: dict[int, tuple[int, dict[str, Any]]] = {}
    notes = []
    for place, text in enumerate(whole.splitlines()):
        line = json.loads(text)
        kind = line["kind"]
        if kind == "header":
            header = header or line
        elif kind == "note":
            notes.append(line)
        else:
            where = begun if kind == "invoke" else ended
            assert line["n"] not in where, f"line {place + 1}: number {line['n']} stands twice"
            where[line["n"]] = (place, line)
    assert ended.keys() <= begun.keys(), "an answer to nothing"
    return Told(header, [_operation(n, *first, ended.get(n)) for n, first in begun.items()], notes)


def _operation(n: int, begun: int, said: dict[str, Any], end: tuple[int, dict[str, Any]] | None) -> Operation:
    shown = {name: value for name, value in said.items() if name not in ("kind", "n", "at", "op", "client")}
    if end is None:
        return Operation(n, said["op"], said["client"], shown, begun)
    place, line = end
    told = {name: value for name, value in line.items() if name not in ("kind", "n", "at")}
    return Operation(n, said["op"], said["client"], shown, begun, line["kind"], told, place)
