"""What a script meets: texts, exit codes and grammars of `relaybay message` (page 50, § 6.2 and 6.3), the switch."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from relaybay.cli import exits, output
from relaybay.cli.exits import Failure, failure

if TYPE_CHECKING:
    from relaybay.domain import Refusal

# A value that no server and no time makes right: usage. What it names and is not there, is a failure.
_OUTSIDE_GRAMMAR = frozenset(
    {
        *("topic_invalid", "pattern_invalid", "name_invalid", "label_invalid"),
        *("group_invalid", "audience_invalid", "argument_invalid"),
    }
)
_MAPPED = frozenset({exits.BAD_INPUT, exits.REFUSED, exits.STORE})
# Whoever may not speak at all is told so with the code of every other command.
_DOORS = frozenset({"owner_only", "unauthorized", "peer_refused", "owner_key_unreadable", "terminal_required"})


@contextmanager
def exit_codes() -> Iterator[None]:
    """Within it, what the server refuses ends with 2 for a value outside its grammar and with 1 otherwise (§ 6.3)."""
    try:
        yield
    except Failure as refused:
        if refused.exit_code in _MAPPED and refused.code not in _DOORS:
            refused.exit_code = exits.USAGE if refused.code in _OUTSIDE_GRAMMAR else exits.FAILED
        raise


@contextmanager
def switch() -> Iterator[None]:
    """Within it, channels that are off end a command with 1, as they do for scripts; all else as everywhere."""
    try:
        yield
    except Failure as refused:
        if refused.code == "channels_off":
            refused.exit_code = exits.FAILED
        raise


def note_switch(answer: Mapping[str, Any], *, anything: bool) -> None:
    """Old messages can be read with the switch off as well: then a word beside them names the key. Where there is
    nothing to read, the command has failed of it (exit 1).
    """
    if answer.get("channels", True):
        return
    if not anything:
        raise failure("channels.off", exits.FAILED)
    from relaybay.answers import word

    output.note(f"relaybay: {word('cli.channels_off').text}")


def refused_by(refusal: Refusal, exit_code: int) -> Failure:
    """A failure in the words of a rule's refusal."""
    from relaybay.answers import word_refusal

    return Failure.of(word_refusal(refusal), exit_code)


def need_topic(text: str) -> None:
    """A topic, or usage (exit 2): a wildcard is for subscriptions only."""
    from relaybay.rules import topics

    found = topics.audience(text, broadcast=False)
    if not isinstance(found, str):
        raise refused_by(found, exits.USAGE)


def need_patterns(patterns: tuple[str, ...]) -> None:
    """Topic patterns, or usage (exit 2). How many there are is for the server to judge."""
    from relaybay.rules import topics

    found = topics.add_patterns((), patterns, len(patterns))
    if not isinstance(found, tuple):
        raise refused_by(found, exits.USAGE)


def need_label(text: str) -> None:
    """A script's label, or usage (exit 2)."""
    from relaybay.rules import script_text

    wrong = script_text.check_label(text)
    if wrong is not None:
        raise refused_by(wrong, exits.USAGE)


def need_name(text: str) -> str:
    """An `@name` without its `@`, or usage (exit 2)."""
    from relaybay.rules.claim import valid_name

    name = text.removeprefix("@")
    if not valid_name(name):
        raise failure("chosen_name.invalid", exits.USAGE, name=_literal(text))
    return name


def need_groups(groups: tuple[str, ...]) -> None:
    """Group names, which have the grammar of names (NAME-4), or usage (exit 2)."""
    from relaybay.rules.claim import valid_name

    for group in groups:
        if not valid_name(group):
            raise failure("cli.group_name", exits.USAGE, group=_literal(group))


def _literal(text: str) -> str:
    from relaybay.rules.text import name_literal

    return name_literal(text)


def text_of(given: str | None) -> str:
    """The text to send: the argument as it is, else what is piped in without its one last line end (§ 6.2).

    Raises Failure with exit 1: at a terminal without an argument, and for what cannot be sent.
    """
    if given is not None:
        try:
            given.encode("utf-8")
        except UnicodeEncodeError:
            raise failure("cli.not_text", exits.FAILED) from None
        return given
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise failure("cli.no_text", exits.FAILED)
    from relaybay.rules.script_text import BODY_BYTES_MAX, STDIN_ROOM_BYTES, from_stdin

    # No more than that is read: an endless pipe fills no memory (CLI-14).
    found = from_stdin(sys.stdin.buffer.read(BODY_BYTES_MAX + STDIN_ROOM_BYTES))
    if isinstance(found, str):
        return found
    raise refused_by(found, exits.FAILED)
