"""The writer's side of the spool: what an event leaves behind when the server cannot take it.
`relaybay/spool.py` reads.

Nothing is locked, and every process may be killed at any point (SPOOL-1, 3, 4):

* A record is one write to a file opened for appending; appends of any size to a local file do not mix.
* A newline in front keeps a record that a kill or a full disk cut short from swallowing the next; its length
  tells it.
* The server renames the file, takes away its write permission (the seal) and only then reads. A write that
  was before the reading is read. One that came later finds the seal when it looks again, and writes once more
  to the new file; the server keeps ids, so a record that stands in both is applied once.
"""

import json
import posix
import time

SPOOL_BYTES_MAX = 16 << 20  # CMD-4
DROPPED_BYTES_MAX = 1 << 20
LOG_BYTES_MAX = 10 << 20
FIELD_CHARS_MAX = 4096  # Paths are the longest values kept; a longer one is no path and is left out.
REASON_CHARS_MAX = 64
TO_CHARS_MAX = 256
SEALED_TRIES_MAX = 5
KIND_AND_OTHERS, REGULAR, CLOSED_TO_OTHERS, SEAL = 0o170077, 0o100000, 0o077, 0o200
APPEND_FLAGS = posix.O_WRONLY | posix.O_APPEND | posix.O_CREAT
APPEND_FLAGS |= posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC

# What of an event may be kept, where its value is text or a boolean: ids, event and tool names, folder,
# permission mode. Nothing that a person, a model or a tool wrote is here. `reason` is kept at SessionEnd
# alone: elsewhere it is free text.
KEPT = (
    *("session_id", "hook_event_name", "cwd", "permission_mode", "prompt_id", "source", "tool_name"),
    *("tool_use_id", "agent_id", "agent_type", "stop_hook_active", "session_title", "transcript_path"),
    *("trigger", "notification_type"),
)
# Prompts that the client makes up itself (PROMPT-1, 2): the text stays behind, its kind goes along.
MACHINE_PROMPTS = ("task-notification", "cross-session-message")


class NotWritten(Exception):  # noqa: N818
    """A file or folder of the spool is not what it has to be. The one argument is a word for the log."""


def record(event_id: str, at_us: int, client: str, who: dict[str, str], body: bytes) -> bytes:
    """The event as one record of the spool, nothing when it is no event. `who` is the headers of its client."""
    payload = stripped(who, body)
    if not payload:
        return b""
    return b"\nR1 %s %d %s %d %s\n" % (event_id.encode(), at_us, client.encode(), len(payload), payload)


def spool(state: str, event_id: str, at_us: int, data: bytes) -> None:
    """Appends a record, or counts it as dropped (CMD-4). Never raises for the fault of a file."""
    posix.umask(0o077)
    try:
        folder = open_folder(state)
    except (OSError, NotWritten) as fault:
        log(state, at_us, "spool_" + word(fault), event_id)
        return
    try:
        append_surely(data, folder)
    except (OSError, NotWritten) as fault:
        drop(folder)
        log(state, at_us, "spool_" + word(fault), event_id)
    finally:
        posix.close(folder)


def append_surely(data: bytes, folder: int) -> None:
    """Appends to the spool until it was there before the server took it."""
    for _ in range(SEALED_TRIES_MAX):
        if append("spool", data, SPOOL_BYTES_MAX, folder):
            return
    raise NotWritten("sealed")


def drop(folder: int) -> None:
    """Counts one dropped event: one `x` more in the file `dropped`."""
    try:  # noqa: SIM105 - contextlib costs an import
        append("dropped", b"x", DROPPED_BYTES_MAX, folder)
    except (OSError, NotWritten):
        pass  # The log has the line; more cannot be done here.


def word(fault: Exception) -> str:
    """The fault as one word without any path in it."""
    return f"error_{fault.errno or 0}" if isinstance(fault, OSError) else str(fault)


def stripped(who: dict[str, str], body: bytes) -> bytes:
    """The event as one line of ASCII JSON without any text of the conversation; nothing when it is no event
    (CMD-5).
    """
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        return b""
    if not isinstance(event, dict):
        return b""
    kept: dict[str, object] = {name: event[name] for name in KEPT if fits(event.get(name), FIELD_CHARS_MAX)}
    moment = kept.get("hook_event_name")
    if not isinstance(kept.get("session_id"), str) or not isinstance(moment, str):
        return b""
    if moment == "SessionEnd" and fits(event.get("reason"), REASON_CHARS_MAX):
        kept["reason"] = event["reason"]
    if moment == "UserPromptSubmit" and isinstance(prompt := event.get("prompt"), str):
        kept["prompt_kind"] = next((kind for kind in MACHINE_PROMPTS if prompt.startswith("<" + kind)), "user")
    if moment == "PostToolUse" and kept.get("tool_name") == "SendMessage":
        given, outcome = event.get("tool_input"), event.get("tool_response")
        to = given.get("to") if isinstance(given, dict) else None
        said_so = isinstance(outcome, dict) and outcome.get("success") is True
        if said_so and isinstance(to, str) and fits(to, TO_CHARS_MAX):
            kept["tool_input"], kept["tool_response"] = {"to": to}, {"success": True}
    return json.dumps({"headers": who, "body": kept}, separators=(",", ":")).encode("ascii")


def fits(value: object, chars_max: int) -> bool:
    """True for a value that may be kept: a boolean, or text of that length at most that can be stored."""
    if not isinstance(value, str):
        return isinstance(value, bool)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:  # Half a surrogate pair, which JSON can carry and no store can.
        return False
    return len(value) <= chars_max


def open_folder(state: str) -> int:
    """A handle of the spool's folder, made where it is missing. SPOOL-5: our own, closed to others, no
    symlink.
    """
    path = state + "/spool"
    make_folder(state)
    make_folder(path)
    folder = posix.open(path, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC)
    seen = posix.fstat(folder)
    if seen.st_uid != posix.geteuid() or seen.st_mode & CLOSED_TO_OTHERS:
        posix.close(folder)
        raise NotWritten("folder_refused")
    return folder


def make_folder(path: str) -> None:
    """Makes a private folder where there is none."""
    try:  # noqa: SIM105 - contextlib costs an import
        posix.mkdir(path, 0o700)
    except OSError:
        pass  # Mostly because it is there; if not, whoever opens something in it learns that.


def append(name: str, data: bytes, bytes_max: int, folder: int | None = None) -> bool:
    """One write to the end of a private file, made where it is missing. `folder` is the handle that `name` is
    under.

    False: the server took the file away meanwhile, so it has to be written again. NotWritten or OSError: it
    was not written, or not in whole.
    """
    fd = posix.open(name, APPEND_FLAGS, 0o600, dir_fd=folder)
    try:
        seen = posix.fstat(fd)
        if seen.st_mode & KIND_AND_OTHERS != REGULAR or seen.st_uid != posix.geteuid() or seen.st_nlink > 1:
            raise NotWritten("file_refused")
        if taken(seen):
            return False
        if seen.st_size + len(data) > bytes_max:
            raise NotWritten("full")
        if posix.write(fd, data) != len(data):
            raise NotWritten("cut_short")
        return not taken(posix.fstat(fd))
    finally:
        posix.close(fd)


def taken(seen: "posix.stat_result") -> bool:
    """True when the server has sealed the file, or has applied and removed it already."""
    return seen.st_nlink == 0 or not seen.st_mode & SEAL


def log(state: str, at_us: int, code: str, event_id: str) -> None:
    """One line for `doctor`: time, code, event id. Codes and ids only, nothing that an event says. Never
    raises.
    """
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at_us // 1_000_000))
    line = b"%s.%06dZ %s %s\n" % (stamp.encode(), at_us % 1_000_000, code.encode(), event_id.encode())
    path = state + "/hook.log"
    posix.umask(0o077)
    make_folder(state)
    try:
        append(path, line, LOG_BYTES_MAX)
    except (OSError, NotWritten) as fault:
        if word(fault) == "full":
            turn_over(path, line)


def turn_over(path: str, line: bytes) -> None:
    """Begins a new log with the line; three files are kept at most."""
    try:
        for old, new in ((path + ".1", path + ".2"), (path, path + ".1")):
            try:
                posix.rename(old, new)
            except FileNotFoundError:
                continue
        append(path, line, LOG_BYTES_MAX)
    except (OSError, NotWritten):
        pass  # There is nobody left to tell.
