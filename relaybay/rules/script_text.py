"""What a script hands in (page 50, table CLI; NAME-6) and how long a publication may be (CH-4)."""

from __future__ import annotations

from relaybay.domain import Refusal
from relaybay.rules.text import blank, check_text, literal, name_literal, normalise

LABEL_BYTES_MAX = 256
LABEL_DEFAULT = "script"
BODY_BYTES_MAX = 32 * 1024

# One line ending, and one byte that tells a text of exactly the limit from one that goes on.
STDIN_ROOM_BYTES = 3
"""How many bytes more than the limit are read from a pipe; an endless one fills no memory (CLI-14)."""

# What a literal escapes although it can be seen: such characters hide nothing and may stand in a label.
_SEEN = str.maketrans({'"': '\\"', "\\": "\\\\", "<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _hides(text: str) -> bool:
    """Whether there is a control, invisible or direction-changing character: one that a literal has to make visible."""
    return literal(text) != f'"{text.translate(_SEEN)}"'


def check_label(label: str) -> Refusal | None:
    """What is wrong with a script's label; None when it may stand (NAME-6, CLI-17).

    One to 256 bytes of UTF-8 with something to see and nothing hidden. A label may look like an `@name`: a script is
    always shown as one, and nobody can reply to it.
    """
    if blank(label) or _bytes(label) > LABEL_BYTES_MAX or _hides(label):
        return Refusal("label.invalid", "CLI-17", {"label": name_literal(label), "bytes_max": LABEL_BYTES_MAX})
    return None


def from_stdin(data: bytes, most: int = BODY_BYTES_MAX) -> str | Refusal:
    """The text that a pipe brought: without its one line ending at the end, LF or CRLF (CLI-12).

    `data` holds at most `most + STDIN_ROOM_BYTES` bytes. Length is judged before UTF-8, since what was cut off may
    end inside a character.
    """
    if data.endswith(b"\n"):
        data = data[: -2 if data.endswith(b"\r\n") else -1]
    if len(data) > most:
        # What the pipe holds beyond this was never read, so no sentence can tell its length.
        return Refusal("body.too_many_bytes_piped", "CLI-16", {"bytes_max": most})
    if not data:
        return Refusal("body.empty", "CLI-15")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        return Refusal("body.not_utf8", "CLI-16", {"at": error.start + 1})


def publication_body(text: str, most_bytes: int = BODY_BYTES_MAX, *, by_script: bool = False) -> str | Refusal:
    """The body as it is stored: line breaks made one kind first, then measured in bytes of UTF-8 (TEXT-1, CH-4).

    A session's must have something to see in it (SEND-9); of a script's only an empty one is refused (PUB-1, CLI-15).
    """
    body = normalise(text)
    if by_script and not body:
        return Refusal("body.empty", "CLI-15")
    if not by_script and blank(body):
        return Refusal("body.blank", "SEND-9")
    if check_text(body) is not None:
        return Refusal("body.not_text", "SEND-15")
    size = _bytes(body)
    if size > most_bytes:
        return Refusal("body.too_many_bytes", "CH-4", {"bytes": size, "bytes_max": most_bytes})
    return body
