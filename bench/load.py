"""The load generator: one thread, plain sockets, `select` (its timeouts are in microseconds, epoll's in milliseconds).

It runs in the benchmark's own process, the server in another. What it costs itself is shown by the same load on a
server that only writes back fixed bytes (`floor_server.py`, `echo`).
"""

from __future__ import annotations

import gc
import os
import select
import socket
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench.wire import Unexpected, connect, is_whole

_READ_BYTES = 1 << 16
_STALL_SECONDS = 10.0


def seconds(usual: float, *, full: float, is_full: bool, quick: float | None = None) -> float:
    """How long to measure: the page's usual time, its full one, or the short one with QUICK=1."""
    if is_full:
        return full
    return (usual / 3 if quick is None else quick) if os.environ.get("QUICK") == "1" else usual


def count(usual: int, *, full: int, is_full: bool) -> int:
    """How many samples to take; a quarter with QUICK=1."""
    return round(seconds(usual, full=full, is_full=is_full, quick=usual / 4))


@dataclass(slots=True)
class Load:
    """What a run came to: answers, the seconds they took, and microseconds per answer."""

    answers: int = 0
    seconds: float = 0.0
    us: array[float] = field(default_factory=lambda: array("d"))

    @property
    def rate(self) -> float:
        return self.answers / self.seconds


class _Lane:
    """One connection that is kept, and the requests it sends in turn, for ever."""

    def __init__(self, connection: socket.socket, requests: Sequence[bytes]) -> None:
        self.connection = connection
        self.fd = connection.fileno()
        self.requests = requests
        self.next = 0
        self.began = 0.0
        self.busy = False
        self.part = b""
        self.due: deque[float] = deque()

    def send(self, began: float) -> None:
        self.began, self.busy = began, True
        self.connection.sendall(self.requests[self.next])
        self.next = (self.next + 1) % len(self.requests)

    def take(self) -> bytes:
        """What has come; the whole answer, or nothing yet."""
        data = self.connection.recv(_READ_BYTES)
        if not data:
            raise Unexpected(f"a connection was closed; before that: {self.part[:300]!r}")
        data = self.part + data if self.part else data
        if not is_whole(data):
            self.part = data
            return b""
        self.part, self.busy = b"", False
        if data[9:12] != b"200":
            raise Unexpected(data[:600].decode("utf-8", "replace"))
        return data


class Lanes:
    """Connections to one port, one per list of requests. `check` looks at every answer, if given."""

    def __init__(
        self, port: int, requests: Sequence[Sequence[bytes]], check: Callable[[bytes], None] | None = None
    ) -> None:
        self._lanes = [_Lane(connect(port), ours) for ours in requests]
        self._by_fd = {lane.fd: lane for lane in self._lanes}
        self._fds = list(self._by_fd)
        self._check = check

    def close(self) -> None:
        for lane in self._lanes:
            lane.connection.close()

    def closed_loop(self, seconds: float, *, answers_max: int = 0) -> Load:
        """Every connection asks again as soon as it is answered, for so long or so often."""
        load = Load()
        clock = time.perf_counter
        with _no_collector():
            start = clock()
            for lane in self._lanes:
                lane.send(clock())
            open_lanes, until = len(self._lanes), start + seconds
            while open_lanes:
                for lane in self._ready(_STALL_SECONDS):
                    data = lane.take()
                    if not data:
                        continue
                    now = clock()
                    load.us.append((now - lane.began) * 1e6)
                    if self._check is not None:
                        self._check(data)
                    if now < until and not 0 < answers_max <= len(load.us) + open_lanes - 1:
                        lane.send(now)
                    else:
                        open_lanes -= 1
            load.seconds = clock() - start
        load.answers = len(load.us)
        return load

    def paced(self, seconds: float, per_second: float) -> Load:
        """So many requests a second in all, evenly, over the connections in turn.

        A time counts from the moment at which the request was due, also when its connection was still busy then: a
        server that stalls is not asked less for it.
        """
        load = Load()
        clock, step, number = time.perf_counter, 1 / per_second, round(seconds * per_second)
        sent = 0
        with _no_collector():
            start = clock()
            while len(load.us) < number:
                now = clock()
                while sent < number and start + sent * step <= now:
                    lane = self._lanes[sent % len(self._lanes)]
                    lane.due.append(start + sent * step)
                    sent += 1
                    if not lane.busy:
                        lane.send(lane.due.popleft())
                pause = start + sent * step - clock() if sent < number else _STALL_SECONDS
                for lane in self._ready(max(pause, 0.0), stall=sent == number):
                    data = lane.take()
                    if not data:
                        continue
                    load.us.append((clock() - lane.began) * 1e6)
                    if self._check is not None:
                        self._check(data)
                    if lane.due:
                        lane.send(lane.due.popleft())
            load.seconds = clock() - start
        load.answers = len(load.us)
        return load

    def _ready(self, pause: float, *, stall: bool = True) -> list[_Lane]:
        found = select.select(self._fds, (), (), pause)[0]
        if not found and stall:
            raise Unexpected(f"no answer within {pause:g} s")
        return [self._by_fd[fd] for fd in found]


@contextmanager
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
