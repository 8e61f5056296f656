"""The wake-up: a hook at Stop that long-polls and ends with 2 when there is text for the session, else with
0.

The server decides everything (table WAIT): whether there is something, whether this wait still counts. Here
is only the polling, and the look every two seconds whether the agent client still lives, so that an orphan
ends soon (WAIT-6).
"""

import posix
import time

from . import wire
from .event import Call, client_process, make_id, start_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

POLL_S = 50
POLL_GRACE_S = 10  # A server that lets a poll run longer than this over its time has hung.
LOOK_S = 2
PAUSE_S = 1
OK, NOTHING_YET = 200, 204


def wait(call: Call) -> int:
    """Polls until there is text (2, with the text on stderr) or any reason to end (0)."""
    client_lives = watch(call.env)
    wait_id = make_id(call.at_us)
    end = time.monotonic() + call.wait_s
    while client_lives() and (left_s := int(end - time.monotonic())) > 0:
        began = time.monotonic()
        status, kind, text = poll(call, wait_id, min(POLL_S, left_s), client_lives)
        if status == OK and kind.startswith(b"text/plain") and text.strip():
            wire.write_all(2, text)
            return 2
        if status != NOTHING_YET:
            return 0
        # A server that says at once that there is nothing must not make us a busy loop.
        time.sleep(max(0.0, PAUSE_S - (time.monotonic() - began)))
    return 0


def poll(call: Call, wait_id: str, poll_s: int, client_lives: "Callable[[], bool]") -> tuple[int, bytes, bytes]:
    """One long poll: (status, content type, text). Status 0 when nobody answers or nobody is left to be
    woken.
    """
    last = time.monotonic() + poll_s + POLL_GRACE_S

    def go_on() -> bool:
        return time.monotonic() < last and client_lives()

    try:
        sock, key = wire.connect(call.run)
        try:
            sock.settimeout(LOOK_S)
            tail = f"/wait?wait_id={wait_id}&timeout_s={poll_s}"
            return wire.exchange(sock, call.request(tail, key), go_on)
        finally:
            sock.close()
    except (OSError, wire.Refused):
        return 0, b"", b""


def watch(env: dict[bytes, bytes]) -> "Callable[[], bool]":
    """A function that tells whether the agent client still lives.

    Its pid may be another process's by now, so the start time is compared. Where no pid is known, our parent
    has to stay the same.
    """
    pid, started = client_process(env)
    parent = posix.getppid()

    def client_lives() -> bool:
        if not pid:
            return posix.getppid() == parent
        try:
            posix.kill(int(pid), 0)
        except OSError:
            return False
        return start_of(pid) == started

    return client_lives
