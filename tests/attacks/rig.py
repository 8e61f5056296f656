"""The program in a process of its own, on a home of its own, and everything that an attacker may try to read of it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from relaybay.cli.shell import AGENT_VARIABLES
from relaybay.service.presence import _LIVE_FIELDS
from tests.api.wire import Response, Wire

ROOT = Path(__file__).resolve().parent.parent.parent
MODERN = "2026-07-28"
LEGACY = "2025-11-25"
ACCEPT = {"Accept": "application/json, text/event-stream"}
_META = "io.modelcontextprotocol/"


class Tape(Wire):
    """A wire that keeps what the server answered."""

    def __init__(self, address: int | Path, tape: list[bytes], headers: dict[str, str] | None = None) -> None:
        super().__init__(address, headers or {})
        self.tape = tape

    def raw(self, data: bytes, *, head: bool = False) -> Response:
        response = super().raw(data, head=head)
        self.tape.append(b"\n".join([*(f"{n}: {v}".encode() for n, v in response.headers), response.body]))
        return response


class Product:
    """`with Product() as product: …`: a running server; `umask` and `env` are its own."""

    def __init__(self, *, umask: int = 0o022, env: Mapping[str, str] | None = None) -> None:
        # Short, because a socket's path is limited.
        self.folder = Path(tempfile.mkdtemp(prefix="rb"))
        self.home = self.folder / "h"
        self.env = {**os.environ, "HOME": str(self.folder), "RELAYBAY_HOME": str(self.home), **(env or {})}
        self.tape: list[bytes] = []
        self._umask = umask

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.remove()

    def remove(self) -> None:
        """Removes the home and all that is in it."""
        shutil.rmtree(self.folder)

    # --- its life ---

    def start(self) -> None:
        """Starts the server and waits for the line that says where it is."""
        self._log = (self.folder / "stderr").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "relaybay", "up", "--foreground", "--port", "0", "--json"],
            cwd=ROOT,
            env=self.env,
            umask=self._umask,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log
        self.line: dict[str, Any] = json.loads(line)
        self.url: str = self.line["url"]
        self.port = int(self.url.rpartition(":")[2])

    def stop(self) -> None:
        """Ends the server as a service manager would."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(20) == 0, self.log
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._log.close()

    def command(self, *words: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        """One command line of a person at a terminal."""
        env = {name: value for name, value in self.env.items() if name not in AGENT_VARIABLES}
        done = subprocess.run(
            [sys.executable, "-m", "relaybay", *words],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=40,
            check=False,
        )
        assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    @property
    def log(self) -> str:
        return (self.folder / "stderr").read_text(errors="surrogateescape")

    # --- its keys ---

    @property
    def token(self) -> str:
        return (self.home / "run" / "token").read_text().strip()

    @property
    def hook_key(self) -> str:
        return (self.home / "run" / "hook.key").read_text().strip()

    @property
    def owner_key(self) -> str:
        return (self.home / "run" / "owner.key").read_text().strip()

    # --- ways in ---

    @property
    def tcp(self) -> Tape:
        """Anybody on this machine."""
        return Tape(self.port, self.tape)

    @property
    def agent(self) -> Tape:
        """A holder of the token."""
        return Tape(self.port, self.tape, {"Authorization": f"Bearer {self.token}"})

    @property
    def hooks(self) -> Tape:
        """A holder of the hook key."""
        return Tape(self.port, self.tape, {"Authorization": f"Bearer {self.hook_key}"})

    @property
    def owner(self) -> Tape:
        """The owner's commands, over the socket."""
        return Tape(self.home / "run" / "relaybay.sock", self.tape, {"X-Relaybay-Owner": self.owner_key})

    def browser(self) -> tuple[dict[str, str], dict[str, str]]:
        """Headers of a browser that has logged in: for reading, and for writing."""
        link = self.owner.post("/api/v1/login-codes").json["url"]
        answer = Tape(self.port, []).get(link.removeprefix(self.url))
        assert answer.status == 303, answer
        reading = {"Cookie": (answer.header("set-cookie") or "").partition(";")[0]}
        page = Tape(self.port, []).get("/", reading).body.decode()
        token = page.partition('name="csrf" value="')[2].partition('"')[0]
        assert token, "the page has no form"
        return reading, {**reading, "X-CSRF-Token": token}

    # --- MCP, by hand ---

    def rpc(self, method: str, params: Mapping[str, Any] | None = None, **headers: str) -> Response:
        """One request of the newer era. `headers` replace or add ones (`Mcp_Method="…"`); an empty one is left out."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": meta()}}
        given = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method, **ACCEPT}
        if isinstance(name := body["params"].get("name"), str) and name.isascii():
            given["Mcp-Name"] = name
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.agent.post("/mcp", body, {name: value for name, value in given.items() if value})

    def tool(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """One tool call: what a model is given of it. A refusal has `code`."""
        answer = self.rpc("tools/call", {"name": name, "arguments": arguments})
        assert answer.status == 200, answer
        result = answer.json["result"]
        content: dict[str, Any] = result["structuredContent"]
        assert bool(result.get("isError")) == ("code" in content), result
        return content

    def hook(self, name: str, session: str, **more: Any) -> Response:
        """One event of the client."""
        return self.hooks.post("/hooks/claude-code", {"session_id": session, "hook_event_name": name, **more})

    # --- what is kept ---

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table, the schema's own and the database's numbers among them."""
        path = f"file:{self.home / 'data' / 'relaybay.db'}?mode=ro"
        with closing(sqlite3.connect(path, uri=True)) as database:
            database.execute("BEGIN")
            tables = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            asked = {name: f'SELECT * FROM "{name}"' for name in [*tables, "sqlite_schema"]}
            asked |= {f"PRAGMA {name}": f"PRAGMA {name}" for name in ("user_version", "application_id")}
            # What memory is ahead of the store by is written whenever its 15 s are over; `remembered` has it.
            columns = [
                name for _, name, *_ in database.execute("PRAGMA table_info(session)") if name not in _LIVE_FIELDS
            ]
            asked["session"] = f"SELECT {', '.join(columns)} FROM session"
            # The names are the database's own.
            return {name: sorted(database.execute(sql).fetchall(), key=repr) for name, sql in sorted(asked.items())}

    def remembered(self) -> dict[str, Any]:
        """What the server keeps in memory and writes only later, as the owner is shown it; and its keys."""
        owner = Wire(self.home / "run" / "relaybay.sock", self.owner.headers)
        sessions = owner.get("/api/v1/sessions").json
        return {"sessions": sessions, "keys": [self.token, self.hook_key, self.owner_key]}

    def digest(self) -> str:
        """A digest of all that is kept: the same as long as nothing in it has changed."""
        kept = repr((self.rows(), self.remembered()))
        return hashlib.sha256(kept.encode("utf-8", "surrogatepass")).hexdigest()


def meta(version: str = MODERN) -> dict[str, Any]:
    """What each request of the newer era says of itself."""
    return {
        f"{_META}protocolVersion": version,
        f"{_META}clientInfo": {"name": "attacker", "version": "1"},
        f"{_META}clientCapabilities": {},
    }
