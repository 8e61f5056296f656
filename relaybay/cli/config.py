"""`relaybay config`: what is configured, where it comes from, and changing the user's own file."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import click

from relaybay import settings
from relaybay.cli import exits, output
from relaybay.cli.exits import failure
from relaybay.cli.options import json_option
from relaybay.cli.shell import Shell
from relaybay.errors import SettingsError
from relaybay.settings import KEYS, Key


@click.group("config", invoke_without_command=True)
@json_option
@click.pass_context
def config_command(ctx: click.Context, as_json: bool) -> None:
    """Show and change the configuration. Alone it shows every key.

    \b
      relaybay config show --origin
      relaybay config set wake.minutes 10
    """  # noqa: D301 - Click reads the escape.
    if ctx.invoked_subcommand is None:
        _print_all(ctx.obj, origin=False, as_json=as_json)
    elif as_json:
        raise click.UsageError("--json goes behind the sub-command.", ctx)


@config_command.command("show")
@click.option("--origin", is_flag=True, help="Say where each value comes from.")
@json_option
@click.pass_obj
def _show(shell: Shell, origin: bool, as_json: bool) -> None:
    """Every key with its value."""
    _print_all(shell, origin=origin, as_json=as_json)


def _print_all(shell: Shell, *, origin: bool, as_json: bool) -> None:
    found = shell.settings
    rows = [
        {
            "key": name,
            "value": found.value(name),
            "source": found.origins[name].source,
            "origin": str(found.origins[name]),
            "variable": key.variable,
            "help": key.help,
        }
        for name, key in KEYS.items()
    ]
    if as_json:
        output.document({"settings": rows})
        return
    printed = [row | {"value": _as_text(row["value"])} for row in rows]
    source = [("origin", "FROM")] if origin else []
    output.lines(output.table(printed, [("key", "KEY"), ("value", "VALUE"), *source, ("help", "WHAT IT IS")]))


@config_command.command("get")
@click.argument("name", metavar="KEY")
@json_option
@click.pass_obj
def _get(shell: Shell, name: str, as_json: bool) -> None:
    """One key's value."""
    key = _known(name)
    value, origin = shell.settings.value(key.name), shell.settings.origins[key.name]
    if as_json:
        output.document({"key": key.name, "value": value, "source": origin.source, "origin": str(origin)})
    else:
        output.lines([_as_text(value)])


@config_command.command("set")
@click.argument("name", metavar="KEY")
@click.argument("text", metavar="VALUE")
@json_option
@click.pass_obj
def _set(shell: Shell, name: str, text: str, as_json: bool) -> None:
    """Set one key in the user's config.toml; everything else in it stays as it is."""
    shell.need_owner()
    key = _known(name)
    try:
        value = settings.parse(key, text)
    except ValueError:
        raise failure("cli.value_invalid", exits.BAD_INPUT, name=name, wanted=key.wanted) from None
    if not key.check(value):
        raise failure("cli.value_invalid", exits.BAD_INPUT, name=name, wanted=key.wanted)
    path = shell.paths.config_file
    try:
        set_value(path, key, value)
    except OSError as error:
        raise failure("cli.file_not_written", exits.STORE, path=path, why=error.strerror or str(error)) from None
    if as_json:
        output.document({"key": name, "value": value, "file": str(path)})
    else:
        output.lines([f"{name} = {_as_text(value)}"])
    output.note("It takes effect when the server starts next (`relaybay down`, `relaybay up`).")
    if shell.env.get(key.variable):
        output.note(f"relaybay: {key.variable} is set in this shell and wins over the file.")


@config_command.command("path")
@json_option
@click.pass_obj
def _path(shell: Shell, as_json: bool) -> None:
    """Where the user's config.toml is, and the project's file when there is one."""
    project = settings.project_file(Path.cwd())
    if as_json:
        output.document({"config": str(shell.paths.config_file), "project": None if project is None else str(project)})
        return
    output.lines([str(shell.paths.config_file), *([] if project is None else [str(project)])])


def _known(name: str) -> Key:
    if name not in KEYS:
        raise failure("cli.key_unknown", exits.BAD_INPUT, why=settings.unknown_key(name))
    return KEYS[name]


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def set_value(path: Path, key: Key, value: settings.Value) -> None:
    """Puts one value into the file, in one step, keeping comments, order, mode and a link to elsewhere.

    Raises:
        SettingsError: the file as it is, or as it would be, cannot be read.
        OSError: it cannot be written.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    real = Path(os.path.realpath(path))
    with _locked(real.parent):
        old = real.read_bytes() if real.exists() else b""
        settings.read_text(path, old, project=False)
        document = tomlkit.parse(old.decode("utf-8"))
        table, _, name = key.name.partition(".")
        try:
            if table not in document:
                document[table] = tomlkit.table()
            document[table][name] = value
        except TOMLKitError as error:
            raise SettingsError(str(path), f"cannot be changed ({error})") from error
        new = tomlkit.dumps(document).encode("utf-8")
        settings.read_text(path, new, project=False)
        _replace(real, new)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _replace(path: Path, data: bytes) -> None:
    mode = path.stat().st_mode & 0o7777 if path.exists() else 0o600
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
