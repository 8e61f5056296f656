"""The sentences of doctor: for each check what was found, and what to do about it (empty when nothing is)."""

from __future__ import annotations

from relaybay.setup.doctor_values import Line

_SETUP = "relaybay setup claude-code"


def _size(count: int) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1 << 10:
            return f"{count} {unit}"
        count >>= 10
    return f"{count} GiB"


def server(url: str, reachable: bool, held_by: str | None = None) -> Line:
    """Is it there, and if not, is its place free."""
    if reachable:
        return f"answers at {url}", ""
    if held_by is None:
        return f"no answer at {url}", "relaybay up"
    detail = f"none of this data folder runs, and its address {url} is taken by {held_by}"
    return detail, "end that, or take another port: relaybay config set server.port N, relaybay up, " + _SETUP


def last_event(at: str | None) -> Line:
    """Have the hooks been seen firing."""
    if at:
        return f"last event {at}", ""
    return "no event has come yet", f"send one prompt in a session; if this stays, run {_SETUP}"


def mcp_seen(seen: bool, up_seconds: float | None, *, missing: bool) -> Line:
    """Has an MCP client called. The server counts from its start, and so does this line."""
    if seen:
        return "a client has called", ""
    since = "" if up_seconds is None else f" since the server started {_duration(up_seconds)} ago"
    detail = f"no client has called{since or ' yet'}"
    return detail, f"restart the client; if this stays, {_SETUP}" if missing else ""


def _duration(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{int(seconds)} s"


def project_file(problem: str) -> Line:
    """A project's file that can't be used, named with its line."""
    return problem, "until it is mended, everything that is written to sessions in that project is held for your review"


def integrity(said: str) -> Line:
    """The database's own word."""
    return ("the database is sound", "") if said == "ok" else (said, "stop the server and run relaybay restore")


def config_absent(path: str) -> Line:
    """No configuration."""
    return f"{path} does not exist; defaults apply", ""


def config_broken(path: str, why: str) -> Line:
    """Configuration that does not parse."""
    return f"{path}: {why}", "mend that line"


def config_fine(path: str) -> Line:
    """Configuration that parses."""
    return f"{path} is readable", ""


def key_absent(path: str) -> Line:
    """No key yet."""
    return f"{path} does not exist", "relaybay up makes it"


def key_open(path: str, mode: int, *, mine: bool) -> Line:
    """A key that others can read or that somebody else owns."""
    if not mine:
        return f"{path} belongs to another user", f"remove {path}, then relaybay token rotate"
    fix = f"chmod 600 {path}; if others were on this machine, relaybay token rotate"
    return f"{path} has mode {mode:04o}, or is no plain file", fix


def key_fine(path: str) -> Line:
    """A key as it should be."""
    return f"{path} is yours alone", ""


def client(program: str | None, version: str | None) -> Line:
    """The agent client."""
    if program is None:
        return "no program named claude on the PATH", "install Claude Code, or put it on the PATH"
    if version is None:
        return f"{program} does not tell its version", f"{program} --version"
    return f"{program}, {version}", ""


def hook_unreadable(why: str) -> Line:
    """The hook's copy cannot be looked at."""
    return why, _SETUP


def hook_copies(folder: str, differing: list[str], *, missing: bool) -> Line:
    """The hook's copy."""
    if missing:
        return f"not copied to {folder} yet", _SETUP
    if differing:
        return f"of another version in {folder}: {', '.join(differing)}", _SETUP
    return f"as shipped in {folder}", ""


def not_json(path: str, why: str) -> Line:
    """A settings file that cannot be read."""
    return f"{path}: {why}", "mend the file; the client cannot read it either"


def hooks_by_plugin() -> Line:
    """Hooks that come with the plugin."""
    return "installed by the plugin", ""


def hooks(missing: list[str], doubled: list[str], stale: list[str], *, plugin: bool) -> Line:
    """The hooks in the settings."""
    parts = []
    if missing:
        parts.append(f"not installed for {', '.join(missing)}")
    if doubled:
        parts.append(f"installed twice for {', '.join(doubled)}{' (plugin and settings)' if plugin else ''}")
    if stale:
        parts.append(f"not as this relaybay would write them for {', '.join(stale)}")
    if not parts:
        return "installed once for every event", ""
    twice = f"{_SETUP} --uninstall in one of the two scopes" if doubled else _SETUP
    return "; ".join(parts), twice


def settings_open(path: str, mode: int | None) -> Line:
    """The hook key can be read by others."""
    return f"{path} holds the hook key and has mode {mode or 0:04o}", f"chmod 600 {path}"


def hooks_disabled(path: str, setting: str) -> Line:
    """The client's settings keep hooks from running."""
    if setting == "allowedHttpHookUrls":
        return f"{path} has {setting}: http hooks may be kept from running", f"{_SETUP} --mode command"
    return f"{path} has {setting}: no hook runs", f"remove {setting} from it"


def server_missing(*, plugin: bool) -> Line:
    """No MCP entry."""
    return ("registered by the plugin", "") if plugin else ("not registered", _SETUP)


def server_foreign() -> Line:
    """Our name is taken."""
    return "a server named relaybay is registered that setup did not write", "claude mcp remove relaybay"


def server_registered(*, current: bool) -> Line:
    """The MCP entry."""
    return ("registered", "") if current else ("registered with another address or token", _SETUP)


def wake(*, installed: bool, measured: bool) -> Line:
    """The wake-up."""
    if not installed:
        return "not installed (opt-in)", ""
    if measured:
        return "installed; measured to work on this client's version", ""
    return "UNVERIFIED: installed on a client it was not measured on", "update Claude Code to 2.1.197 or newer"


def spool(waiting: int, dropped: int, bad: int) -> Line:
    """Events that wait for the server."""
    detail = f"{_size(waiting)} waiting, {dropped} events dropped, {_size(bad)} set aside"
    steps = ["relaybay up, so that the spool is taken in"] if waiting else []
    if dropped:
        detail += ". What was dropped is lost: it came while no server ran and the spool was full or not writable"
        steps.append("relaybay doctor --clear-dropped, once you know of it")
    return detail, "; ".join(steps)


def spool_unreadable(folder: str, why: str) -> Line:
    """The spool cannot be looked at."""
    return why, f"see that {folder} is a folder of yours with mode 0700"


def hook_log(refused_at: str | None) -> Line:
    """Was the hook turned away."""
    if refused_at is None:
        return "no refusal", ""
    return f"the server turned a hook away (401), last at {refused_at}", f"{_SETUP}, if that was after the last one"


def hook_log_unreadable(path: str, why: str) -> Line:
    """The log cannot be read."""
    return why, f"see that {path} is a file of yours"


def sqlite(version: str, wanted: str, *, old: bool) -> Line:
    """The database library."""
    if not old:
        return version, ""
    detail = f"{version} has a rare fault in its write-ahead log that can lose a commit (mended in {wanted})"
    return detail, f"relaybay backup now and then; a Python with SQLite {wanted} or newer ends it"


def disk(folder: str, free: int, *, low: bool) -> Line:
    """Room on the disk."""
    return f"{_size(free)} free at {folder}", f"make room at {folder}" if low else ""


def clock(skew: float, *, off: bool) -> Line:
    """The clock and the files' times."""
    if not off:
        return "agrees with the times of files", ""
    detail = f"files are {abs(skew):.1f} s {'ahead of' if skew > 0 else 'behind'} the clock"
    return detail, "set the clock, or keep relaybay's folders on a local disk"


def not_writable(folder: str, why: str) -> Line:
    """A folder cannot be written."""
    return why, f"see that {folder} can be written"
