"""A file of Claude Code without anything of relaybay in it: what undo leaves when it cannot put old bytes back,
and what setup remembers as the state to go back to. Pure.
"""

from __future__ import annotations

from relaybay.setup import claude_edits
from relaybay.setup.claude_edits import Text
from relaybay.setup.json_read import decode
from relaybay.setup.values import FileNow, Install, JsonPath


def without_server(now: FileNow, install: Install, path: JsonPath) -> bytes | None:
    """The file without our MCP server; None when setup made it and nothing else is in it."""
    document = Text(text_of(now))
    claude_edits.take_server(document, install, path)
    return _bare(now, document)


def without_hooks(now: FileNow, *, token: bool) -> bytes | None:
    """The settings file without our hooks and, with `token`, without the token; None as above."""
    document = Text(text_of(now))
    claude_edits.take_hooks(document)
    if token:
        claude_edits.take_token(document)
    return _bare(now, document)


def _bare(now: FileNow, document: Text) -> bytes | None:
    """The bytes that are left; None for a file that setup made and that is empty again."""
    if now.data is None:
        return None
    if document.text == decode(now.data):
        return now.data
    record = now.record
    if record is not None:
        document.drop_empty(record.created)
        made_by_us = record.mode_before is None and not record.baseline_lost and record.baseline is None
        if made_by_us and document.value == {}:
            return None
    return document.text.encode()


def text_of(now: FileNow) -> str:
    """The file's text; empty when there is no file.

    Raises:
        NotJsonError: it is not UTF-8.
    """
    return decode(now.data) if now.data is not None else ""
