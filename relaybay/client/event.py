"""One call of the hook, in the order of its life: options, event, identity, server, and what is left for the
spool.

Rules of this file (spec CMD-1 to 6):

* One interval timer watches over everything before the spool: reading the event, connecting, sending, waiting
  for the answer. It is 1.5 s in all, whatever dribbles.
* The start of the interpreter is most of the cost (PERF-4), so this file and `wire.py` import built-in
  modules and `_socket` and nothing else. A JSON reader costs more than the interpreter itself: the server
  judges the event, and the answer is looked at from outside. `from __future__` costs an import as well; hence
  the quoted annotations.

Files: RUN/relaybay.sock; RUN/server.json and RUN/hook.key for TCP; RUN/down, the breaker; STATE/spool/;
STATE/hook.log.
"""

import _signal  # type: ignore[import-not-found]
import posix
import time

from . import wire

EVENT_BYTES_MAX = 1 << 20  # CMD-5
HEADER_CHARS_MAX = 256
DEADLINE_MS, DEADLINE_MS_MIN, DEADLINE_MS_MAX = 1500, 50, 4500  # The client kills a command hook after 5 s.
WAIT_S, WAIT_S_MAX = 1500, 24 * 3600
BREAKER_S = 10
OPTIONS = ("--home", "--run", "--state", "--client", "--deadline-ms", "--wait-s")
ULID_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
STAT_STARTED = 19  # Field 22 of the line, counted from behind the name.
OK, BAD_REQUEST, UNAUTHORIZED, TOO_LARGE = 200, 400, 401, 413


class DeadlineOver(Exception):  # noqa: N818
    """The time of the call is used up. Not an OSError, so that no handler for those swallows it."""


class Call:
    """What one call of the hook knows before it asks the server."""

    def __init__(self, argv: list[str], env: dict[bytes, bytes]) -> None:
        self.at_us = time.time_ns() // 1000
        self.env = env
        self.wait = False
        given: dict[str, str] = {}
        words = iter(argv)
        for word in words:
            # An unknown word is passed over: a newer setup's line still works with an older copy of these
            # files.
            if word == "--wait":
                self.wait = True
            elif word in OPTIONS:
                given[word] = next(words, "")
        home = given.get("--home") or env.get(b"RELAYBAY_HOME", b"").decode("utf-8", "surrogateescape")
        self.run = given.get("--run") or (home and home + "/run")
        self.state = given.get("--state") or (home and home + "/state")
        self.client = given.get("--client", "claude-code")
        deadline = env.get(b"RELAYBAY_HOOK_DEADLINE_MS", b"").decode("ascii", "replace")
        deadline = deadline or given.get("--deadline-ms", "")
        self.deadline_ms = whole(deadline, DEADLINE_MS, DEADLINE_MS_MIN, DEADLINE_MS_MAX)
        self.wait_s = whole(given.get("--wait-s", ""), WAIT_S, 1, WAIT_S_MAX)
        self.event_id = make_id(self.at_us)
        self.body = b""
        self.who: dict[str, str] = {}

    def usable(self) -> bool:
        """False for a line that names no folders, or a client that could be no part of a path."""
        name = self.client
        return bool(self.run and self.state) and name.isascii() and name.replace("-", "").isalnum()

    def request(self, tail: str, key: bytes) -> bytes:
        """The call as one HTTP request to `/hooks/CLIENT` plus `tail`. A replay has the same id and time."""
        marks = {"x-relaybay-event-id": self.event_id, "x-relaybay-event-at": str(self.at_us)}
        return wire.request("/hooks/" + self.client + tail, key, marks | self.who, self.body)


def run(argv: list[str], env: dict[bytes, bytes]) -> int:
    """One call of the hook; returns the exit status. `env` is the environment as bytes. May raise: `hook.py`
    catches.
    """
    call = Call(argv, env)
    if not call.usable():
        return 0
    if call.wait and env.get(b"CLAUDE_CODE_ENTRYPOINT") != b"cli":
        return 0  # A one-shot run would wait for the wait.
    answer, left = b"", ""
    try:
        _signal.signal(_signal.SIGALRM, on_alarm)
        _signal.setitimer(_signal.ITIMER_REAL, call.deadline_ms / 1000)
        call.body = read_event()
        if not call.body:
            return 0
        call.who = identity(env)
        if not call.wait:
            answer, left = ask(call)
    except DeadlineOver:
        if not call.body:
            return 0
        set_breaker(call.run + "/down")
        left = "spool"
    finally:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
    if call.wait:
        from .wake import wait  # noqa: PLC0415 - off the common path

        return wait(call)
    if answer:
        wire.write_all(1, answer)
    elif left:
        keep(call, left)
    return 0


def on_alarm(_number: int, _frame: object) -> None:
    """The interval timer's handler."""
    raise DeadlineOver


def ask(call: Call) -> tuple[bytes, str]:
    """Hands the event over. Returns (answer to print, nothing left) or (nothing, what is left to do), see
    `keep`.
    """
    if breaker_set(call.run + "/down"):
        return b"", "spool"
    try:
        sock, key = wire.connect(call.run)
        status, kind, body = wire.exchange(sock, call.request("", key))
    except wire.Refused as fault:
        return b"", str(fault)
    except OSError:
        return b"", "spool"
    if status == UNAUTHORIZED:
        return b"", "unauthorized"
    if status in (BAD_REQUEST, TOO_LARGE):
        return b"", ""  # The server has seen this very event and will not have it, now or later.
    if status == OK and b"json" in kind and body[:1] == b"{" and body[-1:] == b"}":
        return body, ""
    return b"", "spool"


def keep(call: Call, left: str) -> None:
    """Spools the event (CMD-2); at 401 only logs (CMD-3). Any other word is a fault for the log, beside the
    spooling.
    """
    from . import spool_writer  # noqa: PLC0415 - off the common path

    if left != "spool":
        spool_writer.log(call.state, call.at_us, left, call.event_id)
    if left != "unauthorized":
        data = spool_writer.record(call.event_id, call.at_us, call.client, call.who, call.body)
        if data:
            spool_writer.spool(call.state, call.event_id, call.at_us, data)


def whole(text: str, default: int, low: int, high: int) -> int:
    """A whole number within its bounds; the default for anything that is none."""
    if not text.isascii() or not text.isdigit() or len(text) > wire.DIGITS_MAX:
        return default
    return min(max(int(text), low), high)


def read_event() -> bytes:
    """The event, or nothing for input that cannot be one (CMD-5). An input that is too big is still read to
    its end, so that the client meets no broken pipe.
    """
    parts = []
    size = 0
    while part := posix.read(0, 1 << 16):
        size += len(part)
        if size <= EVENT_BYTES_MAX:
            parts.append(part)
    body = b"".join(parts)
    shape = body.strip()
    if size > EVENT_BYTES_MAX or shape[:1] != b"{" or shape[-1:] != b"}":
        return b""
    return body


def make_id(at_us: int) -> str:
    """26 digits that sort by time, as a ULID has them: 48 bits of milliseconds, 80 bits of chance."""
    number = (at_us // 1000) << 80 | int.from_bytes(posix.urandom(10), "big")
    return "".join([ULID_DIGITS[number >> shift & 31] for shift in range(125, -1, -5)])


def identity(env: dict[bytes, bytes]) -> dict[str, str]:
    """The headers that tell the client's process, which no event body does (HL-3, HL-9); what is unknown is
    left out.
    """
    pid, started = client_process(env)
    pairs = (
        ("client-pid", pid),
        ("client-started", started),
        ("pid-ns", link_of("/proc/self/ns/pid")),
        ("entrypoint", env.get(b"CLAUDE_CODE_ENTRYPOINT")),
        ("client-version", client_version(env)),
        ("start", env.get(b"RELAYBAY_START")),
        ("name", env.get(b"RELAYBAY_NAME")),
    )
    return {"x-relaybay-" + name: header_value(value) for name, value in pairs if value}


def header_value(raw: bytes) -> str:
    """Printable ASCII. Anything else becomes `?`, never nothing: a name that lost letters would be another's
    name.
    """
    text = raw[:HEADER_CHARS_MAX].decode("ascii", "replace")
    return "".join([c if " " <= c <= "~" else "?" for c in text]).strip()


def client_process(env: dict[bytes, bytes]) -> tuple[bytes, bytes]:
    """(pid, start time) of the agent client, empty where unknown.

    Claude Code 2.1.197 tells no pid (its binary has no CLAUDE_PID). There the client is our parent, if that
    is named like the client and no shell stands between.
    """
    pid = env.get(b"CLAUDE_PID", b"")
    if not pid:
        parent = b"%d" % posix.getppid()
        if small_file(b"/proc/" + parent + b"/comm").startswith(b"claude"):
            pid = parent
    if not pid.isdigit() or len(pid) > wire.DIGITS_MAX:
        return b"", b""
    return pid, start_of(pid)


def start_of(pid: bytes) -> bytes:
    """A process's start time in ticks since boot. The name in its stat line may hold spaces and brackets."""
    fields = small_file(b"/proc/" + pid + b"/stat").rpartition(b")")[2].split()
    return fields[STAT_STARTED] if len(fields) > STAT_STARTED else b""


def client_version(env: dict[bytes, bytes]) -> bytes:
    """The version in AI_AGENT: `claude-code_2-1-332_agent`, or with slashes and dots."""
    agent = env.get(b"AI_AGENT", b"")
    if not agent.startswith((b"claude-code_", b"claude-code/")):
        return b""
    return agent[12:].split(agent[11:12])[0].replace(b"-", b".")


def small_file(path: bytes) -> bytes:
    """The first page of a file of /proc, empty when it cannot be read."""
    try:
        fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return posix.read(fd, 4096)
    except OSError:
        return b""
    finally:
        posix.close(fd)


def link_of(path: str) -> bytes:
    """Where a link of /proc points, empty when it cannot be read."""
    try:
        return posix.readlink(path).encode("ascii", "replace")
    except OSError:
        return b""


def breaker_set(path: str) -> bool:
    """True for ten seconds after a call used up its time: a hung server must not cost every call as much."""
    try:
        seen = posix.lstat(path)
    except OSError:
        return False
    age = time.time() - seen.st_mtime
    ours = seen.st_mode & wire.FILE_KIND == wire.REGULAR and seen.st_uid == posix.geteuid()
    return ours and 0 <= age < BREAKER_S


def set_breaker(path: str) -> None:
    """Touches the breaker's file. The server removes it when it starts."""
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC
    try:
        fd = posix.open(path, flags, 0o600)
        posix.utime(fd)
        posix.close(fd)
    except OSError:
        pass  # Then the next call pays its deadline as well.
