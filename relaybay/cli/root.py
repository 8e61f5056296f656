"""The root command: which sub-commands there are, when they are imported, and how each way of ending is told."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click
from click.exceptions import NoSuchCommand

from relaybay.cli import exits
from relaybay.cli.exits import Failure, failure
from relaybay.cli.output import document, note
from relaybay.cli.shell import Shell
from relaybay.errors import SettingsError, StoreDamaged, StoreError, StoreFull, StoreLocked, StoreNewer, StoreReadOnly

# Name → (module under relaybay.cli, what it is in a line). In the order of a day.
COMMANDS: dict[str, tuple[str, str]] = {
    "up": ("up", "Start the server, or say where it runs"),
    "down": ("down", "End the server"),
    "status": ("status", "Say whether a server runs, and which"),
    "open": ("status", "Open the board with a fresh one-time link"),
    "demo": ("demo", "Play the main job in a minute on a throw-away store"),
    "setup": ("setup", "Put relaybay into an agent client's settings, or take it out"),
    "doctor": ("doctor", "Check this machine, with a fix for each fault"),
    "session": ("session", "List, add, rename, end and unlink sessions; their messaging"),
    "project": ("project", "List and add projects"),
    "task": ("task", "List, show, create, change and bind tasks"),
    "comment": ("task", "Comment on a task: its session's agent gets it"),
    "message": ("message", "List, show, send, publish and review messages"),
    "topics": ("topics", "List the topics there are"),
    "run": ("run", "Start an agent client with a name and topics"),
    "automation": ("automation", "Check the rules that answer messages, see what they did"),
    "events": ("events", "Read the event feed"),
    "export": ("export", "Write a task or a project as Markdown"),
    "config": ("config", "Show and change the configuration"),
    "paths": ("status", "Say where everything is"),
    "backup": ("backup", "Copy the database while the server runs"),
    "restore": ("backup", "Put a backup in the database's place"),
    "token": ("token", "Replace the keys that agents hold"),
    "mcp": ("mcp", "Serve MCP on stdin and stdout"),
    "conformance": ("conformance", "Write which spec ids the tests executed"),
}
# Of use in a source tree alone; there as before, and in no list.
HIDDEN = frozenset({"conformance"})


class Root(click.Group):
    """A group whose commands are imported one by one, when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - Click's signature.
        """All of them for users, in the table's order."""
        return [name for name in COMMANDS if name not in HIDDEN]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Imports one."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"relaybay.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name + "_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As Click does it, but near names are looked for among those that were not imported."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            raise NoSuchCommand(name, possibilities=self.list_commands(ctx), ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list in `--help`, from the table: importing all of them would take a second."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items() if name not in HIDDEN])


def _say_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        from relaybay import __version__

        print(f"relaybay {__version__}")
        ctx.exit(0)


@click.command(
    cls=Root,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Every command takes --json. Exit codes: 0 done, 1 failed, 2 usage, 65 bad input, 69 no server, "
    "74 read-only or full disk, 75 data folder locked, 77 refused, 78 configuration.",
)
@click.option("--version", "-V", is_flag=True, is_eager=True, expose_value=False, callback=_say_version)
@click.option("--debug", is_flag=True, help="Show the trace of a fault of relaybay's own.")
@click.pass_context
def root(ctx: click.Context, debug: bool) -> None:
    """A local relay and board for people who run many coding agents side by side.

    \b
      relaybay up                 start, and print where the board is
      relaybay setup claude-code  connect an agent client
      relaybay status             see what runs
    """  # noqa: D301 - Click reads the escape.
    ctx.obj = Shell(debug=debug or os.environ.get("RELAYBAY_DEBUG") == "1")


def run(words: Sequence[str]) -> int:
    """One command; returns the exit code. Everything that can be expected is told here, without a trace."""
    # After `--` stand other programs' options, and texts.
    as_json = "--json" in words[: words.index("--") if "--" in words else None]
    try:
        result: Any = root.main(args=list(words), prog_name="relaybay", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as help_shown:
        help_shown.show()
        return exits.USAGE
    except click.ClickException as error:
        error.show()
        if as_json:
            document({"error": {"code": "usage", "spec_id": "75", "text": error.format_message()}})
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return exits.INTERRUPTED
    except BrokenPipeError:
        _drop_stdout()
        return exits.FAILED
    except Exception as error:  # noqa: BLE001 - told in words below; with --debug it goes on as it is.
        return _tell(_named(error, words), as_json=as_json)
    return result if isinstance(result, int) else 0


def _named(error: Exception, words: Sequence[str]) -> Failure:
    """What a command failed of, with its exit code. Raises anew what is a bug, when asked for the trace."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, SettingsError):
        return failure("cli.settings", exits.CONFIG, where=error.where, why=error.why)
    if isinstance(error, StoreError):
        return _of_store(error)
    if isinstance(error, PermissionError) and error.filename is not None:
        return failure("cli.no_permission", exits.REFUSED, path=error.filename, why=error.strerror)
    if isinstance(error, UnicodeEncodeError):
        from relaybay.rules.text import check_text  # Only here: most commands end before they need it.

        if any(map(check_text, words)):
            return failure("cli.not_text", exits.BAD_INPUT)
    if "--debug" in words or os.environ.get("RELAYBAY_DEBUG") == "1":
        raise error
    return failure("cli.internal", exits.FAILED, what=f"{type(error).__name__}: {error}")


def _of_store(error: StoreError) -> Failure:
    if isinstance(error, StoreLocked):
        return failure("cli.data_folder_locked", exits.LOCKED, folder=str(error))
    if isinstance(error, StoreDamaged):
        return failure("cli.store_damaged", exits.STORE, mark=str(error))
    if isinstance(error, StoreNewer):
        return failure("cli.schema_newer", exits.CONFIG, what=str(error))
    if isinstance(error, StoreFull):
        return failure("cli.store_full", exits.STORE, why=str(error))
    if isinstance(error, StoreReadOnly):
        return failure("cli.store_read_only", exits.STORE, why=str(error))
    return failure("cli.store_unavailable", exits.STORE, why=str(error))


def _tell(told: Failure, *, as_json: bool) -> int:
    note(f"relaybay: {told.text} [{told.code} {told.spec_id}]")
    if told.entries:
        note(told.entries)
    if as_json:
        below = {"entries": told.entries} if told.entries else {}
        document({"error": {"code": told.code, "spec_id": told.spec_id, "text": told.text, **below}})
    return told.exit_code


def _drop_stdout() -> None:
    # Whoever read us has gone; Python would complain once more when it closes the stream.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
