"""The floor of the board's live updates: ten tabs, one shared worker, one stream, one fragment put in whole.

No store, no template, no morph; a fragment as heavy as the board's own. In this process, so that an event begins where
the clock is read.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

_PAGE: Final = (
    b'<!doctype html><title>floor</title><main id="main"><h3 id="watched"></h3></main><script src="/app.js"></script>'
)
_WORKER: Final = b"""const ports = [];
new EventSource("/stream").onmessage = () => ports.forEach((port) => port.postMessage(1));
onconnect = (event) => ports.push(event.ports[0]);
"""
_APP: Final = b"""const worker = new SharedWorker("/worker.js");
worker.port.onmessage = async () => {
  document.getElementById("main").innerHTML = await (await fetch("/fragment", { cache: "no-store" })).text();
};
document.title = "ready";
"""


class Floor:
    """Where it is, and `tell`, which changes the fragment's heading and wakes every tab."""

    def __init__(self, filler_bytes: int) -> None:
        self._streams: list[queue.SimpleQueue[str]] = []
        self.heading = ""
        filler = "<p>A line as a card has it.</p>" * (filler_bytes // 31)
        floor = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if self.path == "/stream":
                    self._stream()
                    return
                script = "text/javascript"
                kind, body = {
                    "/app.js": (script, _APP),
                    "/worker.js": (script, _WORKER),
                    "/fragment": ("text/html", f'<h3 id="watched">{floor.heading}</h3>{filler}'.encode()),
                }.get(self.path, ("text/html", _PAGE))
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def _stream(self) -> None:
                told: queue.SimpleQueue[str] = queue.SimpleQueue()
                floor._streams.append(told)
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                while told.get():
                    self.wfile.write(b"data: changed\n\n")
                    self.wfile.flush()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def tell(self, heading: str) -> None:
        """A new heading, told to every stream."""
        self.heading = heading
        for told in self._streams:
            told.put("changed")

    def close(self) -> None:
        for told in self._streams:
            told.put("")
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def board_floor(filler_bytes: int) -> Iterator[Floor]:
    """A floor server with a fragment of this size."""
    floor = Floor(filler_bytes)
    try:
        yield floor
    finally:
        floor.close()
