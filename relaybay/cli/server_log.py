"""Where a server's log goes: stderr in the foreground, `state/server.log` when detached (10 MB × 3)."""

from __future__ import annotations

import io
import logging
import logging.handlers
import os
import sys
import time
from pathlib import Path

LOG_BYTES_MAX = 10 << 20
LOG_FILES_MAX = 3
_FORMAT = "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s"


def to_stderr() -> None:
    """All logging on stderr."""
    _install(logging.StreamHandler(sys.stderr))


def to_file(path: Path) -> DetachedLog:
    """All logging into a file that turns over; raises OSError. Call `take_stderr` once the start is over."""
    handler = DetachedLog(path)
    _install(handler)
    return handler


def _install(handler: logging.Handler) -> None:
    formatter = logging.Formatter(_FORMAT, "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    # The MCP SDK tells of every request; that is no news.
    logging.getLogger("mcp").setLevel(logging.WARNING)


class DetachedLog(logging.handlers.RotatingFileHandler):
    """A log file of bounded size that also gets what is written to descriptor 2, such as an interpreter's own fault."""

    def __init__(self, path: Path) -> None:
        self._has_stderr = False
        super().__init__(path, maxBytes=LOG_BYTES_MAX, backupCount=LOG_FILES_MAX - 1, encoding="utf-8")

    def take_stderr(self) -> None:
        """From now on descriptors 1 and 2 lead into the log, and follow it when it turns over."""
        self._has_stderr = True
        self._lead()

    def _open(self) -> io.TextIOWrapper:
        stream = super()._open()
        # The log names sessions and folders: nobody else's business.
        os.fchmod(stream.fileno(), 0o600)
        self.stream = stream
        self._lead()
        return stream

    def _lead(self) -> None:
        if self._has_stderr and self.stream is not None:
            for descriptor in (1, 2):
                os.dup2(self.stream.fileno(), descriptor)
