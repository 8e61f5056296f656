"""What the tests of the command hook share: a home folder with an installed copy, and a small server to talk to."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pytest

from relaybay import spool
from relaybay.client import FILES

SOURCE = Path(__file__).parents[2] / "relaybay" / "client"
BASE_PYTHON = str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())
STOP = {"session_id": "s-1", "hook_event_name": "Stop", "cwd": "/repo", "stop_hook_active": False}
BODY = json.dumps(STOP).encode()
QUICK = {"RELAYBAY_HOOK_DEADLINE_MS": "300"}


def body_of(event: dict[str, object]) -> bytes:
    return json.dumps(event).encode()


def ok(answer: bytes, status: str = "200 OK", kind: str = "application/json") -> bytes:
    """A whole answer, as a server with a length writes it."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(answer)}\r\n\r\n"
    return head.encode() + answer


@dataclass
class Request:
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Server:
    """Answers each request with what `reply` says: bytes, then the connection is closed; None: it hangs."""

    reply: Callable[[Request], bytes | list[bytes] | None]
    path: str | None = None
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    port: int = 0

    def __enter__(self) -> Self:
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        assert self.ready.wait(5)
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)
        assert not self.thread.is_alive()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        if self.path is not None:
            server = self.loop.run_until_complete(asyncio.start_unix_server(self._serve, self.path))
        else:
            server = self.loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
            self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        self.loop.run_forever()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))
        server.close()
        self.loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii").split("\r\n")
            pairs = (line.split(": ", 1) for line in head[1:] if line)
            headers = {name.lower(): value for name, value in pairs}
            body = await reader.readexactly(int(headers["content-length"]))
            request = Request(head[0].split(" ")[1], headers, body)
            self.requests.append(request)
            answer = self.reply(request)
            if answer is None:
                await reader.read()  # Until the hook gives up.
            elif isinstance(answer, list):  # Dribbled.
                for part in answer:
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(0.05)
            else:
                writer.write(answer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


@dataclass
class Home:
    """A RELAYBAY_HOME with the hook installed as `setup` does it. Short, since a socket's path is limited."""

    path: Path
    script: Path

    @property
    def sock(self) -> str:
        return str(self.path / "run" / "relaybay.sock")

    @property
    def spool(self) -> Path:
        return self.path / "state" / "spool"

    @property
    def down(self) -> Path:
        return self.path / "run" / "down"

    @property
    def log(self) -> str:
        file = self.path / "state" / "hook.log"
        return file.read_text() if file.exists() else ""

    def server(self, reply: Callable[[Request], bytes | list[bytes] | None] | bytes | None) -> Server:
        return Server(reply if callable(reply) else lambda _: reply, self.sock)

    def command(self, *args: str) -> list[str]:
        return [BASE_PYTHON, "-I", "-S", str(self.script), "--home", str(self.path), *args]

    def run(self, body: bytes, *args: str, env: dict[str, str] | None = None, **more) -> subprocess.CompletedProcess:
        return subprocess.run(
            self.command(*args), input=body, capture_output=True, env=env or {}, timeout=30, check=False, **more
        )

    def silent(self, body: bytes, *args: str, env: dict[str, str] | None = None, **more) -> float:
        """Runs the hook, which must say nothing and end with 0. Returns the seconds it took."""
        began = time.monotonic()
        done = self.run(body, *args, env=env, **more)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        return time.monotonic() - began


def install(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copy(SOURCE / name, folder / name)
    return folder / "hook.py"


def make_home(script: Path, parent: str | None = None) -> Home:
    path = Path(tempfile.mkdtemp(prefix="rb-", dir=parent))
    (path / "run").mkdir(mode=0o700)
    return Home(path, script)


def remove(home: Home) -> None:
    for folder in (home.path / "state", home.spool):
        if folder.is_dir() and not folder.is_symlink():
            folder.chmod(0o700)
    shutil.rmtree(home.path)


def spooled(home: Home) -> list[spool.SpooledEvent]:
    """Takes the spool and says what was in it; nothing of it may be bad."""
    found = []
    for batch in spool.take(home.spool):
        assert batch.bad == 0
        found += batch.events
        batch.done()
    return found


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    return install(tmp_path_factory.mktemp("data") / "bin")


@pytest.fixture
def home(script):
    made = make_home(script)
    yield made
    remove(made)
