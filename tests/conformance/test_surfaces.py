"""`specs/surfaces.toml`: every surface names a use case that exists, and the command line has these commands."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest

from relaybay.specs import specs_folder
from tests.conftest import missing

SURFACES = tomllib.loads((specs_folder() / "surfaces.toml").read_text(encoding="utf-8"))
ENTRIES = [(kind, entry) for kind in ("hook", "tool", "command", "route") for entry in SURFACES[kind]]
USE_CASES = sorted({entry["use_case"] for _, entry in ENTRIES if "use_case" in entry})
# In the order that clients see.
TOOLS = [
    *("message_send", "message_publish", "sessions_list", "topic_read", "messages_list", "message_ack", "comment_add"),
    *("comments_list", "comment_ack", "tasks_list", "task_get", "task_create", "task_update", "task_bind_session"),
    "events_since",
]
WITH_CHANNELS = ["message_publish", "sessions_list", "topic_read"]


def built(module: str) -> Any:
    """The module, or the end of the test: what is not built yet is skipped here and fails where it is required."""
    parent = module.rpartition(".")[0]
    if find_spec(parent) is None or find_spec(module) is None:
        missing("product", f"{module} is not built yet")
    return import_module(module)


def test_the_tools_are_the_twelve_of_the_base_and_those_of_channels() -> None:
    assert [tool["name"] for tool in SURFACES["tool"]] == TOOLS
    assert len(set(TOOLS) - set(WITH_CHANNELS)) == 12


@pytest.mark.spec("CH-3")
def test_the_server_has_these_tools_and_no_other() -> None:
    tools = built("relaybay.api.tools")
    assert [tool.name for tool in tools.TOOLS] == TOOLS
    assert sorted(tools.CHANNEL_TOOLS) == WITH_CHANNELS


@pytest.mark.parametrize(("kind", "entry"), ENTRIES, ids=str)
def test_an_entry_is_whole_and_stands_once(kind: str, entry: dict) -> None:
    assert ENTRIES.count((kind, entry)) == 1
    has_use_case = "use_case" in entry
    assert has_use_case != ("how" in entry), "a use case, or on what else it acts"
    assert has_use_case or kind in ("command", "route"), "a tool and a hook event call a use case, always"
    if has_use_case:
        assert re.fullmatch(r"relaybay\.service\.[a-z_]+:[a-z_]+", entry["use_case"])


@pytest.mark.parametrize("use_case", USE_CASES)
def test_the_use_case_exists_and_is_no_coroutine(use_case: str) -> None:
    module, name = use_case.split(":")
    function = getattr(built(module), name, None)
    assert inspect.isfunction(function), f"{module} has no function {name}"
    assert not inspect.iscoroutinefunction(function), "one use case is one transaction, with no await in it"
    assert function.__doc__, "a use case says what it does"


def names_in(command: click.Command, prefix: str) -> set[str]:
    """The full names of a command and of everything below it. A group that also acts by itself counts as one, too."""
    if not isinstance(command, click.Group):
        return {prefix}
    below = {f"{prefix} {name}": command.commands[name] for name in command.commands}
    itself = {prefix} if command.invoke_without_command else set()
    return itself.union(*(names_in(child, name) for name, child in below.items()))


def test_the_command_line_has_these_commands_and_no_other() -> None:
    wanted = {command["name"] for command in SURFACES["command"]}
    root = built("relaybay.cli.root")
    assert set(root.COMMANDS) == {name.split()[0] for name in wanted}
    # What is there is compared first, so that one module still to come hides no difference of the others.
    unbuilt = {name for name, (module, _) in root.COMMANDS.items() if find_spec(f"relaybay.cli.{module}") is None}
    found: set[str] = set()
    for name in set(root.COMMANDS) - unbuilt:
        module = import_module(f"relaybay.cli.{root.COMMANDS[name][0]}")
        found |= names_in(getattr(module, f"{name}_command"), name)
    assert found == {name for name in wanted if name.split()[0] not in unbuilt}
    if unbuilt:
        missing("product", f"not built yet: {sorted(unbuilt)}")


@pytest.fixture
def operations(tmp_path: Path) -> Iterator[set[tuple[str, str]]]:
    """Method and path of every operation of the whole server, as `api/app.py` puts it together."""
    app = built("relaybay.api.app")
    from relaybay.service import clock
    from relaybay.service.relay import open_relay
    from relaybay.settings import Paths, load

    env = {"RELAYBAY_HOME": str(tmp_path)}
    paths = Paths.find(env)
    paths.make()
    relay = open_relay(paths.database, clock.system)
    try:
        registered = app.build(load(paths, env), paths, relay).routes.operations
        yield {(one.method, re.sub(r"<(\w+):\w+>", r"{\1}", one.path)) for one in registered}
    finally:
        relay.close()


def test_the_server_has_these_routes_and_no_other_that_acts(operations: set[tuple[str, str]]) -> None:
    """Pages of the board and their data twins only show; which there are is the business of the board's own tests."""
    listed = {(route["method"], route["path"]) for route in SURFACES["route"]}
    listed |= {("POST", hook["path"]) for hook in SURFACES["hook"]}
    assert listed - operations == set(), "listed, and not there"
    shows = {(method, path) for method, path in operations if method == "GET" and not path.startswith("/api/")}
    assert operations - listed - shows == set(), "there, and not listed"
