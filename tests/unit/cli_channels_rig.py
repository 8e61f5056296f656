"""Commands of channels in this process, on a server whose every answer the test decides."""

from __future__ import annotations

import io
import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import relaybay
from relaybay.cli.root import run
from relaybay.cli.shell import AGENT_VARIABLES
from relaybay.rules.text import name_literal
from tests.unit.cli_server import StubServer, serving

TREE = Path(relaybay.__file__).parent.parent
SENT_AT = "2026-03-04T05:06:07.000000Z"

#: Text that a terminal would obey, or that shows other than it is: escape, bell, CR, direction marks, zero width, tag.
HOSTILE = "a\x1b[31mb\x07c\rd\u202ee\u2066f\u200bg\U000e0041h"
HIDDEN = tuple("\x1b\x07\r\u202e\u2066\u200b\U000e0041")


class Rig:
    """Runs commands; `stub` is the server they find."""

    def __init__(self, stub: StubServer, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
        self.stub, self.home, self.monkeypatch, self._capsys = stub, home, monkeypatch, capsys

    def run(self, *words: str, piped: bytes = b"") -> tuple[int, str, str]:
        """(exit code, stdout, stderr) of a command whose stdin is a pipe with these bytes."""
        self.monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped)))
        code = run(words)
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def ask(self, *words: str, piped: bytes = b"") -> tuple[int, dict[str, Any]]:
        """(exit code, the one document) of a command with --json."""
        code, out, _ = self.run(*words, "--json", piped=piped)
        assert out.count("\n") == 1, out
        document = json.loads(out)
        assert document["v"] == 1
        return code, document

    def body(self) -> Any:
        """What the last call posted."""
        return self.stub.asked[-1][2]

    def at_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """From here on a person is there, as far as a command can tell."""
        monkeypatch.setattr("relaybay.cli.shell.has_terminal", lambda: True)

    def program(self, *words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        """A command in a process of its own, as a script runs it."""
        env = {name: os.environ[name] for name in ("PATH", "HOME", "RELAYBAY_HOME") if name in os.environ}
        env |= {"PYTHONPATH": str(TREE)}
        given = [sys.executable, "-m", "relaybay", *words]
        return subprocess.run(given, env=env, capture_output=True, timeout=30, check=False, **options)


@contextmanager
def rig_of(monkeypatch: pytest.MonkeyPatch, capsys: Any, *, server: bool = True) -> Iterator[Rig]:
    # pytest's own folders are too deep for a socket's name.
    folder = Path(tempfile.mkdtemp(prefix="rb"))
    for name in [*AGENT_VARIABLES, *(name for name in os.environ if name.startswith("RELAYBAY_"))]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RELAYBAY_HOME", str(folder))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.chdir(folder)
    try:
        if server:
            with serving(folder) as stub:
                yield Rig(stub, folder, monkeypatch, capsys)
        else:
            yield Rig(None, folder, monkeypatch, capsys)  # type: ignore[arg-type]
    finally:
        shutil.rmtree(folder)


def at_terminal(answer: bytes, *words: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Runs a command with a terminal for its three streams; gives (exit code, all it printed)."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update({"PYTHONPATH": str(TREE)} | (env or {}))
        os.execv(sys.executable, [sys.executable, "-m", "relaybay", *words])
    os.write(terminal, answer)
    said = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        said += part
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said.decode()


def receipt(state: str = "held", reason_code: str | None = "script", **more: Any) -> dict[str, Any]:
    """What the server answers to a script's direct message."""
    said: dict[str, Any] = {
        "message_id": "m_1",
        "recipient": {"ref": "S-2", "title": "shop web", "name": "brave-otter-quay"},
        "sender_verified": False,
        "state": state,
        "text": f"m_1 to {name_literal('shop web')}.",
    }
    return said | ({"reason_code": reason_code} if reason_code else {}) | more


def publication(*recipients: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What the server answers to a publication."""
    said = {
        "message_id": "m_2",
        "audience": {"kind": "topic", "topic": "ci.failures"},
        "recipients": list(recipients),
        "skipped": 0,
        "queued": [],
        "text": "Published.",
    }
    return said | more


def line(body: str = "First.\nSecond.", **more: Any) -> dict[str, Any]:
    """One message of the log, as the server has it."""
    said = {
        "message_id": "m_3",
        "sent_at": SENT_AT,
        "audience": {"kind": "topic", "topic": "ci.failures"},
        "from": {"title": "ci", "verified": False, "script": True},
        "recipients": [{"title": "shop", "name": "brave-otter-quay", "ref": "S-2", "state": "delivered"}],
        "body": body,
    }
    return said | more


def log(*lines: dict[str, Any], channels: bool = True) -> dict[str, Any]:
    return {"messages": list(lines), "channels": channels, "text": f"{len(lines)} messages."}
