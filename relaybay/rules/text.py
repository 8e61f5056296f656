"""Text of others as data: what is admitted, and the one JSON literal it is shown as (page 30, table TEXT).

A literal is one line, whatever the text holds, so nothing in it can begin a line, close a frame or look like markup
to a client (one measured version leaves `<system-reminder>` in hook text as it is). `json.loads` of a literal gives
the stored text back.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from relaybay.rules.unicode_ranges import DEFAULT_IGNORABLE, PICTOGRAPHIC, SKIN_TONES

Problem = Literal["nul", "surrogate"]

NAME_CHARS_SHOWN_MAX = 80
NAME_ESCAPED_CHARS_MAX = 160
ELLIPSIS = "…"

_ASTRAL = 0x10000
_LINE_BREAK = re.compile("\r\n|[\r\u2028\u2029\u0085\x0b\x0c]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_IGNORABLE = re.compile(f"[{DEFAULT_IGNORABLE}]")
_NOT_BLANK = re.compile(rf"[^\s{DEFAULT_IGNORABLE}]")
# One emoji as people type it: pictographs, each with a skin tone or U+FE0F if any, joined by U+200D. All of it stays
# as it is; the same two characters anywhere else are invisible and are escaped.
_PICTOGRAPH = f"[{PICTOGRAPHIC}][{SKIN_TONES}\ufe0f]?"
_EMOJI = re.compile(f"({_PICTOGRAPH}(?:\u200d{_PICTOGRAPH})*)")
_ONE_PICTOGRAPH = re.compile(f"[{PICTOGRAPHIC}]")
_JOINERS = ("\u200d", "\ufe0f")

_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
_MARKUP = "<>&"
# Control, surrogate, private use, and the two separators that end a line.
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cs", "Co", "Zl", "Zp"})
# Not default-ignorable by Unicode's letter, yet of no width, and able to hide what stands between them.
_ANNOTATIONS = "\ufff9\ufffa\ufffb"


def _is_hidden(char: str) -> bool:
    """Whether a reader would not see the character, or would see something else (TEXT-2)."""
    category = unicodedata.category(char)
    if category == "Cn":
        # Pictographs younger than this Python's own Unicode tables are no unassigned characters.
        return _ONE_PICTOGRAPH.match(char) is None
    return category in _HIDDEN_CATEGORIES or char in _ANNOTATIONS or _IGNORABLE.match(char) is not None


def _escape(char: str) -> str:
    """The JSON escape of one character."""
    code = ord(char)
    if code < _ASTRAL:
        return f"\\u{code:04x}"
    high, low = divmod(code - _ASTRAL, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


class _Escapes(dict[int, str]):
    """Code point → how it is written, for `str.translate`. Worked out once per character and kept."""

    _KEPT_MAX = 20_000

    def __missing__(self, code: int) -> str:
        char = chr(code)
        written = _SHORT.get(char)
        if written is None:
            written = _escape(char) if char in _MARKUP or _is_hidden(char) else char
        if len(self) < self._KEPT_MAX:
            self[code] = written
        return written


_ESCAPES = _Escapes()


def _escaped(text: str) -> str:
    """The inside of the literal."""
    if not any(joiner in text for joiner in _JOINERS):
        return text.translate(_ESCAPES)
    # A split by a pattern with one group gives the text between emoji at even places, the emoji at odd ones.
    parts = _EMOJI.split(text)
    return "".join(part if at % 2 else part.translate(_ESCAPES) for at, part in enumerate(parts))


def normalise(body: str) -> str:
    """The body as it is stored, hashed and measured: every kind of line break is a line feed, tabs stay (TEXT-1, 6)."""
    return _LINE_BREAK.sub("\n", body)


def check_text(body: str) -> Problem | None:
    """What makes the body no text (SEND-15): a NUL or half a surrogate pair; None when it is text."""
    if "\x00" in body:
        return "nul"
    if _SURROGATE.search(body):
        return "surrogate"
    return None


def blank(body: str) -> bool:
    """Whether there is nothing to see in the body: empty, or only white space and ignorable characters (SEND-9)."""
    return _NOT_BLANK.search(body) is None


def literal(body: str) -> str:
    """The body as one JSON string literal on one line, quotes included (TEXT-2, TEXT-4, TEXT-5).

    Escaped are quote, backslash, control and bidi controls, default-ignorable, private-use and unassigned
    characters, and `<`, `>`, `&`. An emoji's own joiners stay; everything else that can be seen stays too.
    """
    return f'"{_escaped(body)}"'


def name_line(name: str) -> str:
    """A name as one line without quotes, for lists and events (TEXT-3): escaped as a literal is, and cut."""
    shown = name[:NAME_CHARS_SHOWN_MAX]
    escaped = _escaped(shown)
    while len(escaped) > NAME_ESCAPED_CHARS_MAX:
        # One character at a time: an escape is never cut in two, nor is an emoji read as joined to what is gone.
        shown = shown[:-1]
        escaped = _escaped(shown)
    return escaped if shown == name else escaped + ELLIPSIS


def name_literal(name: str) -> str:
    """A name as one JSON string literal, cut at its limits with an ellipsis (TEXT-3). The stored name stays whole."""
    return f'"{name_line(name)}"'


def units(text: str) -> int:
    """Length as the client counts it: UTF-16 code units (PACK-1)."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def doubled(body: str) -> dict[str, int]:
    """How many characters of each costly kind a body has (SEND-11): `short` cost two units each when quoted (quotes,
    backslashes, line breaks, tabs), `astral` two because the client counts them so (emoji), `escaped` six or twelve.
    Kinds that the body has none of are left out.
    """
    found = {"short": 0, "astral": 0, "escaped": 0}
    for at, part in enumerate(_EMOJI.split(body)):
        for char in part:
            written = char if at % 2 else _ESCAPES[ord(char)]
            if written != char:
                found["short" if char in _SHORT else "escaped"] += 1
            elif ord(char) >= _ASTRAL:
                found["astral"] += 1
    return {kind: count for kind, count in found.items() if count}
