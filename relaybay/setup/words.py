"""The sentences that setup and doctor show to a person: what, why, and what to do.

What belongs here: wording only, by values. What does not: any decision about what to say.
"""

from __future__ import annotations


def not_json(path: str, reason: str, line: int, column: int) -> str:
    """A settings file that no one can read."""
    return (
        f"{path} is not valid JSON: {reason}, line {line}, column {column}. Nothing was changed. "
        "Repair the file there (the client cannot read it either), then run setup again."
    )


def has_comments(path: str, line: int) -> str:
    """A settings file with comments: an edit could lose them."""
    return (
        f"{path} has comments or trailing commas (line {line}), which are not JSON. Setup leaves such a file "
        "to you rather than risk a word of it. Nothing was changed. Add the entries below by hand, or remove "
        "the comments and run setup again."
    )


def wrong_shape(path: str, pointer: str, wanted: str) -> str:
    """A settings file whose containers are of another kind than the client documents."""
    place = f"{pointer} in {path}" if pointer else path
    return f"{place} should be a JSON {wanted}, and is not. Nothing was changed. Repair it and run setup again."


def name_taken(path: str, pointer: str) -> str:
    """Another MCP server has our name."""
    return (
        f"{path} already has an MCP server named relaybay at {pointer} that setup did not write. Nothing was "
        "changed. Rename or remove it (`claude mcp remove relaybay`), then run setup again."
    )


def wake_unverified(version: str | None, wanted: str) -> str:
    """Wake-up on a client it was never measured on."""
    found = f"this client says it is {version}" if version else "no client was found to ask its version"
    return (
        f"Waking an idle session is measured to work from Claude Code {wanted} on; {found}. Nothing was "
        "changed. Update the client, or add --force-wake to install it all the same (doctor then shows it as "
        "UNVERIFIED)."
    )


def token_committed(path: str) -> str:
    """The file for the token is part of a repository's commits."""
    return (
        f"{path} is committed in its repository, so the token cannot go there. Nothing was changed. Take it "
        "out of the repository (`git rm --cached` and a line in .gitignore), or use --scope user."
    )


def no_git_exclude(path: str) -> str:
    """The file for the token would be committed, and it is unknown how to have git ignore it."""
    return (
        f"{path} lies in a git repository that does not ignore it, so the token cannot go there. Nothing was "
        "changed. Add the file to .gitignore and run setup again, or use --scope user."
    )


def key_in_git(path: str) -> str:
    """Hooks go without a key because their file may be committed."""
    return (
        f"{path} lies inside a git work tree: its hooks run as commands, which need no key, so that no "
        "secret can be committed."
    )


def token_by_variable(path: str, variable: str) -> str:
    """The MCP entry goes without a token because its file may be committed."""
    return (
        f"{path} may be committed, so it names the variable {variable} instead of the token. Set it in the "
        "shell that starts the client: `relaybay paths --json` names the file with the token as token_file."
    )


def token_leaks(path: str, variable: str) -> str:
    """What a token in a settings file's `env` means."""
    return (
        f"{path} gets the token as {variable} under env: the client hands it to every command an agent runs "
        "in this project. With --scope user no command gets it."
    )


def needs_approval(path: str) -> str:
    """The client asks before it uses a project's servers."""
    return f"The client asks each person once before it uses the MCP servers of {path}."


def excluded(path: str, line: str) -> str:
    """A line in the repository's own list of ignored files."""
    return f"{path} gets the line {line}, so that the file with the token is never committed."


def wake_forced(version: str | None) -> str:
    """Wake-up was installed on a client it was never measured on."""
    client = version or "a client of unknown version"
    return f"Wake-up is installed UNVERIFIED: it was not measured on {client}."


def hooks_off(path: str, setting: str) -> str:
    """A setting of the client keeps our hooks from running."""
    return f"{path} has {setting}, which keeps these hooks from running. Setup leaves it as it is."


def hooks_in_user_scope(path: str) -> str:
    """The user's own settings already have the hooks."""
    return (
        f"{path} already has these hooks for every project, so the project does not get them a second time "
        "(they would run twice)."
    )


def only_ours_removed(path: str) -> str:
    """Undo could not put the old bytes back."""
    return (
        f"{path} was changed since setup wrote it: only relaybay's entries are removed, everything else "
        "stays as it is now."
    )


def backup_gone(path: str) -> str:
    """Undo has no old bytes."""
    return f"The backup of {path} is gone: only relaybay's entries are removed."


def changed_meanwhile(path: str) -> str:
    """The file is not the one the plan was made from."""
    return (
        f"{path} changed while setup was at work (a running client rewrites it now and then). Nothing was "
        "changed. Run setup again."
    )


def file_busy(path: str) -> str:
    """Somebody holds the file's lock."""
    return f"{path} is locked by another program. Nothing was changed. Run setup again in a moment."


def not_writable(path: str, why: str) -> str:
    """The system refused a write."""
    return f"{path} could not be written: {why}. Nothing was changed. Repair that and run setup again."


def not_readable(path: str, why: str) -> str:
    """The system refused a read."""
    return f"{path} could not be read: {why}. Nothing was changed. Repair that and run setup again."


def not_a_file(path: str) -> str:
    """There is something else where a settings file belongs."""
    return f"{path} is no regular file. Nothing was changed. Move it away, then run setup again."


def roll_back_failed(paths: str, backup: str) -> str:
    """The worst case: some files are changed and could not be put back."""
    return f"Setup failed half-way and could not put back {paths}. The files as they were are in {backup}."
