"""Puts relaybay's entries into the text of one of Claude Code's files, and takes them out again. Pure.

Each function takes text and gives text; `created` are the containers that had to be made, which undo removes
again when nobody else has put anything into them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from relaybay.setup import json_text
from relaybay.setup.claude_entries import SERVER_NAME, TOKEN_VARIABLE, Wanted, is_our_server, roles
from relaybay.setup.json_read import WrongShapeError, get, parse, path_of, pointer, same
from relaybay.setup.values import Install, JsonPath

_HOOKS: JsonPath = ("hooks",)
_ENV: JsonPath = ("env", TOKEN_VARIABLE)


@dataclass(slots=True)
class Text:
    """A document while it is being edited, with what was put in and made on the way."""

    text: str
    pointers: list[str] = field(default_factory=list)
    created: list[str] = field(default_factory=list)

    @property
    def value(self) -> Any:
        """The document as it is now."""
        return parse(self.text)

    def set_at(self, path: JsonPath, value: Any) -> None:
        """Puts a value at a path and remembers where."""
        self.text, made = json_text.set_at(self.text, path, value)
        self.created.extend(made)
        self.pointers.append(pointer(path))

    def drop_empty(self, created: Iterable[str]) -> None:
        """Removes those containers that setup made and that are empty again, the innermost first."""
        for place in sorted(set(created), key=lambda each: each.count("/"), reverse=True):
            path = path_of(place)
            if get(self.value, path) in ({}, []):
                self.text = json_text.remove(self.text, path)


def put_hooks(document: Text, wanted: Sequence[Wanted]) -> None:
    """Makes the hooks of ours exactly those that are wanted: older ones are replaced where they stand.

    Raises:
        WrongShapeError: `hooks`, or one of its events, is of another kind than the client documents.
    """
    _check_shape(document.value, wanted)
    for hook in wanted:
        _put_hook(document, hook)
    keep = {(hook.event, hook.role) for hook in wanted}
    stale = [place for place in roles(get(document.value, _HOOKS)) if (place[0], place[3]) not in keep]
    for event, group, at, _role in reversed(stale):
        _take_hook(document, event, group, at)


def _check_shape(value: Any, wanted: Sequence[Wanted]) -> None:
    hooks = get(value, _HOOKS)
    if hooks is not None and not isinstance(hooks, dict):
        raise WrongShapeError(pointer(_HOOKS), "object")
    for hook in wanted:
        groups = get(value, (*_HOOKS, hook.event))
        if groups is not None and not isinstance(groups, list):
            raise WrongShapeError(pointer((*_HOOKS, hook.event)), "array")


def _put_hook(document: Text, hook: Wanted) -> None:
    """One hook: replaced at the first place that fits, any other of its role removed; else appended."""
    event: JsonPath = (*_HOOKS, hook.event)
    while True:
        groups = get(document.value, event)
        places = [
            (group, at)
            for name, group, at, role in roles(get(document.value, _HOOKS))
            if (name, role) == (hook.event, hook.role)
        ]
        kept = next((place for place in places if _fits(groups[place[0]], hook)), None)
        extra = [place for place in places if place != kept]
        if not extra:
            break
        _take_hook(document, hook.event, *extra[-1])
    if kept is None:
        _append_group(document, hook)
        return
    group, at = kept
    if groups[group].get("matcher") != hook.matcher:
        document.text = json_text.replace(document.text, (*event, group), hook.group)
    else:
        document.text = json_text.replace(document.text, (*event, group, "hooks", at), hook.handler)
    document.pointers.append(pointer((*event, group, "hooks", at)))


def _fits(group: dict[str, Any], hook: Wanted) -> bool:
    """Whether a hook can be replaced inside its group: the group is its own, or has the right matcher."""
    return len(group["hooks"]) == 1 or group.get("matcher") == hook.matcher


def _append_group(document: Text, hook: Wanted) -> None:
    event: JsonPath = (*_HOOKS, hook.event)
    groups = get(document.value, event)
    if groups is None:
        document.text, made = json_text.set_at(document.text, event, [hook.group])
        document.created.extend((*made, pointer(event)))
    else:
        document.text = json_text.append(document.text, event, hook.group)
    document.pointers.append(pointer((*event, len(groups or ()), "hooks", 0)))


def _take_hook(document: Text, event: str, group: int, at: int) -> None:
    """Removes one hook, and its group with it when nothing else is in there."""
    path: JsonPath = (*_HOOKS, event, group)
    alone = len(get(document.value, (*path, "hooks"))) == 1
    document.text = json_text.remove(document.text, path if alone else (*path, "hooks", at))


def take_hooks(document: Text) -> None:
    """Removes every hook of ours."""
    for event, group, at, _role in reversed(list(roles(get(document.value, _HOOKS)))):
        _take_hook(document, event, group, at)


def server_path(project: str | None) -> JsonPath:
    """Where an MCP server named relaybay stands: at the top, or under a project of `.claude.json`."""
    above: JsonPath = () if project is None else ("projects", project)
    return (*above, "mcpServers", SERVER_NAME)


def put_server(document: Text, install: Install, path: JsonPath, entry: dict[str, Any]) -> bool:
    """Adds or renews the MCP server; False when a server of that name is not ours.

    Raises:
        WrongShapeError: a container on the way is no object.
    """
    there = get(document.value, path)
    if there is not None and not is_our_server(there, install):
        return False
    if there is None or not same(there, entry):
        document.set_at(path, entry)
    else:
        document.pointers.append(pointer(path))
    return True


def take_server(document: Text, install: Install, path: JsonPath) -> None:
    """Removes the MCP server when it is ours."""
    if is_our_server(get(document.value, path), install):
        document.text = json_text.remove(document.text, path)


def put_token(document: Text, token: str) -> None:
    """Puts the token where the client reads its environment from.

    Raises:
        WrongShapeError: `env` is no object.
    """
    document.set_at(_ENV, token)


def take_token(document: Text) -> None:
    """Removes the token's variable: its name is relaybay's, whatever value it has."""
    if get(document.value, _ENV) is not None:
        document.text = json_text.remove(document.text, _ENV)
