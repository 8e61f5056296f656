"""A small real HTTP server on a Unix socket, with files as a running relaybay leaves them, for tests of the CLI."""

from __future__ import annotations

import json
import os
import socketserver
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from relaybay import __version__
from relaybay.settings import Paths

KEY = "k" * 43


class StubServer:
    """Answers with what `answers` holds per (method, path), else 404; keeps what it was asked."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.answers: dict[tuple[str, str], tuple[int, object]] = {}
        self.asked: list[tuple[str, str, object]] = []
        self.headers: list[dict[str, str]] = []

    def answer(self, method: str, path: str, content: object, status: int = 200) -> None:
        self.answers[method, path] = (status, content)

    def refuse(self, method: str, path: str, code: str, status: int, spec_id: str = "75") -> None:
        problem = {"type": "about:blank", "status": status, "code": code, "spec_id": spec_id, "detail": f"no: {code}."}
        self.answer(method, path, problem, status)

    def card(self, **members) -> None:
        said = {"pid": os.getpid(), "port": 7717, "url": "http://127.0.0.1:7717", "version": __version__}
        self.paths.server_json.write_text(json.dumps(said | members))


@contextmanager
def serving(home: Path):
    paths = Paths.find({"RELAYBAY_HOME": str(home)})
    paths.make()
    stub = StubServer(paths)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def address_string(self) -> str:
            return "unix"

        def log_message(self, *args) -> None:
            pass

        def handle_call(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            stub.asked.append((self.command, self.path, json.loads(body) if body else None))
            stub.headers.append({name.lower(): value for name, value in self.headers.items()})
            path = self.path.partition("?")[0]
            missing = {"code": "not_found", "spec_id": "75", "detail": "nothing there"}
            status, content = stub.answers.get((self.command, path), (404, missing))
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = handle_call
        do_POST = handle_call

    class Server(socketserver.ThreadingUnixStreamServer):
        daemon_threads = True

        def handle_error(self, request, client_address) -> None:
            pass  # A command that ends while it is being answered is no fault of this server.

    with Server(str(paths.socket), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        paths.owner_key.write_text(KEY + "\n")
        paths.owner_key.chmod(0o600)
        stub.card()
        yield stub
        server.shutdown()
        thread.join()
