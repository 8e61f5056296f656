"""Doctor's checks of Claude Code's files: hooks there once, as a setup of today would write them, MCP registered."""

from __future__ import annotations

from collections import Counter
from typing import Any

from relaybay.setup import doctor_words as words
from relaybay.setup.claude_edits import server_path
from relaybay.setup.claude_entries import (
    COMMAND_EVENTS,
    HTTP_EVENTS,
    is_our_server,
    mcp_entry,
    role_of,
    roles,
    wake_measured,
    wanted_hooks,
)
from relaybay.setup.doctor_values import Check, broken, judged, warned, well
from relaybay.setup.json_read import NotJsonError, decode, get, parse, same
from relaybay.setup.values import OTHERS, ClaudeFiles, FileNow, Install, Role

Documents = dict[str, Any]


def claude_checks(files: ClaudeFiles, install: Install, version: str | None) -> list[Check]:
    """Every check of the client's files, for the user and for the project the person is in."""
    checks: list[Check] = []
    documents: Documents = {}
    settings = (files.settings, files.project_settings, files.local_settings)
    for now in (*settings, files.claude_json, files.mcp_json):
        try:
            documents[now.path] = parse(decode(now.data or b""))
        except NotJsonError as error:
            documents[now.path] = {}
            checks.append(broken("settings", words.not_json(now.path, str(error))))
    checks.append(_hooks(documents, settings, install))
    checks.extend(_readable_keys(documents, settings))
    checks.extend(_switched_off(documents, settings))
    checks.append(_server(documents, files, install))
    checks.append(_wake(documents, settings, version))
    return checks


def _handlers(documents: Documents, settings: tuple[FileNow, ...]) -> list[tuple[str, Role, Any, FileNow]]:
    """Every hook of ours: event, role, the handler itself, and its file."""
    found = []
    for now in settings:
        hooks = get(documents[now.path], ("hooks",))
        for event, group, at, role in roles(hooks):
            found.append((event, role, hooks[event][group]["hooks"][at], now))
    return found


def _hooks(documents: Documents, settings: tuple[FileNow, ...], install: Install) -> Check:
    """Each event once, and each hook as it would be written today, in one form or the other."""
    handlers = _handlers(documents, settings)
    # The client itself runs handlers that are equal only once, wherever they stand.
    distinct = [each for n, each in enumerate(handlers) if each[:3] not in [other[:3] for other in handlers[:n]]]
    counts = Counter((event, role) for event, role, _handler, _now in distinct)
    plugin = any(_has_plugin(documents[now.path]) for now in settings)
    if not counts and plugin:
        return well("hooks", words.hooks_by_plugin())
    missing = [event for event in (*HTTP_EVENTS, *COMMAND_EVENTS) if not counts[event, "event"]]
    doubled = sorted({event for (event, _role), count in counts.items() if count > 1 or plugin})
    today = [
        hook
        for form in ("http", "command")
        for hook in wanted_hooks(install, "http" if form == "http" else "command", lean=False, wake=True)
    ]
    stale = sorted(
        {
            event
            for event, _role, handler, _now in handlers
            if not any(hook.event == event and same(handler, hook.handler) for hook in today)
        }
    )
    ok = not (missing or doubled or stale)
    return judged("hooks", words.hooks(missing, doubled, stale, plugin=plugin), ok=ok)


def _has_plugin(document: Any) -> bool:
    enabled = get(document, ("enabledPlugins",))
    names = [name for name, on in enabled.items() if on is True] if isinstance(enabled, dict) else []
    return any(name.partition("@")[0] == "relaybay" for name in names)


def _readable_keys(documents: Documents, settings: tuple[FileNow, ...]) -> list[Check]:
    """A settings file with the hook key that others may read."""
    keyed = {now.path: now for _event, _role, handler, now in _handlers(documents, settings) if "url" in handler}
    return [
        broken("settings mode", words.settings_open(now.path, now.mode))
        for now in keyed.values()
        if now.mode is not None and now.mode & OTHERS
    ]


def _switched_off(documents: Documents, settings: tuple[FileNow, ...]) -> list[Check]:
    """Settings of the client that keep our hooks from running."""
    checks = []
    handlers = _handlers(documents, settings)
    for now in settings:
        document = documents[now.path]
        if get(document, ("disableAllHooks",)) is True:
            checks.append(broken("hooks allowed", words.hooks_disabled(now.path, "disableAllHooks")))
        over_http = any(handler["type"] == "http" for _event, _role, handler, _now in handlers)
        if over_http and isinstance(get(document, ("allowedHttpHookUrls",)), list):
            checks.append(warned("hooks allowed", words.hooks_disabled(now.path, "allowedHttpHookUrls")))
    return checks


def _server(documents: Documents, files: ClaudeFiles, install: Install) -> Check:
    """The MCP server is registered for the user or for this project, with today's address and token."""
    user = documents[files.claude_json.path]
    entries = [
        get(user, server_path(files.project_key)),
        get(documents[files.mcp_json.path], server_path(None)),
        get(user, server_path(None)),
    ]
    found = [entry for entry in entries if entry is not None]
    if not found:
        plugin = any(_has_plugin(documents[now.path]) for now in (files.settings, files.project_settings))
        return judged("mcp server", words.server_missing(plugin=plugin), ok=plugin)
    foreign = [entry for entry in found if not is_our_server(entry, install)]
    if foreign:
        return broken("mcp server", words.server_foreign())
    today = (mcp_entry(install, literal=True), mcp_entry(install, literal=False))
    current = all(any(same(entry, each) for each in today) for entry in found)
    return judged("mcp server", words.server_registered(current=current), ok=current)


def _wake(documents: Documents, settings: tuple[FileNow, ...], version: str | None) -> Check:
    """Whether the wake-up is installed, and on a client it was measured on."""
    handlers = _handlers(documents, settings)
    installed = any(role_of(handler) == "wake" for _event, _role, handler, _now in handlers)
    if not installed:
        return well("wake-up", words.wake(installed=False, measured=False))
    measured = wake_measured(version)
    return judged("wake-up", words.wake(installed=True, measured=measured), ok=True if measured else None)
