"""Texts of others on a page: what nobody would see is made visible, and nothing in them is markup (page 70, Board).

Pages get texts as the literals of TEXT-2; which characters are hidden is decided there and read off the escapes here,
so the two cannot differ. Each text stands in an element that isolates its direction.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from markupsafe import Markup, escape

from relaybay.rules.text import literal

_PIECE: Final = re.compile(
    r"\\u(?P<high>d[89ab][0-9a-f]{2})\\u(?P<low>d[c-f][0-9a-f]{2})"
    r"|\\u(?P<code>[0-9a-f]{4})|\\(?P<short>.)|(?P<plain>[^\\]+)"
)
_QUOTED: Final = re.compile(r"`([A-Za-z0-9_./ :-]{1,80})`")
#: A message of more than this is shown by its beginning, and whole when asked for.
_LONG_LINES: Final = 40
_LONG_CHARS: Final = 4_000
_OPENING_LINES: Final = 6
_OPENING_CHARS: Final = 600
_INDENT: Final = re.compile(r"\n\s+")
_SHORT: Final = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_CONTROLS: Final = {"r": 0x0D, "b": 0x08, "f": 0x0C}
_SHOWN: Final = "<>&"


def decoded(shown: str) -> str:
    """The text that a literal stands for."""
    return str(json.loads(shown))


def decoded_line(line: str) -> str:
    """The text that an escaped line stands for (TEXT-3). One that was never escaped is taken as it is."""
    try:
        return str(json.loads(f'"{line}"'))
    except ValueError:
        return line


def _pieces(text: str) -> list[tuple[str, int]]:
    """(plain text, 0) or ('', code point of a hidden character), in order."""
    found: list[tuple[str, int]] = []
    for match in _PIECE.finditer(literal(text)[1:-1]):
        parts = match.groupdict()
        if parts["plain"] is not None:
            found.append((parts["plain"], 0))
        elif parts["short"] is not None:
            short = parts["short"]
            found.append((_SHORT[short], 0) if short in _SHORT else ("", _CONTROLS[short]))
        elif parts["code"] is not None:
            code = int(parts["code"], 16)
            found.append((chr(code), 0) if chr(code) in _SHOWN else ("", code))
        else:
            pair = (int(parts["high"], 16) - 0xD800 << 10) + int(parts["low"], 16) - 0xDC00
            found.append(("", 0x10000 + pair))
    return found


def _runs(text: str) -> list[tuple[str, int, int]]:
    """As `_pieces`, with equal hidden characters in a row counted: a page must not grow by what nobody can read."""
    runs: list[tuple[str, int, int]] = []
    for plain, code in _pieces(text):
        if code and runs and runs[-1][1] == code:
            runs[-1] = ("", code, runs[-1][2] + 1)
        else:
            runs.append((plain, code, 1))
    return runs


def _mark(code: int, count: int) -> str:
    return f"U+{code:04X}" + (f" ×{count}" if count > 1 else "")


def visible(text: str) -> Markup:
    """The text as safe markup, each hidden character as a small sign with its number."""
    out = [
        Markup('<span class="hidden-char">{}</span>').format(_mark(code, count)) if code else escape(plain)
        for plain, code, count in _runs(text)
    ]
    return Markup("").join(out)


def plain(text: str) -> str:
    """The same without markup, for places that hold none (options of a list, titles)."""
    return "".join(f"[{_mark(code, count)}]" if code else part for part, code, count in _runs(text))


def isolated(text: str) -> Markup:
    """One line of somebody's text, its direction isolated."""
    return Markup("<bdi>{}</bdi>").format(visible(text))


def text_filter(shown: Any) -> Markup:
    """Template filter: a literal as one line."""
    return isolated(decoded(shown))


def typed_filter(text: Any) -> Markup:
    """Template filter: what somebody typed, as it came, as one line."""
    return isolated(str(text))


def name_filter(line: Any) -> Markup:
    """Template filter: an escaped name."""
    return isolated(decoded_line(str(line)))


def raw_filter(shown: Any) -> str:
    """Template filter: a literal's text as it is, for a field in which it is edited."""
    return decoded(str(shown))


def body_filter(shown: Any) -> Markup:
    """Template filter: a message's body, plain, white space as it came; the style sheet keeps it."""
    return Markup('<div class="body" dir="auto">{}</div>').format(visible(decoded(shown)))


def option_filter(line: Any) -> str:
    """Template filter: an escaped name where no markup can stand."""
    return plain(decoded_line(str(line)))


def words_filter(sentence: Any) -> Markup:
    """Template filter: a sentence of the server's own, what stands in backticks as something to type or look for."""
    # Escaped first: nothing that the pattern lets through is changed by that.
    return Markup(_QUOTED.sub(r'<code class="command">\1</code>', str(escape(sentence))))  # noqa: S704


def opening_filter(shown: Any) -> Markup | str:
    """Template filter: how a message begins, where it is too long to stand among others; else nothing."""
    text = decoded(shown)
    lines = text.split("\n")
    if len(lines) <= _LONG_LINES and len(text) <= _LONG_CHARS:
        return ""
    return visible("\n".join(lines[:_OPENING_LINES])[:_OPENING_CHARS].rstrip())


def pieces_filter(pieces: Any) -> Markup:
    """Template filter: pieces of a text, those that were looked for marked. Each is a literal and escaped by itself."""
    shown = [(piece["hit"], visible(decoded(piece["text"]))) for piece in pieces]
    marked = (Markup("<mark>{}</mark>").format(text) if hit else text for hit, text in shown)
    return Markup("<bdi>{}</bdi>").format(Markup("").join(marked))


def tight_filter(markup: Any) -> Markup:
    """Template filter: markup without indentation, for what stands on a page hundreds of times and keeps no lines."""
    return Markup(_INDENT.sub("\n", str(markup)))  # noqa: S704 - as safe as it came.
